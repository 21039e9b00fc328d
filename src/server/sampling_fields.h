// The fields that say how a token is chosen, beyond temperature and the filters that models have
// defaults for: logit processors, typical_p, XTC. What they mean stands in sampling/params.h and
// sampling/logit_processors.h.
#pragma once

#include <span>

#include "server/generation_params.h"
#include "server/model_context.h"

namespace mlxforge {

std::span<const Field> sampling_fields();

// Checks the ids in params.sampling against the model and completes what needs its tokenizer.
Status finish_sampling(GenerationParams& params, const ModelContext& model);

}  // namespace mlxforge
