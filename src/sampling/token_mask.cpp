#include "sampling/token_mask.h"

#include <algorithm>
#include <limits>

namespace mlxforge {

void mask_logits(std::span<float> logits, std::span<const uint32_t> allowed) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  for (size_t begin = 0; begin < logits.size(); begin += 32) {
    const auto some = logits.subspan(begin, std::min<size_t>(32, logits.size() - begin));
    const uint32_t word = begin / 32 < allowed.size() ? allowed[begin / 32] : 0;
    if (word == 0) {
      std::ranges::fill(some, kNever);
    } else if (word != ~uint32_t{0}) {
      for (size_t i = 0; i < some.size(); ++i)
        if (!(word >> i & 1)) some[i] = kNever;
    }
  }
}

}  // namespace mlxforge
