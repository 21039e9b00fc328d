// One answer in the making: the engine's events in, bytes for the client out. It has one or more
// prompts, and of each one or more choices; whatever is shown of a choice goes through its own
// TokenStream, streaming or not, so both show the same. No socket and no waiting: whoever drives it
// submits `requests`, pushes each event, and sends what comes out. One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/service.h"
#include "server/answer_format.h"
#include "server/http/message.h"
#include "server/token_stream.h"

namespace mlxforge {

struct GenerationPlan {
  std::vector<Request> requests;  // one for each prompt, all for as many choices
  std::vector<std::string> stops;
  TextParts parts;    // of each answer
  int n = 1;          // choices shown of each prompt: if fewer than are made, the likeliest ones
  bool echo = false;  // the prompt is the beginning of the text
  bool prompt_logprobs = false;  // those of the prompt are shown beside the text
  bool streaming = false;
};

class Generation {
 public:
  Generation(std::shared_ptr<const ModelContext> model, GenerationPlan plan,
             std::unique_ptr<AnswerFormat> format);

  std::vector<Request> requests;  // for the engine; the driver moves them out
  EngineService* engine = nullptr;
  HttpHeaders headers;           // for the reply, streamed or whole
  const char* input = "prompt";  // the field that the prompts were made from

  bool streaming() const { return plan_.streaming; }
  // An event of requests[request]. SSE bytes now due; empty when there are none or the answer is
  // wanted whole.
  std::string push(size_t request, const StepEvent& event);

  struct Ended {
    size_t request;
    uint32_t choice;
  };
  // Choices that a stop string has ended and the engine does not know; each is named once. Cancel
  // them there, and go on pushing until done().
  std::vector<Ended> take_ended();
  bool done() const { return done_; }
  HttpReply reply();  // REQUIRES: done(). The whole answer, or the error

  bool failed() const { return !error_.ok(); }
  Usage usage() const;  // so far
  const ModelContext& model() const { return *model_; }
  // For the log and traces.
  const Timings& timings() const { return totals_.timings; }  // of the choices that have ended
  const char* finish() const;
  const std::string& note() const { return note_; }  // the seed of a sampled answer

 private:
  struct Choice {
    explicit Choice(TokenStream stream) : stream(std::move(stream)) {}
    TokenStream stream;
    Piece shown;  // gathered when not streaming
    bool begun = false, done = false;
    Ending ending = Ending::stop;
    double logprob = 0;  // of all its tokens
    int n_scored = 0;
  };
  struct Prompt {
    std::vector<int32_t> tokens;          // where something of them is shown
    bool scores = false;                  // its log-probabilities are wanted
    std::vector<TokenLogprobs> logprobs;  // of all but the first, when the first choice begins
    std::vector<ScoredToken> shown;       // for the answer
    std::vector<Choice> choices;
  };

  std::string show(size_t request, const StepEvent& event);
  Piece begin(const Prompt& prompt, Choice& choice) const;
  void finish_choice(Choice& choice, const StepEvent& event);
  void fail(const StepEvent& event);
  std::vector<Choice*> chosen(Prompt& prompt) const;
  std::vector<Answer> answers();

  std::shared_ptr<const ModelContext> model_;
  GenerationPlan plan_;
  std::unique_ptr<AnswerFormat> format_;
  std::vector<Prompt> prompts_;
  std::vector<Ended> ended_;
  size_t n_open_ = 0;  // choices that are not done
  bool done_ = false;
  std::string note_;
  Totals totals_;
  Status error_;
};

}  // namespace mlxforge
