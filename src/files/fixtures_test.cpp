// What the formats' own Python packages wrote (reference/make_file_fixtures.py), by its manifests.
#include <map>

#include "files/gguf.h"
#include "files/json.h"
#include "files/mmap.h"
#include "files/safetensors.h"
#include "files/test_support.h"

namespace mlxforge {
namespace {

std::string hex(std::span<const std::byte> bytes) {
  std::string out;
  for (const std::byte b : bytes) {
    out += "0123456789abcdef"[static_cast<int>(b) >> 4];
    out += "0123456789abcdef"[static_cast<int>(b) & 15];
  }
  return out;
}

void expect_tensors(const std::vector<TensorView>& tensors, const Json& expected) {
  std::map<std::string, const TensorView*> by_name;
  for (const TensorView& tensor : tensors) by_name[tensor.name] = &tensor;
  ASSERT_EQ(by_name.size(), expected.size());
  for (const Json& row : expected) {
    const auto name = row["name"].get<std::string>();
    ASSERT_TRUE(by_name.contains(name)) << name;
    EXPECT_EQ(dtype_name(by_name[name]->dtype), row["dtype"].get<std::string>()) << name;
    EXPECT_EQ(by_name[name]->shape, row["shape"].get<std::vector<int64_t>>()) << name;
    EXPECT_EQ(hex(by_name[name]->bytes), row["hex"].get<std::string>()) << name;
  }
}

template <class T>
void expect_array(const GgufMetadata& metadata, const std::string& key, const Json& expected) {
  const std::vector<T> got = metadata.array<T>(key);
  ASSERT_EQ(got.size(), expected.size()) << key;
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(T(got[i]), expected[i].get<T>()) << key;
}

void expect_value(const GgufMetadata& metadata, const std::string& key, const std::string& type,
                  const Json& expected) {
  const Json& sample = type == "ARRAY" ? expected[0] : expected;
  if (type == "ARRAY" && sample.is_string())
    return expect_array<std::string_view>(metadata, key, expected);
  if (type == "ARRAY" && sample.is_boolean()) return expect_array<bool>(metadata, key, expected);
  if (type == "ARRAY" && sample.is_number_integer())
    return expect_array<int32_t>(metadata, key, expected);
  if (type == "ARRAY") return expect_array<float>(metadata, key, expected);
  if (sample.is_string())
    EXPECT_EQ(metadata.get<std::string_view>(key), expected.get<std::string>());
  else if (sample.is_boolean())
    EXPECT_EQ(metadata.get<bool>(key), expected.get<bool>());
  else if (sample.is_number_unsigned())
    EXPECT_EQ(metadata.get<uint64_t>(key), expected.get<uint64_t>());
  else if (sample.is_number_integer())
    EXPECT_EQ(metadata.get<int64_t>(key), expected.get<int64_t>());
  else
    EXPECT_EQ(metadata.get<double>(key), expected.get<double>());
}

class GgufFixture : public testing::TestWithParam<std::string> {};
class SafetensorsFixture : public testing::TestWithParam<std::string> {};

TEST_P(GgufFixture, EqualsItsManifest) {
  const Json expected = parse_json_file(testdata(GetParam() + ".json"));
  const MappedFile file(testdata(GetParam()));
  const Gguf gguf = parse_gguf(file.bytes(), GetParam());
  EXPECT_EQ(gguf.version, 3);
  expect_tensors(gguf.tensors, expected["tensors"]);
  for (const auto& [key, value] : expected["metadata"].items())
    expect_value(gguf.metadata, key, value[0].get<std::string>(), value[1]);
}

TEST_P(SafetensorsFixture, EqualsItsManifest) {
  const Json expected = parse_json_file(testdata(GetParam() + ".json"));
  const MappedFile file(testdata(GetParam()));
  expect_tensors(parse_safetensors(file.bytes(), GetParam()), expected["tensors"]);
}

INSTANTIATE_TEST_SUITE_P(Files, GgufFixture,
                         testing::Values("plain.gguf", "align64.gguf", "mlx.gguf"));
INSTANTIATE_TEST_SUITE_P(Files, SafetensorsFixture,
                         testing::Values("plain.safetensors", "mlx.safetensors"));

TEST(GgufVersion, TwoHasTheLayoutOfThree) {
  std::string file = read_text(testdata("plain.gguf"));
  file[4] = 2;
  const Json expected = parse_json_file(testdata("plain.gguf.json"));
  const Gguf gguf = parse_gguf(bytes_of(file), "v2");
  EXPECT_EQ(gguf.version, 2);
  expect_tensors(gguf.tensors, expected["tensors"]);
}

}  // namespace
}  // namespace mlxforge
