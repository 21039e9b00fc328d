// One request on its way through the engine: plain state, owned by the Scheduler.
#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "cache/block_manager.h"
#include "engine/service.h"

namespace mlxforge {

struct Sequence {
  RequestId id = 0;
  Request request;
  std::vector<int32_t> tokens;  // the prompt, then what was generated
  int n_computed = 0;           // tokens whose keys and values are in the cache
  BlockTables blocks;

  TimePoint submitted, admitted, first_token;

  int n_tokens() const { return static_cast<int>(tokens.size()); }
  int n_prompt() const { return static_cast<int>(request.prompt.size()); }
  int n_generated() const { return n_tokens() - n_prompt(); }
  int n_pending() const { return n_tokens() - n_computed; }  // 1 when decoding
  bool decoding() const { return n_generated() > 0 && n_pending() == 1; }
};

// A sequence's part of a step: its tokens n_computed .. n_computed + n - 1.
struct ScheduledRow {
  Sequence* seq = nullptr;
  int n = 0;
  // Only the row of the last token that is known so far is sampled.
  bool samples() const { return n == seq->n_pending(); }
};

using Batch = std::vector<ScheduledRow>;

}  // namespace mlxforge
