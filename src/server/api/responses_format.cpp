#include "server/api/responses_format.h"

#include "server/ids.h"
#include "server/messages.h"
#include "server/sse.h"

namespace mlxforge {
namespace {

OrderedJson text_part(const std::string& text) {
  return {{"type", "output_text"},
          {"text", text},
          {"annotations", OrderedJson::array()},
          {"logprobs", OrderedJson::array()}};
}

OrderedJson new_message() {
  return {{"id", random_id("msg_")},
          {"type", "message"},
          {"status", "in_progress"},
          {"role", "assistant"},
          {"content", OrderedJson::array()}};
}

OrderedJson new_reasoning() {
  return {{"id", random_id("rs_")},
          {"type", "reasoning"},
          {"status", "in_progress"},
          {"summary", OrderedJson::array()},
          {"content", OrderedJson::array()}};
}

OrderedJson reasoning_part(const std::string& text) {
  return {{"type", "reasoning_text"}, {"text", text}};
}

OrderedJson new_call(const std::string& name) {
  return {{"id", random_id("fc_")},
          {"type", "function_call"},
          {"status", "in_progress"},
          {"call_id", random_id("call_")},
          {"name", name},
          {"arguments", ""}};
}

OrderedJson usage_json(const Usage& usage) {
  return {{"input_tokens", usage.prompt_tokens},
          {"input_tokens_details", {{"cached_tokens", usage.cached_tokens}}},
          {"output_tokens", usage.completion_tokens},
          {"output_tokens_details", {{"reasoning_tokens", usage.reasoning_tokens}}},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

const char* status_of(Ending ending) {
  return ending == Ending::length ? "incomplete" : "completed";
}

}  // namespace

std::string ResponsesFormat::event(const char* type, OrderedJson fields) {
  OrderedJson data = {{"type", type}, {"sequence_number", n_events_++}};
  data.update(fields);
  return sse_event(type, to_text(data));
}

OrderedJson ResponsesFormat::where() const {
  OrderedJson out = {{"item_id", output_.back()["id"]}, {"output_index", output_.size() - 1}};
  if (open_ != Kind::call) out["content_index"] = 0;
  return out;
}

std::string ResponsesFormat::first(size_t) {
  const OrderedJson begun = {{"response", setup_.frame}};
  return event("response.created", begun) + event("response.in_progress", begun);
}

std::string ResponsesFormat::open(Kind kind, OrderedJson item) {
  std::string out = close("completed");
  open_ = kind;
  text_.clear();
  output_.push_back(std::move(item));
  return out + event("response.output_item.added",
                     {{"output_index", output_.size() - 1}, {"item", output_.back()}});
}

OrderedJson ResponsesFormat::part() const {
  return open_ == Kind::message ? text_part(text_) : reasoning_part(text_);
}

// An event about the open item's text.
std::string ResponsesFormat::text_event(const char* what, const char* field,
                                        const std::string& text) {
  OrderedJson fields = where();
  fields[field] = text;
  if (open_ == Kind::message) fields["logprobs"] = OrderedJson::array();
  const char* name = open_ == Kind::message ? "output_text" : "reasoning_text";
  return event(str("response.", name, ".", what).c_str(), std::move(fields));
}

std::string ResponsesFormat::part_event(const char* type) {
  OrderedJson fields = where();
  fields["part"] = part();
  return event(type, std::move(fields));
}

std::string ResponsesFormat::open_text(Kind kind) {
  std::string out = open(kind, kind == Kind::message ? new_message() : new_reasoning());
  return out + part_event("response.content_part.added");
}

std::string ResponsesFormat::close_text() {
  output_.back()["content"].push_back(part());
  return text_event("done", "text", text_) + part_event("response.content_part.done");
}

std::string ResponsesFormat::close_call() {
  OrderedJson done = where();
  done["name"] = output_.back()["name"];
  output_.back()["arguments"] = done["arguments"] = text_;
  return event("response.function_call_arguments.done", std::move(done));
}

std::string ResponsesFormat::close(const char* status) {
  if (open_ == Kind::none) return {};
  const std::string out = open_ == Kind::call ? close_call() : close_text();
  output_.back()["status"] = status;
  open_ = Kind::none;
  return out + event("response.output_item.done",
                     {{"output_index", output_.size() - 1}, {"item", output_.back()}});
}

std::string ResponsesFormat::add_text(Kind kind, const std::string& text) {
  if (text.empty()) return {};
  std::string out;
  if (open_ != kind) out = open_text(kind);
  text_ += text;
  return out + text_event("delta", "delta", text);
}

std::string ResponsesFormat::piece(size_t, const Piece& piece) {
  std::string out = add_text(Kind::reasoning, piece.reasoning);
  out += add_text(Kind::message, piece.text);
  for (const ToolDelta& call : piece.calls) {
    if (!call.name.empty()) out += open(Kind::call, new_call(call.name));
    if (call.arguments.empty()) continue;
    text_ += call.arguments;
    OrderedJson delta = where();
    delta["delta"] = call.arguments;
    out += event("response.function_call_arguments.delta", std::move(delta));
  }
  return out;
}

std::string ResponsesFormat::end(size_t, Ending ending, const std::string&, const Totals* totals) {
  std::string out;
  if (output_.empty()) out = open_text(Kind::message);
  out += close(status_of(ending));
  const OrderedJson response = finished(ending, *totals);
  keep(response);
  return out + event(str("response.", status_of(ending)).c_str(), {{"response", response}});
}

std::string ResponsesFormat::failure(const Status& status) {
  OrderedJson response = setup_.frame;
  response["status"] = "failed";
  response["error"] = {{"code", "server_error"}, {"message", status.message}};
  response["output"] = output_;
  return event("response.failed", {{"response", response}});
}

// The same items as those of the events.
std::string ResponsesFormat::whole(std::span<const Answer> answers, const Totals& totals) {
  const Answer& answer = answers.front();
  piece(0, answer.piece);
  if (output_.empty()) open_text(Kind::message);
  close(status_of(answer.ending));
  const OrderedJson response = finished(answer.ending, totals);
  keep(response);
  return to_text(response);
}

OrderedJson ResponsesFormat::finished(Ending ending, const Totals& totals) {
  OrderedJson response = setup_.frame;
  response["status"] = status_of(ending);
  if (ending == Ending::length) response["incomplete_details"] = {{"reason", "max_output_tokens"}};
  response["output"] = output_;
  response["usage"] = usage_json(totals.usage);
  return response;
}

OrderedJson ResponsesFormat::said() const {
  OrderedJson message = {{"role", "assistant"}, {"content", nullptr}};
  for (const OrderedJson& item : output_) {
    if (item["type"] == "reasoning")
      message["reasoning_content"] = item["content"][0]["text"];
    else if (item["type"] == "message")
      message["content"] = string_at(message, "content") + string_at(item["content"][0], "text");
    else
      message["tool_calls"].push_back(
          function_call(item["call_id"], item["name"], item["arguments"]));
  }
  return message;
}

void ResponsesFormat::keep(const OrderedJson& response) const {
  if (!setup_.store) return;
  OrderedJson conversation = setup_.conversation;
  conversation.push_back(said());
  setup_.store->put(response["id"],
                    {to_text(response), to_text(setup_.input), to_text(conversation)});
}

}  // namespace mlxforge
