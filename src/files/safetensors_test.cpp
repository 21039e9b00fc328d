#include "files/safetensors.h"

#include "files/mmap.h"
#include "files/test_support.h"

namespace mlxforge {
namespace {

std::string with_header(const std::string& json, size_t n_data = 0) {
  return le(uint64_t{json.size()}) + json + std::string(n_data, 'd');
}
// One tensor "w" with this entry.
std::string one(const std::string& entry, size_t n_data) {
  return with_header("{\"w\": " + entry + "}", n_data);
}
std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return "{\"dtype\": \"" + dtype + "\", \"shape\": " + shape + ", \"data_offsets\": " + offsets +
         "}";
}

std::string parse_error(const std::string& file) {
  return error_of([&] { parse_safetensors(bytes_of(file), "m.safetensors"); });
}

struct Hostile {
  std::string what;
  std::string file;
  std::vector<std::string> says;
};

std::vector<Hostile> hostile_files() {
  const std::string a = R"({"a": )" + entry("F32", "[2]", "[0, 8]");
  const std::string deep = std::string(100'000, '[');
  return {
      {"empty", "", {"only 0 bytes"}},
      {"7 bytes", le(uint64_t{2}).substr(0, 7), {"only 7 bytes"}},
      {"header length 0", with_header(""), {"JSON object as header"}},
      {"header length 7 of no object", with_header("1234567"), {"JSON object as header"}},
      {"header length the file's size", le(uint64_t{10}) + "{}", {"claims 10 bytes, but only 2"}},
      {"header length 2^64-1", le(~0ull) + "{}", {"at most 100000000", "got 18446744073709551615"}},
      {"header length 2^64-8", le(~0ull - 7) + "{}", {"got 18446744073709551608"}},
      {"header over 100 MB", le(uint64_t{100'000'001}) + "{}", {"got 100000001"}},
      {"header an array", with_header("[]"), {"JSON object as header"}},
      {"header behind a space", with_header(" {}"), {"JSON object as header"}},
      {"header cut short", with_header("{\"a\": "), {"(header)", "syntax error"}},
      {"header padded with NUL",
       with_header(std::string("{}\0\0", 4)),
       {"(header)", "syntax error"}},
      {"nested 100k deep", one(deep, 0), {"levels deep"}},
      {"tensor twice",
       with_header(a + R"(, "a": )" + entry("F32", "[2]", "[8, 16]") + "}", 16),
       {"\"a\" appears twice"}},
      {"dtype twice",
       one(R"({"dtype": "F32", "dtype": "I8", "shape": [4], "data_offsets": [0, 4]})", 4),
       {"\"dtype\" appears twice"}},
      {"entry a number", one("5", 0), {"\"w\"", "expected an object"}},
      {"no dtype", one(R"({"shape": [1], "data_offsets": [0, 4]})", 4), {"\"w\"", "string dtype"}},
      {"no shape", one(R"({"dtype": "F32", "data_offsets": [0, 4]})", 4), {"\"w\"", "array shape"}},
      {"no offsets", one(R"({"dtype": "F32", "shape": [1]})", 4), {"\"w\"", "array data_offsets"}},
      {"unknown dtype",
       one(entry("F7", "[1]", "[0, 4]"), 4),
       {"\"w\"", "unsupported dtype \"F7\""}},
      {"dtype of the format, not ours",
       one(entry("F8_E4M3", "[4]", "[0, 4]"), 4),
       {"\"w\"", "unsupported dtype \"F8_E4M3\""}},
      {"dtype of another format",
       one(entry("Q4_0", "[32]", "[0, 18]"), 18),
       {"\"w\"", "unsupported dtype \"Q4_0\""}},
      {"backward offsets",
       one(entry("F32", "[2]", "[8, 0]"), 8),
       {"\"w\"", "run backwards: [8, 0]"}},
      {"one offset", one(entry("F32", "[2]", "[8]"), 8), {"\"w\"", "two data_offsets, got 1"}},
      {"three offsets", one(entry("F32", "[2]", "[0, 8, 8]"), 8), {"\"w\"", "got 3"}},
      {"negative offset", one(entry("F32", "[2]", "[-8, 0]"), 8), {"\"w\"", "data_offsets"}},
      {"offset 2^64",
       one(entry("F32", "[2]", "[0, 18446744073709551616]"), 8),
       {"\"w\"", "data_offsets"}},
      {"offset a fraction", one(entry("F32", "[2]", "[0, 8.0]"), 8), {"\"w\"", "data_offsets"}},
      {"offsets past the end",
       one(entry("F32", "[2]", "[0, 8]"), 7),
       {"\"w\"", "end at 8", "7 bytes of data"}},
      {"shape larger than its bytes",
       one(entry("F32", "[1000, 1000]", "[0, 4]"), 4),
       {"\"w\"", "F32 of shape (1000, 1000)", "4 bytes"}},
      {"shape smaller than its bytes",
       one(entry("F32", "[1]", "[0, 8]"), 8),
       {"\"w\"", "F32 of shape (1)", "8 bytes"}},
      {"negative dimension", one(entry("F32", "[-1]", "[0, 4]"), 4), {"\"w\"", "shape"}},
      {"two negative dimensions", one(entry("F32", "[-1, -1]", "[0, 4]"), 4), {"\"w\"", "shape"}},
      {"dimension a string", one(entry("F32", "[\"1\"]", "[0, 4]"), 4), {"\"w\"", "shape"}},
      {"dimension 2^63",
       one(entry("U8", "[9223372036854775808]", "[0, 4]"), 4),
       {"\"w\"", "shape"}},
      {"bytes wrap to 0",
       one(entry("F32", "[4611686018427387904]", "[0, 0]"), 0),
       {"\"w\"", "of shape"}},
      {"elements wrap to 1",
       one(entry("U8", "[4294967296, 4294967296]", "[0, 0]"), 0),
       {"\"w\"", "of shape"}},
      {"the same range twice",
       with_header(a + R"(, "b": )" + entry("F32", "[2]", "[0, 8]") + "}", 8),
       {"\"b\" overlaps"}},
      {"partial overlap",
       with_header(a + R"(, "b": )" + entry("F32", "[2]", "[4, 12]") + "}", 12),
       {"\"b\" overlaps"}},
      {"hole",
       with_header(a + R"(, "b": )" + entry("F32", "[2]", "[12, 20]") + "}", 20),
       {"4 bytes before tensor \"b\""}},
      {"hole at the start",
       one(entry("F32", "[2]", "[4, 12]"), 12),
       {"4 bytes before tensor \"w\""}},
      {"trailing bytes", one(entry("F32", "[2]", "[0, 8]"), 9), {"1 bytes after the last tensor"}},
      {"data without tensors", with_header("{}", 3), {"3 bytes after the last tensor"}},
      {"__metadata__ an array", with_header(R"({"__metadata__": ["pt"]})"), {"__metadata__"}},
      {"__metadata__ of numbers",
       with_header(R"({"__metadata__": {"format": 1}})"),
       {"__metadata__"}},
  };
}

TEST(Safetensors, HostileFilesGetAnErrorThatNamesTheFault) {
  const size_t before = peak_rss_bytes();
  for (const Hostile& hostile : hostile_files()) {
    const std::string error = parse_error(hostile.file);
    EXPECT_TRUE(error.starts_with("[files] m.safetensors")) << hostile.what << ": " << error;
    for (const std::string& part : hostile.says)
      EXPECT_NE(error.find(part), std::string::npos) << hostile.what << ": " << error;
  }
  EXPECT_LT(peak_rss_bytes() - before, 50'000'000);
}

TEST(Safetensors, SparseFilesAreRefusedWithoutReadingThem) {
  const TempDir dir;
  const size_t before = peak_rss_bytes();
  for (const std::string& head :
       {le(uint64_t{99'000'000}), le(uint64_t{2}) + "{}", le(uint64_t{99'000'000}) + "{"}) {
    const auto path = dir.write("sparse.safetensors", head);
    std::filesystem::resize_file(path, 1ull << 36);
    const MappedFile file(path);
    EXPECT_NE(error_of([&] { parse_safetensors(file.bytes(), "m"); }), "");
  }
  EXPECT_LT(peak_rss_bytes() - before, 50'000'000);
}

TEST(Safetensors, EveryTruncationIsRefused) {
  for (const char* name : {"plain.safetensors", "mlx.safetensors"}) {
    const std::string good = read_text(testdata(name));
    for (size_t n = 0; n < good.size(); ++n) EXPECT_NE(parse_error(good.substr(0, n)), "") << n;
  }
}

TEST(Safetensors, NoChangedByteCrashesTheReader) {
  const std::string good = read_text(testdata("mlx.safetensors"));
  for (size_t i = 0; i < good.size(); ++i) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ change);
      parse_error(bad);  // an Error or a value; anything else fails the test
    }
  }
}

TEST(Safetensors, TensorsComeInOrderOfTheirBytes) {
  const std::string file = with_header("{\"a\": " + entry("U8", "[3]", "[4, 7]") +
                                           ", \"empty\": " + entry("F32", "[0, 4]", "[4, 4]") +
                                           ", \"z\": " + entry("I32", "[]", "[0, 4]") + "}",
                                       7);
  const auto tensors = parse_safetensors(bytes_of(file), "m");
  ASSERT_EQ(tensors.size(), 3);
  EXPECT_EQ(tensors[0].name, "z");
  EXPECT_EQ(tensors[1].name, "empty");
  EXPECT_EQ(tensors[1].n_elements(), 0);
  EXPECT_EQ(tensors[2].name, "a");
}

TEST(Safetensors, AFileWithoutTensorsIsValid) { EXPECT_EQ(parse_error(with_header("{}   ")), ""); }

// mx.save_safetensors writes null where it is given no metadata.
TEST(Safetensors, MetadataMayBeNull) {
  EXPECT_EQ(parse_error(with_header(R"({"__metadata__":null})")), "");
}

}  // namespace
}  // namespace mlxforge
