// Failures as Anthropic's clients expect them: {"type":"error","error":{"type","message"}}.
#pragma once

#include "server/http/message.h"

namespace mlxforge {

// The failure of which `reply` tells as error.h writes it.
HttpReply anthropic_error(HttpReply reply);

}  // namespace mlxforge
