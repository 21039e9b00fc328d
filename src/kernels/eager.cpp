#include "kernels/eager.h"

#include <algorithm>
#include <bit>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/pack.h"
#include "kernels/cpu/rope.h"
#include "kernels/leaf_array.h"

namespace mlxforge {
namespace {

// An evaluated f32 array, its memory the recycler's.
mx::array output(const Exec& exec, const mx::Shape& shape) {
  size_t bytes = sizeof(float);
  for (const auto extent : shape) bytes *= extent;
  return array_over(shape, mx::float32, exec.memory->arrays.take(bytes));
}

const float* floats(const std::optional<mx::array>& array) {
  return array ? array->data<float>() : nullptr;
}

cpu::Norm to_cpu(const Norm& norm) {
  constexpr cpu::Norm::Kind kKinds[] = {cpu::Norm::none, cpu::Norm::rms, cpu::Norm::layer};
  return {.kind = kKinds[static_cast<int>(norm.kind)],
          .weight = floats(norm.weight),
          .bias = floats(norm.bias),
          .eps = norm.eps};
}

cpu::Act to_cpu(Activation act) {
  constexpr cpu::Act kActs[] = {cpu::Act::silu, cpu::Act::gelu, cpu::Act::gelu_tanh};
  return kActs[static_cast<int>(act)];
}

cpu::Round rounding(const Exec& exec) {
  if (exec.arith != Arith::exact) return cpu::Round::none;
  return exec.act == mx::float16    ? cpu::Round::f16
         : exec.act == mx::bfloat16 ? cpu::Round::bf16
                                    : cpu::Round::none;
}

float to_bf16(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  if (x != x) return x;
  bits += 0x7fff + (bits >> 16 & 1);  // to nearest, ties to even
  return std::bit_cast<float>(bits & 0xffff0000);
}

// In exact arithmetic every op's output lies on the grid of the checkpoint's float dtype, as in
// mlx-lm. linear() does it itself.
void round_to_grid(const Exec& exec, mx::array& array) {
  float* const values = array.data<float>();
  switch (rounding(exec)) {
    case cpu::Round::none:
      return;
    case cpu::Round::f16:
      std::for_each_n(values, array.size(), [](float& v) { v = static_cast<_Float16>(v); });
      return;
    case cpu::Round::bf16:
      std::for_each_n(values, array.size(), [](float& v) { v = to_bf16(v); });
      return;
  }
}

cpu::KvView view(const KvPool& pool) {
  // The pool is written in place by contract.
  auto* k = const_cast<uint8_t*>(pool.k.data<uint8_t>());
  auto* v = const_cast<uint8_t*>(pool.v.data<uint8_t>());
  const auto dtype = pool.k.dtype();
  return {.k = k,
          .v = v,
          .type = dtype == mx::float16    ? cpu::KvType::f16
                  : dtype == mx::bfloat16 ? cpu::KvType::bf16
                                          : cpu::KvType::f32,
          .n_kv = pool.k.shape(0),
          .n_slots = pool.k.shape(1),
          .d_k = pool.k.shape(2),
          .d_v = pool.v.shape(2)};
}

const cpu::PackedMatrix& panels(const PackedWeight& weight) {
  return *std::get<PanelWeight>(weight.form);
}

}  // namespace

mx::array run_linear(const Exec& exec, const mx::array& x, const Norm& norm, const Linear& linear,
                     const Epilogue& epilogue) {
  std::vector<const cpu::PackedMatrix*> parts;
  for (const auto& part : linear.parts) parts.push_back(&panels(part));
  const int n_rows = epilogue.rows ? static_cast<int>(epilogue.rows->size()) : x.shape(0);
  auto y = output(exec, {n_rows, epilogue.gate ? linear.parts[0].n_out : linear.n_out()});
  cpu::linear({.x = x.data<float>(),
               .rows = epilogue.rows ? epilogue.rows->data() : nullptr,
               .n_rows = n_rows,
               .norm = to_cpu(norm),
               .parts = parts,
               .bias = floats(linear.bias),
               .softcap = epilogue.softcap,
               .act = epilogue.gate ? to_cpu(*epilogue.gate) : cpu::Act::none,
               .gated = epilogue.gate.has_value(),
               .residual = epilogue.residual ? epilogue.residual->data<float>() : nullptr,
               .y = y.data<float>(),
               .arith = exec.arith,
               .round = rounding(exec)},
              exec.memory->linear, *exec.pool);
  return y;
}

mx::array run_embed(const Exec& exec, const mx::array& tokens, const PackedWeight& table,
                    float scale) {
  auto x = output(exec, {tokens.shape(0), table.n_in});
  cpu::embed_rows(panels(table), tokens.data<int32_t>(), tokens.shape(0), x.data<float>(),
                  *exec.pool);
  if (scale != 1) std::for_each_n(x.data<float>(), x.size(), [&](float& v) { v *= scale; });
  round_to_grid(exec, x);
  return x;
}

mx::array run_rope_append(const Exec& exec, const mx::array& qkv, const AttentionShape& shape,
                          const Rope& rope, const mx::array& positions, KvPool& pool,
                          const std::vector<int32_t>& slots) {
  auto q = output(exec, {qkv.shape(0), shape.n_q * shape.d_k});
  cpu::rope_append({.qkv = qkv.data<float>(),
                    .n_tokens = qkv.shape(0),
                    .n_q = shape.n_q,
                    .rope = {.inv_freq = rope.inv_freq.data(),
                             .dims = 2 * static_cast<int>(rope.inv_freq.size()),
                             .interleaved = rope.interleaved,
                             .scale = rope.scale},
                    .norm = {},
                    .positions = positions.data<int32_t>(),
                    .slots = slots.data(),
                    .kv = view(pool),
                    .q = q.data<float>()},
                   *exec.pool);
  round_to_grid(exec, q);
  return q;
}

mx::array run_attention(const Exec& exec, const mx::array& q, const KvPool& pool,
                        const AttentionBatch& batch, const AttentionShape& shape,
                        const AttentionParams& params) {
  auto out = output(exec, {q.shape(0), shape.n_q * shape.d_v});
  cpu::AttentionArgs args{.q = q.data<float>(),
                          .kv = view(pool),
                          .seqs = batch.seqs,
                          .n_q = shape.n_q,
                          .scale = params.scale,
                          .window = params.window,
                          .softcap = params.softcap,
                          .sinks = floats(params.sinks),
                          .out = out.data<float>()};
  auto& scratch = exec.memory->attention;
  scratch.reserve(cpu::attention_scratch_bytes(args, exec.pool->size()));
  args.scratch = scratch.data();
  cpu::paged_attention(args, *exec.pool);
  round_to_grid(exec, out);
  return out;
}

}  // namespace mlxforge
