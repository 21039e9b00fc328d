// y = act(gate(Norm(x))) * up(Norm(x)), the first half of a gated feed-forward layer (SwiGLU:
// Shazeer 2020, arXiv 2002.05202).
#pragma once

#include "kernels/exec.h"
#include "kernels/weight.h"

namespace mlxforge {

// x (T, n_in) -> (T, d_ff). gate_up has exactly two parts of d_ff outputs each: gate, then up.
mx::array norm_gated_linear(const Exec& exec, const mx::array& x, const Norm& norm,
                            const Linear& gate_up, Activation act);

}  // namespace mlxforge
