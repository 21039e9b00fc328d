// A tiny random Llama on disk, and an engine over it, for tests.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/options.h"
#include "engine/engine.h"
#include "engine/load.h"

namespace mlxforge {

inline constexpr int kVocab = 97;

// A folder that goes with the object: 2 layers of width 64, 4 query and 2 KV heads of 16, f32,
// seeded; context 512. `window` > 0 makes the second layer a sliding one.
class TinyModel {
 public:
  explicit TinyModel(int window = 0);
  ~TinyModel();
  const ModelFiles& files() const { return files_; }

 private:
  std::filesystem::path folder_;
  ModelFiles files_;
};

struct EngineTweaks {
  KernelChoice kernels = KernelChoice::automatic;
  int threads = 2;
  int prefill_chunk = 16;
  int max_batch = 8;
  int max_ctx = 256;
  int kv_blocks = 64;
  std::vector<int32_t> stop_ids;
};

// On the calling thread, which then owns it.
std::unique_ptr<Engine> make_engine(const TinyModel& model, const EngineTweaks& tweaks = {});

// n ids below kVocab, seeded.
std::vector<int32_t> random_prompt(int n, uint32_t seed);

}  // namespace mlxforge
