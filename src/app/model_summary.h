// What `inspect` says about a model, a fact a line. No weight is read.
#pragma once

#include <string>

#include "base/options.h"
#include "files/model_folder.h"

namespace mlxforge {

std::string describe_files(const ModelFiles& files);

// Size, shape and cost of a token in the KV cache. Throws Error for a model that cannot be run.
std::string describe_model(const ModelFiles& files, const EngineOptions& options);

// Tokenizer and chat template. Throws Error for those that cannot be used.
std::string describe_text(const ModelFiles& files);

}  // namespace mlxforge
