// The fields that ask for an answer of a certain form: OpenAI's response_format, vLLM's
// structured_outputs and the older guided_*. One of them in a request at most.
#pragma once

#include <memory>
#include <span>

#include "server/generation_params.h"
#include "server/model_context.h"

namespace mlxforge {

class Grammar;

std::span<const Field> structured_output_fields();

// Reads an object that says what an answer is: its "type", and beside it the "schema" of one.
// `name` is what the client calls it.
Status read_answer_format(OrderedJson& value, const std::string& name, GenerationParams& params);

// The grammar that the fields ask for; null when they ask for none. It compiles, so not on a thread
// that serves connections.
Result<std::shared_ptr<const Grammar>> compile_grammar(const GenerationParams& params,
                                                       const ModelContext& model);

}  // namespace mlxforge
