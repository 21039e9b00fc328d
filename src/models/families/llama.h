// Llama 1, 2, 3, 3.1, 3.2, SmolLM2 and Mistral: pre-norm RMS, grouped attention with rotary
// positions, SwiGLU.
#pragma once

#include "models/config.h"
#include "models/spec.h"

namespace mlxforge {

ModelSpec llama_spec(ConfigReader& config);
ModelSpec mistral_spec(ConfigReader& config);  // as Llama; sliding_window applies to every layer

}  // namespace mlxforge
