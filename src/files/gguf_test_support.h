// The pieces of a GGUF file, in the layout that gguf.cpp draws, for tests to put together.
#pragma once

#include <string>
#include <vector>

#include "files/gguf.h"
#include "files/test_support.h"

namespace mlxforge::gguf_pieces {

inline std::string header(uint64_t n_tensors, uint64_t n_values, uint32_t version = 3) {
  return "GGUF" + le(version) + le(n_tensors) + le(n_values);
}
inline std::string text(const std::string& s) { return le(uint64_t{s.size()}) + s; }
inline std::string value(const std::string& key, GgufType type, const std::string& bytes) {
  return text(key) + le(type) + bytes;
}
inline std::string array(const std::string& key, GgufType element, uint64_t count,
                         const std::string& bytes) {
  return value(key, GgufType::array, le(element) + le(count) + bytes);
}
inline std::string tensor(const std::string& name, const std::vector<uint64_t>& dims, uint32_t type,
                          uint64_t offset) {
  std::string out = text(name) + le(uint32_t(dims.size()));
  for (const uint64_t dim : dims) out += le(dim);
  return out + le(type) + le(offset);
}
inline std::string with_data(std::string head, size_t n_bytes) {
  head.resize((head.size() + 31) / 32 * 32);
  return head + std::string(n_bytes, 'd');
}

}  // namespace mlxforge::gguf_pieces
