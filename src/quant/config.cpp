#include "quant/config.h"

#include <algorithm>

#include "base/check.h"

namespace mlxforge {
namespace {

int one_of(const Json& object, std::string_view key, std::initializer_list<int> allowed) {
  const auto it = object.find(key);
  if (it != object.end() && it->is_number_integer()) {
    for (const int value : allowed) {
      if (*it == value) return value;
    }
  }
  std::string list;
  for (const int value : allowed) list += str(list.empty() ? "" : ", ", value);
  fail("quant", "expected quantization ", key, " to be one of ", list, "; got ",
       it == object.end() ? "nothing" : it->dump());
}

AffineBits read_bits(const Json& object) {
  if (const auto mode = object.find("mode"); mode != object.end() && *mode != "affine") {
    fail("quant", "expected quantization mode \"affine\", got ", mode->dump());
  }
  return {.bits = one_of(object, "bits", {2, 3, 4, 5, 6, 8}),
          .group = one_of(object, "group_size", {32, 64, 128})};
}

// The one under both keys, null when absent. MLX writes the same object twice.
Json find_object(const Json& config) {
  const Json first = config.value("quantization", Json());
  const Json second = config.value("quantization_config", Json());
  if (!first.is_null() && !second.is_null() && first != second) {
    fail("quant", "expected quantization and quantization_config to agree, got ", first.dump(),
         " and ", second.dump());
  }
  return first.is_null() ? second : first;
}

// The only keys beside the names of layers.
void expect_setting(std::string_view key, std::string_view layer = "all layers") {
  if (key != "bits" && key != "group_size" && key != "mode") {
    fail("quant", "expected quantization of ", layer, " to have bits, group_size and mode, got '",
         key, "'");
  }
}

}  // namespace

QuantConfig::QuantConfig(const Json& config) {
  const Json object = find_object(config);
  if (object.is_null()) return;
  if (!object.is_object()) {
    fail("quant", "expected quantization to be an object, got ", object.dump());
  }
  if (const auto method = object.find("quant_method"); method != object.end()) {
    fail("quant", "expected an MLX affine checkpoint, got quant_method ", method->dump(),
         "; convert it with mlx_lm.convert");
  }
  present_ = true;
  all_ = read_bits(object);
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      for (const auto& [setting, unused] : value.items()) expect_setting(setting, key);
      overrides_[key] = read_bits(value);
    } else if (value.is_boolean()) {
      overrides_[key] = value.get<bool>() ? all_ : AffineBits{};
    } else {
      expect_setting(key);
    }
  }
}

AffineBits QuantConfig::for_layer(std::string_view layer) const {
  const auto it = overrides_.find(layer);
  return it == overrides_.end() ? all_ : it->second;
}

}  // namespace mlxforge
