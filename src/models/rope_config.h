// The rope part of a Hugging Face config: rope_theta and rope_scaling, or the newer rope_parameters
// that holds both.
#pragma once

#include "kernels/rope_append.h"
#include "models/config.h"

namespace mlxforge {

// inv_freq[i] = theta^(-2i/dims), then the scaling that the config names: default, linear (divided
// by factor) or llama3. An unknown type is an Error that names it.
Rope read_rope(ConfigReader& config, int dims, double default_theta);

// The llama3 scaling (Llama 3.1 model card; formula as in Hugging Face transformers,
// modeling_rope_utils.py): wavelengths beyond original/low are divided by factor, below
// original/high kept, between them interpolated.
struct Llama3Scaling {
  double factor, low_freq_factor, high_freq_factor, original_max_position;
};
std::vector<float> inverse_frequencies(double theta, int dims);
std::vector<float> scale_llama3(std::vector<float> inv_freq, const Llama3Scaling& scaling);

}  // namespace mlxforge
