#include "files/model_folder.h"

#include "files/test_support.h"

namespace mlxforge {
namespace {

// A safetensors file of u8 vectors, 4 bytes each.
std::string shard(const std::vector<std::string>& names) {
  std::string json = "{";
  for (size_t i = 0; i < names.size(); ++i)
    json += str(i ? "," : "", '"', names[i], R"(":{"dtype":"U8","shape":[4],"data_offsets":[)",
                4 * i, ",", 4 * i + 4, "]}");
  json += "}";
  std::string data;
  for (const std::string& name : names) data += std::string(4, name.back());
  return le(uint64_t{json.size()}) + json + data;
}

std::string index(const std::vector<std::pair<std::string, std::string>>& map) {
  std::string json = R"({"metadata": {"total_size": 8}, "weight_map": {)";
  for (size_t i = 0; i < map.size(); ++i)
    json += str(i ? "," : "", '"', map[i].first, "\":\"", map[i].second, '"');
  return json + "}}";
}

constexpr char kIndex[] = "model.safetensors.index.json";

class ModelFolder : public testing::Test {
 protected:
  ModelFolder() { write("config.json", R"({"model_type": "llama"})"); }
  void write(const std::string& name, const std::string& content) { dir_.write(name, content); }
  void expect_error(std::initializer_list<std::string> parts) const {
    const std::string error = error_of([&] { open_model(dir_.path()); });
    EXPECT_TRUE(error.starts_with("[files] ")) << error;
    for (const std::string& part : parts) EXPECT_NE(error.find(part), std::string::npos) << error;
  }
  void write_two_shards() {
    write("s1.safetensors", shard({"a", "b"}));
    write("s2.safetensors", shard({"c"}));
    write(kIndex,
          index({{"a", "s1.safetensors"}, {"b", "s1.safetensors"}, {"c", "s2.safetensors"}}));
  }

  TempDir dir_;
};

TEST_F(ModelFolder, SingleFileWithItsDocuments) {
  write("model.safetensors", shard({"a", "b"}));
  write("other.safetensors", shard({"a"}));  // model.safetensors stands for the whole model
  write("generation_config.json", R"({"eos_token_id": [1, 2]})");
  write("chat_template.jinja", "{{ x }}\n");
  write("tokenizer.json", "{}");
  const ModelFiles model = open_model(dir_.path());
  EXPECT_EQ(model.name, dir_.path().filename());
  EXPECT_EQ(model.config["model_type"], "llama");
  EXPECT_EQ(model.generation_config["eos_token_id"][1], 2);
  EXPECT_TRUE(model.tokenizer_config.is_null());
  EXPECT_TRUE(model.special_tokens_map.is_null());
  EXPECT_EQ(model.chat_template, "{{ x }}\n");
  EXPECT_EQ(model.tokenizer_json, dir_ / "tokenizer.json");
  EXPECT_FALSE(model.gguf);
  ASSERT_EQ(model.weights.tensors().size(), 2);
  EXPECT_EQ(static_cast<char>(model.weights.at("b").bytes[3]), 'b');
  EXPECT_EQ(model.weights.find("c"), nullptr);
  EXPECT_EQ(model.weights.total_bytes(), 8);
  EXPECT_NE(error_of([&] { model.weights.at("lm_head.weight"); }).find("\"lm_head.weight\""),
            std::string::npos);
}

TEST_F(ModelFolder, ViewsSurviveMovesAndRelease) {
  write("model.safetensors", shard({"a", "b"}));
  ModelFiles first = open_model(dir_.path());
  const TensorView* tensor = first.weights.find("b");
  const ModelFiles second = std::move(first);
  EXPECT_EQ(second.weights.find("b"), tensor);
  second.weights.release(*tensor);
  EXPECT_EQ(static_cast<char>(tensor->bytes[0]), 'b');
}

TEST_F(ModelFolder, IndexNamesTheShardsAndStrayFilesAreIgnored) {
  write_two_shards();
  write("stray.safetensors", "not safetensors at all");
  const ModelFiles model = open_model(dir_.path());
  EXPECT_EQ(model.weights.tensors().size(), 3);
  EXPECT_EQ(model.weights.file_of(model.weights.at("c")).path().filename(), "s2.safetensors");
}

TEST_F(ModelFolder, WithoutAnIndexEveryFileCounts) {
  write("s1.safetensors", shard({"a", "b"}));
  write("s2.safetensors", shard({"c"}));
  EXPECT_EQ(open_model(dir_.path()).weights.tensors().size(), 3);
  write("._s1.safetensors", "a Mac was here");
  EXPECT_EQ(open_model(dir_.path()).weights.tensors().size(), 3);
  write("s3.safetensors", shard({"b"}));
  expect_error({"\"b\"", "s1.safetensors", "s3.safetensors"});
}

TEST_F(ModelFolder, LinksOnDiskAreFollowed) {
  const TempDir blobs;  // as the hub's cache keeps them
  blobs.write("0123", shard({"a"}));
  std::filesystem::create_symlink(blobs / "0123", dir_ / "s1.safetensors");
  write(kIndex, index({{"a", "s1.safetensors"}}));
  EXPECT_NE(open_model(dir_.path()).weights.find("a"), nullptr);
  std::filesystem::remove(blobs / "0123");
  expect_error({"s1.safetensors"});
}

TEST_F(ModelFolder, BrokenIndexes) {
  write_two_shards();
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[]", "JSON object"},
      {"{}", "weight_map"},
      {R"({"weight_map": []})", "weight_map"},
      {R"({"weight_map": {}})", "at least one"},
      {R"({"weight_map": {"a": 1}})", "\"a\""},
      {R"({"weight_map": {"a": "s1.safetensors", "a": "s2.safetensors"}})", "\"a\" appears twice"},
      {index({{"a", "../../x.safetensors"}}),
       "plain file names in weight_map, got \"../../x.safetensors\""},
      {index({{"a", "/etc/passwd"}}), "got \"/etc/passwd\""},
      {index({{"a", "sub/s1.safetensors"}}), "got \"sub/s1.safetensors\""},
      {index({{"a", "..\\\\s1.safetensors"}}), "plain file names"},
      {index({{"a", ".."}}), "got \"..\""},
      {index({{"a", ""}}), "got \"\""},
      {index({{"a", "s1.safetensors\\u0000"}}), "plain file names"},
      {index({{"a", "s9.safetensors"}}), "\"s9.safetensors\", which is not in the folder"},
      {index({{"a", "s2.safetensors"}}), "tensor \"a\" is not in \"s2.safetensors\""},
      {index({{"a", "s1.safetensors"}, {"d", "s2.safetensors"}}),
       "tensor \"d\" is not in \"s2.safetensors\""},
      {index({{"a", "s2.safetensors"}, {"b", "s1.safetensors"}}),
       "tensor \"a\" is not in \"s2.safetensors\""},
  };
  for (const auto& [text, says] : cases) {
    write(kIndex, text);
    expect_error({kIndex, says});
  }
}

TEST_F(ModelFolder, AnIndexAloneNamesWhatIsMissing) {
  write(kIndex, index({{"a", "s1.safetensors"}}));
  expect_error({kIndex, "\"s1.safetensors\""});
}

TEST_F(ModelFolder, AShardCutShortIsNamed) {
  write_two_shards();
  std::filesystem::resize_file(dir_ / "s2.safetensors",
                               std::filesystem::file_size(dir_ / "s2.safetensors") - 1);
  expect_error({"s2.safetensors", "\"c\"", "cut short"});
  std::filesystem::resize_file(dir_ / "s2.safetensors", 0);
  expect_error({"s2.safetensors", "is empty"});
}

TEST_F(ModelFolder, CodeNamedByTheConfigIsNeitherRunNorRead) {
  const auto proof = dir_ / "ran";
  write("model.py", str("open('", proof.string(), "', 'w')"));
  write(
      "config.json",
      R"({"model_type": "llama", "model_file": "model.py", "auto_map": {"AutoModel": "model.Model"}})");
  write("model.safetensors", shard({"a"}));
  EXPECT_NE(open_model(dir_.path()).weights.find("a"), nullptr);
  EXPECT_FALSE(std::filesystem::exists(proof));
}

TEST_F(ModelFolder, DocumentsMustBeObjects) {
  write("model.safetensors", shard({"a"}));
  for (const std::string name : {"config.json", "generation_config.json", "tokenizer_config.json",
                                 "special_tokens_map.json"}) {
    for (const std::string text : {"[]", "{", "{\"a\":1,\"a\":2}"}) {
      write(name, text);
      expect_error({name});
    }
    write(name, "{}");
  }
  EXPECT_EQ(error_of([&] { open_model(dir_.path()); }), "");
  std::filesystem::remove(dir_ / "config.json");
  expect_error({dir_.path().string(), "config.json"});
}

TEST(ModelFile, GgufByItselfOrAloneInAFolder) {
  const TempDir dir;
  dir.write("Tiny-Q4.1.gguf", read_text(testdata("plain.gguf")));
  const ModelFiles file = open_model(dir / "Tiny-Q4.1.gguf");
  EXPECT_EQ(file.name, "Tiny-Q4.1");
  EXPECT_TRUE(file.gguf);
  EXPECT_TRUE(file.config.is_null());
  EXPECT_EQ(file.gguf->get<uint32_t>("test.u8"), 255);
  EXPECT_EQ(file.weights.at("vector").n_elements(), 1);

  const ModelFiles folder = open_model(dir.path() / "");  // with a slash at the end
  EXPECT_EQ(folder.name, dir.path().filename());
  EXPECT_EQ(folder.weights.tensors().size(), file.weights.tensors().size());

  dir.write("second.gguf", "");
  const std::string error = error_of([&] { open_model(dir.path()); });
  EXPECT_NE(error.find("one .gguf file, got 2"), std::string::npos) << error;
}

TEST(ModelFile, PartsOfASplitGgufAreRefused) {
  const TempDir dir;
  const std::string key = "split.count";
  const std::string file = "GGUF" + le(3u) + le(uint64_t{0}) + le(uint64_t{1}) +
                           le(uint64_t{key.size()}) + key + le(2u) + le(uint16_t{3});
  const auto path = dir.write("m-00001-of-00003.gguf", file);
  EXPECT_NE(error_of([&] { open_model(path); }).find("split"), std::string::npos);
}

TEST(ModelFile, WhatIsNoModelIsRefusedWithWhatToGiveInstead) {
  const TempDir dir;
  const std::vector<std::pair<std::filesystem::path, std::string>> cases = {
      {"mlx-community/Llama-3.2-1B-Instruct-4bit", "hub ids are not supported yet"},
      {"./mlx-community/x", "does not exist"},
      {dir / "none", "does not exist"},
      {"none", "does not exist"},
      {"models/none.gguf", "does not exist"},
      {"/etc/passwd/none", "/etc/passwd/none"},
      {"", "does not exist"},
      {dir.path(), "got neither"},
      {dir.write("notes.txt", "x"), "a model folder or a .gguf file"},
  };
  for (const auto& [path, says] : cases) {
    const std::string error = error_of([&] { open_model(path); });
    EXPECT_NE(error.find(says), std::string::npos) << path << ": " << error;
    EXPECT_NE(error.find(".gguf"), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace mlxforge
