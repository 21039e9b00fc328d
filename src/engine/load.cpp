#include "engine/load.h"

#include <algorithm>

#include "base/log.h"
#include "base/option_values.h"
#include "base/resources.h"
#include "kernels/cpu/isa.h"
#include "kernels/dtype.h"
#include "models/family.h"

namespace mlxforge {
namespace {

mx::Dtype to_mx(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return mx::float16;
    case DType::bf16:
      return mx::bfloat16;
    default:
      return mx::float32;
  }
}

// MLX's x86 kernel sums quantised 16-bit checkpoints in 16 bits, up to 4e-2 from their f32 result.
// One rounding that differs anywhere makes two such sums as far from each other, so nothing but
// MLX's own ops is within the bound of mlx-lm.
bool only_stock_ops_are_exact(const EngineOptions& options, const Checkpoint& checkpoint) {
  return options.activations == Activations::float32 && checkpoint.quantised() &&
         checkpoint.float_dtype() != DType::f32;
}

Exec make_exec(const EngineOptions& options, const Checkpoint& checkpoint) {
  Exec exec;
  const bool cpu = mx::default_device() == mx::Device::cpu;
  exec.act = to_mx(checkpoint.float_dtype());
  exec.path = cpu && options.kernels == KernelChoice::automatic &&
                      !only_stock_ops_are_exact(options, checkpoint)
                  ? KernelPath::cpu
                  : KernelPath::reference;
  if (options.activations == Activations::int8 && !exec.on_cpu()) {
    fail("engine", "expected --activations auto or float without the CPU kernels, got int8");
  }
  const bool exact = options.activations == Activations::float32 || !exec.on_cpu();
  exec.arith = exact                                      ? Arith::exact
               : options.activations == Activations::int8 ? Arith::int8
                                                          : Arith::accurate;
  exec.kv = kv_dtype(options, checkpoint);
  exec.pool = std::make_shared<ThreadPool>(threads_or_default(options.threads));
  exec.memory = std::make_shared<CpuMemory>();
  return exec;
}

Device best_device() {
  if (!mx::is_available(mx::Device::gpu)) return Device::cpu;
  return mx::metal::is_available() ? Device::metal : Device::cuda;
}

// Where keys and values lie. Metal's memory is the machine's. MLX may have asked CUDA for the free
// memory before the weights were loaded, so what MLX itself holds is taken off its limit too.
int64_t available_device_memory() {
  if (device_name() != show_value(Device::cuda)) return available_memory();
  const int64_t unused =
      static_cast<int64_t>(mx::get_memory_limit()) - static_cast<int64_t>(mx::get_active_memory());
  const auto& info = mx::device_info();
  const auto free = info.find("free_memory");
  const int64_t most = free == info.end() ? unused : std::get<size_t>(free->second);
  return std::max<int64_t>(std::min(unused, most), 0);
}

// auto: half of the memory that is available once the weights are loaded, at most what max_batch
// full contexts take. On CPU the budget is address space; pages become resident as they are used.
size_t kv_budget(const EngineOptions& options, const std::vector<CacheGroup>& groups, int max_ctx) {
  if (options.kv_budget > 0) return options.kv_budget;
  size_t block_bytes = 0;
  for (const auto& group : groups) block_bytes += group.block_bytes;
  const size_t full = size_t(options.max_batch) * (blocks_for(max_ctx) + 1) * block_bytes;
  const size_t available = available_device_memory();
  const size_t budget = std::min(available / 2, full);
  log_info("KV budget: ", budget >> 20, " MiB = min(half of the ", available >> 20,
           " MiB available on ", device_name(), ", ", options.max_batch, " contexts of ", max_ctx,
           " tokens)");
  return budget;
}

int context_limit(const EngineOptions& options, const ModelSpec& spec) {
  if (options.max_ctx > spec.max_ctx) {
    log_warn("--max-ctx ", options.max_ctx, " is more than the model was made for; using ",
             spec.max_ctx);
  }
  return options.max_ctx > 0 ? std::min(options.max_ctx, spec.max_ctx) : spec.max_ctx;
}

}  // namespace

void set_default_device(Device device) {
  const Device best = best_device();
  if (device == Device::automatic) device = best;
  if (device != Device::cpu && device != best) {
    fail("engine", "expected a device that this build of MLX can use, such as --device ",
         show_value(best), "; got ", show_value(device));
  }
  mx::set_default_device(device == Device::cpu ? mx::Device::cpu : mx::Device::gpu);
}

mx::Dtype kv_dtype(const EngineOptions& options, const Checkpoint& checkpoint) {
  switch (options.kv_dtype) {
    case KvDtype::f32:
      return mx::float32;
    case KvDtype::f16:
      return mx::float16;
    case KvDtype::bf16:
      return mx::bfloat16;
    case KvDtype::automatic:
      break;
  }
  const bool exact = options.activations == Activations::float32;
  return to_mx(exact ? checkpoint.float_dtype() : checkpoint.kv_dtype());
}

std::string device_name() {
  return show_value(mx::default_device() == mx::Device::cpu ? Device::cpu : best_device());
}

std::unique_ptr<Engine> load_engine(const ModelFiles& files, const EngineOptions& options,
                                    const TextLimits& text,
                                    const std::function<void(double)>& progress) {
  Checkpoint checkpoint(files);
  ModelSpec spec = read_spec(checkpoint.config());
  const Exec exec = make_exec(options, checkpoint);
  log_info("device ", device_name(), ", ",
           exec.on_cpu() ? cpu::isa_name(cpu::isa()) : "reference path", ", ", exec.pool->size(),
           " threads, keys and values in ", dtype_name(exec.kv));
  auto decoder = std::make_unique<Decoder>(
      std::move(spec), checkpoint, exec,
      [&](int done, int all) { progress(static_cast<double>(done) / all); });
  release_free_memory();

  EngineSetup setup{.limits = {.max_batch = options.max_batch,
                               .prefill_chunk = options.prefill_chunk,
                               .mixed_chunk = std::max(1, options.prefill_chunk / 4)},
                    .kv_budget = 0,
                    .max_ctx = context_limit(options, decoder->spec()),
                    .n_valid = text.n_valid,
                    .stop_ids = text.stop_ids};
  setup.kv_budget = kv_budget(options, decoder->cache_groups(exec), setup.max_ctx);
  return std::make_unique<Engine>(std::move(decoder), exec, std::move(setup));
}

}  // namespace mlxforge
