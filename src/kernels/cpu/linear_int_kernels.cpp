// Integer codes times integer activations, exact in each group of 32 k, f32 across groups:
//     acc = fma(sum, scale * a.scale, acc), then with a bias acc = fma(bias, a.sum, acc)
#include "kernels/cpu/linear_stages.h"
#include "kernels/cpu/panels_simd.h"

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {
namespace {

// How many rows of x one register tile takes: its sums, a panel's weights and a temporary fill the
// registers.
constexpr int kTileRows = kVecs == 1 ? 12 : kVecs == 2 ? 6 : 4;

// One sub-block unpacked to what the inner loop multiplies: kSteps dwords for each of the 16 rows.
struct Int16 {
  static constexpr int kSteps = 2 * kQuads;
  static const ActBlock16* blocks(const Activations& act) { return act.i16; }
  static MLXFORGE_INLINE I32 dot(I32 acc, I32 w, I32 a) { return madd16(acc, w, a); }
  static MLXFORGE_INLINE I32 total(I32 acc) { return acc; }
  template <int kBits, int step>
  static MLXFORGE_INLINE I32 weights(Bytes sub, int v) {
    return codes<kBits, step / 2, step % 2>(sub, v);
  }
};
struct Int8 {
  static constexpr int kSteps = kQuads;
  static const ActBlock8* blocks(const Activations& act) { return act.i8; }
  static MLXFORGE_INLINE Acc8 dot(Acc8 acc, I32 w, I32 a) { return dot8(acc, w, a); }
  static MLXFORGE_INLINE I32 total(Acc8 acc) { return dot8_sum(acc); }
  template <int kBits, int step>
  static MLXFORGE_INLINE I32 weights(Bytes sub, int v) {
    return codes<kBits, step, -1>(sub, v);
  }
};

template <class Block>
MLXFORGE_INLINE I32 activation(const Block& a, int step) {
  int32_t dword;
  memcpy(&dword, reinterpret_cast<const char*>(a.q) + 4 * step, 4);
  return splat(dword);
}

template <class Block>
MLXFORGE_INLINE F32 add_group(F32 acc, I32 sum, const Head& head, int v, const Block& a) {
  acc = fma(to_f32(sum), head.scale[v] * splat(a.scale), acc);
  return fma(head.bias[v], splat(a.sum), acc);
}

// R rows times one unpacked sub-block.
template <class Kind, int R, class Block>
void tile(const int32_t* w, const Head& head, const Block* a, float* acc) {
  I32 sums[R][kVecs];
  unroll<R>([&](auto r) { unroll<kVecs>([&](auto v) { sums[r][v] = zero_i(); }); });
  for (int step = 0; step < Kind::kSteps; ++step, w += kPanelRows) {
    I32 x[kVecs];
    unroll<kVecs>([&](auto v) { x[v] = load_i(w + v * kLanes); });
    unroll<R>([&](auto r) {
      const I32 y = activation(a[r], step);
      unroll<kVecs>([&](auto v) { sums[r][v] = Kind::dot(sums[r][v], x[v], y); });
    });
  }
  unroll<R>([&](auto r) {
    unroll<kVecs>([&](auto v) {
      float* out = acc + r * kPanelRows + v * kLanes;
      store(out, add_group(load(out), Kind::total(sums[r][v]), head, v, a[r]));
    });
  });
}

template <class Kind, int kBits>
void unpack(Bytes sub, int32_t* out) {
  unroll<Kind::kSteps>([&](auto step) {
    unroll<kVecs>([&](auto v) {
      store_i(out + step * kPanelRows + v * kLanes, Kind::template weights<kBits, step>(sub, v));
    });
  });
}

template <class Kind>
void multiply(const Product& p, void (*unpack_sub)(Bytes, int32_t*)) {
  const Layout& w = *p.layout;
  const int n_rows = p.rows.end - p.rows.begin;
  for (int i = 0; i < n_rows * kPanelRows; i += kLanes) store(p.out + i, zero());
  alignas(64) int32_t unpacked[Kind::kSteps * kPanelRows];
  Bytes block = p.panel;
  const auto* act = Kind::blocks(p.act) + p.rows.begin;
  for (int k = 0; k < p.n_in; k += w.group, block += block_bytes(w)) {
    const Head head = load_head(w, block);
    Bytes sub = block + head_bytes(w);
    for (int s = 0; s < w.group; s += kSub, sub += sub_bytes(w.bits()), act += p.act.n_rows) {
      unpack_sub(sub, unpacked);
      for_tiles<kTileRows>(n_rows, [&](auto rows, int t) {
        tile<Kind, rows>(unpacked, head, act + t, p.out + t * kPanelRows);
      });
    }
  }
}

}  // namespace

void multiply_i16(const Product& p) noexcept {
  with_bits(p.layout->bits(), [&](auto bits) { multiply<Int16>(p, unpack<Int16, bits>); });
}

void multiply_i8(const Product& p) noexcept {
  with_bits(p.layout->bits(), [&](auto bits) {
    if constexpr (bits <= kDot8Bits) multiply<Int8>(p, unpack<Int8, bits>);
  });
}

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA
