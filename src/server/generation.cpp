#include "server/generation.h"

#include "server/error.h"
#include "server/sse.h"

namespace mlxforge {

Generation::Generation(Request engine_request, TokenStream stream,
                       std::unique_ptr<AnswerFormat> format, bool streaming)
    : request(std::move(engine_request)),
      stream_(std::move(stream)),
      format_(std::move(format)),
      streaming_(streaming) {
  outcome_.usage.prompt_tokens = static_cast<int>(request.prompt.size());
  if (request.sampling.temperature > 0) note_ = str(" seed=", request.sampling.seed);
}

std::string Generation::push(const StepEvent& event) {
  const bool last = event.finish != FinishReason::none;
  const std::string piece = stream_.push(event.tokens, last);
  outcome_.usage.completion_tokens = stream_.tokens();
  if (last) finish_with(event);
  if (!streaming_) {
    text_ += piece;
    return {};
  }
  if (failed()) return sse_event(to_text(error_json(error_)));
  std::string out;
  if (!begun_) out = format_->first();
  begun_ = true;
  if (!piece.empty()) out += format_->text(piece);
  if (last) out += format_->last(outcome_);
  return out;
}

void Generation::finish_with(const StepEvent& event) {
  done_ = true;
  outcome_.timings = event.timings;
  outcome_.usage.cached_tokens = event.timings.cache_n;
  if (stream_.matched()) return;
  outcome_.hit_limit = event.finish == FinishReason::length;
  if (event.finish == FinishReason::error)
    error_ = event.error.ok() ? Status{Code::internal, "the engine failed at this request", ""}
                              : event.error;
  if (event.finish == FinishReason::cancelled)
    error_ = {Code::unavailable, "the request was cancelled by the server", ""};
}

HttpReply Generation::reply() {
  HttpReply reply =
      failed() ? error_reply(error_) : HttpReply{.body = format_->whole(text_, outcome_)};
  reply.headers.insert(reply.headers.end(), headers.begin(), headers.end());
  return reply;
}

const char* Generation::finish() const {
  if (!done_) return "disconnect";
  if (failed()) return "error";
  return outcome_.hit_limit ? "length" : "stop";
}

}  // namespace mlxforge
