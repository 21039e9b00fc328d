// The fields of a request: what is refused and by what name, defaults, limits.
#include "server/generation_fields.h"

#include <gtest/gtest.h>

#include "server/testing/api_fixture.h"

namespace mlxforge {
namespace {

using Fields = Api;

struct Bad {
  const char* fields;
  const char* param;
};

// Refused by chat and completions alike.
constexpr Bad kBad[] = {
    {R"("stream":"yes")", "stream"},
    {R"("stream":1)", "stream"},
    {R"("stream_options":true)", "stream_options"},
    {R"("stream_options":{"include_usage":"yes"})", "stream_options"},
    {R"("stream_options":{"continuous_usage_stats":true})", "stream_options"},
    {R"("stream_options":{"continuous_usage_stats":0})", "stream_options"},
    {R"("max_tokens":"10")", "max_tokens"},
    {R"("max_tokens":0)", "max_tokens"},
    {R"("max_tokens":-1)", "max_tokens"},
    {R"("max_tokens":1.5)", "max_tokens"},
    {R"("max_tokens":true)", "max_tokens"},
    {R"("max_tokens":[1])", "max_tokens"},
    {R"("max_completion_tokens":0)", "max_completion_tokens"},
    {R"("max_completion_tokens":"3")", "max_completion_tokens"},
    {R"("min_tokens":-1)", "min_tokens"},
    {R"("min_tokens":5,"max_tokens":4)", "min_tokens"},
    {R"("temperature":-0.1)", "temperature"},
    {R"("temperature":"hot")", "temperature"},
    {R"("temperature":1e999)", "body"},
    {R"("temperature":NaN)", "body"},
    {R"("temperature":Infinity)", "body"},
    {R"("top_p":-0.1)", "top_p"},
    {R"("top_p":1.1)", "top_p"},
    {R"("top_p":1e999)", "body"},
    {R"("top_p":"1")", "top_p"},
    {R"("min_p":-0.1)", "min_p"},
    {R"("min_p":1.5)", "min_p"},
    {R"("min_p":NaN)", "body"},
    {R"("top_k":-2)", "top_k"},
    {R"("top_k":1.5)", "top_k"},
    {R"("seed":"1")", "seed"},
    {R"("seed":0.5)", "seed"},
    {R"("seed":1e30)", "seed"},
    {R"("seed":18446744073709551616)", "seed"},
    {R"("seed":-9223372036854775809)", "seed"},
    {R"("stop":"")", "stop"},
    {R"("stop":[""])", "stop"},
    {R"("stop":["a",""])", "stop"},
    {R"("stop":["1","2","3","4","5"])", "stop"},
    {R"("stop":[1])", "stop"},
    {R"("stop":5)", "stop"},
    {R"("stop":{})", "stop"},
    {R"("stop_token_ids":[999999])", "stop_token_ids"},
    {R"("stop_token_ids":[258])", "stop_token_ids"},
    {R"("stop_token_ids":[-1])", "stop_token_ids"},
    {R"("stop_token_ids":[18446744073709551615])", "stop_token_ids"},
    {R"("stop_token_ids":["1"])", "stop_token_ids"},
    {R"("stop_token_ids":5)", "stop_token_ids"},
    {R"("ignore_eos":"no")", "ignore_eos"},
    {R"("model":5)", "model"},
    {R"("user":5)", "user"},
    {R"("metadata":[])", "metadata"},
    {R"("n":0)", "n"},
    {R"("n":1000)", "n"},
    {R"("n":"1")", "n"},
    {R"("logit_bias":{"5":1e9})", "logit_bias"},
    {R"("logit_bias":{"258":1})", "logit_bias"},
    {R"("logit_bias":{"-1":1})", "logit_bias"},
    {R"("logit_bias":{"":1})", "logit_bias"},
    {R"("logit_bias":{"5x":1})", "logit_bias"},
    {R"("logit_bias":{"05":1})", "logit_bias"},
    {R"("logit_bias":{"5":"1"})", "logit_bias"},
    {R"("logit_bias":{"5":null})", "logit_bias"},
    {R"("logit_bias":{"5":-100.5})", "logit_bias"},
    {R"("logit_bias":{"99999999999999999999":1})", "logit_bias"},
    {R"("logit_bias":{"999999999":5})", "logit_bias"},
    {R"("logit_bias":{"abc":1})", "logit_bias"},
    {R"("logit_bias":[])", "logit_bias"},
    {R"("presence_penalty":2.5)", "presence_penalty"},
    {R"("presence_penalty":"1")", "presence_penalty"},
    {R"("frequency_penalty":-3)", "frequency_penalty"},
    {R"("frequency_penalty":NaN)", "body"},
    {R"("repetition_penalty":0)", "repetition_penalty"},
    {R"("repetition_penalty":-1)", "repetition_penalty"},
    {R"("repetition_penalty":1e999)", "body"},
    {R"("repeat_last_n":-2)", "repeat_last_n"},
    {R"("repeat_last_n":1.5)", "repeat_last_n"},
    {R"("typical_p":1.1)", "typical_p"},
    {R"("typical_p":-0.1)", "typical_p"},
    {R"("xtc_probability":2)", "xtc_probability"},
    {R"("xtc_threshold":-1)", "xtc_threshold"},
    {R"("dry_multiplier":-1)", "dry_multiplier"},
    {R"("dry_base":0.5)", "dry_base"},
    {R"("dry_allowed_length":0)", "dry_allowed_length"},
    {R"("dry_penalty_last_n":-2)", "dry_penalty_last_n"},
    {R"("dry_sequence_breakers":"x")", "dry_sequence_breakers"},
    {R"("dry_sequence_breakers":[""])", "dry_sequence_breakers"},
    {R"("dry_sequence_breakers":[5])", "dry_sequence_breakers"},
    {R"("presence_penalty":1e999)", "body"},
    {R"("response_format":{"type":"xml"})", "response_format"},
    {R"("response_format":{"type":"json_schema","json_schema":{}})", "response_format"},
    {R"("response_format":"text")", "response_format"},
    {R"("guided_json":5)", "guided_json"},
    {R"("prompt_logprobs":-1)", "prompt_logprobs"},
};

TEST_F(Fields, RefusesBadFieldsAndNamesThem) {
  for (const Bad& bad : kBad) {
    expect_error(chat(bad.fields), 400, bad.param, bad.fields);
    expect_error(complete(bad.fields), 400, bad.param, bad.fields);
  }
}

TEST_F(Fields, RefusesBadChatFields) {
  constexpr Bad kCases[] = {
      {R"("logprobs":1)", "logprobs"},
      {R"("top_logprobs":5)", "top_logprobs"},
      {R"("top_logprobs":21)", "top_logprobs"},
      {R"("top_logprobs":-1)", "top_logprobs"},
      {R"("tools":[{"type":"web_search"}])", "tools"},
      {R"("tools":{})", "tools"},
      {R"("tool_choice":"required")", "tool_choice"},
      {R"("tool_choice":{"type":"function"})", "tool_choice"},
      {R"("function_call":{"name":"f"})", "function_call"},
      {R"("functions":[{"name":"f"}])", "functions"},
      {R"("modalities":["audio"])", "modalities"},
      {R"("add_generation_prompt":1)", "add_generation_prompt"},
      {R"("add_generation_prompt":true,"continue_final_message":true)", "continue_final_message"},
      {R"("chat_template_kwargs":[])", "chat_template_kwargs"},
      {R"("chat_template_kwargs":{"messages":1})", "chat_template_kwargs"},
      {R"("chat_template":"x")", "chat_template"},
  };
  for (const Bad& bad : kCases) expect_error(chat(bad.fields), 400, bad.param, bad.fields);
}

TEST_F(Fields, RefusesBadCompletionFields) {
  constexpr Bad kCases[] = {
      {R"("best_of":129)", "best_of"},
      {R"("best_of":0)", "best_of"},
      {R"("echo":1)", "echo"},
      {R"("echo":"no")", "echo"},
      {R"("logprobs":true)", "logprobs"},
      {R"("suffix":"x")", "suffix"},  // the model has no tokens for it
      {R"("suffix":"x","echo":true)", "suffix"},
      {R"("priority":1.5)", "priority"},
      {R"("prompt":5)", "prompt"},
      {R"("prompt":{})", "prompt"},
      {R"("prompt":null)", "prompt"},
      {R"("prompt":[])", "prompt"},
      {R"("prompt":"")", "prompt"},
      {R"("prompt":[""])", "prompt"},
      {R"("prompt":["a",""])", "prompt"},
      {R"("prompt":[[1],[]])", "prompt"},
      {R"("prompt":["a",5])", "prompt"},
      {R"("prompt":[[1],[258]])", "prompt"},
      {R"("prompt":[1,"a"])", "prompt"},
      {R"("prompt":[258])", "prompt"},
      {R"("prompt":[-1])", "prompt"},
      {R"("prompt":[1.5])", "prompt"},
      {R"("prompt":[[[1]]])", "prompt"},
      {R"("prompt":[99999999999])", "prompt"},
      {R"("prompt":[true])", "prompt"},
      {R"("prompt":[null])", "prompt"},
      {R"("prompt":[{}])", "prompt"},
  };
  for (const Bad& bad : kCases) expect_error(complete(bad.fields), 400, bad.param, bad.fields);
  expect_error(post(kText, "{}"), 400, "prompt", "no prompt");
}

TEST_F(Fields, NullMeansTheDefaultEverywhere) {
  const char* fields =
      R"("model":null,"stream":null,"stream_options":null,"temperature":null,"top_p":null,"top_k":null,"min_p":null,"seed":null,
         "max_tokens":null,"max_completion_tokens":null,"min_tokens":null,"stop":null,"stop_token_ids":null,"ignore_eos":null,
         "n":null,"logit_bias":null,"presence_penalty":null,"frequency_penalty":null,"response_format":null,"user":null,
         "logprobs":null,"top_logprobs":null,"tools":null,"tool_choice":null,"parallel_tool_calls":null,"best_of":null,
         "echo":null,"suffix":null)";
  for (const ApiResult& result : {chat(fields), complete(fields)}) {
    const Request r = request(result);
    EXPECT_FLOAT_EQ(r.sampling.temperature, 1);
    EXPECT_FLOAT_EQ(r.sampling.top_p, 1);
    EXPECT_EQ(r.sampling.top_k, 0);
    EXPECT_EQ(r.min_tokens, 0);
    EXPECT_TRUE(r.stop_ids.empty());
    EXPECT_FALSE(r.ignore_eos);
    EXPECT_FALSE(std::get<Generation>(result).streaming());
  }
}

TEST_F(Fields, DefaultValuesOfFeaturesToComePass) {
  const char* fields =
      R"("n":1,"logit_bias":{},"presence_penalty":0,"frequency_penalty":0.0,"repetition_penalty":1.0,
         "response_format":{"type":"text"},"user":"me","metadata":{"a":"b"},"store":true,"service_tier":"auto")";
  request(chat(str(
      fields,
      R"(,"logprobs":false,"top_logprobs":0,"tools":[],"tool_choice":"auto","function_call":"none",
                               "parallel_tool_calls":true,"modalities":["text"],"add_generation_prompt":true)")));
  request(complete(str(fields, R"(,"best_of":1,"echo":false,"suffix":"")")));
}

TEST_F(Fields, ReadsLimits) {
  EXPECT_EQ(request(chat(R"("max_tokens":3)")).max_tokens, 3);
  EXPECT_EQ(request(chat(R"("max_completion_tokens":3)")).max_tokens, 3);
  EXPECT_EQ(request(chat(R"("max_tokens":9,"max_completion_tokens":3)")).max_tokens, 3);
  EXPECT_EQ(request(chat(R"("max_completion_tokens":9,"max_tokens":3)")).max_tokens, 9);
  EXPECT_GE(request(chat("")).max_tokens, model_->max_ctx);
  EXPECT_GE(request(chat(R"("max_tokens":99999999999999999999)")).max_tokens, model_->max_ctx);
  EXPECT_EQ(request(chat(R"("min_tokens":2)")).min_tokens, 2);
  EXPECT_TRUE(request(chat(R"("ignore_eos":true)")).ignore_eos);
  EXPECT_EQ(request(chat(R"("stop_token_ids":[0,257])")).stop_ids, (std::vector<int32_t>{0, 257}));
}

}  // namespace
}  // namespace mlxforge
