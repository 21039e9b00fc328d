// One answer in the making: the engine's events in, bytes for the client out. Streaming or not, the
// text goes through the same TokenStream, so both show the same. No socket and no waiting: whoever
// drives it submits `request`, pushes each event, and sends what comes out. One thread at a time.
#pragma once

#include <memory>
#include <string>

#include "engine/service.h"
#include "server/answer_format.h"
#include "server/http/message.h"
#include "server/token_stream.h"

namespace mlxforge {

class Generation {
 public:
  Generation(Request request, TokenStream stream, std::unique_ptr<AnswerFormat> format,
             bool streaming);

  Request request;  // for the engine; the driver moves it out
  EngineService* engine = nullptr;
  HttpHeaders headers;  // for the reply, streamed or whole

  bool streaming() const { return streaming_; }
  // SSE bytes now due; empty when there are none or the answer is wanted whole.
  std::string push(const StepEvent& event);
  // A stop string has matched and the engine does not know: cancel there, and go on pushing until
  // done().
  bool wants_cancel() const { return !done_ && stream_.matched(); }
  bool done() const { return done_; }
  HttpReply reply();  // REQUIRES: done(). The whole answer, or the error

  bool failed() const { return !error_.ok(); }
  const Usage& usage() const { return outcome_.usage; }
  // For the log.
  const char* finish() const;
  const std::string& note() const { return note_; }  // the seed of a sampled answer

 private:
  void finish_with(const StepEvent& event);

  TokenStream stream_;
  std::unique_ptr<AnswerFormat> format_;
  bool streaming_;
  bool begun_ = false;
  bool done_ = false;
  std::string note_;
  std::string text_;  // gathered when not streaming
  Outcome outcome_;
  Status error_;
};

}  // namespace mlxforge
