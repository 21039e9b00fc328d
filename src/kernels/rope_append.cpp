#include "kernels/rope_append.h"

#include "kernels/eager.h"

namespace mlxforge {
namespace {

// x (T, n, d) rotated by the bits that mlx-lm has on a CPU, where mx.fast.rope is these ops.
mx::array rotate_by_ops(const mx::array& x, const Rope& rope, const mx::array& positions) {
  const int T = x.shape(0), n = x.shape(1), pairs = static_cast<int>(rope.inv_freq.size());
  const auto at = mx::astype(positions, mx::float32) * mx::array(rope.scale);
  const auto angles =
      mx::reshape(at, {T, 1, 1}) * mx::array(rope.inv_freq.begin(), {1, 1, pairs}, mx::float32);
  const auto cosine = mx::astype(mx::cos(angles), x.dtype());
  const auto sine = mx::astype(mx::sin(angles), x.dtype());
  const auto rotating = mx::slice(x, {0, 0, 0}, {T, n, 2 * pairs});
  const int axis = rope.interleaved ? 3 : 2;  // along which the two elements of a pair lie
  const auto both = mx::split(mx::reshape(rotating, rope.interleaved ? mx::Shape{T, n, pairs, 2}
                                                                     : mx::Shape{T, n, 2, pairs}),
                              2, axis);
  const auto a = mx::squeeze(both[0], axis), b = mx::squeeze(both[1], axis);
  const auto rotated = mx::stack({a * cosine - b * sine, a * sine + b * cosine}, axis);
  return mx::concatenate(
      {mx::reshape(rotated, {T, n, 2 * pairs}), mx::slice(x, {0, 0, 2 * pairs}, x.shape())}, 2);
}

// x (T, n, d), one position a token: MLX's rope takes an offset per batch row.
mx::array rotate(const mx::array& x, const Rope& rope, const mx::array& positions) {
  if (rope.inv_freq.empty()) return x;
  if (mx::default_device() == mx::Device::cpu) return rotate_by_ops(x, rope, positions);
  const int pairs = static_cast<int>(rope.inv_freq.size());
  const auto periods = mx::array(1.f) / mx::array(rope.inv_freq.begin(), {pairs}, mx::float32);
  return mx::squeeze(mx::fast::rope(mx::expand_dims(x, 2), 2 * pairs, rope.interleaved,
                                    std::nullopt, rope.scale, positions, periods),
                     2);
}

// Writes x (T, n, d) at `slots`, a run of consecutive slots at a time.
mx::array write_slots(mx::array pool, const mx::array& x, const std::vector<int32_t>& slots) {
  const auto rows = mx::astype(mx::transpose(x, {1, 0, 2}), pool.dtype());  // (n, T, d)
  const int n = pool.shape(0), d = pool.shape(2), T = static_cast<int>(slots.size());
  for (int begin = 0, end; begin < T; begin = end) {
    for (end = begin + 1; end < T && slots[end] == slots[end - 1] + 1;) ++end;
    pool = mx::slice_update(pool, mx::slice(rows, {0, begin, 0}, {n, end, d}), {0, slots[begin], 0},
                            {n, slots[begin] + end - begin, d});
  }
  return pool;
}

mx::array rope_append_reference(const mx::array& qkv, const AttentionShape& s, const Rope& rope,
                                const mx::array& positions, KvPool& pool,
                                const std::vector<int32_t>& slots) {
  const int T = qkv.shape(0), k_at = s.n_q * s.d_k, v_at = k_at + s.n_kv * s.d_k;
  const auto parts = mx::split(qkv, mx::Shape{k_at, v_at}, 1);
  const auto q = rotate(mx::reshape(parts[0], {T, s.n_q, s.d_k}), rope, positions);
  const auto k = rotate(mx::reshape(parts[1], {T, s.n_kv, s.d_k}), rope, positions);
  pool.k = write_slots(pool.k, k, slots);
  pool.v = write_slots(pool.v, mx::reshape(parts[2], {T, s.n_kv, s.d_v}), slots);
  return mx::reshape(q, {T, s.n_q * s.d_k});
}

}  // namespace

mx::array rope_append(const Exec& exec, const mx::array& qkv, const AttentionShape& shape,
                      const Rope& rope, const mx::array& positions, KvPool& pool,
                      const std::vector<int32_t>& slots) {
  const OpTimer timer = exec.timer(Op::rope_append);
  return exec.on_cpu() ? run_rope_append(exec, qkv, shape, rope, positions, pool, slots)
                       : rope_append_reference(qkv, shape, rope, positions, pool, slots);
}

}  // namespace mlxforge
