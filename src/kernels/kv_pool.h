// K and V of one layer: two leaf arrays (n_kv, n_slots, head_dim), slot = block * 32 + offset,
// allocated once at start. rope_append writes them in place by contract on our own kernels; the
// reference path (which evaluates every step) replaces them by slice_update. Values at or past a
// sequence's kv_len are garbage by contract, so nothing is ever cleared.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/attention.h"
#include "kernels/mx.h"

namespace mlxforge {

struct KvPool {
  mx::array k;  // (n_kv, n_slots, d_k)
  mx::array v;  // (n_kv, n_slots, d_v)
};

// Memory is reserved, not touched: pages become resident as blocks are used. Throws Error when it
// cannot be had.
KvPool make_kv_pool(int n_kv, int n_slots, int d_k, int d_v, mx::Dtype dtype);

// The sequences of one step as one cache group sees them. All on the host.
struct AttentionBatch {
  std::vector<cpu::AttentionSeq> seqs;
  std::vector<int32_t> slots;  // (T) where token t's K and V go
};

}  // namespace mlxforge
