// One layer's K and V pool as the CPU kernels see it: K (n_kv, n_slots, d_k) and V (n_kv, n_slots,
// d_v), row-major, slot = block * kBlockTokens + offset. A view: the pool's owner keeps the memory.
// Values at slots that no sequence has reached are garbage.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mlxforge::cpu {

inline constexpr int kBlockTokens = 32;

enum class KvType : uint8_t { f32, f16, bf16 };
constexpr size_t kv_bytes(KvType type) { return type == KvType::f32 ? 4 : 2; }

struct KvView {
  void* k = nullptr;
  void* v = nullptr;
  KvType type = KvType::f32;
  int n_kv = 0;
  int64_t n_slots = 0;
  int d_k = 0;
  int d_v = 0;
};

}  // namespace mlxforge::cpu
