#include "sampling/logit_processors.h"

#include <algorithm>
#include <cmath>

#include "text/sequence_breakers.h"

namespace mlxforge {
namespace {

using Tokens = std::span<const int32_t>;

// A penalty beyond this bans the token as well, and the sum stays finite.
constexpr float kMaxPenalty = 1e9f;

Tokens last(Tokens tokens, int n) {
  return n < 0 ? tokens : tokens.last(std::min(tokens.size(), static_cast<size_t>(n)));
}

// Calls f(logit, count) once for each id of the row that is among the tokens.
template <class F>
void for_each_id(std::span<float> logits, Tokens tokens, std::vector<uint32_t>& counts, F f) {
  if (counts.size() < logits.size()) counts.resize(logits.size());
  const auto in_row = [&](int32_t id) { return static_cast<size_t>(id) < logits.size(); };
  for (const int32_t id : tokens)
    if (in_row(id)) ++counts[id];
  for (const int32_t id : tokens) {
    if (!in_row(id) || counts[id] == 0) continue;
    f(logits[id], std::exchange(counts[id], 0));
  }
}

void add_bias(std::span<float> logits, std::span<const LogitBias> bias) {
  for (const auto& [id, value] : bias)
    if (static_cast<size_t>(id) < logits.size()) logits[id] += value;
}

void penalise_repetition(std::span<float> logits, const Penalties& p, const TokenHistory& history,
                         std::vector<uint32_t>& counts) {
  if (p.repetition == 1) return;
  for_each_id(logits, last(history.tokens, p.last_n), counts, [&](float& logit, uint32_t) {
    logit = logit < 0 ? logit * p.repetition : logit / p.repetition;
  });
}

void penalise_frequency(std::span<float> logits, const Penalties& p, const TokenHistory& history,
                        std::vector<uint32_t>& counts) {
  if (p.frequency == 0 && p.presence == 0) return;
  const Tokens output = history.tokens.subspan(history.n_prompt);
  for_each_id(logits, last(output, p.last_n), counts, [&](float& logit, uint32_t count) {
    logit -= static_cast<float>(count) * p.frequency + p.presence;
  });
}

// out[i]: how many tokens before position i equal, one by one, the last tokens of all (Z algorithm,
// on the tokens read backwards; Gusfield, 1997).
void repeats_before(Tokens tokens, std::vector<uint32_t>& out) {
  const size_t n = tokens.size();
  const auto back = [&](size_t i) { return tokens[n - 1 - i]; };
  const auto z = [&](size_t i) -> uint32_t& { return out[n - i]; };
  out.assign(n + 1, 0);
  size_t left = 0, right = 0;  // the match that reaches furthest: back [left, right)
  for (size_t i = 1; i < n; ++i) {
    size_t length = i < right ? std::min<size_t>(right - i, z(i - left)) : 0;
    while (i + length < n && back(length) == back(i + length)) ++length;
    if (i + length > right) left = i, right = i + length;
    z(i) = static_cast<uint32_t>(length);
  }
}

void penalise_dry(std::span<float> logits, const Dry& dry, Tokens tokens,
                  ProcessorScratch& scratch) {
  if (dry.multiplier == 0) return;
  tokens = last(tokens, dry.last_n);
  const size_t reach = dry.breakers ? dry.breakers->tokens_since(tokens) : tokens.size();
  const auto allowed = static_cast<size_t>(dry.allowed_length);
  if (reach < allowed) return;
  auto& [longest, repeats] = scratch;  // by id, by position
  if (longest.size() < logits.size()) longest.resize(logits.size());
  repeats_before(tokens, repeats);
  const auto repeated = [&](size_t i) { return std::min<size_t>(repeats[i], reach); };
  const auto penalised = [&](size_t i) {
    return static_cast<size_t>(tokens[i]) < logits.size() && repeated(i) >= allowed;
  };
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!penalised(i)) continue;
    auto& most = longest[tokens[i]];
    most = std::max(most, static_cast<uint32_t>(repeated(i) - allowed + 1));
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    const uint32_t most = penalised(i) ? std::exchange(longest[tokens[i]], 0) : 0;
    if (most == 0) continue;
    const float penalty = dry.multiplier * std::pow(dry.base, static_cast<float>(most - 1));
    logits[tokens[i]] -= std::min(penalty, kMaxPenalty);
  }
}

}  // namespace

void process_logits(std::span<float> logits, const SamplingParams& params,
                    const TokenHistory& history, ProcessorScratch& scratch) {
  add_bias(logits, params.logit_bias);
  penalise_repetition(logits, params.penalties, history, scratch.counts);
  penalise_frequency(logits, params.penalties, history, scratch.counts);
  penalise_dry(logits, params.dry, history.tokens, scratch);
}

}  // namespace mlxforge
