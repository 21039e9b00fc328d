#include "server/api/logprobs_json.h"

#include <cstdio>

#include "base/utf8.h"

namespace mlxforge {
namespace {

// What OpenAI sends for a token that cannot come.
constexpr float kLowest = -9999;

OrderedJson number(const std::optional<float>& logprob) {
  return logprob ? OrderedJson(std::max(*logprob, kLowest)) : OrderedJson(nullptr);
}

OrderedJson chat_token(const ShownToken& token) {
  OrderedJson bytes = OrderedJson::array();
  for (const unsigned char byte : token.bytes) bytes.push_back(byte);
  return {{"token", valid_utf8(token.name)},
          {"logprob", number(token.logprob)},
          {"bytes", std::move(bytes)}};
}

// Tokens are keys here, so that half characters must stay apart: "bytes:\xf0\x9f", as OpenAI does.
std::string completion_token(const ShownToken& token) {
  if (valid_utf8(token.name) == token.name) return token.name;
  std::string out = "bytes:";
  for (const unsigned char byte : token.name) {
    char text[5];
    std::snprintf(text, sizeof text, "\\x%02x", byte);
    out += text;
  }
  return out;
}

OrderedJson prompt_token(const ShownToken& token, int rank) {
  return {{"logprob", number(token.logprob)},
          {"rank", rank},
          {"decoded_token", valid_utf8(token.name)}};
}

}  // namespace

OrderedJson chat_logprobs(std::span<const ScoredToken> tokens) {
  OrderedJson content = OrderedJson::array();
  for (const ScoredToken& scored : tokens) {
    OrderedJson entry = chat_token(scored.token);
    entry["top_logprobs"] = OrderedJson::array();
    for (const ShownToken& token : scored.top) entry["top_logprobs"].push_back(chat_token(token));
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

OrderedJson completion_logprobs(std::span<const ScoredToken> tokens) {
  OrderedJson names = OrderedJson::array(), logprobs = names, tops = names, offsets = names;
  for (const ScoredToken& scored : tokens) {
    names.push_back(completion_token(scored.token));
    logprobs.push_back(number(scored.token.logprob));
    offsets.push_back(scored.text_offset);
    OrderedJson top;  // null without a logprob
    if (scored.token.logprob) {
      for (const ShownToken& token : scored.top)
        top.emplace(completion_token(token), number(token.logprob));
      top.emplace(completion_token(scored.token), number(scored.token.logprob));
    }
    tops.push_back(std::move(top));
  }
  return {{"tokens", std::move(names)},
          {"token_logprobs", std::move(logprobs)},
          {"top_logprobs", std::move(tops)},
          {"text_offset", std::move(offsets)}};
}

OrderedJson prompt_logprobs(std::span<const ScoredToken> tokens) {
  OrderedJson out = OrderedJson::array();
  for (const auto& [token, rank, top, offset] : tokens) {
    OrderedJson entry;  // null for the first
    if (token.logprob) entry[std::to_string(token.id)] = prompt_token(token, rank);
    for (size_t i = 0; i < top.size(); ++i)
      entry.emplace(std::to_string(top[i].id), prompt_token(top[i], static_cast<int>(i) + 1));
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace mlxforge
