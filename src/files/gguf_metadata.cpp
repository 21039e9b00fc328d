// Typed access to GGUF metadata. The bytes of a value were bounds-checked when the file was parsed.
#include <array>
#include <optional>
#include <type_traits>

#include "base/check.h"
#include "files/cursor.h"
#include "files/gguf.h"
#include "files/quote.h"

namespace mlxforge {
namespace {

template <class T, class U>
std::optional<T> fit(U value) {
  return std::in_range<T>(value) ? std::optional(static_cast<T>(value)) : std::nullopt;
}

template <class T>
std::optional<T> read_integer(Cursor& cursor, GgufType type) {
  switch (type) {
    case GgufType::u8:
      return fit<T>(cursor.read<uint8_t>());
    case GgufType::i8:
      return fit<T>(cursor.read<int8_t>());
    case GgufType::u16:
      return fit<T>(cursor.read<uint16_t>());
    case GgufType::i16:
      return fit<T>(cursor.read<int16_t>());
    case GgufType::u32:
      return fit<T>(cursor.read<uint32_t>());
    case GgufType::i32:
      return fit<T>(cursor.read<int32_t>());
    case GgufType::u64:
      return fit<T>(cursor.read<uint64_t>());
    case GgufType::i64:
      return fit<T>(cursor.read<int64_t>());
    default:
      return std::nullopt;
  }
}

template <class T>
std::optional<T> read_float(Cursor& cursor, GgufType type) {
  if (type == GgufType::f32) return static_cast<T>(cursor.read<float>());
  if (type == GgufType::f64) return static_cast<T>(cursor.read<double>());
  return std::nullopt;
}

std::optional<bool> read_bool(Cursor& cursor, GgufType type) {
  const int byte = type == GgufType::boolean ? cursor.read<uint8_t>() : -1;
  return byte == 0 || byte == 1 ? std::optional(byte == 1) : std::nullopt;
}

// The element at the cursor as T; nullopt when its type does not convert or its value does not fit.
template <class T>
std::optional<T> read_as(Cursor& cursor, GgufType type) {
  if constexpr (std::is_same_v<T, std::string_view>)
    return type == GgufType::string ? std::optional(cursor.string()) : std::nullopt;
  else if constexpr (std::is_same_v<T, bool>)
    return read_bool(cursor, type);
  else if constexpr (std::is_floating_point_v<T>)
    return read_float<T>(cursor, type);
  else
    return read_integer<T>(cursor, type);
}

template <class T>
std::string expected_name() {
  if constexpr (std::is_same_v<T, std::string_view>)
    return "string";
  else if constexpr (std::is_same_v<T, bool>)
    return "bool";
  else
    return str(std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u', sizeof(T) * 8);
}

}  // namespace

std::string_view type_name(GgufType type) {
  static constexpr std::array<std::string_view, 13> kNames = {
      "u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
      "bool", "string", "array", "u64", "i64", "f64"};
  return kNames.at(static_cast<size_t>(type));
}

std::string describe(const GgufValue& value) {
  if (value.type == GgufType::array)
    return str("array of ", value.count, " x ", type_name(value.element));
  Cursor cursor(value.bytes, "");
  std::string text(type_name(value.type));
  if (value.type == GgufType::string) return text + " " + quoted(cursor.string());
  if (value.type == GgufType::boolean) return str(text, " ", int(cursor.read<uint8_t>()));
  if (const auto number = read_float<double>(cursor, value.type)) return str(text, " ", *number);
  if (value.type == GgufType::u64) return str(text, " ", cursor.read<uint64_t>());
  return str(text, " ", read_integer<int64_t>(cursor, value.type).value());
}

const GgufValue* GgufMetadata::find(std::string_view key) const {
  const auto it = values_.find(key);
  return it == values_.end() ? nullptr : &it->second;
}

const GgufValue& GgufMetadata::required(std::string_view key, std::string_view expected) const {
  const GgufValue* value = find(key);
  if (!value)
    fail("files", file_, ": expected ", expected, " in metadata ", quoted(key),
         ", got no such key");
  return *value;
}

template <class T>
T GgufMetadata::get(std::string_view key) const {
  const GgufValue& value = required(key, expected_name<T>());
  Cursor cursor(value.bytes, file_);
  const std::optional<T> out = read_as<T>(cursor, value.type);
  if (!out)
    fail("files", file_, ": expected ", expected_name<T>(), " in metadata ", quoted(key), ", got ",
         describe(value));
  return *out;
}

template <class T>
std::vector<T> GgufMetadata::array(std::string_view key) const {
  const std::string expected = "array of " + expected_name<T>();
  const GgufValue& value = required(key, expected);
  if (value.type != GgufType::array)
    fail("files", file_, ": expected ", expected, " in metadata ", quoted(key), ", got ",
         describe(value));
  Cursor cursor(value.bytes, file_);
  std::vector<T> out;
  out.reserve(value.count);
  for (uint64_t i = 0; i < value.count; ++i) {
    const std::optional<T> element = read_as<T>(cursor, value.element);
    if (!element)
      fail("files", file_, ": expected ", expected, " in metadata ", quoted(key), ", got ",
           describe(value), "; element ", i, " does not fit");
    out.push_back(*element);
  }
  return out;
}

#define MLXFORGE_GGUF_ACCESS(T)                                \
  template T GgufMetadata::get<T>(std::string_view key) const; \
  template std::vector<T> GgufMetadata::array<T>(std::string_view key) const;
MLXFORGE_GGUF_ACCESS(bool)
MLXFORGE_GGUF_ACCESS(int32_t)
MLXFORGE_GGUF_ACCESS(uint32_t)
MLXFORGE_GGUF_ACCESS(int64_t)
MLXFORGE_GGUF_ACCESS(uint64_t)
MLXFORGE_GGUF_ACCESS(float)
MLXFORGE_GGUF_ACCESS(double)
MLXFORGE_GGUF_ACCESS(std::string_view)
#undef MLXFORGE_GGUF_ACCESS

}  // namespace mlxforge
