// A safetensors file, little-endian:
//   u64 n | n bytes of JSON, padded with spaces | data
// The JSON is one object; offsets count from the first byte of data, and the tensors tile the data
// without gap or overlap:
//   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ...,
//    "__metadata__": {"key": "text", ...}}
#include "files/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "files/json.h"
#include "files/quote.h"

namespace mlxforge {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMaxHeader = 100'000'000;  // the format's own limit

struct Sections {
  std::string_view header;
  std::span<const std::byte> data;
};

Sections split(std::span<const std::byte> file, std::string_view name) {
  if (file.size() < kLengthBytes)
    fail("files", name, ": expected a safetensors file, got only ", file.size(), " bytes");
  uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > kMaxHeader)
    fail("files", name, ": expected a header of at most ", kMaxHeader, " bytes, got ", length);
  if (length > file.size() - kLengthBytes)
    fail("files", name, ": the header claims ", length, " bytes, but only ",
         file.size() - kLengthBytes, " follow; the file is cut short or not safetensors");
  const std::string_view header(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
  if (!header.starts_with('{'))
    fail("files", name, ": expected a JSON object as header; this is not a safetensors file");
  return {header, file.subspan(kLengthBytes + length)};
}

// One entry of the header. Every complaint names the file and the tensor.
class Entry {
 public:
  Entry(std::string_view file, const std::string& name, const Json& json)
      : file_(file), name_(name), json_(json) {
    if (!json.is_object()) reject("expected an object");
  }

  TensorView view(std::span<const std::byte> data) const {
    const auto [begin, end] = offsets();
    if (begin > end) reject("data_offsets run backwards: [", begin, ", ", end, "]");
    if (end > data.size())
      reject("data_offsets end at ", end, ", but the file holds ", data.size(),
             " bytes of data; it is cut short");
    TensorView tensor{name_, dtype(), shape(), data.subspan(begin, end - begin)};
    const auto expected = tensor_bytes(tensor.dtype, tensor.shape);
    if (!expected || *expected != tensor.bytes.size())
      reject(dtype_name(tensor.dtype), " of shape ", shape_text(tensor.shape),
             " does not take the ", tensor.bytes.size(), " bytes that data_offsets give");
    return tensor;
  }

 private:
  template <class... Parts>
  [[noreturn]] void reject(const Parts&... parts) const {
    fail("files", file_, ": tensor ", quoted(name_), ": ", parts...);
  }

  const Json& array(const char* key) const {
    const auto it = json_.find(key);
    if (it == json_.end() || !it->is_array()) reject("expected an array ", key);
    return *it;
  }

  int64_t natural(const Json& number, const char* key) const {
    constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
    if (!number.is_number_unsigned() || number.get<uint64_t>() > kMax)
      reject("expected whole numbers from 0 to 2^63-1 in ", key);
    return number.get<int64_t>();
  }

  std::pair<uint64_t, uint64_t> offsets() const {
    const Json& pair = array("data_offsets");
    if (pair.size() != 2) reject("expected two data_offsets, got ", pair.size());
    return {natural(pair[0], "data_offsets"), natural(pair[1], "data_offsets")};
  }

  std::vector<int64_t> shape() const {
    std::vector<int64_t> out;
    for (const Json& extent : array("shape")) out.push_back(natural(extent, "shape"));
    return out;
  }

  DType dtype() const {
    const auto it = json_.find("dtype");
    if (it == json_.end() || !it->is_string()) reject("expected a string dtype");
    const auto& text = it->get_ref<const std::string&>();
    for (auto d = DType::boolean; d <= DType::f64; d = DType(int(d) + 1))
      if (text == dtype_name(d)) return d;
    reject("unsupported dtype ", quoted(text));
  }

  std::string_view file_;
  const std::string& name_;
  const Json& json_;
};

// Null: what MLX writes for no metadata.
void check_metadata(const Json& metadata, std::string_view file) {
  const auto is_string = [](const Json& value) { return value.is_string(); };
  if (metadata.is_null()) return;
  if (!metadata.is_object() || !std::all_of(metadata.begin(), metadata.end(), is_string))
    fail("files", file, ": expected __metadata__ to map strings to strings");
}

// Requires `tensors` in the order of their bytes.
void check_tiling(const std::vector<TensorView>& tensors, std::span<const std::byte> data,
                  std::string_view file) {
  const std::byte* next = data.data();
  for (const TensorView& tensor : tensors) {
    if (tensor.bytes.data() < next)
      fail("files", file, ": tensor ", quoted(tensor.name), " overlaps the tensor before it");
    if (tensor.bytes.data() > next)
      fail("files", file, ": ", tensor.bytes.data() - next, " bytes before tensor ",
           quoted(tensor.name), " belong to no tensor");
    next += tensor.bytes.size();
  }
  if (const auto left = data.data() + data.size() - next; left > 0)
    fail("files", file, ": ", left, " bytes after the last tensor belong to no tensor");
}

}  // namespace

std::vector<TensorView> parse_safetensors(std::span<const std::byte> file, std::string_view name) {
  const auto [header, data] = split(file, name);
  const Json json = parse_json(header, str(name, " (header)"));
  std::vector<TensorView> tensors;
  for (const auto& [key, value] : json.items()) {
    if (key == "__metadata__")
      check_metadata(value, name);
    else
      tensors.push_back(Entry(name, key, value).view(data));
  }
  std::sort(tensors.begin(), tensors.end(), [](const TensorView& a, const TensorView& b) {
    return std::tuple(a.bytes.data(), a.bytes.size(), a.name) <
           std::tuple(b.bytes.data(), b.bytes.size(), b.name);
  });
  check_tiling(tensors, data, name);
  return tensors;
}

}  // namespace mlxforge
