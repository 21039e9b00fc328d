// Requests to token ids. Control tokens are those that the template wrote, never those that a
// caller's text (contents, names, tool results and definitions, ...) spells, alone or together with
// its surroundings; decoding the ids gives exactly what the template rendered. prompt.cpp says how.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace mlxforge {

// A chat. BOS stands there once: the template's, else the tokenizer's where it adds one.
// The tokenizer is the one that the template was made with.
Result<std::vector<int32_t>> encode_chat(const Tokenizer& tokenizer, const ChatTemplate& chat,
                                         const ChatInput& input);

// A plain prompt: all of it is text; BOS by the tokenizer's rule, no EOS.
std::vector<int32_t> encode_text(const Tokenizer& tokenizer, std::string_view text);

}  // namespace mlxforge
