// How one endpoint writes its answer: as SSE events while it grows, or whole. One object per
// request, used by one thread at a time. Implemented in api/.
#pragma once

#include <string>
#include <string_view>

#include "engine/service.h"

namespace mlxforge {

struct Usage {
  int prompt_tokens = 0;
  int completion_tokens = 0;  // shown: neither the stop token nor what came after a stop string
  int cached_tokens = 0;      // of the prompt
};

// What is known when an answer has ended without an error.
struct Outcome {
  bool hit_limit = false;  // ended by max_tokens or the context, else by a stop
  Usage usage;
  Timings timings;
};

class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;

  // Bytes of SSE, in this order: first, text any number of times, last.
  virtual std::string first() = 0;
  virtual std::string text(std::string_view piece) = 0;
  virtual std::string last(const Outcome& outcome) = 0;

  // The JSON body of an answer that was not streamed.
  virtual std::string whole(std::string_view text, const Outcome& outcome) = 0;
};

}  // namespace mlxforge
