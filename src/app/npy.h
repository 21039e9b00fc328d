// numpy's .npy files (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html):
// token ids in, logits out. Little-endian.
//
//   \x93NUMPY | u8 major | u8 minor | u16 (v1) or u32 (v2, v3) header length | header | data
//   header: {'descr': '<i4', 'fortran_order': False, 'shape': (5,), } and spaces up to a newline
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <vector>

namespace mlxforge {

// The ids of an int32 or int64 file of shape (T) or (1, T), T at least 1. Throws Error naming the
// file, and for an id outside [0, vocab_size) its place.
std::vector<int32_t> read_ids(const std::filesystem::path& path, int64_t vocab_size);

// Writes a float32 matrix row by row.
class NpyWriter {
 public:
  NpyWriter(std::filesystem::path path, int64_t rows, int64_t columns);  // throws Error
  ~NpyWriter();  // removes an unfinished file
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;

  void append(std::span<const float> values);  // any number of whole rows; throws Error
  void finish();                               // REQUIRES: all rows are there; throws Error

 private:
  void write(const void* data, size_t bytes);

  std::filesystem::path path_;
  uint64_t missing_;  // values
  std::FILE* file_;
};

}  // namespace mlxforge
