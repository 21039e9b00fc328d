// Where a prompt has to end for the answer to go on with the last message.
#pragma once

#include <string>

#include "text/chat_template.h"
#include "text/marker.h"

namespace mlxforge {

// How many bytes of `prompt`, which is `input` rendered, come before the end of the last message's
// text; spaces that the template strips there do not count. The marker is none of the prompt's
// characters. A failure where the template does not show the text as it is.
Result<size_t> end_of_final_message(const ChatTemplate& chat, const ChatInput& input,
                                    const std::string& prompt, const Marker& marker);

}  // namespace mlxforge
