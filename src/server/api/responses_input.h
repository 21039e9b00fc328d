// The input of /v1/responses in the form that chat messages have, which messages.h takes from
// there.
#pragma once

#include "base/status.h"
#include "server/json.h"

namespace mlxforge {

// Appends `input`, a string or a list of items (messages, function calls and their outputs,
// reasoning), to `messages`.
Status append_input(const OrderedJson& input, OrderedJson& messages);

}  // namespace mlxforge
