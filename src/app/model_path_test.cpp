#include "app/model_path.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/check.h"

namespace mlxforge {
namespace {

namespace fs = std::filesystem;

std::string refusal(const std::string& model, const fs::path& executable) {
  try {
    find_model(model, executable);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(FindModel, DefaultStandsBesideTheExecutable) {
  const fs::path root = fs::temp_directory_path() / "mlxforge_model_path_test";
  fs::create_directories(root / "models");
  EXPECT_NE(refusal("", root / "bin/mlxforge").find("make setup"), std::string::npos);
  std::ofstream(root / "models/m.gguf") << "x";
  EXPECT_EQ(find_model("", root / "bin/mlxforge"), root / "models/m.gguf");
  EXPECT_EQ(find_model(root.string(), "/nowhere"), root);
  std::ofstream(root / "models/another.gguf") << "x";
  EXPECT_NE(refusal("", root / "bin/mlxforge").find("got 2"), std::string::npos);
  fs::remove_all(root);
}

}  // namespace
}  // namespace mlxforge
