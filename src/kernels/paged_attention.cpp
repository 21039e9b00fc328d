#include "kernels/paged_attention.h"

#include "base/check.h"
#include "kernels/eager.h"

namespace mlxforge {
namespace {

// Rows first..last-1 of the pool axis that the sequence's table names, in position order: (n, last
// - first, d). Contiguous blocks are a plain slice.
mx::array gather(const mx::array& pool, const cpu::AttentionSeq& seq, int first, int last) {
  constexpr int kBlock = cpu::kBlockTokens;
  const int n = pool.shape(0), d = pool.shape(2);
  std::vector<mx::array> runs;
  for (int begin = first, end; begin < last; begin = end) {
    const int slot = seq.blocks[begin / kBlock] * kBlock + begin % kBlock;
    end = std::min(last, (begin / kBlock + 1) * kBlock);
    while (end < last && seq.blocks[end / kBlock] == seq.blocks[end / kBlock - 1] + 1) {
      end = std::min(last, end + kBlock);
    }
    runs.push_back(mx::slice(pool, {0, slot, 0}, {n, slot + end - begin, d}));
  }
  return runs.size() == 1 ? runs[0] : mx::concatenate(runs, 1);
}

// (q_len, kv) true where query i, at position kv_len - q_len + i, sees key `first` + j.
mx::array visible(const cpu::AttentionSeq& seq, int first, int window) {
  const auto query = mx::reshape(mx::arange(seq.kv_len - seq.q_len, seq.kv_len), {-1, 1});
  const auto key = mx::reshape(mx::arange(first, seq.kv_len), {1, -1});
  const auto causal = mx::less_equal(key, query);
  if (window == 0) return causal;
  return mx::logical_and(causal, mx::greater(key, query - mx::array(window)));
}

// Softcap has no fused form: q (n_q, L, d), k and v (n_kv, S, d).
mx::array softcapped(mx::array q, mx::array k, mx::array v, const mx::array& mask,
                     const AttentionParams& p) {
  const int n_q = q.shape(0), n_kv = k.shape(0), L = q.shape(1);
  q = mx::reshape(mx::astype(q, mx::float32), {n_kv, n_q / n_kv, L, -1});
  k = mx::expand_dims(mx::astype(k, mx::float32), 1);
  v = mx::expand_dims(mx::astype(v, mx::float32), 1);
  const auto cap = mx::array(p.softcap);
  auto scores = mx::matmul(q, mx::swapaxes(k, -1, -2)) * mx::array(p.scale);
  scores = mx::where(mask, cap * mx::tanh(scores / cap), mx::array(-INFINITY));
  return mx::reshape(mx::matmul(mx::softmax(scores, -1), v), {n_q, L, -1});
}

mx::array attend(const mx::array& q, const KvPool& pool, const cpu::AttentionSeq& seq,
                 const AttentionShape& s, const AttentionParams& p) {
  const int first = p.window == 0 ? 0 : std::max(0, seq.kv_len - seq.q_len - p.window + 1);
  const auto k = mx::astype(gather(pool.k, seq, first, seq.kv_len), q.dtype());
  const auto v = mx::astype(gather(pool.v, seq, first, seq.kv_len), q.dtype());
  const auto rows = mx::slice(q, {seq.q_start, 0}, {seq.q_start + seq.q_len, q.shape(1)});
  const auto heads = mx::transpose(mx::reshape(rows, {seq.q_len, s.n_q, s.d_k}), {1, 0, 2});
  const auto out = [&] {
    const auto mask = visible(seq, first, p.window);
    if (p.softcap != 0) return mx::astype(softcapped(heads, k, v, mask, p), q.dtype());
    const auto batched = [](const mx::array& a) { return mx::expand_dims(a, 0); };
    std::optional<mx::array> sinks;
    if (p.sinks) sinks = mx::astype(*p.sinks, q.dtype());
    return mx::squeeze(mx::fast::scaled_dot_product_attention(batched(heads), batched(k),
                                                              batched(v), p.scale, "", mask, sinks),
                       0);
  }();
  return mx::reshape(mx::transpose(out, {1, 0, 2}), {seq.q_len, s.n_q * s.d_v});
}

}  // namespace

mx::array paged_attention(const Exec& exec, const mx::array& q, const KvPool& pool,
                          const AttentionBatch& batch, const AttentionShape& shape,
                          const AttentionParams& params) {
  const OpTimer timer = exec.timer(Op::paged_attention);
  if (exec.on_cpu()) return run_attention(exec, q, pool, batch, shape, params);
  std::vector<mx::array> outputs;
  for (const auto& seq : batch.seqs) outputs.push_back(attend(q, pool, seq, shape, params));
  return outputs.size() == 1 ? outputs[0] : mx::concatenate(outputs, 0);
}

}  // namespace mlxforge
