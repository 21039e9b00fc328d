#include "kernels/cpu/grid.h"

#include <bit>

namespace mlxforge::cpu {

float round_to(Round round, float x) {
  if (round == Round::none || x != x) return x;
  if (round == Round::f16) return static_cast<float>(static_cast<_Float16>(x));
  const auto bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
}

float from_f16(uint16_t bits) { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
float from_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

bool scales_on_grid(Round round, const Layout& layout) {
  if (layout.is_float()) return false;
  return (round == Round::f16 && layout.scale == ScaleType::f16) ||
         (round == Round::bf16 && layout.scale == ScaleType::bf16);
}

}  // namespace mlxforge::cpu
