// Reader of one GGUF file, version 2 or 3, little-endian
// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). The layout is drawn in gguf.cpp.
// Everything here is a view into the bytes given to parse_gguf and must not outlive them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "files/tensor.h"

namespace mlxforge {

// The numbers are the file's.
enum class GgufType : uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64
};

// One metadata value, unparsed. For an array `type` is array, and element and count describe it.
struct GgufValue {
  GgufType type = GgufType::u8;
  GgufType element = GgufType::u8;
  uint64_t count = 1;
  std::span<const std::byte> bytes = {};  // the value, or the elements one after another; unaligned
};

std::string_view type_name(GgufType type);  // "u32", "string", ...
// For people: "u32 30", "string \"llama\"", "array of 5 x f32".
std::string describe(const GgufValue& value);

// Typed access by key. T is bool, int32_t, uint32_t, int64_t, uint64_t, float, double or
// std::string_view. A file may hold an integer in any integer type (the value must fit T), and a
// float as f32 or f64; nothing else converts. Every failure is an Error that names the file, the
// key, what was expected and what is there.
class GgufMetadata {
 public:
  GgufMetadata() = default;
  // `file` is what errors call the file.
  GgufMetadata(std::string file, std::map<std::string_view, GgufValue> values)
      : file_(std::move(file)), values_(std::move(values)) {}

  bool has(std::string_view key) const { return find(key) != nullptr; }
  const GgufValue* find(std::string_view key) const;

  template <class T>
  T get(std::string_view key) const;
  template <class T>
  T get_or(std::string_view key, T absent) const {
    return has(key) ? get<T>(key) : absent;
  }
  // All elements, copied out; string_view elements still point into the file.
  template <class T>
  std::vector<T> array(std::string_view key) const;

  const std::map<std::string_view, GgufValue>& values() const { return values_; }

 private:
  const GgufValue& required(std::string_view key, std::string_view expected) const;

  std::string file_;
  std::map<std::string_view, GgufValue> values_;
};

struct Gguf {
  uint32_t version = 0;
  GgufMetadata metadata;
  std::vector<TensorView> tensors;  // in the order of their bytes
};

// `name` is what errors call the file. Tensors are F32, F16, BF16, Q4_0, Q4_1 or Q8_0; another type
// is an Error that names the tensor and the type. Takes memory in proportion to the header that is
// really there, never to what a field claims.
Gguf parse_gguf(std::span<const std::byte> file, std::string_view name);

}  // namespace mlxforge
