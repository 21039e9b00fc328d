// What this machine can do at most, measured: the yardsticks of the benchmarks. Each takes some 50
// ms on all pool threads.
#pragma once

#include "base/threads.h"
#include "kernels/cpu/isa.h"

namespace mlxforge::cpu {

// Bytes a second that all threads together read from memory, in a plain sequential loop over a
// buffer of 512 MiB.
double read_bandwidth(ThreadPool& pool);

// Multiplications and additions a second, each counted as one operation, of the kernels' inner
// instructions on registers.
struct PeakOps {
  double f32;    // fused multiply-add
  double int16;  // 16-bit products added to 32-bit sums
  double int8;   // 8-bit products
};
PeakOps peak_ops(ThreadPool& pool, Isa isa = cpu::isa());

}  // namespace mlxforge::cpu
