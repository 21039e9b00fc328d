// The one place where a running engine waits for MLX. The reference path evaluates once a step; a
// test counts.
#pragma once

#include <vector>

#include "kernels/mx.h"

namespace mlxforge {

void evaluate(std::vector<mx::array> arrays);
// Calls of evaluate so far in this process.
size_t n_evaluations();
// After a throw: waits until MLX's streams no longer report it (an error surfaces once, in a later
// wait).
void settle_after_fault();

}  // namespace mlxforge
