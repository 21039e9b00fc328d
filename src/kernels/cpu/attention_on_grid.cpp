#include "kernels/cpu/attention_on_grid.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace mlxforge::cpu {
namespace {

// One query of one head, at `position`, and the pool's element where its K or V of a slot begins.
struct Query {
  const AttentionArgs& a;
  const AttentionSeq& seq;
  int row;  // of the flat batch
  int position;
  int head;

  int first_key() const { return a.window > 0 ? std::max(0, position - a.window + 1) : 0; }
  int64_t element(int key, int d) const {
    const int64_t slot =
        int64_t{seq.blocks[key / kBlockTokens]} * kBlockTokens + key % kBlockTokens;
    return (head / (a.n_q / a.kv.n_kv) * a.kv.n_slots + slot) * d;
  }
};

float load(KvType type, const void* pool, int64_t i) {
  switch (type) {
    case KvType::f32:
      return static_cast<const float*>(pool)[i];
    case KvType::f16:
      return from_f16(static_cast<const uint16_t*>(pool)[i]);
    case KvType::bf16:
      return from_bf16(static_cast<const uint16_t*>(pool)[i]);
  }
  return 0;
}

// A softcap is no part of MLX's fused op: the reference computes it in f32.
float score(const Query& at, int key) {
  const AttentionArgs& a = at.a;
  const float* q = a.q + (int64_t{at.row} * a.n_q + at.head) * a.kv.d_k;
  const int64_t k = at.element(key, a.kv.d_k);
  const Round round = a.softcap > 0 ? Round::none : a.round;
  const float scale = round_to(round, a.scale);
  float sum = 0;
  for (int i = 0; i < a.kv.d_k; ++i)
    sum += round_to(round, q[i] * scale) * load(a.kv.type, a.kv.k, k + i);
  return a.softcap > 0 ? a.softcap * std::tanh(sum / a.softcap) : round_to(round, sum);
}

// Scores to weights; a sink takes its share.
void softmax(const Query& at, std::vector<float>& scores) {
  const AttentionArgs& a = at.a;
  const float sink = a.sinks ? round_to(a.round, a.sinks[at.head]) : -INFINITY;
  const float most = std::max(sink, *std::max_element(scores.begin(), scores.end()));
  float sum = std::exp(sink - most);
  for (float& x : scores) sum += x = std::exp(x - most);
  for (float& x : scores) x = round_to(a.softcap > 0 ? Round::none : a.round, x / sum);
}

void attend(const Query& at, std::vector<float>& weights) {
  const AttentionArgs& a = at.a;
  const int first = at.first_key(), n = at.position + 1 - first, d = a.kv.d_v;
  weights.resize(static_cast<size_t>(n));
  for (int j = 0; j < n; ++j) weights[static_cast<size_t>(j)] = score(at, first + j);
  softmax(at, weights);
  float* out = a.out + (int64_t{at.row} * a.n_q + at.head) * d;
  std::fill_n(out, d, 0.0f);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < d; ++i)
      out[i] +=
          weights[static_cast<size_t>(j)] * load(a.kv.type, a.kv.v, at.element(first + j, d) + i);
  std::for_each_n(out, d, [&](float& x) { x = round_to(a.round, x); });
}

}  // namespace

void attention_on_grid(const AttentionArgs& a, ThreadPool& pool) {
  for (const AttentionSeq& seq : a.seqs) {
    std::vector<std::vector<float>> weights(static_cast<size_t>(pool.size()));
    for (auto& w : weights) w.reserve(static_cast<size_t>(seq.kv_len));
    pool.run(seq.q_len * a.n_q, [&](int i, int thread) noexcept {
      const int query = i / a.n_q;
      attend({a, seq, seq.q_start + query, seq.kv_len - seq.q_len + query, i % a.n_q},
             weights[static_cast<size_t>(thread)]);
    });
  }
}

}  // namespace mlxforge::cpu
