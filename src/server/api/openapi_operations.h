// What the OpenAPI document says of each endpoint. Schemas are named as the files in
// server/openapi/ name them; null: there is none.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "server/fields.h"

namespace mlxforge {

struct Operation {
  struct Answer {
    const char* schema = nullptr;  // of its JSON; null: it is text
    const char* content_type = "application/json";
    const char* event = nullptr;       // of the JSON in the events of a streamed answer
    const char* status_503 = nullptr;  // of an answer with this status, which may be an Error, too
  };
  struct Request {
    const char* schema = nullptr;
    std::vector<FieldRule> (*fields)() = nullptr;  // further properties
  };

  std::string_view method;
  std::string_view path;
  const char* summary;
  Answer answer;
  Request request = {};
  std::vector<FieldRule> (*query)() = nullptr;  // what its query string may hold
};

std::span<const Operation> operations();

}  // namespace mlxforge
