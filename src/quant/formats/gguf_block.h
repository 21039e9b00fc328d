// What the GGUF formats share: rows of blocks of 32 weights.
#pragma once

#include <cstring>

#include "quant/format.h"

namespace mlxforge {

inline constexpr int kGgufBlock = 32;

// Calls read(block bytes, index of the block) for every block of the row.
template <class ReadBlock>
void for_each_block(const WeightSource& s, int n_in, int row, ReadBlock read) {
  const size_t bytes = block_bytes(s.weight->dtype);
  const size_t n_blocks = n_in / kGgufBlock;
  const std::byte* block = s.weight->bytes.data() + row * n_blocks * bytes;
  for (size_t b = 0; b < n_blocks; ++b, block += bytes) read(block, b);
}

inline void copy_f16(const std::byte* from, void* to, size_t index) {
  std::memcpy(static_cast<std::byte*>(to) + 2 * index, from, 2);
}

// 16 bytes of nibbles: weight j is the low nibble of byte j, weight 16 + j its high nibble.
inline void read_nibbles(const std::byte* bytes, uint8_t* codes) {
  for (int j = 0; j < 16; ++j) {
    codes[j] = std::to_integer<uint8_t>(bytes[j] & std::byte{15});
    codes[16 + j] = std::to_integer<uint8_t>(bytes[j] >> 4);
  }
}

}  // namespace mlxforge
