// f32 activations times float weights, or times integer codes dequantised to f32: acc = fma(w, x,
// acc), k ascending.
#include "kernels/cpu/linear_stages.h"
#include "kernels/cpu/panels_simd.h"

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {
namespace {

// How the 16 weights of a k are read: from the panel, with memory asked for them some lines ahead,
// or from a block that was converted before.
struct Converted {
  static constexpr int kBytes = 4;
  static constexpr bool kStream = false;
  static MLXFORGE_INLINE F32 load_at(Bytes p, int i) {
    return load(reinterpret_cast<const float*>(p) + i);
  }
};
struct PanelF32 : Converted {
  static constexpr bool kStream = true;
};
struct PanelF16 {
  static constexpr int kBytes = 2;
  static constexpr bool kStream = true;
  static MLXFORGE_INLINE F32 load_at(Bytes p, int i) {
    return load_f16(reinterpret_cast<const uint16_t*>(p) + i);
  }
};
struct PanelBF16 {
  static constexpr int kBytes = 2;
  static constexpr bool kStream = true;
  static MLXFORGE_INLINE F32 load_at(Bytes p, int i) {
    return load_bf16(reinterpret_cast<const uint16_t*>(p) + i);
  }
};

constexpr int kStep = 4;  // k per turn of the inner loop

// Asks for the weights of kStep k, 2 KiB ahead.
template <class Weights>
MLXFORGE_INLINE void fetch(Bytes w) {
  unroll<kStep * kPanelRows * Weights::kBytes / 64>(
      [&](auto line) { __builtin_prefetch(w + 2048 + 64 * line); });
}

// R rows times n k of P panels, w[i] being the first's and so on, whose sums lie `stride` floats
// apart.
template <class Weights, int R, int P>
void tile(const Bytes* w, int n, const ActBlockF* a, float* acc, ptrdiff_t stride) {
  constexpr int kV = P * kVecs;  // vector v belongs to panel v / kVecs
  const auto out = [&](auto r, auto v) {
    return acc + v / kVecs * stride + r * kPanelRows + v % kVecs * kLanes;
  };
  F32 sums[R][kV];
  unroll<R>([&](auto r) { unroll<kV>([&](auto v) { sums[r][v] = load(out(r, v)); }); });
  const auto add = [&](int k) {
    F32 x[kV];
    unroll<kV>([&](auto v) {
      x[v] = Weights::load_at(w[v / kVecs], k * kPanelRows + v % kVecs * kLanes);
    });
    unroll<R>([&](auto r) {
      const F32 y = splat(a[r].x[k]);
      unroll<kV>([&](auto v) { sums[r][v] = fma(x[v], y, sums[r][v]); });
    });
  };
  int k = 0;
  for (; k + kStep <= n; k += kStep) {
    if constexpr (Weights::kStream)
      for (int i = 0; i < P; ++i) fetch<Weights>(w[i] + k * kPanelRows * Weights::kBytes);
    unroll<kStep>([&](auto i) { add(k + i); });
  }
  for (; k < n; ++k) add(k);
  unroll<R>([&](auto r) { unroll<kV>([&](auto v) { store(out(r, v), sums[r][v]); }); });
}

// All rows times a block of up to 64 k of each panel, w[i] being panel i's; the panels take a tile
// of rows while it is near.
template <class Weights>
void tiles(const Product& p, int n, int block, const Bytes* w) {
  const int t0 = p.rows.begin, n_rows = p.rows.end - t0,
            n_blocks = (p.n_in + kFloatBlock - 1) / kFloatBlock;
  const ActBlockF* a =
      p.act.f32 + p.act.first(t0, n_blocks) + static_cast<ptrdiff_t>(block) * p.act.stride(t0);
  for_row_tiles(n_rows, [&](auto rows, int t) {
    for_panel_tiles(p.n_panels, [&](auto panels, int i) {
      tile<Weights, rows, panels>(w + i, n, a + t, p.out + (i * n_rows + t) * kPanelRows,
                                  n_rows * kPanelRows);
    });
  });
}

using Wide = float[kFloatBlock * kPanelRows];  // a block of one panel as f32
struct Blocks {
  Bytes at[kMaxPanels];
  explicit Blocks(const Wide* wide) {
    for (int i = 0; i < kMaxPanels; ++i) at[i] = reinterpret_cast<Bytes>(wide[i]);
  }
};

template <class Weights>
void convert(Bytes w, int n, float* out) {
  for (int k = 0; k < n; ++k) {
    if (k % kStep == 0) fetch<Weights>(w + k * kPanelRows * Weights::kBytes);
    for (int i = k * kPanelRows; i < (k + 1) * kPanelRows; i += kLanes)
      store(out + i, Weights::load_at(w, i));
  }
}

// Converted once where several tiles read it; else read where it is.
template <class Weights>
void multiply_floats(const Product& p) {
  const bool packed = p.rows.end - p.rows.begin <= kTileRows;
  alignas(64) Wide wide[kMaxPanels];
  for (int k = 0; k < p.n_in; k += kFloatBlock) {
    const int n = p.n_in - k < kFloatBlock ? p.n_in - k : kFloatBlock;
    Bytes at[kMaxPanels];
    for (int i = 0; i < p.n_panels; ++i) {
      at[i] = p.panels + p.panel_bytes * i + static_cast<size_t>(k) * kPanelRows * Weights::kBytes;
      if (!packed) convert<Weights>(at[i], n, wide[i]);
    }
    if (packed)
      tiles<Weights>(p, n, k / kFloatBlock, at);
    else
      tiles<Converted>(p, n, k / kFloatBlock, Blocks(wide).at);
  }
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
  alignas(64) Wide wide[kMaxPanels];
  const Blocks blocks(wide);
  for (int k = 0; k < p.n_in; k += kSub) {
    for (int i = 0; i < p.n_panels; ++i) {
      Bytes block = p.panels + p.panel_bytes * i + block_bytes(w) * (k / w.group);
      Bytes sub = block + head_bytes(w) + sub_bytes(w.bits()) * (k % w.group / kSub);
      dequantise_sub(w, load_head(w, block), sub, wide[i] + k % kFloatBlock * kPanelRows);
    }
    const int n = k % kFloatBlock + kSub;
    if (n == kFloatBlock || k + kSub == p.n_in) tiles<Converted>(p, n, k / kFloatBlock, blocks.at);
  }
}

}  // namespace

void multiply_f32(const Product& p) noexcept {
  for (int i = 0; i < p.n_panels * (p.rows.end - p.rows.begin) * kPanelRows; i += kLanes)
    store(p.out + i, zero());
  switch (p.layout->codes) {
    case Codes::f32:
      return multiply_floats<PanelF32>(p);
    case Codes::f16:
      return multiply_floats<PanelF16>(p);
    case Codes::bf16:
      return multiply_floats<PanelBF16>(p);
    default:
      return with_bits(p.layout->bits(), [&](auto bits) { multiply_codes(p, dequantise<bits>); });
  }
}

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA
