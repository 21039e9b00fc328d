#include "kernels/embed.h"

#include "base/check.h"
#include "kernels/eager.h"

namespace mlxforge {
namespace {

mx::array embed_reference(const Exec& exec, const mx::array& tokens, const PackedWeight& table,
                          float scale) {
  const auto rows = [&]() -> mx::array {
    if (const auto* dense = std::get_if<DenseWeight>(&table.form)) {
      return mx::take(dense->w, tokens, 0);
    }
    const auto& affine = std::get<AffineWeight>(table.form);
    const auto rows_of = [&](const mx::array& a) {
      return mx::astype(mx::take(a, tokens, 0), exec.act);
    };
    return mx::dequantize(mx::take(affine.codes, tokens, 0), rows_of(affine.scales),
                          rows_of(affine.biases), affine.group, affine.bits);
  }();
  const auto x = mx::astype(rows, exec.act);
  return scale == 1 ? x : x * mx::array(scale, exec.act);
}

}  // namespace

mx::array embed(const Exec& exec, const mx::array& tokens, const PackedWeight& table, float scale) {
  const OpTimer timer = exec.timer(Op::embed);
  return exec.on_cpu() ? run_embed(exec, tokens, table, scale)
                       : embed_reference(exec, tokens, table, scale);
}

}  // namespace mlxforge
