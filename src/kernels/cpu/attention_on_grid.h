// Attention of exact arithmetic with 16-bit floats: the roundings of MLX's CPU path, which lie
// further from f32 than the bound on logits allows, so that only the same ones are near it. Scaled
// queries, scores, weights and outputs are rounded; sums are f32, in key order. A query sees all
// its keys at once, so no cut of the batch shows. Written for clarity; it serves tests and
// comparisons.
#pragma once

#include "kernels/cpu/attention.h"

namespace mlxforge::cpu {

// REQUIRES args.round != Round::none. Scratch is not used.
void attention_on_grid(const AttentionArgs& args, ThreadPool& pool);

}  // namespace mlxforge::cpu
