#include "files/gguf.h"

#include "files/gguf_test_support.h"
#include "files/mmap.h"

namespace mlxforge {
namespace {

using namespace gguf_pieces;

constexpr uint64_t kHuge = uint64_t{1} << 60;

std::string one_tensor(const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset = 0,
                       size_t data = 64) {
  return with_data(header(1, 0) + tensor("blk.0.w", dims, type, offset), data);
}
std::string aligned(uint32_t alignment) {
  return with_data(header(0, 1) + value("general.alignment", GgufType::u32, le(alignment)), 0);
}
std::string nested_arrays(int depth) {
  std::string out = header(0, 1) + text("deep") + le(GgufType::array);
  for (int i = 0; i < depth; ++i) out += le(GgufType::array) + le(uint64_t{1});
  return out + le(GgufType::u8) + le(uint64_t{0});
}

std::string parse_error(const std::string& file) {
  return error_of([&] { parse_gguf(bytes_of(file), "m.gguf"); });
}

struct Hostile {
  std::string what;
  std::string file;
  std::vector<std::string> says;  // the message holds each of these, and the file's name
};

std::vector<Hostile> hostile_files() {
  const std::string u8 = value("k", GgufType::u8, "x");
  const std::string w = tensor("blk.0.w", {8}, 0, 0);
  const uint64_t max = std::numeric_limits<int64_t>::max();
  return {
      {"empty", "", {"cut short"}},
      {"magic alone", "GGUF", {"cut short"}},
      {"other magic", "GGML" + header(0, 0).substr(4), {"does not start with \"GGUF\""}},
      {"version 99", header(0, 0, 99), {"version 2 or 3, got 99"}},
      {"version 1", header(0, 0, 1), {"version 2 or 3, got 1"}},
      {"version 0", header(0, 0, 0), {"got"}},
      {"big-endian", header(0, 0, 0x03000000), {"big-endian"}},
      {"no counts", header(0, 0).substr(0, 12), {"cut short"}},
      {"2^60 tensors", header(kHuge, 0), {"at most 0 tensors", "got 1152921504606846976"}},
      {"2^60 values", header(0, kHuge) + u8, {"metadata values", "got 1152921504606846976"}},
      {"2^64-1 tensors", header(~0ull, 1) + u8, {"tensors", "got 18446744073709551615"}},
      {"one tensor too many", with_data(header(2, 0) + w, 0), {"tensors", "got 2"}},
      {"string of 2^63",
       header(0, 1) + text("a") + le(GgufType::string) + le(uint64_t{1} << 63),
       {"9223372036854775808"}},
      {"string of 2^64-1",
       header(0, 1) + text("a") + le(GgufType::string) + le(~0ull),
       {"18446744073709551615"}},
      {"key of 2^64-1", header(0, 1) + le(~0ull) + "abcdefgh", {"18446744073709551615"}},
      {"key of no bytes",
       header(0, 1) + value("", GgufType::u8, "x"),
       {"metadata key of 1 to 65535"}},
      {"key of 70000 bytes",
       header(0, 1) + value(std::string(70000, 'k'), GgufType::u8, "x"),
       {"got 70000"}},
      {"array of 2^62 bytes",
       header(0, 1) + array("a", GgufType::u8, 1ull << 62, ""),
       {"\"a\"", "at most 0 x u8 here, got 4611686018427387904"}},
      {"array whose size wraps to 0",
       header(0, 1) + array("a", GgufType::f64, 1ull << 61, ""),
       {"\"a\"", "x f64"}},
      {"array of 2^62 strings",
       header(0, 1) + array("a", GgufType::string, 1ull << 62, text("x")),
       {"\"a\"", "x string"}},
      {"array's second string missing",
       header(0, 1) + array("a", GgufType::string, 2, text("abcdefgh")),
       {"cut short"}},
      {"array's string too long",
       header(0, 1) + array("a", GgufType::string, 1, le(~0ull)),
       {"cut short"}},
      {"array in array", nested_arrays(1), {"\"deep\"", "arrays of arrays"}},
      {"arrays 10k deep", nested_arrays(10'000), {"\"deep\"", "arrays of arrays"}},
      {"value type 13",
       header(0, 1) + text("k") + le(uint32_t{13}) + "12345678",
       {"\"k\"", "value type from 0 to 12, got 13"}},
      {"element type 2^32-1",
       header(0, 1) + value("k", GgufType::array, le(~0u) + le(uint64_t{1}) + "x"),
       {"\"k\"", "got 4294967295"}},
      {"key twice", header(0, 2) + u8 + u8, {"\"k\" appears twice"}},
      {"alignment 0", aligned(0), {"general.alignment", "got 0"}},
      {"alignment 3", aligned(3), {"general.alignment", "got 3"}},
      {"alignment 12", aligned(12), {"general.alignment", "got 12"}},
      {"alignment 2^30", aligned(1u << 30), {"general.alignment", "got 1073741824"}},
      {"alignment 2^32-8", aligned(0xFFFFFFF8), {"general.alignment", "got 4294967288"}},
      {"alignment a string",
       header(0, 1) + value("general.alignment", GgufType::string, text("32")),
       {"general.alignment", "expected u32", "got string \"32\""}},
      {"9 dimensions",
       one_tensor(std::vector<uint64_t>(9, 1), 0),
       {"blk.0.w", "at most 4 dimensions, got 9"}},
      {"2^32-1 dimensions",
       with_data(header(1, 0) + text("blk.0.w") + le(~0u), 64),
       {"blk.0.w", "got 4294967295"}},
      {"dimension 2^64-1",
       one_tensor({~0ull}, 0),
       {"blk.0.w", "below 2^63, got 18446744073709551615"}},
      {"dimensions 2^63-1 x 2",
       one_tensor({max, 2}, 0),
       {"blk.0.w", "shape (2, 9223372036854775807)"}},
      {"dimensions 2^32 x 2^32",
       one_tensor({1ull << 32, 1ull << 32}, 0),
       {"blk.0.w", "shape (4294967296, 4294967296)"}},
      {"bytes wrap 2^64", one_tensor({1ull << 62}, 0), {"blk.0.w", "shape"}},
      {"bytes wrap 2^32",
       one_tensor({1ull << 30}, 0),
       {"blk.0.w", "4294967296 bytes", "cut short"}},
      {"bytes wrap 2^64 in blocks", one_tensor({max - 31}, 8), {"blk.0.w", "shape"}},
      {"row of no whole blocks",
       one_tensor({16, 4}, 2),
       {"blk.0.w", "Q4_0 cannot have shape (4, 16)"}},
      {"bytes past the end",
       one_tensor({17}, 0),
       {"blk.0.w", "68 bytes at offset 0", "64 bytes of data"}},
      {"offset past the end", one_tensor({8}, 0, 64), {"blk.0.w", "at offset 64"}},
      {"offset + size wraps",
       one_tensor({8}, 0, ~0ull - 31),
       {"blk.0.w", "at offset 18446744073709551584"}},
      {"no data", header(1, 0) + w, {"blk.0.w", "0 bytes of data"}},
      {"unaligned offset", one_tensor({4}, 0, 8), {"blk.0.w", "multiple of 32, got 8"}},
      {"tensor twice",
       with_data(header(2, 0) + w + tensor("blk.0.w", {8}, 0, 32), 64),
       {"blk.0.w", "appears twice"}},
      {"tensors overlap",
       with_data(header(2, 0) + tensor("a", {16}, 0, 0) + tensor("b", {8}, 0, 32), 64),
       {"\"b\"", "overlaps"}},
      {"tensors share their bytes",
       with_data(header(2, 0) + tensor("a", {8}, 0, 0) + tensor("b", {8}, 0, 0), 64),
       {"\"b\"", "overlaps"}},
      {"tensor without a name",
       with_data(header(1, 0) + tensor("", {8}, 0, 0), 64),
       {"tensor name of 1 to 65535"}},
      {"name that would forge a log line",
       with_data(header(1, 0) + tensor("a\n\xff", {8}, 7, 0), 64),
       {"\"a\\x0a\\xff\""}},
      {"type Q6_K", one_tensor({256}, 14), {"blk.0.w", "unsupported type Q6_K"}},
      {"type 39", one_tensor({32}, 39), {"blk.0.w", "unsupported type MXFP4"}},
      {"type 999", one_tensor({32}, 999), {"blk.0.w", "unsupported type number 999"}},
      {"a removed type", one_tensor({32}, 4), {"blk.0.w", "unsupported type number 4"}},
      {"cut in the padding", one_tensor({1}, 0, 0, 31), {"padding", "cut short"}},
  };
}

TEST(Gguf, HostileFilesGetAnErrorThatNamesTheFault) {
  const size_t before = peak_rss_bytes();
  for (const Hostile& hostile : hostile_files()) {
    const std::string error = parse_error(hostile.file);
    EXPECT_TRUE(error.starts_with("[files] m.gguf: ")) << hostile.what << ": " << error;
    for (const std::string& part : hostile.says)
      EXPECT_NE(error.find(part), std::string::npos) << hostile.what << ": " << error;
  }
  EXPECT_LT(peak_rss_bytes() - before, 50'000'000);
}

TEST(Gguf, TheSmallestStringBombIs45Bytes) {
  const std::string file = header(0, 1) + text("a") + le(GgufType::string) + le(uint64_t{1} << 63);
  ASSERT_EQ(file.size(), 45);
  EXPECT_NE(parse_error(file).find("cut short"), std::string::npos);
}

// A hole of zeros reads as endless empty strings, keys and names, which the caps keep short.
TEST(Gguf, SparseFilesOfManyGigabytesAreRefusedWithoutReadingThem) {
  const TempDir dir;
  const std::vector<std::string> heads = {
      header(kHuge, 0),
      header(0, kHuge),
      header(60'000, 0),
      header(0, 60'000),
      header(0, 1) + array("a", GgufType::string, 1ull << 32, ""),
      header(0, 2) + array("a", GgufType::string, 5'000'000, ""),
      header(0, 1) + array("a", GgufType::u8, 1ull << 35, ""),
      header(0, 1) + text("a") + le(GgufType::string) + le(1ull << 35),
  };
  const size_t before = peak_rss_bytes();
  for (const std::string& head : heads) {
    const auto path = dir.write("sparse.gguf", head);
    std::filesystem::resize_file(path, 1ull << 36);
    const MappedFile file(path);
    EXPECT_NE(error_of([&] { parse_gguf(file.bytes(), "m.gguf"); }), "");
  }
  EXPECT_LT(peak_rss_bytes() - before, 50'000'000);
}

TEST(Gguf, EveryTruncationIsRefused) {
  const std::string padded = read_text(testdata("plain.gguf"));
  const std::string bare = read_text(testdata("mlx.gguf"));
  for (size_t n = 0; n < bare.size(); ++n) EXPECT_NE(parse_error(bare.substr(0, n)), "") << n;
  for (size_t n = 0; n < padded.size(); ++n) {
    const bool whole =
        n + 28 == padded.size();  // ends with a float and its padding, which a writer may leave out
    EXPECT_EQ(parse_error(padded.substr(0, n)).empty(), whole) << n;
  }
}

TEST(Gguf, NoChangedByteCrashesTheReader) {
  const std::string good = read_text(testdata("mlx.gguf"));
  for (size_t i = 0; i < good.size(); ++i) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ change);
      parse_error(bad);  // an Error or a value; anything else fails the test
    }
  }
}

TEST(Gguf, DimensionsTurnRoundAndTensorsComeInOrderOfTheirBytes) {
  const std::string file =
      with_data(header(3, 0) + tensor("late", {2, 3}, 0, 64) + tensor("early", {32, 1}, 8, 0) +
                    tensor("scalar", {}, 0, 96),
                100);
  const auto tensors = parse_gguf(bytes_of(file), "m.gguf").tensors;
  ASSERT_EQ(tensors.size(), 3);
  EXPECT_EQ(tensors[0].name, "early");
  EXPECT_EQ(tensors[0].dtype, DType::q8_0);
  EXPECT_EQ(tensors[0].bytes.size(), 34);
  EXPECT_EQ(tensors[1].shape, (std::vector<int64_t>{3, 2}));
  EXPECT_TRUE(tensors[2].shape.empty());
  EXPECT_EQ(tensors[2].bytes.data() + 4, bytes_of(file).data() + file.size());
}

TEST(Gguf, AnyMultipleOf8Aligns) {
  std::string file =
      header(1, 1) + value("general.alignment", GgufType::u32, le(24u)) + tensor("w", {1}, 0, 24);
  file.resize((file.size() + 23) / 24 * 24);
  file += std::string(28, 'd');
  EXPECT_EQ(parse_error(file), "");
}

}  // namespace
}  // namespace mlxforge
