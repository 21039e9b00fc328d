// generation_config.json: the sampling that a model's makers recommend.
#pragma once

#include "files/json.h"
#include "server/model_context.h"

namespace mlxforge {

// What requests get that say nothing: temperature, top_k, top_p and min_p as far as the file (null
// when absent) has them; greedy where it says do_sample false. Throws Error naming a key whose
// value is not a number in its range; logs a warning for each other key that would change what is
// sampled.
SamplingDefaults sampling_defaults(const Json& generation_config);

}  // namespace mlxforge
