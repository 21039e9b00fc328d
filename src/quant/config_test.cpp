#include "quant/config.h"

#include <gtest/gtest.h>

#include "files/test_support.h"

namespace mlxforge {
namespace {

QuantConfig read(const char* quantization) {
  return QuantConfig(Json{{"quantization", Json::parse(quantization)}});
}
std::string error(const char* quantization) {
  return error_of([&] { read(quantization); });
}

TEST(QuantConfig, AbsentMeansNotQuantised) {
  for (const Json& config : {Json::object(), Json{{"quantization", nullptr}}}) {
    EXPECT_FALSE(QuantConfig(config).present());
    EXPECT_EQ(QuantConfig(config).for_layer("model.embed_tokens").bits, 0);
  }
}

TEST(QuantConfig, EveryWidthAndGroup) {
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    for (const int group : {32, 64, 128}) {
      const Json object = {{"bits", bits}, {"group_size", group}, {"mode", "affine"}};
      for (const char* key : {"quantization", "quantization_config"}) {
        const QuantConfig config(Json{{key, object}});
        EXPECT_TRUE(config.present());
        EXPECT_EQ(config.for_layer("any").bits, bits);
        EXPECT_EQ(config.for_layer("any").group, group);
      }
    }
  }
}

TEST(QuantConfig, LayersMayDiffer) {
  const auto config = read(R"({"bits": 4, "group_size": 64,
      "lm_head": {"bits": 8, "group_size": 32},
      "model.layers.0.self_attn.v_proj": false,
      "model.layers.1.self_attn.v_proj": true})");
  EXPECT_EQ(config.for_layer("lm_head").bits, 8);
  EXPECT_EQ(config.for_layer("lm_head").group, 32);
  EXPECT_EQ(config.for_layer("model.layers.0.self_attn.v_proj").bits, 0);
  EXPECT_EQ(config.for_layer("model.layers.1.self_attn.v_proj").bits, 4);
  EXPECT_EQ(config.for_layer("model.layers.0.self_attn.v_pro").bits, 4);
  EXPECT_EQ(config.for_layer("model.embed_tokens").group, 64);
}

TEST(QuantConfig, TheTwoKeysAgree) {
  const Json four = {{"bits", 4}, {"group_size", 32}}, eight = {{"bits", 8}, {"group_size", 32}};
  const auto config = [](const Json& first, const Json& second) {
    return QuantConfig(Json{{"quantization", first}, {"quantization_config", second}});
  };
  EXPECT_EQ(config(four, four).for_layer("x").bits, 4);
  EXPECT_EQ(config(nullptr, eight).for_layer("x").bits, 8);
  EXPECT_THROW(config(four, eight), Error);
}

struct Refused {
  const char* object;
  const char* says;
};

TEST(QuantConfig, RefusesByName) {
  const Refused cases[] = {
      {R"({"bits": 7, "group_size": 64})",
       "quantization bits to be one of 2, 3, 4, 5, 6, 8; got 7"},
      {R"({"bits": 1, "group_size": 64})", "got 1"},
      {R"({"bits": "4", "group_size": 64})", "got \"4\""},
      {R"({"bits": 4.0, "group_size": 64})", "got 4.0"},
      {R"({"bits": 4, "group_size": 16})", "group_size to be one of 32, 64, 128; got 16"},
      {R"({"bits": 4, "group_size": -64})", "got -64"},
      {R"({"bits": 4})", "group_size to be one of 32, 64, 128; got nothing"},
      {R"({"group_size": 64})", "got nothing"},
      {R"({"bits": 4, "group_size": 32, "mode": "mxfp4"})", "mode \"affine\", got \"mxfp4\""},
      {R"({"bits": 4, "group_size": 64, "mode": null})", "null"},
      {R"({"bits": 4, "group_size": 64, "lm_head": {"bits": 9, "group_size": 64}})", "got 9"},
      {R"({"bits": 4, "group_size": 64, "lm_head": {"mode": "nvfp4"}})", "nvfp4"},
      {R"({"bits": 4, "group_size": 64, "scheme": "odd"})", "'scheme'"},
      {R"({"bits": 4, "group_size": 64, "lm_head": {"bits": 8, "group_size": 64, "zero_point": 3}})",
       "of lm_head to have bits, group_size and mode, got 'zero_point'"},
      {R"({"bits": 4, "group_size": 64, "lm_head": 8})", "'lm_head'"},
      {R"({"quant_method": "gptq", "bits": 4, "group_size": 128})", "\"gptq\""},
      {R"({"quant_method": "awq", "bits": 4, "group_size": 128})", "\"awq\""},
      {R"({"quant_method": "fp8"})", "\"fp8\""},
      {R"({"quant_method": "bitsandbytes", "load_in_4bit": true})", "\"bitsandbytes\""},
      {R"([4, 64])", "to be an object"},
      {R"("4bit")", "to be an object"},
  };
  for (const auto& [object, says] : cases) {
    EXPECT_NE(error(object).find(says), std::string::npos) << object << ": " << error(object);
  }
}

}  // namespace
}  // namespace mlxforge
