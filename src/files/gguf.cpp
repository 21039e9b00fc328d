// A GGUF file, little-endian; a string is u64 length | bytes, without terminator:
//   "GGUF" | u32 version | u64 n_tensors | u64 n_values
//   n_values  x { string key | u32 type | value }
//                 of an array, value is: u32 element type | u64 count | elements
//   n_tensors x { string name | u32 n_dims | u64 dims[n_dims] | u32 type | u64 offset }
//                 dims innermost first
//   padding up to a multiple of general.alignment (u32; 32 when absent)
//   data: a tensor's offset counts from here and is a multiple of the alignment
#include "files/gguf.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <tuple>

#include "base/check.h"
#include "files/cursor.h"
#include "files/quote.h"

namespace mlxforge {
namespace {

// Everything before the data. Real ones stay below 20 MB; the cap bounds what a bad file costs.
constexpr size_t kMaxHeader = size_t{40} << 20;
constexpr size_t kMaxName = 65535;       // of a key (the format's limit) and of a tensor's name
constexpr uint64_t kMaxEntries = 65536;  // metadata values, and tensors
// Of a metadata array; the largest vocabularies have 2^19 merges.
constexpr uint64_t kMaxElements = 1 << 21;
constexpr uint32_t kMaxDims = 4;
constexpr uint32_t kMaxAlignment = 65536;

// The least that an entry takes, which bounds the header's counts.
constexpr uint64_t kMinValueBytes = 8 + 4 + 1;
constexpr uint64_t kMinTensorBytes = 8 + 4 + 4 + 8;

// The size of a value of this type; 0 when it varies.
size_t value_bytes(GgufType type) {
  static constexpr std::array<size_t, 13> kBytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return kBytes.at(static_cast<size_t>(type));
}

// ggml's numbers. The gaps were removed or never released.
constexpr std::array<std::string_view, 42> kTensorTypes = {
    "F32",     "F16",   "Q4_0",   "Q4_1",  "",      "",       "Q5_0", "Q5_1",    "Q8_0",
    "Q8_1",    "Q2_K",  "Q3_K",   "Q4_K",  "Q5_K",  "Q6_K",   "Q8_K", "IQ2_XXS", "IQ2_XS",
    "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8",   "I16",     "I32",
    "I64",     "F64",   "IQ1_M",  "BF16",  "",      "",       "",     "TQ1_0",   "TQ2_0",
    "",        "",      "",       "MXFP4", "NVFP4", "Q1_0"};
constexpr std::array kSupported = {DType::f32,  DType::f16,  DType::bf16,
                                   DType::q4_0, DType::q4_1, DType::q8_0};

std::string tensor_type_name(uint32_t type) {
  const bool known = type < kTensorTypes.size() && !kTensorTypes[type].empty();
  return known ? std::string(kTensorTypes[type]) : str("number ", type);
}

std::optional<DType> supported_dtype(uint32_t type) {
  const std::string name = tensor_type_name(type);
  const auto it = std::find_if(kSupported.begin(), kSupported.end(),
                               [&](DType dtype) { return dtype_name(dtype) == name; });
  return it == kSupported.end() ? std::nullopt : std::optional(*it);
}

// A tensor's entry before its place in the file is known.
struct TensorInfo {
  std::string_view name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape = {};
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

class GgufParser {
 public:
  GgufParser(std::span<const std::byte> file, std::string_view name)
      : file_(file), name_(name), cursor_(file.first(std::min(file.size(), kMaxHeader)), name) {}

  Gguf parse() {
    Gguf out;
    out.version = read_version();
    const auto n_tensors = cursor_.read<uint64_t>();
    const auto n_values = cursor_.read<uint64_t>();
    out.metadata = read_metadata(n_values);
    const auto alignment = read_alignment(out.metadata);
    out.tensors = place(read_tensor_infos(n_tensors, alignment), alignment);
    return out;
  }

 private:
  template <class... Parts>
  [[noreturn]] void reject(const Parts&... parts) const {
    fail("files", name_, ": ", parts...);
  }
  template <class... Parts>
  [[noreturn]] void reject_tensor(std::string_view tensor, const Parts&... parts) const {
    reject("tensor ", quoted(tensor), ": ", parts...);
  }

  uint32_t read_version() {
    const auto magic = cursor_.take(4);
    if (std::memcmp(magic.data(), "GGUF", 4) != 0)
      reject("expected a GGUF file, got one that does not start with \"GGUF\"");
    const auto version = cursor_.read<uint32_t>();
    if ((version & 0xffff) == 0) reject("expected a little-endian GGUF file, got a big-endian one");
    if (version != 2 && version != 3) reject("expected GGUF version 2 or 3, got ", version);
    return version;
  }

  void check_count(uint64_t count, uint64_t min_bytes, std::string_view what) const {
    const uint64_t most = std::min(kMaxEntries, cursor_.left() / min_bytes);
    if (count > most)
      reject("expected at most ", most, ' ', what, " in a header of this size, got ", count);
  }

  std::string_view read_name(std::string_view what) {
    const std::string_view name = cursor_.string();
    if (name.empty() || name.size() > kMaxName)
      reject("expected ", what, " of 1 to ", kMaxName, " bytes, got ", name.size());
    return name;
  }

  GgufMetadata read_metadata(uint64_t count) {
    check_count(count, kMinValueBytes, "metadata values");
    std::map<std::string_view, GgufValue> values;
    for (uint64_t i = 0; i < count; ++i) {
      const std::string_view key = read_name("a metadata key");
      if (!values.emplace(key, read_value(key)).second)
        reject("the metadata key ", quoted(key), " appears twice");
    }
    return GgufMetadata(std::string(name_), std::move(values));
  }

