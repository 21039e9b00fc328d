// The model families: each is one file in families/ and one line in family.cpp.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "models/config.h"
#include "models/spec.h"

namespace mlxforge {

struct Family {
  std::string_view model_type;  // of config.json
  ModelSpec (*spec)(ConfigReader& config);
};

std::span<const Family> families();

// The spec of a config in Hugging Face's form. Error for an unknown model_type, naming those that
// are known, and for any key the family does not understand.
ModelSpec read_spec(const Json& config);

}  // namespace mlxforge
