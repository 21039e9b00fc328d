// Integer codes times integer activations, exact in each group of 32 k, f32 across groups. With c a
// code less centre = 2^(bits - 1), and a weight = scale * c + bias (Zero::centre: bias = 0;
// Zero::bias: the block's + scale * centre):
//     acc = fma(sum(c * q), scale * a.scale, acc), then with a bias acc = fma(bias, a.sum, acc)
#include "kernels/cpu/linear_stages.h"
#include "kernels/cpu/panels_simd.h"

namespace mlxforge::cpu::MLXFORGE_CPU_ISA {
namespace {

// A kind of activations: one sub-block takes kSteps multiplications a row, each of a dword of codes
// and one of activations. weights: codes less centre. raw_weights: what few rows multiply, their
// sums beginning at first(a). Start: what a row's sums begin with or have added, from the weights
// alone.
struct Int16 {
  using Block = ActBlock16;
  static constexpr int kSteps = 2 * kQuads;
  static const Block* blocks(const Activations& act) { return act.i16; }
  static MLXFORGE_INLINE I32 dot(I32 acc, I32 w, I32 a) { return madd16(acc, w, a); }
  static MLXFORGE_INLINE I32 total(I32 acc) { return acc; }
  template <int kBits, int step>
  static MLXFORGE_INLINE I32 raw_weights(Bytes sub, int v) {
    return codes<kBits, step / 2, step % 2>(sub, v);
  }
  template <int kBits, int step>
  static MLXFORGE_INLINE I32 weights(Bytes sub, int v) {
    return sub_i16(raw_weights<kBits, step>(sub, v), splat(int32_t{0x00010001 << (kBits - 1)}));
  }
  template <int kBits>
  static MLXFORGE_INLINE I32 first(const Block& a) {
    return sll_i<kBits - 1>(splat(a.neg_sum));
  }
  struct Start {
    MLXFORGE_INLINE void add(I32, int) {}
    MLXFORGE_INLINE void put(int32_t*) {}
    MLXFORGE_INLINE I32 apply(I32 acc, int) { return acc; }
  };
};
struct Int8 {
  using Block = ActBlock8;
  static constexpr int kSteps = kQuads;
  static const Block* blocks(const Activations& act) { return act.i8; }
  static MLXFORGE_INLINE Acc8 dot(Acc8 acc, I32 w, I32 a) { return dot8(acc, w, a); }
  static MLXFORGE_INLINE I32 total(Acc8 acc) { return dot8_sum(acc); }
  template <int kBits, int step>
  static MLXFORGE_INLINE I32 weights(Bytes sub, int v) {
    return sub_i8(codes<kBits, step, -1>(sub, v),
                  splat(static_cast<int32_t>(0x01010101u << (kBits - 1))));
  }
  template <int kBits, int step>
  static MLXFORGE_INLINE I32 raw_weights(Bytes sub, int v) {
    return weights<kBits, step>(sub, v);
  }
  template <int kBits>
  static MLXFORGE_INLINE I32 first(const Block&) {
    return zero_i();
  }
  // -sum(weights * kDot8Offset), because activations are stored with that offset.
  struct Start {
    Acc8 sums[kVecs];
    MLXFORGE_INLINE Start() {
      for (Acc8& sum : sums) sum = zero_i();
    }
    MLXFORGE_INLINE void add(I32 x, int v) {
      if constexpr (kDot8Offset != 0)
        sums[v] = dot8(sums[v], x, splat(static_cast<int32_t>(0x01010101u * kDot8Offset)));
    }
    MLXFORGE_INLINE void put(int32_t* start) {
      for (int v = 0; v < kVecs; ++v) store_i(start + v * kLanes, dot8_sub(zero_i(), sums[v]));
    }
    MLXFORGE_INLINE Acc8 apply(Acc8 acc, int v) { return dot8_sub(acc, sums[v]); }
  };
};

template <class Block>
MLXFORGE_INLINE I32 activation(const Block& a, int step) {
  int32_t dword;
  memcpy(&dword, reinterpret_cast<const char*>(a.q) + 4 * step, 4);
  return splat(dword);
}

MLXFORGE_INLINE Head load_centred(const Layout& w, Bytes block) {
  Head head = load_head(w, block);
  const F32 centre = splat(static_cast<float>(1 << (w.bits() - 1)));
  for (int v = 0; v < kVecs; ++v) head.bias[v] = fma(head.scale[v], centre, head.bias[v]);
  return head;
}

template <class Block>
MLXFORGE_INLINE F32 add_group(F32 acc, I32 sum, const Head& head, int v, const Block& a,
                              bool biased) {
  acc = fma(to_f32(sum), head.scale[v] * splat(a.scale), acc);
  return biased ? fma(head.bias[v], splat(a.sum), acc) : acc;
}

// Asks memory for a sub-block of weights, with the block's head, 3 KiB ahead of its use.
MLXFORGE_INLINE void fetch(Bytes sub, size_t head, int bits) {
  for (int line = 0; line <= bits; ++line) __builtin_prefetch(sub - head + 3072 + 64 * line);
}

// --- Many rows: a sub-block is unpacked once, then register tiles of rows pass over it.

// The dwords of each step, and where a row's sums start.
template <class Kind>
struct Unpacked {
  alignas(64) int32_t codes[Kind::kSteps * kPanelRows];
  alignas(64) int32_t start[kPanelRows] = {};
  Head head;
  bool biased;
};

template <class Kind, int kBits>
void unpack(Bytes sub, Unpacked<Kind>& out) {
  typename Kind::Start start;
  unroll<Kind::kSteps>([&](auto step) {
    unroll<kVecs>([&](auto v) {
      const I32 x = Kind::template weights<kBits, step>(sub, v);
      store_i(out.codes + step * kPanelRows + v * kLanes, x);
      start.add(x, v);
    });
  });
  start.put(out.start);
}

// R rows times the unpacked sub-blocks of P panels, whose sums lie `stride` floats apart.
template <class Kind, int R, int P>
void tile(const Unpacked<Kind>* w, const typename Kind::Block* a, float* acc, ptrdiff_t stride) {
  constexpr int kV = P * kVecs;  // vector v belongs to panel v / kVecs
  const auto at = [](auto v) { return v % kVecs * kLanes; };
  I32 sums[R][kV];
  unroll<kV>([&](auto v) {
    const I32 start = load_i(w[v / kVecs].start + at(v));
    unroll<R>([&](auto r) { sums[r][v] = start; });
  });
  for (int step = 0; step < Kind::kSteps; ++step) {
    I32 x[kV];
    unroll<kV>([&](auto v) { x[v] = load_i(w[v / kVecs].codes + step * kPanelRows + at(v)); });
    unroll<R>([&](auto r) {
      const I32 y = activation(a[r], step);
      unroll<kV>([&](auto v) { pin(sums[r][v] = Kind::dot(sums[r][v], x[v], y)); });
    });
  }
  unroll<R>([&](auto r) {
    unroll<kV>([&](auto v) {
      const Unpacked<Kind>& panel = w[v / kVecs];
      float* out = acc + v / kVecs * stride + r * kPanelRows + at(v);
      store(out, add_group(load(out), Kind::total(sums[r][v]), panel.head, v % kVecs, a[r],
                           panel.biased));
    });
  });
}

// All panels take a tile of rows while it is near.
template <class Kind>
void multiply_many(const Product& p, void (*unpack_sub)(Bytes, Unpacked<Kind>&)) {
  const Layout& w = *p.layout;
  const size_t head = head_bytes(w), sub = sub_bytes(w.bits());
  const int n_rows = p.rows.end - p.rows.begin, stride = p.act.stride(p.rows.begin);
  const auto* act = Kind::blocks(p.act) + p.act.first(p.rows.begin, p.n_in / kSub);
  for (int i = 0; i < p.n_panels * n_rows * kPanelRows; i += kLanes) store(p.out + i, zero());
  Unpacked<Kind> unpacked[kMaxPanels];
  for (int k = 0; k < p.n_in; k += kSub, act += stride) {
    for (int i = 0; i < p.n_panels; ++i) {
      Bytes block = p.panels + p.panel_bytes * i + block_bytes(w) * (k / w.group);
      Bytes at = block + head + sub * (k % w.group / kSub);
      fetch(at, head, w.bits());
      unpacked[i].head = load_centred(w, block);
      unpacked[i].biased = w.zero == Zero::bias;
      unpack_sub(at, unpacked[i]);
    }
    for_row_tiles(n_rows, [&](auto rows, int t) {
      for_panel_tiles(p.n_panels, [&](auto panels, int i) {
        tile<Kind, rows, panels>(unpacked + i, act + t, p.out + (i * n_rows + t) * kPanelRows,
                                 n_rows * kPanelRows);
      });
    });
  }
}

// --- Few rows: codes go from memory to the multiplier without a stop. One or two rows take all the
// panel's vectors at once; up to eight take one vector after another, as registers allow.

// sums[r][v] = the products of R rows with kV vectors of a sub-block.
template <class Kind, int kBits, int R, int kV>
MLXFORGE_INLINE void sum_rows(I32 (&sums)[R][kV], Bytes sub, const typename Kind::Block* a) {
  typename Kind::Start start;
  unroll<R>(
      [&](auto r) { unroll<kV>([&](auto v) { sums[r][v] = Kind::template first<kBits>(a[r]); }); });
  unroll<Kind::kSteps>([&](auto step) {
    I32 x[kV];
    unroll<kV>([&](auto v) {
      x[v] = Kind::template raw_weights<kBits, step>(sub, v);
      start.add(x[v], v);
    });
    unroll<R>([&](auto r) {
      const I32 y = activation(a[r], step);
      unroll<kV>([&](auto v) { pin(sums[r][v] = Kind::dot(sums[r][v], x[v], y)); });
    });
  });
  unroll<R>([&](auto r) {
    unroll<kV>([&](auto v) { sums[r][v] = Kind::total(start.apply(sums[r][v], v)); });
  });
}

// The same for one row of 4-bit codes and int16. Three of the four codes in 16 bits are multiplied
// where they stand, as 1, 16 and 256 times their value, and those sums shifted back: they stay
// below 8 * 256 * 15 * 32767 < 2^31.
MLXFORGE_INLINE void sum_row4(I32 (&sums)[1][kVecs], Bytes sub, const ActBlock16& a) {
  I32 sums16[kVecs], sums256[kVecs];
  unroll<kVecs>([&](auto v) {
    sums[0][v] = Int16::first<4>(a);
    sums16[v] = sums256[v] = zero_i();
  });
  unroll<4>([&](auto d) {
    const I32 y0 = activation(a, 4 * d), y1 = activation(a, 4 * d + 1);
    const I32 y2 = activation(a, 4 * d + 2), y3 = activation(a, 4 * d + 3);
    unroll<kVecs>([&](auto v) {
      const I32 x = load_i(sub + 4 * (d * kPanelRows + v * kLanes));
      sums[0][v] = madd16(sums[0][v], and_i(x, splat(int32_t{0x000f000f})), y0);
      sums256[v] = madd16(sums256[v], and_i(x, splat(int32_t{0x0f000f00})), y1);
      sums16[v] = madd16(sums16[v], and_i(x, splat(int32_t{0x00f000f0})), y2);
      sums[0][v] = madd16(sums[0][v], srl_i16<12>(x), y3);
    });
  });
  unroll<kVecs>([&](auto v) {
    sums[0][v] = add_i(sums[0][v], add_i(sra_i<4>(sums16[v]), sra_i<8>(sums256[v])));
  });
}

// R rows times one panel, from row t on.
template <class Kind, int kBits, int R>
void multiply_panel(const Product& p, Bytes panel, int t, float* out) {
  constexpr int kV = R <= 2 ? kVecs : 1;
  const Layout& w = *p.layout;
  const size_t head_size = head_bytes(w);
  const bool biased = w.zero == Zero::bias;
  const int stride = p.act.stride(p.rows.begin);
  const auto* act = Kind::blocks(p.act) + p.act.first(p.rows.begin, p.n_in / kSub) + t;
  F32 acc[R][kVecs];
  unroll<R>([&](auto r) { unroll<kVecs>([&](auto v) { acc[r][v] = zero(); }); });
  for (int k = 0; k < p.n_in; k += w.group) {
    const Head head = load_centred(w, panel);
    panel += head_size;
    for (int s = 0; s < w.group; s += kSub, panel += sub_bytes(kBits), act += stride) {
      if constexpr (R > 1) fetch(panel, head_size, kBits);  // the hardware keeps up with one row
      for (int v0 = 0; v0 < kVecs; v0 += kV) {
        I32 sums[R][kV];
        if constexpr (R == 1 && kBits == 4 && Kind::kSteps == Int16::kSteps)
          sum_row4(sums, panel, *act);
        else
          sum_rows<Kind, kBits>(sums, panel + 4 * kLanes * v0, act);
        unroll<R>([&](auto r) {
          unroll<kV>([&](auto v) {
            acc[r][v0 + v] = add_group(acc[r][v0 + v], sums[r][v], head, v0 + v, act[r], biased);
          });
        });
      }
    }
  }
  unroll<R>([&](auto r) {
    unroll<kVecs>([&](auto v) { store(out + r * kPanelRows + v * kLanes, acc[r][v]); });
  });
}

template <class Kind, int kBits>
void multiply(const Product& p) {
  const int n_rows = p.rows.end - p.rows.begin;
  if (n_rows > kFewRows) return multiply_many<Kind>(p, unpack<Kind, kBits>);
  for (int i = 0; i < p.n_panels; ++i) {
    Bytes panel = p.panels + p.panel_bytes * i;
    float* out = p.out + i * n_rows * kPanelRows;
    for (int t = 0, take; t < n_rows; t += take, out += take * kPanelRows) {
      const int left = n_rows - t;
      take = left >= 8 ? 8 : left >= 4 ? 4 : left;
      switch (take) {
        case 1:
          multiply_panel<Kind, kBits, 1>(p, panel, t, out);
          break;
        case 2:
          multiply_panel<Kind, kBits, 2>(p, panel, t, out);
          break;
        case 3:
          multiply_panel<Kind, kBits, 3>(p, panel, t, out);
          break;
        case 4:
          multiply_panel<Kind, kBits, 4>(p, panel, t, out);
          break;
        default:
          multiply_panel<Kind, kBits, 8>(p, panel, t, out);
      }
    }
  }
}

}  // namespace

void multiply_i16(const Product& p) noexcept {
  with_bits(p.layout->bits(), [&](auto bits) { multiply<Int16, bits>(p); });
}

void multiply_i8(const Product& p) noexcept {
  with_bits(p.layout->bits(), [&](auto bits) {
    if constexpr (bits <= kDot8Bits) multiply<Int8, bits>(p);
  });
}

}  // namespace mlxforge::cpu::MLXFORGE_CPU_ISA
