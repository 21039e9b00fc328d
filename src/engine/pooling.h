// Many hidden states to one: the embedding of a prompt. States come chunk by chunk, in order; the
// result does not depend on how they were cut.
#pragma once

#include <span>
#include <vector>

#include "engine/sequence.h"

namespace mlxforge {

// The next states (n, d_model) of seq, which Sequence::pooled describes, are taken in.
void pool(Sequence& seq, std::span<const float> states, int n);
// What has been taken in as one state (d_model).
std::vector<float> pooled(const Sequence& seq);

}  // namespace mlxforge
