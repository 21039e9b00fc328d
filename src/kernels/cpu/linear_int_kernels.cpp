// Integer codes times integer activations, exact in each group of 32 k, f32 across groups:
//     acc = fma(sum, scale * a.scale, acc), then with a bias acc = fma(bias, a.sum, acc)
#include "kernels/cpu/linear_stages.h"
#include "kernels/cpu/panels_simd.h"

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {
namespace {

// How many rows of x one register tile takes: its sums, a panel's weights and a temporary fill the
// registers.
constexpr int kTileRows = kVecs == 1 ? 12 : kVecs == 2 ? 6 : 4;

// A kind of activations: one sub-block takes kSteps multiplications a row, each of a dword of codes
// and one of activations.
struct Int16 {
  using Block = ActBlock16;
  static constexpr int kSteps = 2 * kQuads;
  static const Block* blocks(const Activations& act) { return act.i16; }
  static MLXFORGE_INLINE I32 dot(I32 acc, I32 w, I32 a) { return madd16(acc, w, a); }
  static MLXFORGE_INLINE I32 total(I32 acc) { return acc; }
  template <int kBits, int step>
  static MLXFORGE_INLINE I32 weights(Bytes sub, int v) {
    return codes<kBits, step / 2, step % 2>(sub, v);
  }
};
struct Int8 {
  using Block = ActBlock8;
  static constexpr int kSteps = kQuads;
  static const Block* blocks(const Activations& act) { return act.i8; }
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

template <bool kBias, class Block>
MLXFORGE_INLINE F32 add_group(F32 acc, I32 sum, const Head& head, int v, const Block& a) {
  acc = fma(to_f32(sum), head.scale[v] * splat(a.scale), acc);
  return kBias ? fma(head.bias[v], splat(a.sum), acc) : acc;
}

// R rows times one unpacked sub-block.
template <class Kind, int R, bool kBias>
void tile(const int32_t* w, const Head& head, const typename Kind::Block* a, float* acc) {
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
      store(out, add_group<kBias>(load(out), Kind::total(sums[r][v]), head, v, a[r]));
    });
  });
}

// The codes of a sub-block as the tile's dwords; 16-bit codes less `centre` in both halves.
template <class Kind, int kBits, bool kCentre>
void unpack(Bytes sub, int32_t* out) {
  const I32 centre = splat(int32_t{0x00010001 << (kBits - 1)});
  unroll<Kind::kSteps>([&](auto step) {
    unroll<kVecs>([&](auto v) {
      const I32 x = Kind::template weights<kBits, step>(sub, v);
      store_i(out + step * kPanelRows + v * kLanes, kCentre ? sub_i16(x, centre) : x);
    });
  });
}

// What a kernel needs of its matrix: where the blocks are, and where the activations of the first
// row.
template <class Kind>
struct Walk {
  const Layout& w;
  Bytes block;
  const typename Kind::Block* act;
  int stride;
  size_t block_size, head_size, sub_size;

  explicit Walk(const Product& p)
      : w(*p.layout),
        block(p.panel),
        act(Kind::blocks(p.act) + p.act.first(p.rows.begin, p.n_in / kSub)),
        stride(p.act.stride(p.rows.begin)),
        block_size(block_bytes(w)),
        head_size(head_bytes(w)),
        sub_size(sub_bytes(w.bits())) {}
};

// Several rows: each sub-block is unpacked once.
template <class Kind, bool kBias>
void multiply(const Product& p, void (*unpack_sub)(Bytes, int32_t*)) {
  Walk<Kind> at(p);
  const int n_rows = p.rows.end - p.rows.begin;
  for (int i = 0; i < n_rows * kPanelRows; i += kLanes) store(p.out + i, zero());
  alignas(64) int32_t unpacked[Kind::kSteps * kPanelRows];
  for (int k = 0; k < p.n_in; k += at.w.group, at.block += at.block_size) {
    const Head head = load_head(at.w, at.block);
    Bytes sub = at.block + at.head_size;
    for (int s = 0; s < at.w.group; s += kSub, sub += at.sub_size, at.act += at.stride) {
      unpack_sub(sub, unpacked);
      for_tiles<kTileRows>(n_rows, [&](auto rows, int t) {
        tile<Kind, rows, kBias>(unpacked, head, at.act + t, p.out + t * kPanelRows);
      });
    }
  }
}

