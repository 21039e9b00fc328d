#include "models/family.h"

#include "base/check.h"
#include "models/families/llama.h"

namespace mlxforge {

std::span<const Family> families() {
  static constexpr Family kFamilies[] = {
      {"llama", llama_spec},
      {"mistral", mistral_spec},
  };
  return kFamilies;
}

ModelSpec read_spec(const Json& config) {
  ConfigReader reader(config, "the config");
  const auto type = reader.string("model_type");
  std::string known;
  for (const Family& family : families()) {
    if (family.model_type == type) {
      ModelSpec spec = family.spec(reader);
      reader.finish();
      return spec;
    }
    known += str(known.empty() ? "" : ", ", family.model_type);
  }
  fail("models", "expected model_type to be one of ", known, "; got '", type, "'");
}

}  // namespace mlxforge
