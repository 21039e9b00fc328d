#include "app/generation_config.h"

#include <cmath>
#include <type_traits>

#include "base/check.h"
#include "base/log.h"

namespace mlxforge {
namespace {

// Further settings of Hugging Face's generate that change what is sampled, and the value of each
// that changes nothing. There is no place for them here yet.
struct Unsupported {
  const char* key;
  double neutral;
};
constexpr Unsupported kUnsupported[] = {{"encoder_repetition_penalty", 1},
                                        {"no_repeat_ngram_size", 0},
                                        {"epsilon_cutoff", 0},
                                        {"eta_cutoff", 0},
                                        {"num_beams", 1},
                                        {"diversity_penalty", 0},
                                        {"penalty_alpha", 0},
                                        {"guidance_scale", 1},
                                        {"min_length", 0},
                                        {"min_new_tokens", 0}};
constexpr const char* kUnsupportedLists[] = {"suppress_tokens", "begin_suppress_tokens",
                                             "bad_words_ids", "sequence_bias"};

void warn_of_unsupported(const Json& object) {
  const auto warn = [&](const char* key, const Json& neutral) {
    const Json value = object.value(key, Json());
    if (!value.is_null() && value != neutral)
      log_warn("generation_config.json: ", key, " ", value.dump(),
               " is not supported; answers are sampled without it");
  };
  for (const auto& [key, neutral] : kUnsupported) warn(key, neutral);
  for (const char* key : kUnsupportedLists) warn(key, Json::array());
}

// Leaves `value` alone when the key is absent or null.
template <class T>
void take(T& value, const Json& object, const char* key, double high) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return;
  const double number = found->is_number() ? found->get<double>() : -1;
  const bool whole = std::is_floating_point_v<T> || number == std::floor(number);
  if (!(number >= 0 && number <= high && whole))
    fail("app", "expected ", key, " in generation_config.json to be a ",
         std::is_integral_v<T> ? "whole " : "", "number of at least 0",
         high < 1e6 ? str(" and at most ", high) : "", ", got ", found->dump());
  value = static_cast<T>(number);
}

}  // namespace

SamplingDefaults sampling_defaults(const Json& generation_config) {
  SamplingDefaults result;
  if (!generation_config.is_object()) return result;
  take(result.temperature, generation_config, "temperature", 1e6);
  take(result.top_k, generation_config, "top_k", 1e9);
  take(result.top_p, generation_config, "top_p", 1);
  take(result.min_p, generation_config, "min_p", 1);
  take(result.typical_p, generation_config, "typical_p", 1);
  take(result.repetition_penalty, generation_config, "repetition_penalty", 100);
  if (result.repetition_penalty == 0)
    fail("app", "expected repetition_penalty in generation_config.json to be above 0, got 0");
  if (generation_config.value("do_sample", Json()) == false) result.temperature = 0;
  warn_of_unsupported(generation_config);
  return result;
}

}  // namespace mlxforge
