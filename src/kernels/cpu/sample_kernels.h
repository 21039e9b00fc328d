// The passes of sample_row over a whole row, for one ISA.
#pragma once

#include "kernels/cpu/isa.h"
#include "kernels/cpu/sample.h"

namespace mlxforge::cpu {

struct Best {
  float logit;  // -inf when the row is empty or all masked
  int32_t id;   // the lowest with that logit
  bool nan;     // some logit is NaN
};

// weight(logit) = exp((logit - max) * inverse_temperature) in units of 2^-30, rounded.
struct Weighting {
  float max;
  float inverse_temperature;
};
inline constexpr uint32_t kUnitWeight = 1u << 30;

struct SampleKernels {
  Best (*best)(const float* logits, int n) noexcept;
  uint64_t (*total)(const float* logits, int n, Weighting) noexcept;
  // Sum of exp(logit - max).
  double (*sum_exp)(const float* logits, int n, float max) noexcept;
  // Those with logit >= least, in id order, to out (room for n); how many.
  int (*gather)(const float* logits, int n, Weighting, float least, Candidate* out) noexcept;
};
MLXFORGE_CPU_TABLE(SampleKernels, sample_kernels)

}  // namespace mlxforge::cpu
