// Where and how the ops run: made once per engine, passed to every op, used by the worker thread
// only.
#pragma once

#include <memory>

#include "base/threads.h"
#include "kernels/cpu/linear.h"
#include "kernels/mx.h"
#include "kernels/op_times.h"
#include "kernels/recycler.h"

namespace mlxforge {

// reference: stock MLX ops, lazy, on any device. cpu: our kernels, eager; x86-64 and Arm.
enum class KernelPath { reference, cpu };

// accurate: float-accurate integer arithmetic where weights are coded. int8: faster, less exact.
// exact: f32 throughout, with every op's output rounded to the checkpoint's float dtype. The
// reference path is always exact.
using Arith = cpu::Arith;

// Memory that CPU kernels use again and again.
struct CpuMemory {
  cpu::Workspace linear;
  cpu::AlignedBuffer attention;
  Recycler arrays;  // outputs of ops
  OpTimes times = {};
};

struct Exec {
  KernelPath path = KernelPath::reference;
  Arith arith = Arith::exact;
  mx::Dtype act = mx::float32;        // the checkpoint's float dtype; f32 for quantised GGUF
  mx::Dtype kv = mx::float32;         // K and V in the pool
  std::shared_ptr<ThreadPool> pool;   // never null
  std::shared_ptr<CpuMemory> memory;  // never null; its buffers are used on path cpu

  bool on_cpu() const { return path == KernelPath::cpu; }
  // The dtype of arrays between ops and of norm weights and biases: CPU kernels compute in f32
  // whatever the checkpoint holds.
  mx::Dtype between() const { return on_cpu() ? mx::float32 : act; }
  // Every op begins with it. On the reference path, which is lazy, it means nothing.
  OpTimer timer(Op op) const { return {memory->times, op}; }
};

}  // namespace mlxforge
