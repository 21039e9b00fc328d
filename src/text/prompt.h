// Requests to token ids. Control tokens are those that the template wrote, never those that a
// caller's text (contents, names, tool results and definitions, ...) spells, alone or together with
// its surroundings; decoding the ids gives exactly what the template rendered. prompt.cpp says how.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/cancel_flag.h"
#include "base/status.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace mlxforge {

// Whose prompt it is sets these. A prompt that is too long by its bytes alone, or that nobody wants
// any more, is a failure.
struct EncodeLimits {
  int context = std::numeric_limits<int>::max();  // tokens
  int answer = 1;                                 // of these, what the prompt must leave
  const CancelFlag& cancel = kNeverCancelled;
};

// Long before it is encoded, a prompt's bytes can tell that it is too long.
Status check_length(const Tokenizer& tokenizer, std::string_view prompt,
                    const EncodeLimits& limits);
// The failure of a request that nobody waits for any more.
Status cancelled();

// A chat. BOS stands there once: the template's, else the tokenizer's where it adds one.
// The tokenizer is the one that the template was made with.
Result<std::vector<int32_t>> encode_chat(const Tokenizer& tokenizer, const ChatTemplate& chat,
                                         const ChatInput& input, const EncodeLimits& limits = {});

// A plain prompt: all of it is text; BOS by the tokenizer's rule, no EOS.
Result<std::vector<int32_t>> encode_text(const Tokenizer& tokenizer, std::string_view text,
                                         const EncodeLimits& limits = {});

// What is to be embedded: the same, with what the tokenizer puts around a text, BOS and EOS.
Result<std::vector<int32_t>> encode_whole(const Tokenizer& tokenizer, std::string_view text,
                                          const EncodeLimits& limits = {});

}  // namespace mlxforge
