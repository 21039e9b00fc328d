// The answers of /v1/responses: a response whose output is a list of items, whole or as the events
// in which OpenAI's clients gather it.
#pragma once

#include <memory>
#include <string>

#include "server/answer_format.h"
#include "server/json.h"
#include "server/response_store.h"

namespace mlxforge {

class ResponsesFormat : public AnswerFormat {
 public:
  struct Setup {
    OrderedJson frame;                     // the response but for what the answer decides
    std::shared_ptr<ResponseStore> store;  // where the response is kept; null: nowhere
    // Wanted where it is kept: the items that are answered, and the messages before the answer.
    OrderedJson input, conversation;
  };
  explicit ResponsesFormat(Setup setup) : setup_(std::move(setup)) {}

  std::string first(size_t index) override;
  std::string piece(size_t index, const Piece& piece) override;
  std::string end(size_t index, Ending ending, const std::string& stop_string,
                  const Totals* totals) override;
  std::string failure(const Status& status) override;
  std::string whole(std::span<const Answer> answers, const Totals& totals) override;

 private:
  enum class Kind { none, reasoning, message, call };

  std::string event(const char* type, OrderedJson fields);
  OrderedJson where() const;  // what names the open item in its events
  std::string open(Kind kind, OrderedJson item);
  std::string open_text(Kind kind);
  std::string add_text(Kind kind, const std::string& text);
  std::string text_event(const char* what, const char* field, const std::string& text);
  std::string part_event(const char* type);
  OrderedJson part() const;  // of the open item's content, which has one
  std::string close(const char* status);
  std::string close_text();
  std::string close_call();
  OrderedJson finished(Ending ending, const Totals& totals);
  OrderedJson said() const;  // the output as a message of a chat
  void keep(const OrderedJson& response) const;

  Setup setup_;
  OrderedJson output_ = OrderedJson::array();  // the last one may be open
  Kind open_ = Kind::none;
  std::string text_;  // of the open item: its text or its arguments
  int n_events_ = 0;
};

}  // namespace mlxforge
