// inspect: what a model's files hold, without reading a weight.
#include <algorithm>

#include "app/commands.h"
#include "app/console.h"
#include "app/model_path.h"
#include "app/model_summary.h"
#include "base/resources.h"
#include "files/model_folder.h"
#include "quant/format.h"

namespace mlxforge {
namespace {

// Whether a weight format knows the tensor, by itself or as the codes beside scales and biases.
bool is_usable(const TensorView& tensor) {
  const WeightSource alone{.name = tensor.name, .weight = &tensor};
  const WeightSource coded{
      .name = tensor.name, .weight = &tensor, .scales = &tensor, .biases = &tensor};
  return std::ranges::any_of(formats(), [&](const Format& format) {
    return format.recognise(alone) || format.recognise(coded);
  });
}

std::string tensor_line(const TensorView& tensor) {
  std::string shape;
  for (int64_t axis : tensor.shape) shape += str(shape.empty() ? "" : ",", axis);
  return str(tensor.name, " (", shape, ") ", dtype_name(tensor.dtype), " ", tensor.bytes.size(),
             "\n");
}

std::string peak_memory_line() {
  return str("peak memory: ", (peak_memory() + 500'000) / 1'000'000, " MB\n");
}

// Says which, after everything has been printed.
int refuse_unusable(const WeightFiles& weights) {
  int status = 0;
  for (const TensorView& tensor : weights.tensors())
    if (!is_usable(tensor))
      status = report_error(str("[app] expected a format that mlxforge can compute with, got ",
                                tensor.name, " in ", dtype_name(tensor.dtype)),
                            1);
  return status;
}

}  // namespace

int run_inspect(const Options& options, Arguments) {
  const ModelFiles files = open_model(find_model(options.model, this_executable()));
  if (options.weights) {
    for (const TensorView& tensor : files.weights.tensors()) print(tensor_line(tensor));
  } else {
    print(describe_files(files));
    print(describe_model(files, options.engine));
    print(describe_text(files));
  }
  print(peak_memory_line());
  return refuse_unusable(files.weights);
}

int run_dump_weights(const Options& options, Arguments arguments) {
  Options with_weights = options;
  with_weights.weights = true;
  return run_inspect(with_weights, arguments);
}

}  // namespace mlxforge
