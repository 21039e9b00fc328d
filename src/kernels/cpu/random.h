// Random bits as a pure function of a key: the Philox4x32-10 counter-based generator (Salmon,
// Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Integer
// arithmetic only: the same bits on every machine.
#pragma once

#include <array>
#include <cstdint>

namespace mlxforge::cpu {

// Which random number: the output-th token of the choice-th answer to a request with this seed.
struct RandomKey {
  uint64_t seed = 0;
  uint32_t choice = 0;
  uint32_t output = 0;
};

inline std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                          std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// Two independent numbers: one for the draw, one for the filter that is left to chance (XTC).
struct RandomBits {
  uint64_t draw;
  uint64_t filter;
};

inline RandomBits random_bits(const RandomKey& key) {
  const auto bits =
      philox4x32({key.output, key.choice, 0, 0},
                 {static_cast<uint32_t>(key.seed), static_cast<uint32_t>(key.seed >> 32)});
  return {uint64_t{bits[1]} << 32 | bits[0], uint64_t{bits[3]} << 32 | bits[2]};
}

}  // namespace mlxforge::cpu