// sums[v] += one row's 32 products. Three of the four 4-bit codes in 16 bits are multiplied where
// they stand, as 1, 16 and 256 times their value, and those sums shifted back: they stay below 8 *
// 256 * 15 * 32767 < 2^31.
template <int kBits>
MLXFORGE_INLINE void add_row(I32* sums, Bytes sub, const ActBlock16& a) {
  if constexpr (kBits == 4) {
    I32 sums16[kVecs], sums256[kVecs];
    unroll<kVecs>([&](auto v) { sums16[v] = sums256[v] = zero_i(); });
    unroll<kBits>([&](auto d) {
      const I32 y0 = activation(a, 4 * d), y1 = activation(a, 4 * d + 1);
      const I32 y2 = activation(a, 4 * d + 2), y3 = activation(a, 4 * d + 3);
      unroll<kVecs>([&](auto v) {
        const I32 x = load_i(sub + 4 * (d * kPanelRows + v * kLanes));
        sums[v] = madd16(sums[v], and_i(x, splat(int32_t{0x000f000f})), y0);
        sums256[v] = madd16(sums256[v], and_i(x, splat(int32_t{0x0f000f00})), y1);
        sums16[v] = madd16(sums16[v], and_i(x, splat(int32_t{0x00f000f0})), y2);
        sums[v] = madd16(sums[v], srl_i16<12>(x), y3);
      });
    });
    unroll<kVecs>([&](auto v) {
      sums[v] = add_i(sums[v], add_i(sra_i<4>(sums16[v]), sra_i<8>(sums256[v])));
    });
  } else {
    unroll<Int16::kSteps>([&](auto step) {
      const I32 y = activation(a, step);
      unroll<kVecs>(
          [&](auto v) { sums[v] = madd16(sums[v], codes<kBits, step / 2, step % 2>(sub, v), y); });
    });
  }
}

constexpr int kAhead = 2048;  // bytes of weights fetched ahead of their use

// One row: codes go from memory to the multiplier without a stop. Centred codes: the sum starts at
// -centre * sum(a).
template <int kBits, bool kBias>
void multiply_row(const Product& p) {
  Walk<Int16> at(p);
  F32 acc[kVecs];
  unroll<kVecs>([&](auto v) { acc[v] = zero(); });
  for (int k = 0; k < p.n_in; k += at.w.group, at.block += at.block_size) {
    const Head head = load_head(at.w, at.block);
    Bytes sub = at.block + at.head_size;
    for (int s = 0; s < at.w.group; s += kSub, sub += sub_bytes(kBits), at.act += at.stride) {
      unroll<kBits>([&](auto line) { __builtin_prefetch(sub + kAhead + 64 * line); });
      const I32 first = kBias ? zero_i() : sll_i<kBits - 1>(splat(at.act->neg_sum));
      I32 sums[kVecs];
      unroll<kVecs>([&](auto v) { sums[v] = first; });
      add_row<kBits>(sums, sub, *at.act);
      unroll<kVecs>([&](auto v) { acc[v] = add_group<kBias>(acc[v], sums[v], head, v, *at.act); });
    }
  }
  unroll<kVecs>([&](auto v) { store(p.out + v * kLanes, acc[v]); });
}

}  // namespace

void multiply_i16(const Product& p) noexcept {
  const bool one = p.rows.end - p.rows.begin == 1, biased = p.layout->zero == Zero::bias;
  with_bits(p.layout->bits(), [&](auto bits) {
    if (one) return biased ? multiply_row<bits, true>(p) : multiply_row<bits, false>(p);
    return biased ? multiply<Int16, true>(p, unpack<Int16, bits, false>)
                  : multiply<Int16, false>(p, unpack<Int16, bits, true>);
  });
}

// Centred codes stay unsigned here; their centre is a bias.
void multiply_i8(const Product& p) noexcept {
  with_bits(p.layout->bits(), [&](auto bits) {
    if constexpr (bits <= kDot8Bits) multiply<Int8, true>(p, unpack<Int8, bits, false>);
  });
}

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA
