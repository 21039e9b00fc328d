// paged_attention: softmax(q K^T * scale + mask) V over each sequence's own keys, found through its
// block table. Prefill and decode are one path. Called by the thread that owns the pools.
//
// The order of arithmetic, the same however a sequence is cut into steps, whatever its company and
// the thread count: keys are cut at absolute multiples of kPartialKeys; each cut gives one partial
// (max, sum, weighted values), computed in key order; a query merges its partials from left to
// right (online softmax: Milakov and Gimelshein 2018, arXiv 1805.02867).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/threads.h"
#include "kernels/cpu/kv.h"

namespace mlxforge::cpu {

inline constexpr int kPartialKeys = 256;

// A sequence's rows of the flat batch. Query i, at position kv_len - q_len + i, sees the keys up to
// its own position, its own among them (its K and V are in the pool already); with a window W, the
// last W of those.
struct AttentionSeq {
  int q_start = 0;
  int q_len = 0;
  int kv_len = 0;                   // keys in the pool, this step's counted
  const int32_t* blocks = nullptr;  // (ceil(kv_len / 32)) block ids; entries wholly before every
                                    // query's window are never read
};

struct AttentionArgs {
  const float* q = nullptr;  // (T, n_q, d_k)
  KvView kv = {};
  std::span<const AttentionSeq> seqs = {};
  int n_q = 0;  // a multiple of kv.n_kv: query head h reads K and V head h / (n_q / n_kv)
  float scale = 1;
  int window = 0;     // 0: all keys
  float softcap = 0;  // score = softcap * tanh(score / softcap); 0: none
  const float* sinks =
      nullptr;  // (n_q) a logit that takes its share of the softmax and gives no value; null: none
  float* out = nullptr;          // (T, n_q, d_v)
  std::byte* scratch = nullptr;  // attention_scratch_bytes(args, pool.size()), 64-byte aligned
};

// Does not look at scratch.
size_t attention_scratch_bytes(const AttentionArgs& args, int n_threads);

void paged_attention(const AttentionArgs& args, ThreadPool& pool);

}  // namespace mlxforge::cpu
