// What a grammar leaves of a row of logits: ids whose bit is not set become -inf.
#pragma once

#include <cstdint>
#include <span>

namespace mlxforge {

// Bit id % 32 of allowed[id / 32] is the id's; ids beyond the mask are not allowed.
void mask_logits(std::span<float> logits, std::span<const uint32_t> allowed);

}  // namespace mlxforge
