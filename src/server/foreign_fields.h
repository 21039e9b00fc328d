// Fields of vLLM, llama.cpp and others. Those that change an answer there and not here are refused
// rather than overlooked.
#pragma once

#include <span>

#include "server/generation_params.h"

namespace mlxforge {

std::span<const Field> foreign_fields();             // of chat and completions
std::span<const Field> foreign_chat_fields();        // of chat alone
std::span<const Field> foreign_completion_fields();  // of completions alone

}  // namespace mlxforge
