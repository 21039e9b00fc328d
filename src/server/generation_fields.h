// The fields that endpoints which generate text share.
#pragma once

#include <span>

#include "server/generation.h"
#include "server/generation_params.h"
#include "server/model_context.h"
#include "server/prompts.h"

namespace mlxforge {

inline constexpr int kMaxLogprobs = 20;

std::span<const Field> generation_fields();  // of all of them
std::span<const Field> openai_fields();      // of chat and completions

// Appends the strings in `list`, an array, to params.stop: up to `most`, none of them empty.
Status read_stop_strings(OrderedJson& list, const char* param, size_t most,
                         GenerationParams& params);

// What a request without any field asks of this model.
GenerationParams default_params(const ModelContext& model);

// What to ask of the engine for these prompts: defaults filled in, ids and limits checked against
// the model.
Result<GenerationPlan> plan_generation(GenerationParams& params, const Prompts& prompts,
                                       const ModelContext& model);

}  // namespace mlxforge
