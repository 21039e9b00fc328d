#include "server/api/openai_format.h"

#include <chrono>
#include <random>

#include "server/sse.h"

namespace mlxforge {
namespace {

std::string random_id(const char* prefix) {
  thread_local std::mt19937_64 random{std::random_device{}()};
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string id = prefix;
  for (int i = 0; i < 24; ++i) id += kDigits[random() % 16];
  return id;
}

int64_t unix_seconds() {
  using namespace std::chrono;
  return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

OrderedJson choice(OrderedJson content, const char* finish_reason) {
  OrderedJson out = {{"index", 0}};
  out.update(content);
  out["logprobs"] = nullptr;
  out["finish_reason"] = nullptr;
  if (finish_reason) out["finish_reason"] = finish_reason;
  return out;
}

const char* finish_reason(const Outcome& outcome) { return outcome.hit_limit ? "length" : "stop"; }

OrderedJson usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
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

}  // namespace

const AnswerShape kChatShape = {
    .id_prefix = "chatcmpl-",
    .object = "chat.completion",
    .chunk_object = "chat.completion.chunk",
    .opening = [] { return OrderedJson{{"delta", {{"role", "assistant"}, {"content", ""}}}}; },
    .piece = [](std::string_view text) { return OrderedJson{{"delta", {{"content", text}}}}; },
    .ending = [] { return OrderedJson{{"delta", OrderedJson::object()}}; },
    .whole =
        [](std::string_view text) {
          return OrderedJson{
              {"message", {{"role", "assistant"}, {"content", text}, {"refusal", nullptr}}}};
        },
};

const AnswerShape kCompletionShape = {
    .id_prefix = "cmpl-",
    .object = "text_completion",
    .chunk_object = "text_completion",
    .opening = nullptr,
    .piece = [](std::string_view text) { return OrderedJson{{"text", text}}; },
    .ending = [] { return OrderedJson{{"text", ""}}; },
    .whole = [](std::string_view text) { return OrderedJson{{"text", text}}; },
};

OpenAiFormat::OpenAiFormat(const AnswerShape& shape, std::string model, bool include_usage)
    : shape_(shape),
      id_(random_id(shape.id_prefix)),
      created_(unix_seconds()),
      model_(std::move(model)),
      include_usage_(include_usage) {}

OrderedJson OpenAiFormat::frame(const char* object, OrderedJson choices) const {
  return {{"id", id_},
          {"object", object},
          {"created", created_},
          {"model", model_},
          {"choices", std::move(choices)}};
}

OrderedJson OpenAiFormat::chunk(OrderedJson content, const char* finish_reason) const {
  OrderedJson out =
      frame(shape_.chunk_object, OrderedJson::array({choice(std::move(content), finish_reason)}));
  if (include_usage_) out["usage"] = nullptr;
  return out;
}

std::string OpenAiFormat::first() {
  return shape_.opening ? sse_event(to_text(chunk(shape_.opening(), nullptr))) : std::string();
}

std::string OpenAiFormat::text(std::string_view piece) {
  return sse_event(to_text(chunk(shape_.piece(piece), nullptr)));
}

std::string OpenAiFormat::last(const Outcome& outcome) {
  OrderedJson ending = chunk(shape_.ending(), finish_reason(outcome));
  if (!include_usage_) {
    ending["timings"] = timings_json(outcome.timings);
    return sse_event(to_text(ending)) + sse_event("[DONE]");
  }
  OrderedJson totals = frame(shape_.chunk_object, OrderedJson::array());
  totals["usage"] = usage_json(outcome.usage);
  totals["timings"] = timings_json(outcome.timings);
  return sse_event(to_text(ending)) + sse_event(to_text(totals)) + sse_event("[DONE]");
}

std::string OpenAiFormat::whole(std::string_view text, const Outcome& outcome) {
  OrderedJson out = frame(shape_.object,
                          OrderedJson::array({choice(shape_.whole(text), finish_reason(outcome))}));
  out["usage"] = usage_json(outcome.usage);
  out["timings"] = timings_json(outcome.timings);
  return to_text(out);
}

}  // namespace mlxforge
