// What the ops are bound to once at load: a weight matrix in the form its kernels read, and the
// Linear, Norm and activation made from it. Kernels dispatch on the form and its layout, never on
// the file format it came from (src/quant knows those).
#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "kernels/cpu/panels.h"
#include "kernels/mx.h"

namespace mlxforge {

// Stock MLX forms, for the reference path.
struct DenseWeight {
  mx::array w;  // (n_out, n_in), f32 | f16 | bf16
};
struct AffineWeight {  // w = scale * code + bias, as mx::quantized_matmul reads it
  mx::array codes;     // (n_out, n_in * bits / 32) uint32
  mx::array scales;    // (n_out, n_in / group)
  mx::array biases;    // (n_out, n_in / group)
  int bits;
  int group;
};
// Our own panels, for the CPU kernels.
using PanelWeight = std::shared_ptr<const cpu::PackedMatrix>;

struct PackedWeight {
  int n_out = 0;
  int n_in = 0;
  std::variant<PanelWeight, DenseWeight, AffineWeight> form;
};

// y = x W^T + bias, W being the parts one below the other (q|k|v, gate|up).
struct Linear {
  std::vector<PackedWeight> parts;
  std::optional<mx::array> bias;  // (n_out) f32

  int n_in() const { return parts.front().n_in; }
  int n_out() const {
    int n = 0;
    for (const auto& part : parts) n += part.n_out;
    return n;
  }
};

// rms: x / sqrt(mean(x^2) + eps) * weight. layer: (x - mean) / sqrt(var + eps) * weight + bias.
enum class NormKind { none, rms, layer };

struct Norm {
  NormKind kind = NormKind::none;
  std::optional<mx::array> weight;  // (n) f32
  std::optional<mx::array> bias;    // (n) f32
  float eps = 0;
};

enum class Activation { silu, gelu, gelu_tanh };

}  // namespace mlxforge
