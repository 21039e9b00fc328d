#include "files/tensor.h"

#include <array>

#include "base/str.h"

namespace mlxforge {
namespace {

struct DTypeInfo {
  std::string_view name;
  int block;
  int bytes;  // of a block
};

constexpr std::array<DTypeInfo, 16> kDTypes = {{{"BOOL", 1, 1},
                                                {"U8", 1, 1},
                                                {"I8", 1, 1},
                                                {"U16", 1, 2},
                                                {"I16", 1, 2},
                                                {"U32", 1, 4},
                                                {"I32", 1, 4},
                                                {"U64", 1, 8},
                                                {"I64", 1, 8},
                                                {"F16", 1, 2},
                                                {"BF16", 1, 2},
                                                {"F32", 1, 4},
                                                {"F64", 1, 8},
                                                {"Q4_0", 32, 18},
                                                {"Q4_1", 32, 20},
                                                {"Q8_0", 32, 34}}};
static_assert(kDTypes.size() == static_cast<size_t>(DType::q8_0) + 1);

const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

}  // namespace

std::string_view dtype_name(DType dtype) { return info(dtype).name; }
int block_bytes(DType dtype) { return info(dtype).bytes; }

std::optional<uint64_t> tensor_bytes(DType dtype, std::span<const int64_t> shape) {
  const int64_t innermost = shape.empty() ? 1 : shape.back();
  if (innermost % info(dtype).block != 0) return std::nullopt;
  int64_t bytes = info(dtype).bytes;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t extent = i + 1 == shape.size() ? shape[i] / info(dtype).block : shape[i];
    if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return static_cast<uint64_t>(bytes);
}

int64_t TensorView::n_elements() const {
  return static_cast<int64_t>(bytes.size()) / info(dtype).bytes * info(dtype).block;
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i) out += str(i == 0 ? "" : ", ", shape[i]);
  return out + ")";
}

}  // namespace mlxforge
