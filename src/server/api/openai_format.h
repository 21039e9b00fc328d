// The answers of /v1/chat/completions and /v1/completions. Both are a list of choices inside the
// same frame; a shape is what differs.
#pragma once

#include <memory>
#include <string>

#include "server/answer_format.h"
#include "server/generation_fields.h"
#include "server/json.h"
#include "server/state.h"

namespace mlxforge {

struct AnswerShape {
  const char* id_prefix;
  const char* object;
  const char* chunk_object;
  OrderedJson (*opening)();  // the choice of a first chunk before any text; null: none
  OrderedJson (*piece)(const Piece& piece);  // a chunk's with text or calls
  OrderedJson (*ending)();                   // the finish chunk's
  OrderedJson (*whole)(const Piece& piece);  // a whole answer's
  OrderedJson (*logprobs)(std::span<const ScoredToken> tokens);
  bool prompt_logprobs_by_choice;  // else beside the choices
};
extern const AnswerShape kChatShape;
extern const AnswerShape kCompletionShape;

struct OpenAiOptions {
  std::string model;
  bool include_usage = false;
  bool logprobs = false;
};

class OpenAiFormat : public AnswerFormat {
 public:
  OpenAiFormat(const AnswerShape& shape, OpenAiOptions options);

  std::string first(size_t index) override;
  std::string piece(size_t index, const Piece& piece) override;
  std::string end(size_t index, Ending ending, const std::string& stop_string,
                  const Totals* totals) override;
  std::string failure(const Status& status) override;
  std::string whole(std::span<const Answer> answers, const Totals& totals) override;

 private:
  OrderedJson frame(const char* object, OrderedJson choices) const;
  OrderedJson chunk(OrderedJson choice) const;
  OrderedJson logprobs(const Piece& piece) const;

  const AnswerShape& shape_;
  const OpenAiOptions options_;
  const std::string id_;
  const int64_t created_;
};

// The format of an endpoint of that shape.
template <const AnswerShape& shape>
std::unique_ptr<AnswerFormat> openai_format(GenerationParams& params, const Prompts&,
                                            const ServerState::View& server) {
  return std::make_unique<OpenAiFormat>(shape,
                                        OpenAiOptions{.model = server.model->id,
                                                      .include_usage = params.include_usage,
                                                      .logprobs = params.logprobs.has_value()});
}

}  // namespace mlxforge
