#include "text/marker.h"

#include <gtest/gtest.h>

namespace mlxforge {
namespace {

TEST(Marker, MarksWhatIsNotASpaceAndIsFoundAgain) {
  const Marker marker = Marker::absent_from({"\U000F0000 \U000F0002", "\xF3"}).value();
  EXPECT_EQ(marker.mark(" aé\n"), " \U000F0001a\U000F0001é\n");
  const std::string rendered = "x" + marker.mark("é y") + "z";
  const std::vector<bool> expected = {false, true, true, false, true, false};  // bytes of xé yz
  EXPECT_EQ(marker.marked_bytes(rendered, "xé yz"), expected);
}

TEST(Marker, AnotherTextIsNotThePlainOne) {
  const Marker marker = Marker::absent_from({}).value();
  const std::string rendered = marker.mark("ab");
  for (const char* plain : {"", "a", "abc", "ac", "ba"})
    EXPECT_EQ(marker.marked_bytes(rendered, plain), std::nullopt) << plain;
  EXPECT_EQ(marker.marked_bytes(rendered + marker.mark(""), "ab"), (std::vector<bool>{true, true}));
  EXPECT_EQ(marker.marked_bytes("a\U000F0000", "a"), std::nullopt);
  EXPECT_EQ(marker.marked_bytes("\U000F0000\U000F0000a", "a"), std::nullopt);
}

}  // namespace
}  // namespace mlxforge
