#include "server/api/openai_format.h"

#include "server/api/logprobs_json.h"
#include "server/error.h"
#include "server/ids.h"
#include "server/messages.h"
#include "server/sse.h"

namespace mlxforge {
namespace {

OrderedJson choice(size_t index, OrderedJson content, OrderedJson logprobs,
                   const char* finish_reason) {
  OrderedJson out = {{"index", index}};
  out.update(content);
  out["logprobs"] = std::move(logprobs);
  out["finish_reason"] = nullptr;
  if (finish_reason) out["finish_reason"] = finish_reason;
  return out;
}

OrderedJson usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}},
          {"completion_tokens_details", {{"reasoning_tokens", usage.reasoning_tokens}}}};
}

double per_second(int n, double ms) { return ms > 0 ? n * 1000.0 / ms : 0.0; }

OrderedJson timings_json(const Timings& t) {
  return {{"prompt_n", t.prompt_n},
          {"prompt_ms", t.prompt_ms},
          {"prompt_per_second", per_second(t.prompt_n, t.prompt_ms)},
          {"predicted_n", t.predicted_n},
          {"predicted_ms", t.predicted_ms},
          {"predicted_per_second", per_second(t.predicted_n, t.predicted_ms)},
          {"cache_n", t.cache_n},
          {"queue_ms", t.queue_ms},
          {"ttft_ms", t.ttft_ms}};
}

OrderedJson chat_delta(const Piece& piece) {
  OrderedJson delta = OrderedJson::object();
  if (!piece.reasoning.empty()) delta["reasoning_content"] = piece.reasoning;
  if (!piece.text.empty() || (delta.empty() && piece.calls.empty())) delta["content"] = piece.text;
  for (const ToolDelta& call : piece.calls) {
    OrderedJson out = {{"index", call.index}};
    if (!call.name.empty()) {
      out["id"] = random_id("call_");
      out["type"] = "function";
      out["function"]["name"] = call.name;
    }
    out["function"]["arguments"] = call.arguments;
    delta["tool_calls"].push_back(std::move(out));
  }
  return {{"delta", std::move(delta)}};
}

OrderedJson chat_message(const Piece& piece) {
  OrderedJson message = {{"role", "assistant"}, {"content", piece.text}, {"refusal", nullptr}};
  if (piece.text.empty() && !(piece.calls.empty() && piece.reasoning.empty()))
    message["content"] = nullptr;
  if (!piece.reasoning.empty()) message["reasoning_content"] = piece.reasoning;
  for (const ToolDelta& call : piece.whole_calls())
    message["tool_calls"].push_back(function_call(random_id("call_"), call.name, call.arguments));
  return {{"message", std::move(message)}};
}

}  // namespace

const AnswerShape kChatShape = {
    .id_prefix = "chatcmpl-",
    .object = "chat.completion",
    .chunk_object = "chat.completion.chunk",
    .opening = [] { return OrderedJson{{"delta", {{"role", "assistant"}, {"content", ""}}}}; },
    .piece = chat_delta,
    .ending = [] { return OrderedJson{{"delta", OrderedJson::object()}}; },
    .whole = chat_message,
    .logprobs = chat_logprobs,
    .prompt_logprobs_by_choice = false,
};

const AnswerShape kCompletionShape = {
    .id_prefix = "cmpl-",
    .object = "text_completion",
    .chunk_object = "text_completion",
    .opening = nullptr,
    .piece = [](const Piece& piece) { return OrderedJson{{"text", piece.text}}; },
    .ending = [] { return OrderedJson{{"text", ""}}; },
    .whole = [](const Piece& piece) { return OrderedJson{{"text", piece.text}}; },
    .logprobs = completion_logprobs,
    .prompt_logprobs_by_choice = true,
};

OpenAiFormat::OpenAiFormat(const AnswerShape& shape, OpenAiOptions options)
    : shape_(shape),
      options_(std::move(options)),
      id_(random_id(shape.id_prefix)),
      created_(unix_seconds()) {}

OrderedJson OpenAiFormat::frame(const char* object, OrderedJson choices) const {
  return {{"id", id_},
          {"object", object},
          {"created", created_},
          {"model", options_.model},
          {"choices", std::move(choices)}};
}

OrderedJson OpenAiFormat::chunk(OrderedJson choice) const {
  OrderedJson out = frame(shape_.chunk_object, OrderedJson::array({std::move(choice)}));
  if (options_.include_usage) out["usage"] = nullptr;
  return out;
}

OrderedJson OpenAiFormat::logprobs(const Piece& piece) const {
  return options_.logprobs ? shape_.logprobs(piece.tokens) : OrderedJson(nullptr);
}

std::string OpenAiFormat::first(size_t index) {
  if (!shape_.opening) return {};
  return sse_event(to_text(chunk(choice(index, shape_.opening(), nullptr, nullptr))));
}

std::string OpenAiFormat::piece(size_t index, const Piece& piece) {
  return sse_event(to_text(chunk(choice(index, shape_.piece(piece), logprobs(piece), nullptr))));
}

std::string OpenAiFormat::end(size_t index, Ending how, const std::string&, const Totals* totals) {
  OrderedJson ending = chunk(choice(index, shape_.ending(), nullptr, ending_name(how)));
  if (!totals) return sse_event(to_text(ending));
  if (!options_.include_usage) {
    ending["timings"] = timings_json(totals->timings);
    return sse_event(to_text(ending)) + sse_event("[DONE]");
  }
  OrderedJson last = frame(shape_.chunk_object, OrderedJson::array());
  last["usage"] = usage_json(totals->usage);
  last["timings"] = timings_json(totals->timings);
  return sse_event(to_text(ending)) + sse_event(to_text(last)) + sse_event("[DONE]");
}

std::string OpenAiFormat::failure(const Status& status) {
  return sse_event(to_text(error_json(status)));
}

std::string OpenAiFormat::whole(std::span<const Answer> answers, const Totals& totals) {
  OrderedJson choices = OrderedJson::array();
  for (const auto& [piece, how, stop_string, prompt] : answers) {
    choices.push_back(
        choice(choices.size(), shape_.whole(piece), logprobs(piece), ending_name(how)));
    if (prompt && shape_.prompt_logprobs_by_choice)
      choices.back()["prompt_logprobs"] = prompt_logprobs(*prompt);
  }
  OrderedJson out = frame(shape_.object, std::move(choices));
  if (const auto* prompt = answers.front().prompt; prompt && !shape_.prompt_logprobs_by_choice)
    out["prompt_logprobs"] = prompt_logprobs(*prompt);
  out["usage"] = usage_json(totals.usage);
  out["timings"] = timings_json(totals.timings);
  return to_text(out);
}

}  // namespace mlxforge
