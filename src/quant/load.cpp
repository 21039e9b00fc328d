#include "quant/load.h"

#include <cstring>

#include "base/check.h"
#include "kernels/leaf_array.h"
#include "quant/format.h"
#include "quant/formats/plain.h"

namespace mlxforge {
namespace {

mx::Dtype to_mx(cpu::ScaleType type) {
  return type == cpu::ScaleType::f16    ? mx::float16
         : type == cpu::ScaleType::bf16 ? mx::bfloat16
                                        : mx::float32;
}

DType to_dtype(cpu::ScaleType type) {
  return type == cpu::ScaleType::f16    ? DType::f16
         : type == cpu::ScaleType::bf16 ? DType::bf16
                                        : DType::f32;
}

mx::Dtype to_mx(cpu::Codes codes) {
  return codes == cpu::Codes::f16    ? mx::float16
         : codes == cpu::Codes::bf16 ? mx::bfloat16
                                     : mx::float32;
}

mx::array blank(const mx::Shape& shape, mx::Dtype dtype) {
  return leaf_array(shape, dtype, "a weight matrix");
}

std::byte* bytes_of(mx::array& array) {
  return reinterpret_cast<std::byte*>(array.data<uint8_t>());
}

// Codes of `bits` bits one after another from the lowest bit, as MLX packs them.
void pack_bits(const std::vector<uint8_t>& codes, int bits, std::byte* out) {
  uint64_t window = 0;
  int have = 0;
  for (const uint64_t code : codes) {
    window |= code << have;
    for (have += bits; have >= 8; have -= 8, window >>= 8) *out++ = std::byte(window);
  }
}

DenseWeight load_dense(const WeightSource& source, const Format& format, cpu::Layout layout,
                       int n_out, int n_in) {
  DenseWeight dense{blank({n_out, n_in}, to_mx(layout.codes))};
  const size_t row_bytes = dense.w.nbytes() / n_out;
  for (int row = 0; row < n_out; ++row) {
    format.read_row(source, n_in, row,
                    {.values = bytes_of(dense.w) + row * row_bytes,
                     .codes = nullptr,
                     .scales = nullptr,
                     .biases = nullptr});
  }
  return dense;
}

// One row's scales and biases in f32. With Zero::centre, MLX's bias is -2^(bits - 1) * scale, which
// is exact.
void widen_row(cpu::Layout layout, std::span<const std::byte> scales,
               std::span<const std::byte> biases, std::byte* scale_row, std::byte* bias_row) {
  const bool centred = layout.zero == cpu::Zero::centre;
  const auto scale = to_floats(to_dtype(layout.scale), scales);
  auto bias = centred ? scale : to_floats(to_dtype(layout.scale), biases);
  if (centred) {
    for (auto& value : bias) value *= -static_cast<float>(1 << (layout.bits() - 1));
  }
  std::memcpy(scale_row, scale.data(), scale.size() * sizeof(float));
  std::memcpy(bias_row, bias.data(), bias.size() * sizeof(float));
}

// Where the checkpoint computes in f32, so do scales and biases: MLX dequantises in their dtype.
AffineWeight load_affine(const WeightSource& source, const Format& format, cpu::Layout layout,
                         int n_out, int n_in, mx::Dtype act) {
  const bool widen = act == mx::float32;
  check(widen || layout.zero != cpu::Zero::centre,
        "centred codes are GGUF's, which computes in f32");
  const int bits = layout.bits(), n_groups = n_in / layout.group;
  const mx::Dtype dtype = widen ? mx::float32 : to_mx(layout.scale);
  AffineWeight affine{blank({n_out, n_in * bits / 32}, mx::uint32), blank({n_out, n_groups}, dtype),
                      blank({n_out, n_groups}, dtype), bits, layout.group};
  std::vector<uint8_t> codes(n_in);
  std::vector<std::byte> scales(size_t(n_groups) * layout.scale_bytes()), biases(scales.size());
  const size_t code_bytes = size_t(n_in) * bits / 8, group_bytes = affine.scales.nbytes() / n_out;
  for (int row = 0; row < n_out; ++row) {
    format.read_row(source, n_in, row,
                    {.values = nullptr,
                     .codes = codes.data(),
                     .scales = scales.data(),
                     .biases = biases.data()});
    pack_bits(codes, bits, bytes_of(affine.codes) + row * code_bytes);
    std::byte* scale_row = bytes_of(affine.scales) + row * group_bytes;
    std::byte* bias_row = bytes_of(affine.biases) + row * group_bytes;
    if (widen) {
      widen_row(layout, scales, biases, scale_row, bias_row);
    } else {
      std::memcpy(scale_row, scales.data(), group_bytes);
      std::memcpy(bias_row, biases.data(), group_bytes);
    }
  }
  return affine;
}

}  // namespace

PackedWeight load_weight(const WeightSource& source, int n_out, int n_in, const Exec& exec) {
  const Format& format = find_format(source);
  const cpu::Layout layout = format.layout(source, n_out, n_in);
  PackedWeight packed{.n_out = n_out, .n_in = n_in, .form = PanelWeight{}};
  if (exec.on_cpu()) {
    packed.form = std::make_shared<const cpu::PackedMatrix>(cpu::pack(
        layout, n_out, n_in,
        [&](int row, const cpu::RowBuffers& out) { format.read_row(source, n_in, row, out); },
        *exec.pool));
  } else if (layout.is_float()) {
    packed.form = load_dense(source, format, layout, n_out, n_in);
  } else {
    packed.form = load_affine(source, format, layout, n_out, n_in, exec.act);
  }
  return packed;
}

}  // namespace mlxforge
