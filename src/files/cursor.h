// Cursor: reads little-endian fields forward through bytes. Going past their end is an Error that
// names the file. Owns nothing.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/check.h"

namespace mlxforge {

static_assert(std::endian::native == std::endian::little, "the readers copy fields as they lie");

class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, std::string_view file) : bytes_(bytes), file_(file) {}

  size_t position() const { return position_; }
  size_t left() const { return bytes_.size() - position_; }

  std::span<const std::byte> take(uint64_t n) {
    if (n > left())
      fail("files", file_, ": expected ", n, " more bytes at byte ", position_, ", got ", left(),
           "; the file is cut short or damaged");
    position_ += n;
    return bytes_.subspan(position_ - n, n);
  }

  template <class T>
  T read() {
    T out;
    std::memcpy(&out, take(sizeof(T)).data(), sizeof(T));
    return out;
  }

  // u64 length | bytes
  std::string_view string() {
    const auto bytes = take(read<uint64_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  std::span<const std::byte> bytes_;
  std::string_view file_;
  size_t position_ = 0;
};

}  // namespace mlxforge
