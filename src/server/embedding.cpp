#include "server/embedding.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "server/error.h"
#include "server/prompts.h"

namespace mlxforge {
namespace {

constexpr size_t kAtOnce = 32;

// A vector of zeros stays one.
void normalise(std::vector<float>& vector) {
  double squares = 0;
  for (const float x : vector) squares += double{x} * x;
  const double length = std::sqrt(squares);
  if (length > 0)
    for (float& x : vector) x = static_cast<float>(x / length);
}

}  // namespace

Embedding::Embedding(std::vector<Request> requests, const char* param, size_t dimensions,
                     Render render)
    : requests_(std::move(requests)),
      param_(param),
      dimensions_(dimensions),
      render_(std::move(render)),
      vectors_(requests_.size()) {
  for (const Request& request : requests_)
    usage_.prompt_tokens += static_cast<int>(request.prompt.size());
}

std::vector<Request> Embedding::next() {
  wave_ = next_;
  n_open_ = std::min(kAtOnce, requests_.size() - wave_);
  next_ += n_open_;
  std::vector<Request> out;
  for (size_t i = wave_; i < next_; ++i) out.push_back(std::move(requests_[i]));
  return out;
}

void Embedding::push(size_t request, const StepEvent& event) {
  if (!event.last || !waiting()) return;
  --n_open_;
  if (event.finish == FinishReason::cancelled || event.finish == FinishReason::error)
    return fail(event.error.ok()
                    ? Status{Code::unavailable, "the request was cancelled by the server", ""}
                    : event.error);
  std::vector<float>& vector = vectors_[wave_ + request];
  vector = event.embedding;
  vector.resize(std::min(vector.size(), dimensions_));
  normalise(vector);
}

void Embedding::fail(Status why) { error_ = about_input(std::move(why), param_); }

HttpReply Embedding::reply() {
  if (!error_.ok()) return error_reply(error_);
  return {.body = to_text(render_(std::move(vectors_), usage_)), .headers = headers};
}

}  // namespace mlxforge
