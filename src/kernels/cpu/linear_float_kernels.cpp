// f32 activations times float weights, or times integer codes dequantised to f32: acc = fma(w, x,
// acc), k ascending.
#include "kernels/cpu/linear_stages.h"
#include "kernels/cpu/panels_simd.h"

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {
namespace {

constexpr int kTileRows = kVecs == 1 ? 12 : kVecs == 2 ? 6 : 4;

// How 16 weights of one k are read.
struct WeightsF32 {
  static MLXFORGE_INLINE F32 load16(Bytes p, int at) {
    return load(reinterpret_cast<const float*>(p) + at);
  }
};
struct WeightsF16 {
  static MLXFORGE_INLINE F32 load16(Bytes p, int at) {
    return load_f16(reinterpret_cast<const uint16_t*>(p) + at);
  }
};
struct WeightsBF16 {
  static MLXFORGE_INLINE F32 load16(Bytes p, int at) {
    return load_bf16(reinterpret_cast<const uint16_t*>(p) + at);
  }
};

// R rows times n k of one panel.
template <class Weights, int R>
void tile(Bytes w, int n, const ActBlockF* a, float* acc) {
  F32 sums[R][kVecs];
  unroll<R>([&](auto r) {
    unroll<kVecs>([&](auto v) { sums[r][v] = load(acc + r * kPanelRows + v * kLanes); });
  });
  for (int k = 0; k < n; ++k) {
    F32 x[kVecs];
    unroll<kVecs>([&](auto v) { x[v] = Weights::load16(w, k * kPanelRows + v * kLanes); });
    unroll<R>([&](auto r) {
      const F32 y = splat(a[r].x[k]);
      unroll<kVecs>([&](auto v) { sums[r][v] = fma(x[v], y, sums[r][v]); });
    });
  }
  unroll<R>([&](auto r) {
    unroll<kVecs>([&](auto v) { store(acc + r * kPanelRows + v * kLanes, sums[r][v]); });
  });
}

template <class Weights>
void tiles(Bytes w, int n, const Product& p, int block) {
  const int t0 = p.rows.begin, n_blocks = (p.n_in + kFloatBlock - 1) / kFloatBlock;
  const ActBlockF* a =
      p.act.f32 + p.act.first(t0, n_blocks) + static_cast<ptrdiff_t>(block) * p.act.stride(t0);
  for_tiles<kTileRows>(p.rows.end - p.rows.begin, [&](auto rows, int t) {
    tile<Weights, rows>(w, n, a + t, p.out + t * kPanelRows);
  });
}

// n k of a float panel; converted once where several tiles read it.
template <class Weights>
void float_block(const Product& p, Bytes w, int n, int block) {
  if (p.rows.end - p.rows.begin <= kTileRows) return tiles<Weights>(w, n, p, block);
  alignas(64) float wide[kFloatBlock * kPanelRows];
  for (int i = 0; i < n * kPanelRows; i += kLanes) store(wide + i, Weights::load16(w, i));
  tiles<WeightsF32>(reinterpret_cast<Bytes>(wide), n, p, block);
}

template <class Weights>
void multiply_floats(const Product& p) {
  const int bytes = p.layout->bits() / 8;
  for (int k = 0; k < p.n_in; k += kFloatBlock)
    float_block<Weights>(p, p.panel + static_cast<ptrdiff_t>(k) * kPanelRows * bytes,
                         p.n_in - k < kFloatBlock ? p.n_in - k : kFloatBlock, k / kFloatBlock);
}

// The 32 k of a sub-block as f32, k-major: scale * (code - centre), or scale * code + bias, rounded
// after each operation.
template <int kBits>
void dequantise(const Layout& w, const Head& head, Bytes sub, float* out) {
  const bool biased = w.zero == Zero::bias;
  const F32 centre = splat(static_cast<float>(1 << (kBits - 1)));
  const auto value = [&](I32 code, int v) {
    return biased ? head.scale[v] * to_f32(code) + head.bias[v]
                  : head.scale[v] * (to_f32(code) - centre);
  };
  unroll<2 * kQuads>([&](auto step) {
    constexpr int k = step / 2 * 4 + step % 2;
    unroll<kVecs>([&](auto v) {
      const I32 pair = codes<kBits, step / 2, step % 2>(sub, v);
      store(out + k * kPanelRows + v * kLanes, value(and_i(pair, splat(int32_t{0xffff})), v));
      store(out + (k + 2) * kPanelRows + v * kLanes, value(srl_i<16>(pair), v));
    });
  });
}

void multiply_codes(const Product& p,
                    void (*dequantise_sub)(const Layout&, const Head&, Bytes, float*)) {
  const Layout& w = *p.layout;
  alignas(64) float wide[kFloatBlock * kPanelRows];
  for (int k = 0; k < p.n_in; k += kSub) {
    Bytes block = p.panel + static_cast<ptrdiff_t>(block_bytes(w)) * (k / w.group);
    Bytes sub =
        block + head_bytes(w) + static_cast<ptrdiff_t>(sub_bytes(w.bits())) * (k % w.group / kSub);
    dequantise_sub(w, load_head(w, block), sub, wide + k % kFloatBlock * kPanelRows);
    const int n = k % kFloatBlock + kSub;
    if (n == kFloatBlock || k + kSub == p.n_in)
      tiles<WeightsF32>(reinterpret_cast<Bytes>(wide), n, p, k / kFloatBlock);
  }
}

}  // namespace

void multiply_f32(const Product& p) noexcept {
  for (int i = 0; i < (p.rows.end - p.rows.begin) * kPanelRows; i += kLanes)
    store(p.out + i, zero());
  switch (p.layout->codes) {
    case Codes::f32:
      return multiply_floats<WeightsF32>(p);
    case Codes::f16:
      return multiply_floats<WeightsF16>(p);
    case Codes::bf16:
      return multiply_floats<WeightsBF16>(p);
    default:
      return with_bits(p.layout->bits(), [&](auto bits) { multiply_codes(p, dequantise<bits>); });
  }
}

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA
