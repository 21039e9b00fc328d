// The messages of a chat request, checked and brought to the form that chat templates expect.
#pragma once

#include "base/status.h"
#include "server/json.h"

namespace mlxforge {

// `messages` becomes a non-empty array of objects whose role is system, user, assistant or tool
// (developer is system under another name) and whose content is a string: text parts are joined in
// their order, an assistant's missing content becomes "" or, beside tool_calls, null. Arguments of
// tool calls that are JSON objects in a string become objects. Other keys stay, unless they are
// null.
Status normalise_messages(OrderedJson& messages);

// An entry of an assistant's `tool_calls`.
OrderedJson function_call(std::string id, std::string name, OrderedJson arguments);

}  // namespace mlxforge
