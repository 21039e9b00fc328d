#include "server/sampling_fields.h"

#include <charconv>

#include "text/sequence_breakers.h"

namespace mlxforge {
namespace {

using Params = GenerationParams;

constexpr double kMaxBias = 100;
// Every step looks for the breakers, so their number and length are bounded.
constexpr size_t kMaxBreakers = 64;
constexpr size_t kMaxBreakerBytes = 128;
const std::vector<std::string> kDefaultBreakers = {"\n", ":", "\"", "*"};

Status wrong_bias() {
  return Status::invalid(
      str("'logit_bias' must map token ids (decimal, in strings) to numbers from ", -kMaxBias,
          " to ", kMaxBias));
}

Status set_logit_bias(OrderedJson& value, Params& params) {
  for (const auto& [key, bias] : value.items()) {
    LogitBias entry;
    const char* end = key.data() + key.size();
    if (std::from_chars(key.data(), end, entry.id).ptr != end || std::to_string(entry.id) != key)
      return wrong_bias();
    if (!bias.is_number() || !(std::abs(bias.get<double>()) <= kMaxBias)) return wrong_bias();
    entry.bias = bias.get<float>();
    params.sampling.logit_bias.push_back(entry);
  }
  return {};
}

Status set_breakers(OrderedJson& value, Params& params) {
  if (value.size() > kMaxBreakers)
    return Status::invalid(str("'dry_sequence_breakers' takes at most ", kMaxBreakers, " strings"));
  params.dry_breakers.emplace();
  for (auto& breaker : value) {
    if (!breaker.is_string() || breaker.get_ref<const std::string&>().empty() ||
        breaker.get_ref<const std::string&>().size() > kMaxBreakerBytes)
      return Status::invalid(str("'dry_sequence_breakers' must be a list of strings of 1 to ",
                                 kMaxBreakerBytes, " bytes"));
    params.dry_breakers->push_back(std::move(breaker.get_ref<std::string&>()));
  }
  return {};
}

// The member of params.sampling at the end of a path of members.
template <auto... path>
Status set_real(OrderedJson& value, Params& params) {
  (params.sampling.*....*path) = value.get<float>();
  return {};
}
template <auto... path>
Status set_count(OrderedJson& value, Params& params) {
  (params.sampling.*....*path) = to_integer<int>(value);
  return {};
}

using enum FieldType;
using S = SamplingParams;

constexpr Field kFields[] = {
    {"logit_bias", object, set_logit_bias},
    {"repetition_penalty", number, set_real<&S::penalties, &Penalties::repetition>, 0.01, 100},
    {"frequency_penalty", number, set_real<&S::penalties, &Penalties::frequency>, -2, 2},
    {"presence_penalty", number, set_real<&S::penalties, &Penalties::presence>, -2, 2},
    {"repeat_last_n", integer, set_count<&S::penalties, &Penalties::last_n>, -1, kUnbounded},
    {"dry_multiplier", number, set_real<&S::dry, &Dry::multiplier>, 0, 100},
    {"dry_base", number, set_real<&S::dry, &Dry::base>, 1, 100},
    {"dry_allowed_length", integer, set_count<&S::dry, &Dry::allowed_length>, 1, kUnbounded},
    {"dry_penalty_last_n", integer, set_count<&S::dry, &Dry::last_n>, -1, kUnbounded},
    {"dry_sequence_breakers", array, set_breakers},
    {"typical_p", number, set_real<&S::typical_p>, 0, 1},
    {"xtc_probability", number, set_real<&S::xtc_probability>, 0, 1},
    {"xtc_threshold", number, set_real<&S::xtc_threshold>, 0, 1},
};

}  // namespace

std::span<const Field> sampling_fields() { return kFields; }

Status finish_sampling(Params& params, const ModelContext& model) {
  for (const auto& [id, bias] : params.sampling.logit_bias)
    if (id < 0 || id >= model.vocab_size)
      return Status::invalid(str("'logit_bias' has the token id ", id,
                                 "; the model's ids are 0 to ", model.vocab_size - 1),
                             "logit_bias");
  if (params.sampling.dry.multiplier > 0)
    params.sampling.dry.breakers = std::make_shared<const SequenceBreakers>(
        model.tokenizer, params.dry_breakers.value_or(kDefaultBreakers));
  return {};
}

}  // namespace mlxforge
