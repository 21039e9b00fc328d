#include "server/access_log.h"

#include <algorithm>

#include "base/log.h"
#include "server/request_span.h"

namespace mlxforge {
namespace {

// The request line is the client's: no control character and no great length reaches the log.
std::string printable(std::string text) {
  text.resize(std::min<size_t>(text.size(), 100));
  std::ranges::replace_if(text, [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  return text;
}

LogField bare(std::string_view name, std::string value) {
  return {.name = name, .value = std::move(value), .show_name = false};
}

LogField number(std::string_view name, int64_t value) {
  return {.name = name, .value = std::to_string(value), .is_number = true};
}

void add_summary(std::vector<LogField>& fields, const Generation& generation) {
  const Usage& usage = generation.usage();
  fields.push_back(number("prompt", usage.prompt_tokens));
  fields.push_back(number("completion", usage.completion_tokens));
  fields.push_back({.name = "finish", .value = generation.finish()});
  if (const std::string& note = generation.note(); !note.empty())
    fields.push_back(bare("note", note));
}

}  // namespace

AccessLog::~AccessLog() {
  ++metrics_.responses[static_cast<size_t>(status_ / 100)];
  const double ms = ms_between(start_, Clock::now());
  write_line(ms);
  if (tracing_)
    tracing_->record(request_span({.request = request_,
                                   .id = id_,
                                   .key = key_,
                                   .status = status_,
                                   .ms = ms,
                                   .generation = generation_}));
}

void AccessLog::write_line(double ms) const {
  std::vector<LogField> fields = {bare("method", printable(request_.method)),
                                  bare("target", printable(request_.target)),
                                  number("status", status_)};
  fields.back().show_name = false;
  if (!key_.empty()) fields.push_back({.name = "key", .value = printable(key_)});
  if (generation_) add_summary(fields, *generation_);
  fields.push_back(number("ms", static_cast<int64_t>(ms)));
  fields.push_back({.name = "id", .value = id_});
  log_fields(LogLevel::info, fields);
}

}  // namespace mlxforge
