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

const Json* find_object(const Json& config) {
  for (const char* key : {"quantization", "quantization_config"}) {
    const auto it = config.find(key);
    if (it != config.end() && !it->is_null()) return &*it;
  }
  return nullptr;
}

}  // namespace

QuantConfig::QuantConfig(const Json& config) {
  const Json* object = find_object(config);
  if (!object) return;
  if (!object->is_object())
    fail("quant", "expected quantization to be an object, got ", object->dump());
  if (const auto method = object->find("quant_method"); method != object->end()) {
    fail("quant", "expected an MLX affine checkpoint, got quant_method ", method->dump(),
         "; convert it with mlx_lm.convert");
  }
  present_ = true;
  all_ = read_bits(*object);
  for (const auto& [key, value] : object->items()) {
    if (value.is_object()) {
      overrides_[key] = read_bits(value);
    } else if (value.is_boolean()) {
      overrides_[key] = value.get<bool>() ? all_ : AffineBits{};
    } else if (key != "bits" && key != "group_size" && key != "mode") {
      fail("quant", "expected quantization keys bits, group_size, mode and layers, got '", key,
           "'");
    }
  }
}

AffineBits QuantConfig::for_layer(std::string_view layer) const {
  const auto it = overrides_.find(layer);
  return it == overrides_.end() ? all_ : it->second;
}

}  // namespace mlxforge
