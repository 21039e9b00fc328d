#include "kernels/cpu/pack.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "base/check.h"

namespace mlxforge::cpu {
namespace {

uint32_t load_u32(const void* p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// The 16 rows of a panel as their source gave them.
struct PanelRows {
  std::vector<uint8_t> values, codes, scales, biases;

  PanelRows(const Layout& w, int n_in) {
    const auto k = static_cast<size_t>(n_in);
    if (w.is_float()) {
      values.resize(kPanelRows * k * static_cast<size_t>(w.bits()) / 8);
    } else {
      codes.resize(kPanelRows * k);
      scales.resize(kPanelRows * k / static_cast<size_t>(w.group) *
                    static_cast<size_t>(w.scale_bytes()));
      if (w.zero == Zero::bias) biases.resize(scales.size());
    }
  }
  RowBuffers row(int r) {
    const auto at = [r](std::vector<uint8_t>& v) {
      return v.data() + v.size() / kPanelRows * static_cast<size_t>(r);
    };
    return {at(values), at(codes), at(scales), at(biases)};
  }
  // Rows past the matrix: every code and scale bit zero.
  void clear(int r) {
    for (auto* v : {&values, &codes, &scales, &biases}) {
      const auto size = static_cast<std::ptrdiff_t>(v->size() / kPanelRows);
      std::fill_n(v->begin() + size * r, size, uint8_t{0});
    }
  }
};

template <class T>
void transpose_floats(const PanelRows& rows, int n_in, std::byte* out) {
  for (int k = 0; k < n_in; ++k)
    for (int r = 0; r < kPanelRows; ++r)
      std::memcpy(out + sizeof(T) * static_cast<size_t>(k * kPanelRows + r),
                  rows.values.data() + sizeof(T) * static_cast<size_t>(r * n_in + k), sizeof(T));
}

// One plane of one sub-block: `width` bits of 32 codes of each row, taken from bit `low` of the
// code.
std::byte* put_plane(const uint8_t* codes, int n_in, int low, int width, std::byte* out) {
  const int per_dword = 8 / width;
  const uint32_t mask = 0x01010101u * ((1u << width) - 1);
  for (int d = 0; d < width; ++d)
    for (int r = 0; r < kPanelRows; ++r, out += 4) {
      const uint8_t* from =
          codes + static_cast<size_t>(r) * static_cast<size_t>(n_in) + 4 * d * per_dword;
      uint32_t dword = 0;
      for (int i = 0; i < per_dword; ++i)
        dword |= ((load_u32(from + 4 * i) >> low) & mask) << (i * width);
      std::memcpy(out, &dword, 4);
    }
  return out;
}

std::byte* put_heads(const std::vector<uint8_t>& heads, size_t bytes, int block, std::byte* out) {
  for (int r = 0; r < kPanelRows; ++r, out += bytes) {
    const size_t row = heads.size() / kPanelRows * static_cast<size_t>(r);
    std::memcpy(out, heads.data() + row + bytes * static_cast<size_t>(block), bytes);
  }
  return out;
}

void put_blocks(const Layout& w, const PanelRows& rows, int n_in, std::byte* out) {
  const auto scale_bytes = static_cast<size_t>(w.scale_bytes());
  const Planes p = planes(w.bits());
  for (int block = 0; block < n_in / w.group; ++block) {
    out = put_heads(rows.scales, scale_bytes, block, out);
    if (w.zero == Zero::bias) out = put_heads(rows.biases, scale_bytes, block, out);
    for (int k = block * w.group; k < (block + 1) * w.group; k += kSub) {
      out = put_plane(rows.codes.data() + k, n_in, 0, p.width[0], out);
      if (p.width[1] > 0) out = put_plane(rows.codes.data() + k, n_in, p.width[0], p.width[1], out);
    }
  }
}

void pack_panel(PackedMatrix& w, int panel, const RowSource& source, PanelRows& rows) {
  for (int r = 0; r < kPanelRows; ++r) {
    const int row = panel * kPanelRows + r;
    if (row < w.n_out())
      source(row, rows.row(r));
    else
      rows.clear(r);
  }
  if (w.layout().codes == Codes::f32)
    transpose_floats<uint32_t>(rows, w.n_in(), w.panel(panel));
  else if (w.layout().is_float())
    transpose_floats<uint16_t>(rows, w.n_in(), w.panel(panel));
  else
    put_blocks(w.layout(), rows, w.n_in(), w.panel(panel));
}

// f16 to f32 in integers: subnormals are normalised by hand, because threads flush subnormal
// floats.
float from_f16(uint16_t h) {
  const uint32_t sign = (h & 0x8000u) << 16;
  uint32_t exponent = (h >> 10) & 31u, mantissa = h & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    if (mantissa == 0) return std::bit_cast<float>(sign);
    const int shift = std::countl_zero(mantissa) - 21;
    mantissa = (mantissa << shift) & 0x3ffu;
    return std::bit_cast<float>(sign | (static_cast<uint32_t>(113 - shift) << 23) |
                                (mantissa << 13));
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}
float from_bf16(uint16_t h) { return std::bit_cast<float>(static_cast<uint32_t>(h) << 16); }

static_assert(static_cast<int>(Codes::bf16) ==
              static_cast<int>(ScaleType::bf16));  // floats load like scales
float load_float(ScaleType type, const std::byte* p) {
  if (type == ScaleType::f32) return std::bit_cast<float>(load_u32(p));
  uint16_t bits;
  std::memcpy(&bits, p, sizeof bits);
  return type == ScaleType::f16 ? from_f16(bits) : from_bf16(bits);
}

// The code of lane r, k in [0, 32) of a sub-block.
uint32_t code_at(const std::byte* sub, const Planes& p, int r, int k) {
  uint32_t code = 0;
  int low = 0;
  for (const int width : p.width) {
    if (width == 0) break;
    const int q = k / 4, per_dword = 8 / width;
    const uint32_t dword = load_u32(sub + 4 * (q / per_dword * kPanelRows + r));
    code |= ((dword >> (q % per_dword * width + 8 * (k % 4))) & ((1u << width) - 1)) << low;
    low += width;
    sub += sub_bytes(width);
  }
  return code;
}

void unpack_block(const Layout& w, const std::byte* block, int r, float* out) {
  const int scale_bytes = w.scale_bytes();
  const float scale = load_float(w.scale, block + r * scale_bytes);
  const bool biased = w.zero == Zero::bias;
  const float bias = biased ? load_float(w.scale, block + (kPanelRows + r) * scale_bytes) : 0.0f;
  const float centre = biased ? 0.0f : static_cast<float>(1 << (w.bits() - 1));
  const std::byte* sub = block + head_bytes(w);
  const Planes p = planes(w.bits());
  for (int k = 0; k < w.group; ++k) {
    const auto code = static_cast<float>(
        code_at(sub + static_cast<size_t>(k / kSub) * sub_bytes(w.bits()), p, r, k % kSub));
    out[k] = biased ? scale * code + bias : scale * (code - centre);
  }
}

}  // namespace

PackedMatrix pack(Layout layout, int n_out, int n_in, const RowSource& source, ThreadPool& pool) {
  PackedMatrix w(layout, n_out, n_in);
  std::vector<PanelRows> rows;
  for (int t = 0; t < pool.size(); ++t) rows.emplace_back(layout, n_in);
  pool.run(w.n_panels(), [&](int panel, int thread) noexcept {
    pack_panel(w, panel, source, rows[static_cast<size_t>(thread)]);
  });
  return w;
}

void unpack_row(const PackedMatrix& w, int row, float* out) {
  const Layout& layout = w.layout();
  const std::byte* panel = w.panel(row / kPanelRows);
  const int r = row % kPanelRows;
  if (layout.is_float()) {
    const auto type = static_cast<ScaleType>(layout.codes);
    const int bytes = layout.bits() / 8;
    for (int k = 0; k < w.n_in(); ++k)
      out[k] = load_float(type, panel + (k * kPanelRows + r) * bytes);
    return;
  }
  for (int block = 0; block < w.n_in() / layout.group; ++block)
    unpack_block(layout, panel + static_cast<size_t>(block) * block_bytes(layout), r,
                 out + block * layout.group);
}

void embed_rows(const PackedMatrix& w, const int32_t* ids, int n_ids, float* out,
                ThreadPool& pool) {
  pool.run(n_ids, [&](int i, int) noexcept {
    unpack_row(w, ids[i], out + static_cast<size_t>(i) * static_cast<size_t>(w.n_in()));
  });
}

}  // namespace mlxforge::cpu
