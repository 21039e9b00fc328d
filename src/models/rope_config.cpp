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

Rope scaled_rope(ConfigReader& config, double theta, int dims) {
  const auto type = rope_type(config);
  if (type == "default") return {.inv_freq = inverse_frequencies(theta, dims)};
  if (type == "linear") {
    return {.inv_freq = inverse_frequencies(theta, dims),
            .scale = static_cast<float>(1 / config.number("factor"))};
  }
  if (type != "llama3") {
    fail("models", "expected rope_type default, linear or llama3, got '", type, "'");
  }
  return {.inv_freq =
              llama3_frequencies(theta, dims,
                                 {config.number("factor"), config.number_or("low_freq_factor", 1),
                                  config.number_or("high_freq_factor", 4),
                                  config.number_or("original_max_position_embeddings", 8192)})};
}

}  // namespace

std::vector<float> inverse_frequencies(double theta, int dims) {
  const int pairs = dims / 2;
  const float step = std::log(static_cast<float>(theta)) / static_cast<float>(pairs);
  auto inv_freq = mx::exp(mx::arange(0, -pairs, -1, mx::float32) * mx::array(step));
  mx::eval(inv_freq);
  return {inv_freq.data<float>(), inv_freq.data<float>() + pairs};
}

std::vector<float> llama3_frequencies(double theta, int dims, const Llama3Scaling& s) {
  const auto base = static_cast<float>(theta);
  const auto factor = static_cast<float>(s.factor), low = static_cast<float>(s.low_freq_factor),
             high = static_cast<float>(s.high_freq_factor),
             original = static_cast<float>(s.original_max_position);
  std::vector<float> inv_freq(dims / 2);
  for (int i = 0; i < dims / 2; ++i) {
    float period = std::pow(base, static_cast<float>(2 * i) / static_cast<float>(dims));
    const float wavelength = 2 * std::numbers::pi_v<float> * period;
    if (wavelength > original / low) {
      period *= factor;
    } else if (wavelength > original / high) {
      const float smooth = (original / wavelength - low) / (high - low);
      period /= (1 - smooth) / factor + smooth;
    }
    inv_freq[i] = 1 / period;
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
  const Rope rope = scaled_rope(reader, theta, dims);
  reader.finish();
  return rope;
}

}  // namespace mlxforge
