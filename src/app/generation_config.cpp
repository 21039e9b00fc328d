#include "app/generation_config.h"

#include <limits>

#include "base/check.h"

namespace mlxforge {
namespace {

// Leaves `value` alone when the key is absent or null.
template <class T>
void take(T& value, const Json& object, const char* key, double high) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return;
  const double number = found->is_number() ? found->get<double>() : -1;
  if (!(number >= 0 && number <= high))
    fail("app", "expected ", key, " in generation_config.json to be a number of at least 0",
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
  return result;
}

}  // namespace mlxforge
