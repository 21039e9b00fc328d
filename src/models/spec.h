// A model as data. families/<name>.cpp maps a config to a ModelSpec; the one Decoder runs any of
// them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/paged_attention.h"
#include "kernels/rope_append.h"
#include "kernels/weight.h"

namespace mlxforge {

struct AttentionSpec {
  AttentionShape shape;
  Rope rope;
  float scale = 0;    // of q k^T
  int window = 0;     // positions a query sees, itself counted; 0: all
  float softcap = 0;  // 0: none
  bool qkv_bias = false;
  bool output_bias = false;
};

struct FeedForwardSpec {
  int d_ff = 0;
  Activation act = Activation::silu;
  bool bias = false;
};

struct LayerSpec {
  AttentionSpec attention;
  FeedForwardSpec feed_forward;
};

struct ModelSpec {
  std::string family;
  int d_model = 0;
  int vocab = 0;    // rows of the embedding
  int max_ctx = 0;  // positions the model was made for
  NormKind norm = NormKind::rms;
  float norm_eps = 0;
  float embed_scale = 1;
  float logit_softcap = 0;
  std::optional<bool>
      tied;  // the head is the embedding; unsaid: it is when the checkpoint has no head
  std::vector<LayerSpec> layers;
};

}  // namespace mlxforge
