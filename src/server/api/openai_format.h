// The answers of /v1/chat/completions and /v1/completions. Both are a list of choices inside the
// same frame; a shape is what differs.
#pragma once

#include <string>

#include "server/answer_format.h"
#include "server/json.h"

namespace mlxforge {

struct AnswerShape {
  const char* id_prefix;
  const char* object;
  const char* chunk_object;
  OrderedJson (*opening)();  // the choice of a first chunk before any text; null: none
  OrderedJson (*piece)(std::string_view text);  // a text chunk's
  OrderedJson (*ending)();                      // the finish chunk's
  OrderedJson (*whole)(std::string_view text);  // a whole answer's
};
extern const AnswerShape kChatShape;
extern const AnswerShape kCompletionShape;

class OpenAiFormat : public AnswerFormat {
 public:
  OpenAiFormat(const AnswerShape& shape, std::string model, bool include_usage);

  std::string first() override;
  std::string text(std::string_view piece) override;
  std::string last(const Outcome& outcome) override;
  std::string whole(std::string_view text, const Outcome& outcome) override;

 private:
  OrderedJson frame(const char* object, OrderedJson choices) const;
  OrderedJson chunk(OrderedJson content, const char* finish_reason) const;

  const AnswerShape& shape_;
  const std::string id_;
  const int64_t created_;
  const std::string model_;
  const bool include_usage_;
};

}  // namespace mlxforge
