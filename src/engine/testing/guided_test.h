// An engine whose answers are guided, over a vocabulary of printable characters: for tests of what
// grammars and reasoning do in the batch.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/testing/tiny_model.h"
#include "text/grammar.h"

namespace mlxforge {

inline constexpr int32_t kEnd = kVocab - 1;

// Ids 0 to 94 are the printable ASCII characters, 95 is a newline, 96 ends an answer.
inline std::shared_ptr<const Tokenizer> ascii_tokenizer() {
  nlohmann::json vocab;
  for (int id = 0; id < 95; ++id) vocab[std::string(1, static_cast<char>(' ' + id))] = id;
  vocab["\n"] = 95;
  const nlohmann::json end = {{"id", kEnd},      {"content", "<end>"}, {"single_word", false},
                              {"lstrip", false}, {"rstrip", false},    {"normalized", false},
                              {"special", true}};
  const nlohmann::json json = {
      {"version", "1.0"},
      {"added_tokens", {end}},
      {"decoder", {{"type", "Fuse"}}},
      {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", nlohmann::json::array()}}}};
  return std::make_shared<const Tokenizer>(Tokenizer::from_json(json.dump()));
}

struct Answer {
  std::vector<int32_t> tokens;
  FinishReason finish = FinishReason::none;
  Status error;
  int predicted_n = 0;
  bool operator==(const Answer& other) const {
    return tokens == other.tokens && finish == other.finish;
  }
};
using Answers = std::map<RequestId, Answer>;

class GuidedTest : public ::testing::Test {
 protected:
  TinyModel model;
  std::shared_ptr<const Tokenizer> tokenizer = ascii_tokenizer();
  bool preempted = false;  // in the last run
  GrammarCompiler compiler{tokenizer, {kEnd}};

  Request request(const std::string& regex, uint64_t seed = 1) {
    Request r;
    r.prompt = random_prompt(5 + static_cast<int>(seed * 7 % 40), static_cast<uint32_t>(seed));
    r.sampling = {.temperature = 1.5f, .seed = seed};
    r.max_tokens = 60;
    if (!regex.empty()) {
      auto grammar = compiler.compile({.kind = GrammarSource::Kind::regex, .text = regex});
      EXPECT_TRUE(grammar.ok()) << grammar.status().message;
      r.grammar = *grammar;
    }
    return r;
  }

  Answers run(const std::vector<Request>& requests, EngineTweaks tweaks = {}) {
    tweaks.stop_ids = {kEnd};
    const auto engine = make_engine(model, tweaks);
    for (size_t i = 0; i < requests.size(); ++i) engine->submit(i, requests[i], Clock::now());
    Answers answers;
    preempted = false;
    while (!engine->idle()) {
      int running = engine->stats().running;
      for (const StepEvent& event : engine->step()) {
        running -= event.last;
        Answer& answer = answers[event.id];
        answer.tokens.insert(answer.tokens.end(), event.tokens.begin(), event.tokens.end());
        answer.finish = event.finish;
        answer.error = event.error;
        answer.predicted_n = event.timings.predicted_n;
      }
      preempted |= engine->stats().running < running;
    }
    return answers;
  }
  Answer alone(const Request& r) { return run({r})[0]; }
  std::string text(const Answer& answer) { return tokenizer->decode(answer.tokens); }
};

}  // namespace mlxforge
