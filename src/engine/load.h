// From files and options to a running engine. Called on the worker thread, which then owns every
// array made here.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/options.h"
#include "engine/engine.h"
#include "files/model_folder.h"

namespace mlxforge {

// What the tokenizer knows and the engine needs.
struct TextLimits {
  int n_valid = 0;                // ids that may be sampled
  std::vector<int32_t> stop_ids;  // the model's whole stop set
};

// main calls this once, before any thread starts: the only MLX call off the worker thread.
// `automatic` is the GPU where MLX has one. Throws Error when the device is not there.
void set_default_device(Device device);

// What K and V are kept in.
mx::Dtype kv_dtype(const EngineOptions& options, const Checkpoint& checkpoint);

// Where arrays are: "cpu", "cuda" or "metal". On the worker thread.
std::string device_name();

// `progress` hears the share of the weights that is loaded, 0 to 1. Throws Error.
std::unique_ptr<Engine> load_engine(const ModelFiles& files, const EngineOptions& options,
                                    const TextLimits& text,
                                    const std::function<void(double)>& progress);

}  // namespace mlxforge
