#include "text/tool_format.h"

#include <algorithm>

namespace mlxforge {
namespace {

// The first whose sign is found is taken.
constexpr ToolFormat kFormats[] = {
    {.name = "hermes",  // also Qwen's, SmolLM3's and Granite's
     .sign = "<tool_call>",
     .lead = "<tool_call>",
     .open = "\n{\"name\": \"",
     .middle = "\", \"arguments\": ",
     .close = "}\n</tool_call>",
     .between = "\n<tool_call>\n{\"name\": \"",
     .end = ""},
    {.name = "mistral-args",  // since its tokenizer 11
     .sign = "[ARGS]",
     .lead = "[TOOL_CALLS]",
     .open = "",
     .middle = "[ARGS]",
     .close = "",
     .between = "[TOOL_CALLS]",
     .end = "",
     .short_ids = true},
    {.name = "mistral",
     .sign = "[TOOL_CALLS]",
     .lead = "[TOOL_CALLS]",
     .open = "[{\"name\": \"",
     .middle = "\", \"arguments\": ",
     .close = "}",
     .between = ", {\"name\": \"",
     .end = "]",
     .short_ids = true},
    {.name = "llama3",
     .sign = "\"parameters\": ",
     .lead = "",
     .open = "{\"name\": \"",
     .middle = "\", \"parameters\": ",
     .close = "}",
     .between = "; {\"name\": \"",
     .end = ""},
    {.name = "json",
     .sign = "",  // on demand only
     .lead = "",
     .open = "[{\"name\": \"",
     .middle = "\", \"arguments\": ",
     .close = "}",
     .between = ", {\"name\": \"",
     .end = "]"},
};

}  // namespace

std::span<const ToolFormat> tool_formats() { return kFormats; }

const ToolFormat* tool_format(std::string_view name) {
  const auto found = std::ranges::find(kFormats, name, &ToolFormat::name);
  return found == std::end(kFormats) ? nullptr : &*found;
}

const ToolFormat& tool_format_of(std::string_view template_text) {
  const auto found = std::ranges::find_if(kFormats, [&](const ToolFormat& format) {
    return !format.sign.empty() && template_text.find(format.sign) != template_text.npos;
  });
  return found == std::end(kFormats) ? kFormats[0] : *found;
}

}  // namespace mlxforge
