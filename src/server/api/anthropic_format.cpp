#include "server/api/anthropic_format.h"

#include "server/api/anthropic_error.h"
#include "server/error.h"
#include "server/ids.h"
#include "server/sse.h"

namespace mlxforge {
namespace {

// An event is named by its type.
std::string event(const char* type, const OrderedJson& fields = OrderedJson::object()) {
  OrderedJson data = {{"type", type}};
  data.update(fields);
  return sse_event(type, to_text(data));
}

const char* stop_reason(Ending ending, const std::string& stop_string) {
  if (!stop_string.empty()) return "stop_sequence";
  if (ending == Ending::tool_calls) return "tool_use";
  return ending == Ending::length ? "max_tokens" : "end_turn";
}

OrderedJson stop_fields(Ending ending, const std::string& stop_string) {
  OrderedJson out = {{"stop_reason", stop_reason(ending, stop_string)}, {"stop_sequence", nullptr}};
  if (!stop_string.empty()) out["stop_sequence"] = stop_string;
  return out;
}

// Input tokens are those that were computed; those found in the cache are counted apart.
OrderedJson usage_json(const Usage& usage) {
  return {{"input_tokens", usage.prompt_tokens - usage.cached_tokens},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", usage.cached_tokens},
          {"output_tokens", usage.completion_tokens},
          {"output_tokens_details", {{"thinking_tokens", usage.reasoning_tokens}}}};
}

OrderedJson text_block(const std::string& text) { return {{"type", "text"}, {"text", text}}; }

// Without a signature: it is not looked at when it comes back.
OrderedJson thinking_block(const std::string& text) {
  return {{"type", "thinking"}, {"thinking", text}, {"signature", ""}};
}

OrderedJson tool_block(const std::string& name, OrderedJson input) {
  return {{"type", "tool_use"},
          {"id", random_id("toolu_")},
          {"name", name},
          {"input", std::move(input)}};
}

// Arguments that max_tokens has cut are no JSON.
OrderedJson input_of(const std::string& arguments) {
  auto parsed = parse_body(arguments);
  return parsed.ok() ? std::move(*parsed) : OrderedJson::object();
}

}  // namespace

AnthropicFormat::AnthropicFormat(std::string model, int prompt_tokens)
    : id_(random_id("msg_")), model_(std::move(model)), prompt_tokens_(prompt_tokens) {}

OrderedJson AnthropicFormat::message(OrderedJson content, const Usage& usage) const {
  return {{"id", id_},
          {"type", "message"},
          {"role", "assistant"},
          {"model", model_},
          {"content", std::move(content)},
          {"stop_reason", nullptr},
          {"stop_sequence", nullptr},
          {"usage", usage_json(usage)}};
}

std::string AnthropicFormat::first(size_t) {
  const OrderedJson begun = message(OrderedJson::array(), {.prompt_tokens = prompt_tokens_});
  return event("message_start", {{"message", begun}});
}

std::string AnthropicFormat::open(Block kind, const OrderedJson& block) {
  std::string out = close();
  out += event("content_block_start", {{"index", n_blocks_}, {"content_block", block}});
  if (n_blocks_ == 0) out += event("ping");
  block_ = kind;
  return out;
}

std::string AnthropicFormat::close() {
  if (block_ == Block::none) return {};
  block_ = Block::none;
  return event("content_block_stop", {{"index", n_blocks_++}});
}

std::string AnthropicFormat::delta(const OrderedJson& delta) const {
  return event("content_block_delta", {{"index", n_blocks_}, {"delta", delta}});
}

std::string AnthropicFormat::piece(size_t, const Piece& piece) {
  std::string out;
  if (!piece.reasoning.empty()) {
    if (block_ != Block::thinking) out += open(Block::thinking, thinking_block(""));
    out += delta({{"type", "thinking_delta"}, {"thinking", piece.reasoning}});
  }
  if (!piece.text.empty()) {
    if (block_ != Block::text) out += open(Block::text, text_block(""));
    out += delta({{"type", "text_delta"}, {"text", piece.text}});
  }
  for (const ToolDelta& call : piece.calls) {
    if (!call.name.empty()) out += open(Block::call, tool_block(call.name, OrderedJson::object()));
    out += delta({{"type", "input_json_delta"}, {"partial_json", call.arguments}});
  }
  return out;
}

std::string AnthropicFormat::end(size_t, Ending ending, const std::string& stop_string,
                                 const Totals* totals) {
  const OrderedJson fields = {{"delta", stop_fields(ending, stop_string)},
                              {"usage", usage_json(totals->usage)}};
  return close() + event("message_delta", fields) + event("message_stop");
}

std::string AnthropicFormat::failure(const Status& status) {
  return sse_event("error", anthropic_error(error_reply(status)).body);
}

std::string AnthropicFormat::whole(std::span<const Answer> answers, const Totals& totals) {
  const Answer& answer = answers.front();
  OrderedJson content = OrderedJson::array();
  if (!answer.piece.reasoning.empty()) content.push_back(thinking_block(answer.piece.reasoning));
  if (!answer.piece.text.empty()) content.push_back(text_block(answer.piece.text));
  for (const ToolDelta& call : answer.piece.whole_calls())
    content.push_back(tool_block(call.name, input_of(call.arguments)));
  OrderedJson out = message(std::move(content), totals.usage);
  out.update(stop_fields(answer.ending, answer.stop_string));
  return to_text(out);
}

}  // namespace mlxforge
