#include "server/generation_fields.h"

#include <algorithm>
#include <limits>
#include <random>

#include "server/reasoning_fields.h"
#include "server/sampling_fields.h"
#include "server/structured_output.h"

namespace mlxforge {
namespace {

constexpr size_t kMaxStops = 4;
constexpr int kMaxChoices = 128;         // to a prompt
constexpr size_t kMaxAllChoices = 1024;  // to all prompts of a request
// Colder than this, logits over temperature leave only the greatest.
constexpr double kGreedyBelow = 1e-3;

using Params = GenerationParams;

Status set_stop(OrderedJson& value, Params& params) {
  if (value.is_string()) value = OrderedJson::array({std::move(value)});
  if (!value.is_array()) return Status::invalid("'stop' must be a string or a list of strings");
  return read_stop_strings(value, "stop", kMaxStops, params);
}

Status set_stop_ids(OrderedJson& value, Params& params) {
  return read_token_ids(value, "stop_token_ids", params.stop_ids);
}

Status set_stream_options(OrderedJson& value, Params& params) {
  for (const auto& [name, option] : value.items()) {
    const bool known = name == "include_usage" || name == "continuous_usage_stats";
    if (!known) params.unknown.push_back("stream_options." + name);
    if (!known || option.is_null()) continue;
    if (!option.is_boolean())
      return Status::invalid(str("'stream_options.", name, "' must be a boolean"));
    if (name == "include_usage")
      params.include_usage = option.get<bool>();
    else if (option == true)
      return Status::invalid(str("'stream_options.", name, "' is not supported yet"));
  }
  return {};
}

// 64 bits, signed or not. What has more arrives as a float, and so may what has fewer (1e19).
Status set_seed(OrderedJson& value, Params& params) {
  const double real = value.get<double>();
  if (value.is_number_float() && !(real > -0x1p63 && real < 0x1p64))
    return Status::invalid(str("'seed' must be an integer of 64 bits, got ", value.dump()));
  params.seed =
      real < 0 ? static_cast<uint64_t>(to_integer<int64_t>(value)) : to_integer<uint64_t>(value);
  return {};
}

using enum FieldType;

constexpr Field kFields[] = {
    {"model", string, set_string<&Params::model>},
    {"stream", boolean, set_boolean<&Params::stream>},
    {"temperature", number, set_number<&Params::temperature>, 0, kUnbounded},
    {"top_p", number, set_number<&Params::top_p>, 0, 1},
    {"top_k", integer, set_integer<&Params::top_k>, -1, kUnbounded},
    {"min_p", number, set_number<&Params::min_p>, 0, 1},
    {"seed", integer, set_seed},
    {"max_tokens", integer, set_integer<&Params::max_tokens>, 0, kUnbounded},
    {"min_tokens", integer, set_integer<&Params::min_tokens>, 0, kUnbounded},
    {"stop_token_ids", array, set_stop_ids},
    {"ignore_eos", boolean, set_boolean<&Params::ignore_eos>},
    {"priority", integer, set_integer<&Params::priority>},
    // Accepted: they say who asks, not what.
    {"service_tier", string},
};

constexpr Field kOpenAiFields[] = {
    {"stream_options", object, set_stream_options},
    {"max_completion_tokens", integer, set_integer<&Params::max_completion_tokens>, 0,
     kUnbounded},  // wins over max_tokens
    {"stop", any, set_stop},
    {"n", integer, set_integer<&Params::n>, 1, kMaxChoices},
    {"prompt_logprobs", integer, set_integer<&Params::prompt_logprobs>, 0, kMaxLogprobs},
    // Accepted: they say who asks, not what.
    {"user", string},
    {"metadata", object},
    {"store", boolean},
    {"safety_identifier", string},
    {"prompt_cache_key", string},
};

uint64_t random_seed() {
  thread_local std::mt19937_64 random{std::random_device{}()};
  return random();
}

// The model's defaults and the extremes of the range, in params.sampling.
void fill_sampling(Params& params, const ModelContext& model) {
  const SamplingDefaults& defaults = model.defaults;
  SamplingParams& s = params.sampling;
  const double top_p = params.top_p.value_or(defaults.top_p);
  double temperature = params.temperature.value_or(defaults.temperature);
  if (temperature < kGreedyBelow || top_p == 0) temperature = 0;
  s.temperature =
      static_cast<float>(std::min<double>(temperature, std::numeric_limits<float>::max()));
  const int top_k = params.top_k.value_or(defaults.top_k);
  s.top_k = top_k < 0 || top_k >= model.vocab_size ? 0 : top_k;
  s.top_p = static_cast<float>(top_p);
  s.min_p = static_cast<float>(params.min_p.value_or(defaults.min_p));
  s.seed = params.seed ? *params.seed : random_seed();
}

}  // namespace

std::span<const Field> generation_fields() { return kFields; }
std::span<const Field> openai_fields() { return kOpenAiFields; }

Status read_stop_strings(OrderedJson& list, const char* param, size_t most,
                         GenerationParams& params) {
  if (list.size() > most)
    return Status::invalid(str("'", param, "' takes at most ", most, " strings, got ", list.size()),
                           param);
  for (auto& stop : list) {
    if (!stop.is_string())
      return Status::invalid(str("'", param, "' must hold strings only"), param);
    if (stop.get_ref<const std::string&>().empty())
      return Status::invalid(str("'", param, "' must not have an empty string"), param);
    params.stop.push_back(std::move(stop.get_ref<std::string&>()));
  }
  return {};
}

GenerationParams default_params(const ModelContext& model) {
  Params params;
  params.sampling.typical_p = static_cast<float>(model.defaults.typical_p);
  params.sampling.penalties.repetition = static_cast<float>(model.defaults.repetition_penalty);
  return params;
}

namespace {

// Whether the limit on tokens makes sense beside the other fields.
Status check_token_limit(const Params& params) {
  const char* name = params.max_completion_tokens ? "max_completion_tokens" : "max_tokens";
  const int limit = params.token_limit();
  if (limit == 0 && !params.echo)
    return Status::invalid(
        str("'", name, "' must be at least 1; only completions with 'echo' take 0"), name);
  if (limit == 0 && params.n_answers() > 1)
    return Status::invalid("'n' and 'best_of' must be 1 where no token is asked for",
                           params.n > 1 ? "n" : "best_of");
  if (params.min_tokens > limit)
    return Status::invalid(
        str("'min_tokens' (", params.min_tokens, ") is greater than the limit of ", limit),
        "min_tokens");
  return {};
}

Status check_choices(const Params& params, size_t n_prompts) {
  const int best_of = params.n_answers();
  if (best_of < params.n)
    return Status::invalid(str("'best_of' (", best_of, ") must be at least 'n' (", params.n, ")"),
                           "best_of");
  if (best_of > params.n && params.stream)
    return Status::invalid("with 'best_of' greater than 'n' the answer cannot be streamed",
                           "best_of");
  if (n_prompts * best_of > kMaxAllChoices)
    return Status::invalid(str("a request may have at most ", kMaxAllChoices, " choices, got ",
                               n_prompts, " prompts with ", best_of, " each"),
                           n_prompts > 1 ? "prompt" : "n");
  return {};
}

Status check_prompt_logprobs(const Params& params) {
  if (!params.prompt_logprobs) return {};
  if (params.stream)
    return Status::invalid("'prompt_logprobs' cannot be streamed", "prompt_logprobs");
  if (params.echo && params.logprobs && *params.logprobs != *params.prompt_logprobs)
    return Status::invalid("with 'echo', 'prompt_logprobs' must equal 'logprobs'",
                           "prompt_logprobs");
  return {};
}

// The request to the engine, but for the prompt.
Result<Request> common_request(Params& params, const ModelContext& model) {
  if (Status status = check_ids(params.stop_ids, model.vocab_size, "stop_token_ids"); !status.ok())
    return status;
  if (Status status = check_token_limit(params); !status.ok()) return status;
  fill_sampling(params, model);
  if (Status status = finish_sampling(params, model); !status.ok()) return status;
  auto grammar = compile_grammar(params, model);
  if (!grammar.ok()) return grammar.status();
  const int n = params.n_answers();
  const bool ranked = n > params.n;
  return Request{.sampling = params.sampling,
                 .max_tokens = params.token_limit(),
                 .min_tokens = params.min_tokens,
                 .stop_ids = params.stop_ids,
                 .ignore_eos = params.ignore_eos,
                 .priority = params.priority,
                 .grammar = std::move(*grammar),
                 .reasoning = reasoning_rules(params, model),
                 .n = n,
                 .logprobs = params.logprobs.value_or(ranked ? 0 : -1),
                 .prompt_logprobs = params.prompt_logprobs.value_or(
                     params.echo ? params.logprobs.value_or(-1) : -1)};
}

}  // namespace

Result<GenerationPlan> plan_generation(Params& params, const Prompts& prompts,
                                       const ModelContext& model) {
  if (Status status = check_choices(params, prompts.size()); !status.ok()) return status;
  if (Status status = check_prompt_logprobs(params); !status.ok()) return status;
  const Result<Request> common = common_request(params, model);
  if (!common.ok()) return common.status();
  GenerationPlan plan{.stops = std::move(params.stop),
                      .parts = {.tools = params.tools.format,
                                .reasoning = params.reasoning.stage,
                                .exact = params.reasoning.exact},
                      .n = params.n,
                      .echo = params.echo,
                      .prompt_logprobs = params.prompt_logprobs.has_value(),
                      .streaming = params.stream};
  for (size_t i = 0; i < prompts.size(); ++i) {
    if (prompts[i].empty()) return Status::invalid("the prompt must not be empty", "prompt");
    if (Status status = check_ids(prompts[i], model.vocab_size, "prompt"); !status.ok())
      return status;
    Request request = common.value();
    request.prompt = prompts[i];
    if (!params.seed) request.sampling.seed += i;  // equal prompts, different answers
    plan.requests.push_back(std::move(request));
  }
  return plan;
}

}  // namespace mlxforge
