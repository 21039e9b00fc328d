// fuzz_safetensors: any bytes give an Error or tensors that tile the end of the file.
#include "base/check.h"
#include "files/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace mlxforge;
  const auto file = std::as_bytes(std::span(data, size));
  try {
    const std::byte* next = nullptr;
    volatile int sum = 0;
    for (const TensorView& tensor : parse_safetensors(file, "fuzz")) {
      check(!next || tensor.bytes.data() == next, "not contiguous: ", tensor.name);
      check(tensor_bytes(tensor.dtype, tensor.shape) == tensor.bytes.size(), tensor.name);
      for (const std::byte b : tensor.bytes) sum = sum + static_cast<int>(b);
      next = tensor.bytes.data() + tensor.bytes.size();
    }
    check(!next || next == file.data() + file.size(), "bytes left over");
  } catch (const Error&) {
  }
  return 0;
}
