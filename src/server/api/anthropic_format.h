// The answers of /v1/messages: a message of content blocks, whole or as the events in which
// Anthropic's clients gather it.
#pragma once

#include <string>

#include "server/answer_format.h"
#include "server/json.h"

namespace mlxforge {

class AnthropicFormat : public AnswerFormat {
 public:
  AnthropicFormat(std::string model, int prompt_tokens);

  std::string first(size_t index) override;
  std::string piece(size_t index, const Piece& piece) override;
  std::string end(size_t index, Ending ending, const std::string& stop_string,
                  const Totals* totals) override;
  std::string failure(const Status& status) override;
  std::string whole(std::span<const Answer> answers, const Totals& totals) override;

 private:
  enum class Block { none, thinking, text, call };

  OrderedJson message(OrderedJson content, const Usage& usage) const;
  std::string open(Block kind, const OrderedJson& block);
  std::string close();
  std::string delta(const OrderedJson& delta) const;

  const std::string id_;
  const std::string model_;
  const int prompt_tokens_;
  Block block_ = Block::none;  // the one that is open
  int n_blocks_ = 0;           // closed before it
};

}  // namespace mlxforge
