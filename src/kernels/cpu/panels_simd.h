// Reading a block of panels.h into vectors: lanes are output rows, kVecs vectors make the 16 rows
// of a panel.
#pragma once

#include "kernels/cpu/panels.h"
#include "kernels/cpu/simd.h"

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {

inline constexpr int kVecs = kPanelRows / kLanes;
inline constexpr int kQuads = kSub / 4;
// How many panels, with how many rows of x, one register tile takes: sums, weights and a temporary
// fill the registers, and a loaded activation serves several vectors of weights.
inline constexpr int kTilePanels = kVecs == 1 ? 2 : 1;
inline constexpr int kTileRows = kVecs <= 1 ? 12 : kVecs == 2 ? 6 : 4;
using Bytes = const std::byte*;

// Lanes of 32 bits from one plane: the code bits of quad q, moved to where they belong in the code
// (`low`). e = 0, 1: the pair (4q + e, 4q + 2 + e) as two int16; e = -1: all four as bytes.
template <int kWidth, int kLow, int q, int e>
MLXFORGE_INLINE I32 plane_codes(Bytes plane, int v) {
  constexpr int per_dword = 8 / kWidth;
  constexpr int shift = q % per_dword * kWidth + (e == 1 ? 8 : 0) - kLow;
  constexpr uint32_t mask = (e < 0 ? 0x01010101u : 0x00010001u) * (((1u << kWidth) - 1) << kLow);
  const I32 x = load_i(plane + 4 * (q / per_dword * kPanelRows + v * kLanes));
  if constexpr (e < 0 && kWidth == 8) return x;
  const I32 moved = [x] {
    if constexpr (shift > 0) return srl_i<shift>(x);
    if constexpr (shift < 0) return sll_i<-shift>(x);
    return x;
  }();
  return and_i(moved, splat(static_cast<int32_t>(mask)));
}

// Codes of `kBits` bits from a sub-block, vector v of the panel's rows.
template <int kBits, int q, int e>
MLXFORGE_INLINE I32 codes(Bytes sub, int v) {
  constexpr Planes p = planes(kBits);
  const I32 low = plane_codes<p.width[0], 0, q, e>(sub, v);
  if constexpr (p.width[1] == 0)
    return low;
  else
    return or_i(low, plane_codes<p.width[1], p.width[0], q, e>(sub + sub_bytes(p.width[0]), v));
}

MLXFORGE_INLINE F32 load_scales(ScaleType type, Bytes p, int at) {
  if (type == ScaleType::f32) return load(reinterpret_cast<const float*>(p) + at);
  const auto* bits = reinterpret_cast<const uint16_t*>(p) + at;
  return type == ScaleType::f16 ? load_f16(bits) : load_bf16(bits);
}

// The scales of a block and, with Zero::bias, its biases.
struct Head {
  F32 scale[kVecs];
  F32 bias[kVecs];
};
MLXFORGE_INLINE Head load_head(const Layout& w, Bytes block) {
  Head head;
  Bytes biases = block + (w.zero == Zero::bias ? kPanelRows * w.scale_bytes() : 0);
  for (int v = 0; v < kVecs; ++v) {
    head.scale[v] = load_scales(w.scale, block, v * kLanes);
    head.bias[v] = load_scales(w.scale, biases, v * kLanes);
  }
  return head;
}

// f(Index<kBits>{}) for the layout's code width.
template <class F>
MLXFORGE_INLINE void with_bits(int bits, F&& f) {
  switch (bits) {
    case 2:
      return f(Index<2>{});
    case 3:
      return f(Index<3>{});
    case 4:
      return f(Index<4>{});
    case 5:
      return f(Index<5>{});
    case 6:
      return f(Index<6>{});
    default:
      return f(Index<8>{});
  }
}

// f(Index<R>{}, t): rows [t, t + R), in tiles of kTileRows; the last two share what is left evenly.
template <class F>
MLXFORGE_INLINE void for_row_tiles(int n, F&& f) {
  int t = 0;
  for (; n - t >= 2 * kTileRows; t += kTileRows) f(Index<kTileRows>{}, t);
  while (t < n) {
    const int left = n - t, take = left > kTileRows ? (left + 1) / 2 : left;
    unroll<kTileRows>([&](auto i) {
      if (take == i + 1) f(Index<i + 1>{}, t);
    });
    t += take;
  }
}

// f(Index<P>{}, i): panels [i, i + P), in tiles of kTilePanels, then one by one.
template <class F>
MLXFORGE_INLINE void for_panel_tiles(int n, F&& f) {
  int i = 0;
  for (; i + kTilePanels <= n; i += kTilePanels) f(Index<kTilePanels>{}, i);
  for (; i < n; ++i) f(Index<1>{}, i);
}

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA
