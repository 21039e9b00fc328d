// Failures as OpenAI's clients expect them: {"error":{"message","type","param","code"}}.
#pragma once

#include <string>

#include "base/status.h"
#include "server/http/message.h"
#include "server/json.h"

namespace mlxforge {

// {"error":{...}}, for a body or for an SSE event.
OrderedJson error_json(const Status& status);
HttpReply error_reply(const Status& status);

// Refusals that stand above the API: wrong path or method, or not HTTP at all.
HttpReply plain_error(int http_status, const std::string& message, const char* code = nullptr);

}  // namespace mlxforge
