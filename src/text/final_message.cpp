#include "text/final_message.h"

#include <algorithm>
#include <string_view>

namespace mlxforge {
namespace {

// Without the spaces in front, and without those at the end if these are stripped too.
std::string_view trimmed(std::string_view text, bool at_end) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (at_end && !text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

// The marker is put behind the text and looked for.
Result<size_t> end_of_final_message(const ChatTemplate& chat, const ChatInput& input,
                                    const std::string& prompt, const Marker& marker) {
  ChatInput tagged = input;
  OrderedJson& content = tagged.messages.back()["content"];
  const std::string text = content;
  content = text + marker.text() + " ";
  Result<std::string> rendered = chat.render(tagged);
  if (!rendered.ok()) return rendered.status();
  const size_t found = rendered->rfind(marker.text());
  size_t end = std::min(found, rendered->size());
  const bool strips = !rendered->substr(end).starts_with(marker.text() + " ");
  while (strips && end > 0 && is_space((*rendered)[end - 1])) --end;
  const std::string_view begun = std::string_view(prompt).substr(0, end);
  if (found == rendered->npos || begun != std::string_view(*rendered).substr(0, end) ||
      !begun.ends_with(trimmed(text, strips)))
    return Status::invalid(
        "the chat template does not show the final message as it is, so it cannot be continued",
        "continue_final_message");
  return end;
}

}  // namespace mlxforge
