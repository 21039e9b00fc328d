#include "server/reasoning_fields.h"

#include <algorithm>

namespace mlxforge {
namespace {

using enum FieldType;
using Params = GenerationParams;

constexpr char kEffort[] = "reasoning_effort";  // the chat template's variable, too

struct Effort {
  std::string_view name;
  std::optional<int> budget;  // where the chat template does not read the effort
};
constexpr Effort kEfforts[] = {{"none", 0},  {"minimal", 512}, {"low", 1024}, {"medium", 8192},
                               {"high", {}}, {"xhigh", {}},    {"max", {}}};

constexpr Field kFields[] = {
    {"reasoning_budget", integer,
     [](OrderedJson& value, Params& params) {
       params.reasoning.budget = to_integer<int>(value);
       return Status{};
     },
     0, kUnbounded},
};

bool template_reads_effort(const Params& params, const ModelContext& model) {
  const auto reads = [](const std::string& text) { return text.find(kEffort) != text.npos; };
  if (!params.chat_template.empty()) return reads(params.chat_template);
  return model.chat_template && std::ranges::any_of(model.chat_template->texts(), reads);
}

Status tell_template(const Params& params, ChatInput& input) {
  if (input.kwargs.contains(kEffort))
    return Status::invalid(str("'", params.reasoning.effort_field,
                               "' is in 'chat_template_kwargs' too; send one of them"),
                           params.reasoning.effort_field);
  input.kwargs[kEffort] = params.reasoning.effort;
  return {};
}

// Of an assistant's message that is continued.
ReasoningStage stage_of(const std::string& content) {
  const size_t begin = content.rfind(kThinkBegin), end = content.rfind(kThinkEnd);
  const bool open = begin != content.npos && (end == content.npos || begin > end);
  return open ? ReasoningStage::inside : ReasoningStage::after;
}

}  // namespace

std::span<const Field> reasoning_fields() { return kFields; }

Status read_effort(OrderedJson& value, const char* field, Params& params) {
  if (!value.is_string() || std::ranges::find(kEfforts, value.get_ref<const std::string&>(),
                                              &Effort::name) == std::end(kEfforts))
    return Status::invalid("the effort must be none, minimal, low, medium, high, xhigh or max");
  if (!params.reasoning.effort.empty())
    return Status::invalid(str("'", field, "' and '", params.reasoning.effort_field,
                               "' both set the effort; send one of them"));
  params.reasoning.effort = value;
  params.reasoning.effort_field = field;
  return {};
}

Status plan_reasoning(Params& params, const ModelContext& model, ChatInput& input) {
  ReasoningParams& reasoning = params.reasoning;
  reasoning.exact = !params.grammar.text.empty();
  const bool by_effort = !reasoning.effort.empty();
  if (by_effort && reasoning.budget)
    return Status::invalid(str("'", reasoning.effort_field, "' and '", reasoning.budget_field,
                               "' both say how much to reason; send one of them"),
                           reasoning.effort_field);
  if (by_effort && template_reads_effort(params, model)) return tell_template(params, input);
  if (!model.reasoning && (reasoning.budget || (by_effort && reasoning.effort != "none")))
    return Status::invalid("this model does not reason before it answers",
                           by_effort ? reasoning.effort_field : reasoning.budget_field);
  if (by_effort)
    reasoning.budget = std::ranges::find(kEfforts, reasoning.effort, &Effort::name)->budget;
  return {};
}

void locate_answer(Params& params, const ModelContext& model, const ChatInput& input,
                   std::span<const int32_t> prompt) {
  if (!model.reasoning) return;
  params.reasoning.stage = input.continue_final_message ? stage_of(input.messages.back()["content"])
                                                        : stage_behind(prompt, *model.tokenizer);
}

ReasoningRules reasoning_rules(const Params& params, const ModelContext& model) {
  const ReasoningParams& reasoning = params.reasoning;
  if (!reasoning.stage) return {};
  return {.tokens = model.reasoning, .stage = *reasoning.stage, .budget = reasoning.budget};
}

}  // namespace mlxforge
