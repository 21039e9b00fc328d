// The rope part of a Hugging Face config: rope_theta and rope_scaling, or the newer rope_parameters
// that holds both.
#pragma once

#include "kernels/rope_append.h"
#include "models/config.h"

namespace mlxforge {

// inv_freq[i] = theta^(-2i/dims), then the scaling that the config names: default, linear
// (positions divided by factor) or llama3. An unknown type is an Error that names it.
Rope read_rope(ConfigReader& config, int dims, double default_theta);

// theta^(-2i/dims) with the bits of mx.fast.rope on the CPU, whose f32 exponential is off by up to
// 7 ulp: an angle far into a text would differ by more than 16-bit sines and cosines hide.
std::vector<float> inverse_frequencies(double theta, int dims);

// The llama3 scaling (Llama 3.1 model card; formula as in Hugging Face transformers,
// modeling_rope_utils.py): wavelengths beyond original/low are divided by factor, below
// original/high kept, between them interpolated. In f32 on wavelengths, as mlx-lm computes it.
struct Llama3Scaling {
  double factor, low_freq_factor, high_freq_factor, original_max_position;
};
std::vector<float> llama3_frequencies(double theta, int dims, const Llama3Scaling& scaling);

}  // namespace mlxforge
