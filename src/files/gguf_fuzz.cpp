// fuzz_gguf: any bytes give an Error or a file whose every value and tensor can be read.
#include "base/check.h"
#include "files/gguf.h"

namespace mlxforge {
namespace {

template <class T>
void read_as(const GgufMetadata& metadata, std::string_view key) {
  try {
    metadata.get<T>(key);
  } catch (const Error&) {
  }
  try {
    metadata.array<T>(key);
  } catch (const Error&) {
  }
}

void read_everything(const Gguf& gguf) {
  for (const auto& [key, value] : gguf.metadata.values()) {
    describe(value);
    read_as<bool>(gguf.metadata, key);
    read_as<int32_t>(gguf.metadata, key);
    read_as<uint64_t>(gguf.metadata, key);
    read_as<float>(gguf.metadata, key);
    read_as<std::string_view>(gguf.metadata, key);
  }
  volatile int sum = 0;
  for (const TensorView& tensor : gguf.tensors) {
    check(tensor_bytes(tensor.dtype, tensor.shape) == tensor.bytes.size(), tensor.name);
    for (const std::byte b : tensor.bytes) sum = sum + static_cast<int>(b);
  }
}

}  // namespace
}  // namespace mlxforge

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    mlxforge::read_everything(mlxforge::parse_gguf(std::as_bytes(std::span(data, size)), "fuzz"));
  } catch (const mlxforge::Error&) {
  }
  return 0;
}
