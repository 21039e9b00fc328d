// y = epilogue(norm(x) W^T): the one matmul of the CPU kernels. It serves norm_linear (QKV),
// norm_gated_linear (gate, up), linear_residual and head, from one row to thousands, with the same
// arithmetic: a row's result has the same bits whatever other rows are in the call, however the
// call is cut, whatever the number of threads (per ISA).
//
// Arith            integer codes                                                  float codes
//   accurate       activations as int16 per 32 k (scale max|x| / 32767),          f32
//                  exact integer sums, f32 across groups
//   int8           the same with int8 (scale max|x| / 127) where the ISA gains    f32
//                  from it; else as accurate
//   exact          weights dequantised to f32, f32 sums                           f32
// Each output sums its groups (or its k, for f32) in ascending order by one chain of fused
// multiply-adds. A row with NaN or infinity in it gives NaN or infinity in that row alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/threads.h"
#include "kernels/cpu/aligned.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/panels.h"

namespace mlxforge::cpu {

enum class Arith : uint8_t { accurate, int8, exact };
enum class Round : uint8_t { none, f16, bf16 };
enum class Act : uint8_t { none, silu, gelu, gelu_tanh, relu };

struct Norm {
  enum Kind : uint8_t { none, rms, layer } kind = none;
  const float* weight = nullptr;  // (K), or null for ones
  const float* bias = nullptr;    // (K), or null; layer only
  float eps = 0;
};

// x is (n, K), row-major; y is (n_rows, N), row-major, and may alias residual, never x.
struct LinearArgs {
  const float* x = nullptr;
  const int32_t* rows = nullptr;  // y's row t reads x's row rows[t]; null: row t
  int n_rows = 0;
  Norm norm;
  // Concatenated along the outputs, N = the sum of their n_out; gated: exactly two of one n_out,
  // gate and up, N = that.
  std::span<const PackedMatrix* const> parts;
  // v = x W^T + bias, then v *= scale, softcap * tanh(v / softcap) unless 0, act(v) or act(gate) *
  // up, + residual.
  const float* bias = nullptr;  // over all parts' outputs
  float scale = 1;
  float softcap = 0;
  Act act = Act::none;
  bool gated = false;
  const float* residual = nullptr;  // (n_rows, N)
  float* y = nullptr;
  Arith arith = Arith::accurate;
  Round round = Round::none;  // the norm's output and y are rounded to this grid
  Isa isa = cpu::isa();
};

// Scratch of linear(). One per thread that calls linear(); it grows before any kernel starts.
struct Workspace {
  // The chunks that one thread begins with, neighbours in memory; threads that are done take from
  // the others.
  struct alignas(64) Share {
    std::atomic<int> next;
    int end;
  };
  AlignedBuffer activations;
  std::vector<Share> shares;
};

// Runs on the pool's threads; the caller is one of them. CHECKs the shapes before it starts.
void linear(const LinearArgs& args, Workspace& workspace, ThreadPool& pool);

}  // namespace mlxforge::cpu
