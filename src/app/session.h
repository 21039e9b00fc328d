// A loaded model and all that commands need of it: the files, the tokenizer, the chat template and
// the engine on its own thread. Made and destroyed by the main thread.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "base/options.h"
#include "engine/worker.h"
#include "files/model_folder.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace mlxforge {

struct Session {
  ModelFiles files;
  std::shared_ptr<const Tokenizer> tokenizer;         // null: the model has none, ids still work
  std::shared_ptr<const ChatTemplate> chat_template;  // null: the model has none
  std::vector<int32_t> stop_ids;                      // every id that ends an answer
  int vocab_size = 0;                                 // ids below it may be in a prompt
  int d_model = 0;                                    // width of the hidden states
  int max_ctx = 0;                                    // tokens, prompt and answer together
  const Tokenizer& text() const;   // the tokenizer; throws Error when there is none
  std::unique_ptr<Worker> worker;  // goes first
};

// Before any thread starts: chooses where MLX computes. Then load_session, which blocks until the
// engine is ready and shows progress on standard error. Both throw Error.
void prepare_device(const Options& options);
std::unique_ptr<Session> load_session(const Options& options, StepSink sink);

// Every id that ends an answer: the union of generation_config.json's and config.json's
// eos_token_id, each an id or a list of them, and the tokenizer's own.
std::vector<int32_t> stop_set(const Json& config, const Json& generation_config,
                              const std::vector<int32_t>& tokenizer_ids);

// A sink for one request at a time: what the worker leaves, the main thread takes.
class StepQueue {
 public:
  StepSink sink();
  std::vector<StepEvent> take();  // waits until there is something

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::vector<StepEvent> events_;
};

}  // namespace mlxforge
