// Tools for models whose chat template never reads them: they are told in the system message, and
// calls and results of earlier turns become text.
#pragma once

#include "text/chat_template.h"
#include "text/tool_format.h"

namespace mlxforge {

// Whether what the template renders depends on the tools it is given.
bool reads_tools(const ChatTemplate& chat);

// Gives every call and result an id of nine letters and digits, the same for equal ids.
void shorten_ids(OrderedJson& messages);

// Moves input.tools and the messages' tool_calls into contents. A tool's turn becomes a user's.
void write_tools_as_text(ChatInput& input, const ToolFormat& format);

}  // namespace mlxforge
