// The engine as the rest of the process sees it: requests in, one message of events per step out.
// No MLX type appears here, so the server can be built and tested over a fake. Implemented by
// engine/worker.h (the real one) and by tests.
//
// Threads: submit, cancel and stats may be called from any thread. The StepSink given at
// construction is called on the worker thread, once per step with everything that step produced; it
// must not block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "sampling/logprobs.h"
#include "sampling/params.h"
#include "text/answer_guide.h"

namespace mlxforge {

using RequestId = uint64_t;

// Which of a prompt's last hidden states make its embedding.
enum class Pooling { none, first, mean, last };

struct Request {
  std::vector<int32_t> prompt;  // token ids, each below the model's vocabulary; not empty
  SamplingParams sampling;
  // Clamped to the context; 0: nothing is sampled, the prompt is only computed.
  int max_tokens = 0;
  int min_tokens = 0;             // stop ids cannot be sampled before this many tokens
  std::vector<int32_t> stop_ids;  // beyond the model's own stop set
  bool ignore_eos = false;        // the model's stop set is then ordinary tokens
  int priority = 0;               // lower values go first; of equal ones clients take turns
  // What the answer follows; null: nothing. It ends where nothing can follow, whatever min_tokens
  // and ignore_eos say; where it may end or go on, they hold.
  std::shared_ptr<const Grammar> grammar;
  ReasoningRules reasoning;  // what may come before the answer that it describes
  uint32_t client = 0;       // requests of different clients wait for their turn fairly
  // Answers to the same prompt, which is computed once. Choice i draws its own random numbers, and
  // is what the same request gives alone with sampling.choice = i.
  int n = 1;
  // How many likeliest tokens to name beside each token generated, or of the prompt; -1: none, and
  // no log-probabilities at all.
  int logprobs = -1;
  int prompt_logprobs = -1;
  Pooling pooling = Pooling::none;  // not none: the prompt's embedding is wanted

  // What it takes up at the least: the prompt, and the first token of an answer that is wanted.
  int least_tokens() const { return static_cast<int>(prompt.size()) + (max_tokens > 0 ? 1 : 0); }
};

enum class FinishReason { none, stop, length, cancelled, error };

// Milliseconds on the worker's clock; filled in the final event.
struct Timings {
  int prompt_n = 0;     // prompt tokens computed
  int cache_n = 0;      // prompt tokens found in the prefix cache
  int predicted_n = 0;  // tokens generated, the stop token counted
  double queue_ms = 0;
  double prompt_ms = 0;
  double predicted_ms = 0;
  double ttft_ms = 0;
};

// What one step did for one choice of a request. A stop token ends the choice and is not among the
// tokens.
struct StepEvent {
  RequestId id = 0;
  uint32_t choice = 0;
  std::vector<int32_t> tokens;
  std::vector<TokenLogprobs> logprobs;  // if asked for: of each token, and of the stop token
  std::vector<TokenLogprobs>
      prompt_logprobs;           // if asked for: of the prompt's tokens from the
                                 // second on, in order; with choice 0, before its tokens
  std::vector<float> embedding;  // if asked for: (d_model), not normalised; in the last event
  FinishReason finish = FinishReason::none;
  Status error;       // when finish is error
  Timings timings;    // when finish is not none
  bool last = false;  // nothing more comes for this request
};

using StepSink = std::function<void(std::vector<StepEvent>)>;

struct ServiceStats {
  int running = 0;
  int waiting = 0;
  int max_waiting = 0;
  int kv_blocks_total = 0;
  int kv_blocks_used = 0;
  int kv_blocks_cached = 0;
  bool failed = false;  // the worker is dead; every waiter has been told
};

class EngineService {
 public:
  virtual ~EngineService() = default;

  // Accepts the request, or says at once why it can never run (context, KV budget, token id) or not
  // now (queue full).
  virtual Result<RequestId> submit(Request request) = 0;
  // Takes effect within one step; its blocks are then free. Unknown ids and choices are ignored.
  // The last event says `cancelled`.
  virtual void cancel(RequestId id) = 0;                          // every choice
  virtual void cancel_choice(RequestId id, uint32_t choice) = 0;  // the others go on
  virtual ServiceStats stats() const = 0;
};

}  // namespace mlxforge
