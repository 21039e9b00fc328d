// GGUF's names for what Hugging Face configs and checkpoints hold
// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, and the tensor tables of the gguf
// Python package).
#pragma once

#include <string>
#include <string_view>

#include "files/model_folder.h"

namespace mlxforge {

// A config in Hugging Face's form. Error for an architecture that is not known, and for a key of it
// that is not understood. The file's tensors tell whether there are biases.
Json gguf_config(const GgufMetadata& metadata, const WeightFiles& weights);

// "model.layers.3.self_attn.q_proj.weight" -> "blk.3.attn_q.weight"; a name it does not know comes
// back unchanged.
std::string gguf_tensor_name(std::string_view name);

}  // namespace mlxforge
