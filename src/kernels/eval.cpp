#include "kernels/eval.h"

#include <atomic>

namespace mlxforge {
namespace {

std::atomic<size_t> count = 0;

}  // namespace

void evaluate(std::vector<mx::array> arrays) {
  ++count;
  mx::eval(std::move(arrays));
}

size_t n_evaluations() { return count; }

void settle_after_fault() {
  constexpr int kTries = 4;
  for (int i = 0; i < kTries; ++i) {
    try {
      mx::synchronize();
      return;
    } catch (const std::exception&) {
      // The fault is already reported to the rows it concerns.
    }
  }
}

}  // namespace mlxforge
