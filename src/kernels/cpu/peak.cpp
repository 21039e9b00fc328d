#include "kernels/cpu/peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "kernels/cpu/aligned.h"
#include "kernels/cpu/peak_kernels.h"

namespace mlxforge::cpu {

MLXFORGE_CPU_TABLE(PeakKernels, peak_kernels)

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The sum of the bytes' 64-bit words, eight at a time.
uint64_t read_all(const uint64_t* p, size_t words) {
  uint64_t s[8] = {};
  for (size_t i = 0; i + 8 <= words; i += 8)
    for (size_t j = 0; j < 8; ++j) s[j] += p[i + j];
  uint64_t total = 0;
  for (const uint64_t v : s) total += v;
  return total;
}

double best_ops(ThreadPool& pool, int64_t (*kernel)(int64_t, float*) noexcept) {
  constexpr int64_t kSteps = 1 << 18;
  double best = 0;
  for (int round = 0; round < 10; ++round) {
    std::atomic<int64_t> ops = 0;
    const auto start = Clock::now();
    pool.run(pool.size(), [&](int, int) noexcept {
      alignas(64) float sink[16];
      ops += kernel(kSteps, sink);
    });
    best = std::max(best, static_cast<double>(ops.load()) / seconds_since(start));
  }
  return best;
}

}  // namespace

double read_bandwidth(ThreadPool& pool) {
  constexpr size_t kBytes = size_t{512} << 20, kChunk = size_t{1} << 20;
  AlignedBuffer buffer(kBytes);
  std::fill_n(buffer.as<uint64_t>(), kBytes / 8, uint64_t{1});
  std::atomic<uint64_t> total = 0;
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    const auto start = Clock::now();
    pool.run(static_cast<int>(kBytes / kChunk), [&](int chunk, int) noexcept {
      total +=
          read_all(buffer.as<uint64_t>() + static_cast<size_t>(chunk) * kChunk / 8, kChunk / 8);
    });
    best = std::max(best, static_cast<double>(kBytes) / seconds_since(start));
  }
  return best;
}

PeakOps peak_ops(ThreadPool& pool, Isa isa) {
  const PeakKernels& k = peak_kernels(isa);
  return {best_ops(pool, k.f32), best_ops(pool, k.int16), best_ops(pool, k.int8)};
}

}  // namespace mlxforge::cpu
