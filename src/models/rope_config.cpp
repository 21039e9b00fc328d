#include "models/rope_config.h"

#include <cmath>
#include <numbers>

#include "base/check.h"

namespace mlxforge {
namespace {

// `type` is the older spelling of `rope_type`; both may stand there when they agree.
std::string rope_type(ConfigReader& scaling) {
  const auto older = scaling.string_or("type", "");
  const auto newer = scaling.string_or("rope_type", older);
  if (!older.empty() && older != newer) {
    fail("models", "expected rope type and rope_type to agree, got '", older, "' and '", newer,
         "'");
  }
  return newer.empty() ? "default" : newer;
}

void apply_scaling(ConfigReader& scaling, Rope& rope) {
  const auto type = rope_type(scaling);
  if (type == "default") return;
  if (type == "linear") {
    const double factor = scaling.number("factor");
    for (auto& f : rope.inv_freq) f = static_cast<float>(f / factor);
  } else if (type == "llama3") {
    rope.inv_freq = scale_llama3(std::move(rope.inv_freq),
                                 {scaling.number("factor"), scaling.number_or("low_freq_factor", 1),
                                  scaling.number_or("high_freq_factor", 4),
                                  scaling.number_or("original_max_position_embeddings", 8192)});
  } else {
    fail("models", "expected rope_type default, linear or llama3, got '", type, "'");
  }
}

}  // namespace

std::vector<float> inverse_frequencies(double theta, int dims) {
  std::vector<float> inv_freq(dims / 2);
  for (int i = 0; i < dims / 2; ++i) {
    inv_freq[i] = static_cast<float>(std::pow(theta, -2.0 * i / dims));
  }
  return inv_freq;
}

std::vector<float> scale_llama3(std::vector<float> inv_freq, const Llama3Scaling& s) {
  const double longest = s.original_max_position / s.low_freq_factor;
  const double shortest = s.original_max_position / s.high_freq_factor;
  for (auto& f : inv_freq) {
    const double wavelength = 2 * std::numbers::pi / f;
    if (wavelength > longest) {
      f = static_cast<float>(f / s.factor);
    } else if (wavelength > shortest) {
      const double smooth = (s.original_max_position / wavelength - s.low_freq_factor) /
                            (s.high_freq_factor - s.low_freq_factor);
      f = static_cast<float>(f * ((1 - smooth) / s.factor + smooth));
    }
  }
  return inv_freq;
}

Rope read_rope(ConfigReader& config, int dims, double default_theta) {
  const double top_theta = config.number_or("rope_theta", default_theta);
  const Json* parameters = config.value("rope_parameters");
  const Json* scaling = config.value("rope_scaling");
  if (parameters && scaling && *parameters != *scaling) {
    fail("models", "expected rope_parameters or rope_scaling in the config, got both");
  }
  if (!parameters) parameters = scaling;
  if (!parameters) return {.inv_freq = inverse_frequencies(top_theta, dims)};

  ConfigReader reader(*parameters, "rope_parameters");
  const double theta = reader.number_or("rope_theta", top_theta);
  if (config.has("rope_theta") && theta != top_theta) {
    fail("models", "expected one rope_theta, got ", top_theta, " and ", theta);
  }
  Rope rope{.inv_freq = inverse_frequencies(theta, dims)};
  apply_scaling(reader, rope);
  reader.finish();
  return rope;
}

}  // namespace mlxforge