  GgufType read_type(std::string_view key) {
    const auto type = cursor_.read<uint32_t>();
    if (type > static_cast<uint32_t>(GgufType::f64))
      reject("metadata ", quoted(key), ": expected a value type from 0 to 12, got ", type);
    return static_cast<GgufType>(type);
  }

  GgufValue read_value(std::string_view key) {
    GgufValue value{.type = read_type(key)};
    value.element = value.type;
    if (value.type == GgufType::array) {
      value.element = read_type(key);
      value.count = cursor_.read<uint64_t>();
      if (value.element == GgufType::array)
        reject("metadata ", quoted(key), ": arrays of arrays are not supported");
    }
    value.bytes = take_elements(value, key);
    return value;
  }

  std::span<const std::byte> take_elements(const GgufValue& value, std::string_view key) {
    const size_t size = value_bytes(value.element);
    const uint64_t most = std::min<uint64_t>(kMaxElements, cursor_.left() / (size > 0 ? size : 8));
    if (value.count > most)
      reject("metadata ", quoted(key), ": expected at most ", most, " x ", type_name(value.element),
             " here, got ", value.count);
    if (size > 0) return cursor_.take(value.count * size);
    const size_t start = cursor_.position();
    for (uint64_t i = 0; i < value.count; ++i) cursor_.string();
    return file_.subspan(start, cursor_.position() - start);
  }

  uint32_t read_alignment(const GgufMetadata& metadata) const {
    const auto alignment = metadata.get_or<uint32_t>("general.alignment", 32);
    if (alignment == 0 || alignment % 8 != 0 || alignment > kMaxAlignment)
      reject("expected general.alignment to be a multiple of 8 up to ", kMaxAlignment, ", got ",
             alignment);
    return alignment;
  }

  std::vector<TensorInfo> read_tensor_infos(uint64_t count, uint32_t alignment) {
    check_count(count, kMinTensorBytes, "tensors");
    std::vector<TensorInfo> infos;
    std::set<std::string_view> names;
    for (uint64_t i = 0; i < count; ++i) {
      infos.push_back(read_tensor_info());
      const TensorInfo& info = infos.back();
      if (!names.insert(info.name).second) reject_tensor(info.name, "appears twice");
      if (info.offset % alignment != 0)
        reject_tensor(info.name, "expected an offset that is a multiple of ", alignment, ", got ",
                      info.offset);
    }
    return infos;
  }

  TensorInfo read_tensor_info() {
    TensorInfo info{.name = read_name("a tensor name")};
    info.shape = read_shape(info.name);
    const auto type = cursor_.read<uint32_t>();
    const auto dtype = supported_dtype(type);
    if (!dtype)
      reject_tensor(info.name, "unsupported type ", tensor_type_name(type),
                    "; use a file in F32, F16, BF16, Q4_0, Q4_1 or Q8_0");
    info.dtype = *dtype;
    info.offset = cursor_.read<uint64_t>();
    const auto bytes = tensor_bytes(info.dtype, info.shape);
    if (!bytes)
      reject_tensor(info.name, dtype_name(info.dtype), " cannot have shape ",
                    shape_text(info.shape));
    info.bytes = *bytes;
    return info;
  }

  std::vector<int64_t> read_shape(std::string_view tensor) {
    const auto n_dims = cursor_.read<uint32_t>();
    if (n_dims > kMaxDims)
      reject_tensor(tensor, "expected at most ", kMaxDims, " dimensions, got ", n_dims);
    std::vector<int64_t> shape(n_dims);
    for (auto extent = shape.rbegin(); extent != shape.rend(); ++extent) {
      const auto dim = cursor_.read<uint64_t>();
      if (!std::in_range<int64_t>(dim))
        reject_tensor(tensor, "expected dimensions below 2^63, got ", dim);
      *extent = static_cast<int64_t>(dim);
    }
    return shape;
  }

  // Requires that every offset is a multiple of the alignment.
  std::vector<TensorView> place(std::vector<TensorInfo> infos, uint32_t alignment) const {
    std::sort(infos.begin(), infos.end(), [](const TensorInfo& a, const TensorInfo& b) {
      return std::tie(a.offset, a.bytes, a.name) < std::tie(b.offset, b.bytes, b.name);
    });
    const size_t start = round_up(cursor_.position(), alignment);
    const auto data = file_.subspan(std::min(start, file_.size()));
    std::vector<TensorView> tensors;
    uint64_t used = 0;  // bytes of data up to the end of the tensor before
    for (TensorInfo& info : infos) {
      if (info.offset < used) reject_tensor(info.name, "overlaps the tensor before it");
      if (info.offset > data.size() || info.bytes > data.size() - info.offset)
        reject_tensor(info.name, "its ", info.bytes, " bytes at offset ", info.offset,
                      " end past the ", data.size(), " bytes of data; the file is cut short");
      used = info.offset + info.bytes;
      tensors.push_back({std::string(info.name), info.dtype, std::move(info.shape),
                         data.subspan(info.offset, info.bytes)});
    }
    // Some writers pad the last tensor, some do not; to end within the padding is to be cut short.
    if (data.size() > used && data.size() < round_up(used, alignment))
      reject("the file ends within the padding of its last tensor; it is cut short");
    return tensors;
  }

  static uint64_t round_up(uint64_t n, uint32_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
  }

  std::span<const std::byte> file_;
  std::string_view name_;
  Cursor cursor_;
};

}  // namespace

Gguf parse_gguf(std::span<const std::byte> file, std::string_view name) {
  return GgufParser(file, name).parse();
}

}  // namespace mlxforge
