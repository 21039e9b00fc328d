#include "kernels/reference.h"

#include <cmath>

#include "base/check.h"

namespace mlxforge::reference {

mx::array norm(const mx::array& x, const Norm& norm) {
  switch (norm.kind) {
    case NormKind::none:
      return x;
    case NormKind::rms:
      return mx::fast::rms_norm(x, norm.weight, norm.eps);
    case NormKind::layer:
      return mx::fast::layer_norm(x, norm.weight, norm.bias, norm.eps);
  }
  throw CheckFailure("bug: norm kind");
}

namespace {

// (T, n_in) -> (T, n_out). A bias joins a float product before it is rounded, and is added to a
// quantised one after, as mlx-lm's layers do.
mx::array project(const mx::array& x, const PackedWeight& w, const std::optional<mx::array>& bias) {
  if (const auto* dense = std::get_if<DenseWeight>(&w.form)) {
    const auto matrix = mx::transpose(mx::astype(dense->w, x.dtype()));
    return bias ? mx::addmm(*bias, x, matrix) : mx::matmul(x, matrix);
  }
  const auto* affine = std::get_if<AffineWeight>(&w.form);
  check(affine != nullptr, "panels on the reference path");
  const auto y = mx::astype(mx::quantized_matmul(x, affine->codes, affine->scales, affine->biases,
                                                 true, affine->group, affine->bits),
                            x.dtype());
  return bias ? y + *bias : y;
}

}  // namespace

mx::array linear(const mx::array& x, const Linear& linear) {
  std::vector<mx::array> outputs;
  int row = 0;
  for (const auto& part : linear.parts) {
    std::optional<mx::array> bias;
    if (linear.bias) bias = mx::slice(*linear.bias, {row}, {row + part.n_out});
    outputs.push_back(project(x, part, bias));
    row += part.n_out;
  }
  return outputs.size() == 1 ? outputs[0] : mx::concatenate(outputs, -1);
}

mx::array activate(const mx::array& x, Activation act) {
  const auto in_dtype = [&](float value) { return mx::array(value, x.dtype()); };
  switch (act) {
    case Activation::silu:
      return x * mx::sigmoid(x);
    case Activation::gelu:
      return x * in_dtype(0.5f) * (in_dtype(1) + mx::erf(x * in_dtype(std::sqrt(0.5f))));
    case Activation::gelu_tanh: {
      const auto inner =
          in_dtype(std::sqrt(2 / float(M_PI))) * (x + in_dtype(0.044715f) * x * x * x);
      return in_dtype(0.5f) * x * (in_dtype(1) + mx::tanh(inner));
    }
  }
  throw CheckFailure("bug: activation");
}

}  // namespace mlxforge::reference
