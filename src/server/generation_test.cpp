// Events in, bytes out: case 17, 26, 27 and 28 as far as they are the server's.
#include "server/generation.h"

#include <gtest/gtest.h>

#include <random>

#include "server/api/openai_format.h"
#include "server/testing/sse_events.h"
#include "server/testing/test_model.h"

namespace mlxforge {
namespace {

StepEvent event(std::string_view text, FinishReason finish = FinishReason::none) {
  StepEvent out;
  out.tokens = bytes_of(text);
  out.finish = finish;
  return out;
}

struct Setup {
  const AnswerShape& shape = kChatShape;
  bool streaming = true;
  bool include_usage = false;
  std::vector<std::string> stops = {};
};

Generation make(Setup setup) {
  static const auto model = test_model(nullptr);
  GenerationPlan plan{
      .requests = {{.prompt = {1, 2, 3}}}, .stops = setup.stops, .streaming = setup.streaming};
  return Generation(
      model, std::move(plan),
      std::make_unique<OpenAiFormat>(
          setup.shape, OpenAiOptions{.model = model->id, .include_usage = setup.include_usage}));
}

std::string run(Generation& generation, const std::vector<StepEvent>& events) {
  std::string out;
  for (const StepEvent& e : events) out += generation.push(0, e);
  return out;
}

std::string text_of(const std::string& sse) {
  std::string text;
  for (const auto& e : events_of(sse)) {
    if (!e.is_object() || e["choices"].empty()) continue;
    const auto& choice = e["choices"][0];
    if (choice.contains("text")) text += choice["text"].get<std::string>();
    if (choice.contains("delta") && choice["delta"].contains("content"))
      text += choice["delta"]["content"].get<std::string>();
  }
  return text;
}

std::string whole_text(const HttpReply& reply) {
  const OrderedJson body = OrderedJson::parse(reply.body);
  const auto& choice = body["choices"][0];
  return choice.contains("text") ? choice["text"] : choice["message"]["content"];
}

using enum FinishReason;

// Case 28.
TEST(Generation, ChatStreamIsFramedAsOpenAiFramesIt) {
  for (const FinishReason finish : {stop, length})
    for (const bool include_usage : {false, true})
      for (const std::string answer : {"", "hello"}) {
        Generation generation = make({.include_usage = include_usage});
        std::string sse;
        for (const char c : answer) sse += generation.push(0, event({&c, 1}));
        sse += generation.push(0, event("", finish));
        auto events = chunks_of(sse);
        if (include_usage) {
          const OrderedJson totals = events.back();
          events.pop_back();
          EXPECT_EQ(totals["choices"], OrderedJson::array());
          EXPECT_EQ(totals["usage"]["prompt_tokens"], 3);
          EXPECT_EQ(totals["usage"]["completion_tokens"], answer.size());
          EXPECT_EQ(totals["usage"]["total_tokens"], 3 + answer.size());
          EXPECT_TRUE(totals.contains("timings"));
          EXPECT_EQ(totals["id"], events[0]["id"]);
        }
        ASSERT_EQ(events.size(), answer.size() + 2);
        EXPECT_EQ(events[0]["choices"][0]["delta"]["role"], "assistant");
        EXPECT_EQ(text_of(sse), answer);
        EXPECT_EQ(events.back().contains("timings"), !include_usage);
        for (const auto& e : events) {
          EXPECT_EQ(e["id"], events[0]["id"]);
          EXPECT_EQ(e["created"], events[0]["created"]);
          EXPECT_EQ(e["object"], "chat.completion.chunk");
          EXPECT_EQ(e["model"], "tiny");
          ASSERT_EQ(e["choices"].size(), 1u);
          EXPECT_EQ(e["choices"][0]["index"], 0);
          EXPECT_EQ(e.contains("usage"), include_usage);
          if (include_usage) EXPECT_TRUE(e["usage"].is_null());
          const bool last = &e == &events.back();
          EXPECT_EQ(e["choices"][0]["finish_reason"],
                    last ? OrderedJson(finish == stop ? "stop" : "length") : OrderedJson(nullptr));
          if (&e != &events[0]) EXPECT_FALSE(e["choices"][0]["delta"].contains("role"));
        }
      }
}

TEST(Generation, CompletionStreamIsFramedAsOpenAiFramesIt) {
  Generation generation = make({.shape = kCompletionShape, .include_usage = true});
  const auto events = events_of(run(generation, {event("ab"), event("c", length)}));
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(
      events[0]["choices"],
      OrderedJson::parse(R"([{"index":0,"text":"ab","logprobs":null,"finish_reason":null}])"));
  EXPECT_EQ(events[1]["choices"],
            OrderedJson::parse(R"([{"index":0,"text":"c","logprobs":null,"finish_reason":null}])"));
  EXPECT_EQ(
      events[2]["choices"],
      OrderedJson::parse(R"([{"index":0,"text":"","logprobs":null,"finish_reason":"length"}])"));
  EXPECT_EQ(events[3]["choices"], OrderedJson::array());
  EXPECT_EQ(events[3]["usage"]["total_tokens"], 6);
  EXPECT_EQ(events[4], "[DONE]");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(events[i]["object"], "text_completion");
}

TEST(Generation, WholeAnswers) {
  Generation chat = make({.streaming = false});
  EXPECT_EQ(run(chat, {event("he"), event("llo"), event("", stop)}), "");
  const HttpReply reply = chat.reply();
  EXPECT_EQ(reply.status, 200);
  const OrderedJson body = OrderedJson::parse(reply.body);
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_EQ(body["id"].get<std::string>().substr(0, 9), "chatcmpl-");
  EXPECT_EQ(body["choices"],
            OrderedJson::parse(
                R"([{"index":0,"message":{"role":"assistant","content":"hello","refusal":null},
                                                     "logprobs":null,"finish_reason":"stop"}])"));
  EXPECT_EQ(body["usage"]["completion_tokens"], 5);
  EXPECT_EQ(body["usage"]["total_tokens"], 8);
  Generation text = make({.shape = kCompletionShape, .streaming = false});
  run(text, {event("hello", length)});
  const OrderedJson completion = OrderedJson::parse(text.reply().body);
  EXPECT_EQ(completion["object"], "text_completion");
  EXPECT_EQ(completion["choices"],
            OrderedJson::parse(
                R"([{"index":0,"text":"hello","logprobs":null,"finish_reason":"length"}])"));
}

TEST(Generation, Timings) {
  Generation generation = make({.streaming = false});
  StepEvent last = event("ab", stop);
  last.timings = {.prompt_n = 10,
                  .cache_n = 2,
                  .predicted_n = 3,
                  .queue_ms = 1,
                  .prompt_ms = 20,
                  .predicted_ms = 60,
                  .ttft_ms = 25};
  generation.push(0, last);
  const OrderedJson body = OrderedJson::parse(generation.reply().body);
  EXPECT_EQ(body["timings"],
            OrderedJson::parse(
                R"({"prompt_n":10,"prompt_ms":20.0,"prompt_per_second":500.0,"predicted_n":3,
      "predicted_ms":60.0,"predicted_per_second":50.0,"cache_n":2,"queue_ms":1.0,"ttft_ms":25.0})"));
  EXPECT_EQ(body["usage"]["prompt_tokens_details"]["cached_tokens"], 2);
  Generation instant = make({.streaming = false});
  instant.push(0, event("", stop));  // no time has passed: still finite numbers
  EXPECT_EQ(OrderedJson::parse(instant.reply().body)["timings"]["predicted_per_second"], 0.0);
}

struct StopCase {
  std::vector<std::string> stops, pieces;
  std::string expected;
  bool matches;
};

// Case 26. The engine goes on for a step after the match, as a real one may.
TEST(Generation, StopStringsEndTheTextWhereverTheyAreCut) {
  const std::vector<StopCase> cases = {
      {{"lo wor"}, {"Hello wor", "ld zebras"}, "Hel", true},
      {{"lo wor"}, {"Hel", "lo", " w", "o", "r", "ld"}, "Hel", true},
      {{"zebra!"}, {"Hello wor", "ld zebras"}, "Hello world zebras", false},
      {{"zebras!"}, {"Hello wor", "ld zebras"}, "Hello world zebras", false},
      {{"world", "lo"}, {"Hello world"}, "Hel", true},
      {{"lo", "world"}, {"Hello world"}, "Hel", true},
      {{"Hello"}, {"Hello"}, "", true},
      {{}, {"Hello"}, "Hello", false},
  };
  for (const StopCase& c : cases)
    for (const FinishReason end : {stop, length}) {
      Generation streamed = make({.stops = c.stops}),
                 whole = make({.streaming = false, .stops = c.stops});
      std::string sse;
      for (const auto& piece : c.pieces) {
        sse += streamed.push(0, event(piece));
        whole.push(0, event(piece));
      }
      const size_t n_ended = c.matches ? 1 : 0;
      EXPECT_EQ(streamed.take_ended().size(), n_ended);
      EXPECT_EQ(whole.take_ended().size(), n_ended);
      EXPECT_TRUE(whole.take_ended().empty());  // each is named once
      const FinishReason last = c.matches ? cancelled : end;
      sse += streamed.push(0, event("", last));
      whole.push(0, event("", last));
      EXPECT_TRUE(streamed.done() && streamed.take_ended().empty());
      EXPECT_EQ(text_of(sse), c.expected);
      EXPECT_EQ(whole_text(whole.reply()), c.expected);
      const OrderedJson finish = c.matches || end == stop ? "stop" : "length";
      const auto events = events_of(sse);
      EXPECT_EQ(events[events.size() - 2]["choices"][0]["finish_reason"], finish);
      EXPECT_EQ(OrderedJson::parse(whole.reply().body)["choices"][0]["finish_reason"], finish);
    }
}

TEST(Generation, TokensAfterAStopStringAreNeitherShownNorCounted) {
  Generation generation = make({.streaming = false, .stops = {"llo"}});
  generation.push(0, event("Hello, world"));
  EXPECT_EQ(generation.take_ended().size(), 1u);
  generation.push(0, event("!!"));
  generation.push(0,
                  event("?", length));  // it reached its limit before it heard of the cancellation
  const OrderedJson body = OrderedJson::parse(generation.reply().body);
  EXPECT_EQ(body["choices"][0]["message"]["content"], "He");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(body["usage"]["completion_tokens"], 5);
}

// Case 17: any bytes, cut into any steps; both modes agree and no delta ends inside a character.
TEST(Generation, StreamedTextEqualsWholeTextForAnyBytes) {
  std::mt19937 random(7);
  const std::vector<std::string> atoms = {"a",        "\xf0\x9f\x98\x80",
                                          "\xf0\x9f", "\xe2\x80\x8d",
                                          "\xff",     "\xc3",
                                          "\xa9",     "stop",
                                          " ",        "st",
                                          "\n"};
  for (int round = 0; round < 300; ++round) {
    std::string bytes;
    for (int i = 0; i < 12; ++i) bytes += atoms[random() % atoms.size()];
    Generation streamed = make({.stops = {"stop"}}),
               whole = make({.streaming = false, .stops = {"stop"}});
    std::string sse;
    for (size_t at = 0; at < bytes.size();) {
      const size_t n = std::min<size_t>(1 + random() % 4, bytes.size() - at);
      sse += streamed.push(0, event(bytes.substr(at, n)));
      at += n;
    }
    sse += streamed.push(0, event("", length));
    whole.push(0, event(bytes, length));
    EXPECT_EQ(text_of(sse), whole_text(whole.reply()));
    EXPECT_EQ(streamed.usage().completion_tokens, whole.usage().completion_tokens);
  }
}

TEST(Generation, NoHalfCharacterInADelta) {
  Generation generation = make({});
  EXPECT_EQ(text_of(generation.push(0, event("\xf0\x9f"))), "");
  EXPECT_EQ(text_of(generation.push(0, event("\x98\x80"))), "\xf0\x9f\x98\x80");
  EXPECT_EQ(text_of(generation.push(0, event("\xf0\x9f"))), "");
  EXPECT_EQ(text_of(generation.push(0, event("", length))), "\xef\xbf\xbd");
}

// Case 42.
TEST(Generation, AnEngineErrorBeforeAnyTextIsAnHttpErrorWhenNotStreaming) {
  StepEvent failure = event("", error);
  failure.error = {Code::internal, "a kernel failed", ""};
  Generation whole = make({.streaming = false});
  whole.push(0, event("some"));
  whole.push(0, failure);
  const HttpReply reply = whole.reply();
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(OrderedJson::parse(reply.body)["error"]["message"], "a kernel failed");
  Generation streamed = make({});
  streamed.push(0, event("some"));
  const auto events = events_of(streamed.push(0, failure));
  ASSERT_EQ(events.size(), 1u);  // and no [DONE]: it is not done
  EXPECT_EQ(events[0]["error"]["message"], "a kernel failed");
  EXPECT_TRUE(streamed.failed() && streamed.done());
}

TEST(Generation, ACancellationThatNobodyAskedForIsAnError) {
  Generation generation = make({.streaming = false});
  generation.push(0, event("some", cancelled));
  EXPECT_EQ(generation.reply().status, 503);
}

// A request that ends as a whole ends all its choices, whatever has become of the one it names.
TEST(Generation, TheEndOfTheRequestEndsItsOpenChoices) {
  static const auto model = test_model(nullptr);
  for (const FinishReason finish : {error, cancelled, stop}) {
    GenerationPlan plan{.requests = {{.prompt = {1}, .n = 2}}, .n = 2, .streaming = true};
    Generation generation(
        model, std::move(plan),
        std::make_unique<OpenAiFormat>(kChatShape, OpenAiOptions{.model = "tiny"}));
    generation.push(0, event("a", stop));
    EXPECT_FALSE(generation.done());
    StepEvent last = event("", finish);
    last.last = true;
    const auto events = events_of(generation.push(0, last));
    ASSERT_EQ(events.size(), 1u);
    EXPECT_TRUE(events[0].contains("error"));
    EXPECT_TRUE(generation.done() && generation.failed());
  }
}

}  // namespace
}  // namespace mlxforge
