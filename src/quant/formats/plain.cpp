#include "quant/formats/plain.h"

#include <bit>
#include <cstring>

#include "base/check.h"

namespace mlxforge {
namespace {

bool recognise(const WeightSource& s) {
  const DType t = s.weight->dtype;
  return !s.scales && (t == DType::f32 || t == DType::f16 || t == DType::bf16);
}

cpu::Layout layout(const WeightSource& s, int n_out, int n_in) {
  expect_shape(*s.weight, {n_out, n_in});
  return s.weight->dtype == DType::f32   ? cpu::kF32
         : s.weight->dtype == DType::f16 ? cpu::kF16
                                         : cpu::kBF16;
}

void read_row(const WeightSource& s, int n_in, int row, const cpu::RowBuffers& out) {
  const size_t bytes = size_t(n_in) * block_bytes(s.weight->dtype);
  std::memcpy(out.values, s.weight->bytes.data() + row * bytes, bytes);
}

template <class T, class ToFloat>
std::vector<float> convert(std::span<const std::byte> bytes, ToFloat to_float) {
  std::vector<float> values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = to_float(value);
  }
  return values;
}

}  // namespace

extern constexpr Format kPlain = {"float", recognise, layout, read_row};

std::vector<float> to_floats(DType dtype, std::span<const std::byte> bytes) {
  switch (dtype) {
    case DType::f32:
      return convert<float>(bytes, [](float v) { return v; });
    case DType::f16:
      return convert<_Float16>(bytes, [](_Float16 v) { return float(v); });
    case DType::bf16:
      return convert<uint16_t>(bytes, [](uint32_t v) { return std::bit_cast<float>(v << 16); });
    default:
      throw CheckFailure(str("bug: to_floats of ", dtype_name(dtype)));
  }
}

}  // namespace mlxforge
