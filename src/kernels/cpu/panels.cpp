#include "kernels/cpu/panels.h"

#include "base/check.h"

namespace mlxforge::cpu {

PackedMatrix::PackedMatrix(Layout layout, int n_out, int n_in)
    : layout_(layout), n_out_(n_out), n_in_(n_in) {
  check(n_out > 0 && n_in > 0, "PackedMatrix of shape ", n_out, "x", n_in);
  const auto k = static_cast<size_t>(n_in);
  if (layout.is_float()) {
    panel_bytes_ = kPanelRows * k * static_cast<size_t>(layout.bits()) / 8;
  } else {
    check(layout.group == 32 || layout.group == 64 || layout.group == 128, "PackedMatrix group ",
          layout.group);
    check(n_in % layout.group == 0, "PackedMatrix: ", n_in, " inputs in groups of ", layout.group);
    panel_bytes_ = k / static_cast<size_t>(layout.group) * block_bytes(layout);
  }
  data_ = allocate_weights(bytes());
}

}  // namespace mlxforge::cpu
