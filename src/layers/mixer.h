// A layer's token mixer: the part that looks across positions, and the only part that may keep
// state between steps. Norm in front and residual behind belong to it, because the kernels fuse
// them.
#pragma once

#include "layers/step.h"

namespace mlxforge {

class Mixer {
 public:
  virtual ~Mixer() = default;
  // x (T, d_model) -> (T, d_model), residual added; keys and values of the step's tokens are in the
  // pool afterwards.
  virtual mx::array forward(const Exec& exec, const mx::array& x, const Step& step) = 0;
  // The state's size, and the state itself: made once the budget is known, remade after a fault on
  // the reference path.
  virtual size_t block_bytes(mx::Dtype kv) const = 0;
  virtual void allocate(mx::Dtype kv, int n_blocks) = 0;
  // The arrays a lazy step must evaluate besides its result.
  virtual std::vector<mx::array> state() const = 0;
};

}  // namespace mlxforge
