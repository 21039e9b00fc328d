#include "app/embedding_config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/check.h"

namespace mlxforge {
namespace {

class EmbeddingConfig : public testing::Test {
 protected:
  EmbeddingConfig() { std::filesystem::create_directories(folder_ / "1_Pooling"); }
  ~EmbeddingConfig() override { std::filesystem::remove_all(folder_); }

  void write(const char* name, const Json& json) { std::ofstream(folder_ / name) << json.dump(); }
  EmbeddingModel read() {
    ModelFiles files;
    files.path = folder_;
    return embedding_model(files, 64);
  }
  // As sentence-transformers writes it: every mode, one of them true.
  static Json pooling(const std::vector<std::string>& on) {
    Json out = {{"word_embedding_dimension", 64}, {"include_prompt", true}};
    for (const char* mode : {"cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens",
                             "weightedmean_tokens", "lasttoken"})
      out[std::string("pooling_mode_") + mode] = std::ranges::find(on, mode) != on.end();
    return out;
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      ("embedding_config_" + std::to_string(reinterpret_cast<uintptr_t>(this)));
};

TEST_F(EmbeddingConfig, TheLastTokenWhereNothingIsSaid) {
  const EmbeddingModel model = read();
  EXPECT_FALSE(model.declared);
  EXPECT_TRUE(model.unusable.empty());
  EXPECT_EQ(model.pooling, Pooling::last);
  EXPECT_EQ(model.dimensions, 64);
}

TEST_F(EmbeddingConfig, SentenceTransformersModes) {
  const std::pair<const char*, Pooling> known[] = {
      {"cls_token", Pooling::first}, {"mean_tokens", Pooling::mean}, {"lasttoken", Pooling::last}};
  for (const auto& [mode, expected] : known) {
    write("1_Pooling/config.json", pooling({mode}));
    const EmbeddingModel model = read();
    EXPECT_TRUE(model.declared);
    EXPECT_TRUE(model.unusable.empty());
    EXPECT_EQ(model.pooling, expected);
  }
  const std::vector<std::string> others[] = {
      {}, {"max_tokens"}, {"weightedmean_tokens"}, {"cls_token", "mean_tokens"}};
  for (const auto& modes : others) {
    write("1_Pooling/config.json", pooling(modes));
    EXPECT_NE(read().unusable.find("1_Pooling/config.json"), std::string::npos);
  }
}

TEST_F(EmbeddingConfig, ModulesThatChangeTheVector) {
  write("1_Pooling/config.json", pooling({"mean_tokens"}));
  const auto module = [](const char* type) {
    return Json{{"type", str("sentence_transformers.models.", type)}, {"path", "x"}};
  };
  write("modules.json", {module("Transformer"), module("Pooling"), module("Normalize")});
  EXPECT_TRUE(read().unusable.empty());
  write("modules.json", {module("Transformer"), module("Pooling"), module("Dense")});
  EXPECT_NE(read().unusable.find("models.Dense"), std::string::npos);
  write("modules.json", Json::object());
  EXPECT_THROW(read(), Error);
}

}  // namespace
}  // namespace mlxforge
