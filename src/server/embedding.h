// Embeddings of several prompts in the making: the engine's events in, one reply out. The prompts
// go to the engine a few at a time, so that a long list neither fills its queue nor is refused by
// it. No socket and no waiting: whoever drives it submits next(), pushes the events until
// waiting() is over, and goes on until done(). One thread at a time.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/service.h"
#include "server/answer_format.h"
#include "server/http/message.h"
#include "server/json.h"

namespace mlxforge {

class Embedding {
 public:
  // L2-normalised, one for each prompt, in their order.
  using Vectors = std::vector<std::vector<float>>;
  using Render = std::function<OrderedJson(Vectors vectors, const Usage& usage)>;

  // `param`: the field that the prompts stand in. `dimensions`: each vector is cut to so many
  // numbers before it is normalised.
  Embedding(std::vector<Request> requests, const char* param, size_t dimensions, Render render);

  EngineService* engine = nullptr;
  HttpHeaders headers;  // for the reply

  std::vector<Request> next();
  void push(size_t request, const StepEvent& event);  // of what next() gave last
  void fail(Status why);                              // the engine did not take it
  bool waiting() const { return n_open_ > 0 && error_.ok(); }
  bool done() const { return next_ == requests_.size() || !error_.ok(); }
  HttpReply reply();  // REQUIRES: done() and not waiting()

  const Usage& usage() const { return usage_; }

 private:
  std::vector<Request> requests_;
  const char* param_;
  size_t dimensions_;
  Render render_;
  Vectors vectors_;
  size_t wave_ = 0, next_ = 0;  // prompts from one to the other went to the engine last
  size_t n_open_ = 0;           // of these are still there
  Usage usage_;
  Status error_;
};

}  // namespace mlxforge
