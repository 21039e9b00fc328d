#include "models/checkpoint.h"

#include <gtest/gtest.h>

#include "models/testing.h"

namespace mlxforge {
namespace {

using testing::TinyCheckpoint;

class CheckpointTest : public ::testing::Test {
 protected:
  TempDir folder;
  TinyCheckpoint tiny;
};

TEST_F(CheckpointTest, VectorsAreFloatsOfTheRightLength) {
  const ModelFiles files = tiny.open(folder);
  Checkpoint checkpoint(files);
  EXPECT_EQ(checkpoint.vector("model.norm.weight", 32),
            tiny.tensors.at("model.norm.weight").values);
  const auto message = error_of([&] { checkpoint.vector("model.norm.weight", 33); });
  EXPECT_NE(message.find("model.norm.weight to be 33 floats, got F32(32)"), std::string::npos)
      << message;
  EXPECT_NE(error_of([&] { checkpoint.vector("model.norm.bias", 32); }).find("model.norm.bias"),
            std::string::npos);
}

TEST_F(CheckpointTest, TensorsNobodyAskedForAreAnError) {
  const ModelFiles files = tiny.open(folder);
  Checkpoint checkpoint(files);
  for (const auto& [name, tensor] : tiny.tensors) {
    EXPECT_NE(error_of([&] { checkpoint.check_all_used(); }), "");
    if (name == "model.norm.weight") {
      checkpoint.ignore(name);
    } else if (name.ends_with("norm.weight")) {
      checkpoint.vector(name, 32);
    } else {
      checkpoint.matrix(name.substr(0, name.size() - strlen(".weight")));
    }
  }
  EXPECT_EQ(error_of([&] { checkpoint.check_all_used(); }), "");
}

TEST_F(CheckpointTest, ScalesNeedAConfigThatExplainsThem) {
  tiny.add("model.layers.0.mlp.up_proj.scales", {48, 1});
  tiny.add("model.layers.0.mlp.up_proj.biases", {48, 1});
  const auto error = [&] {
    const ModelFiles files = tiny.open(folder);
    return error_of([&] { Checkpoint(files).matrix("model.layers.0.mlp.up_proj"); });
  };
  EXPECT_NE(error().find("model.layers.0.mlp.up_proj, which has scales"), std::string::npos);
  tiny.config["quantization"] = {
      {"bits", 4}, {"group_size", 32}, {"model.layers.0.mlp.up_proj", false}};
  EXPECT_NE(error().find("model.layers.0.mlp.up_proj, which has scales"), std::string::npos);
  tiny.config["quantization"] = {{"bits", 4}, {"group_size", 32}};
  EXPECT_EQ(error(), "");
  const ModelFiles files = tiny.open(folder);
  const WeightSource source = Checkpoint(files).matrix("model.layers.0.mlp.up_proj");
  EXPECT_EQ(source.bits, 4);
  EXPECT_EQ(source.group, 32);
  EXPECT_EQ(source.scales->name, "model.layers.0.mlp.up_proj.scales");
  EXPECT_EQ(source.biases->name, "model.layers.0.mlp.up_proj.biases");
  tiny.tensors.erase("model.layers.0.mlp.up_proj.biases");
  EXPECT_NE(error().find("model.layers.0.mlp.up_proj.biases"), std::string::npos);
}

TEST_F(CheckpointTest, TheEmbeddingTellsTheDtype) {
  {
    const ModelFiles files = tiny.open(folder);
    EXPECT_EQ(Checkpoint(files).float_dtype(), DType::f32);
  }
  tiny.dtype = DType::bf16;
  const ModelFiles files = tiny.open(folder);
  EXPECT_EQ(Checkpoint(files).float_dtype(), DType::bf16);
  EXPECT_EQ(Checkpoint(files).kv_dtype(), DType::bf16);
}

}  // namespace
}  // namespace mlxforge
