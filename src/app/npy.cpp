#include "app/npy.h"

#include <cerrno>
#include <cstring>
#include <regex>
#include <string>
#include <utility>

#include "base/check.h"
#include "files/mmap.h"

namespace mlxforge {
namespace {

struct Header {
  std::string text;
  size_t data_offset = 0;
};

Header read_header(std::span<const std::byte> file, const std::string& name) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  if (file.size() < 10 || std::memcmp(bytes, "\x93NUMPY", 6) != 0)
    fail("npy", "expected a .npy file, got ", name);
  if (bytes[6] < 1 || bytes[6] > 3)
    fail("npy", "expected ", name, " to be of version 1 to 3, got ", int{bytes[6]});
  const size_t start = bytes[6] == 1 ? 10 : 12;
  if (file.size() < start) fail("npy", "expected a header in ", name, ", got the end of the file");
  uint64_t length = bytes[8] | bytes[9] << 8;
  if (start == 12) length |= uint64_t{bytes[10]} << 16 | uint64_t{bytes[11]} << 24;
  if (length > file.size() - start)
    fail("npy", "expected a header of ", length, " bytes in ", name, ", got the end of the file");
  return {std::string(reinterpret_cast<const char*>(bytes) + start, length), start + length};
}

// The value that `pattern` finds in the header's dictionary.
std::string entry(const Header& header, const char* pattern, const std::string& name) {
  std::smatch match;
  if (header.text.size() > 4096 || !std::regex_search(header.text, match, std::regex(pattern)))
    fail("npy", "expected descr, fortran_order and shape in the header of ", name);
  return match[1];
}

// T of "(T,)", "(T)" or "(1, T)".
uint64_t count_of(const std::string& shape, const std::string& name) {
  std::smatch match;
  if (!std::regex_match(shape, match, std::regex(R"(\s*(?:1\s*,\s*)?([0-9]{1,12})\s*,?\s*)")))
    fail("npy", "expected ", name, " to have shape (T) or (1, T), got (", shape, ")");
  return std::stoull(match[1]);
}

template <class T>
std::vector<int32_t> checked_ids(std::span<const std::byte> data, uint64_t count,
                                 int64_t vocab_size, const std::string& name) {
  if (data.size() != count * sizeof(T))
    fail("npy", "expected ", count * sizeof(T), " bytes of ids in ", name, ", got ", data.size());
  std::vector<int32_t> ids(count);
  for (size_t i = 0; i < count; ++i) {
    T id;
    std::memcpy(&id, data.data() + i * sizeof(T), sizeof(T));
    if (id < 0 || id >= vocab_size)
      fail("npy", "expected ids from 0 to ", vocab_size - 1, " in ", name, ", got ", id,
           " at position ", i);
    ids[i] = static_cast<int32_t>(id);
  }
  return ids;
}

std::string header_for(int64_t rows, int64_t columns) {
  std::string text =
      str("{'descr': '<f4', 'fortran_order': False, 'shape': (", rows, ", ", columns, "), }");
  text.resize((10 + text.size() + 1 + 63) / 64 * 64 - 10 - 1,
              ' ');  // the data starts at a multiple of 64
  text += '\n';
  const char length[] = {static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + std::string(length, 2) + text;
}

}  // namespace

std::vector<int32_t> read_ids(const std::filesystem::path& path, int64_t vocab_size) {
  const std::string name = path.string();
  const MappedFile file(path);
  const Header header = read_header(file.bytes(), name);
  const std::string type = entry(header, "'descr'\\s*:\\s*'([^']*)'", name);
  if (type != "<i4" && type != "<i8")
    fail("npy", "expected ", name, " to hold int32 or int64 ids, got ", type);
  if (entry(header, "'fortran_order'\\s*:\\s*(True|False)", name) != "False")
    fail("npy", "expected ", name, " in C order, got Fortran order");
  const uint64_t count = count_of(entry(header, "'shape'\\s*:\\s*\\(([^)]*)\\)", name), name);
  if (count == 0) fail("npy", "expected at least one id in ", name, ", got none");
  const auto data = file.bytes().subspan(header.data_offset);
  return type == "<i4" ? checked_ids<int32_t>(data, count, vocab_size, name)
                       : checked_ids<int64_t>(data, count, vocab_size, name);
}

NpyWriter::NpyWriter(std::filesystem::path path, int64_t rows, int64_t columns)
    : path_(std::move(path)),
      missing_(static_cast<uint64_t>(rows) * static_cast<uint64_t>(columns)),
      file_(std::fopen(path_.c_str(), "wb")) {
  if (file_ == nullptr)
    fail("npy", "expected to write ", path_.string(), ", got: ", std::strerror(errno));
  const std::string header = header_for(rows, columns);
  write(header.data(), header.size());
}

NpyWriter::~NpyWriter() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path_, ignored)) std::filesystem::remove(path_, ignored);
}

void NpyWriter::write(const void* data, size_t bytes) {
  if (std::fwrite(data, 1, bytes, file_) != bytes)
    fail("npy", "expected to write ", path_.string(), ", got: ", std::strerror(errno));
}

void NpyWriter::append(std::span<const float> values) {
  check(values.size() <= missing_, "more logits than announced");
  missing_ -= values.size();
  write(values.data(), values.size_bytes());
}

void NpyWriter::finish() {
  check(missing_ == 0, missing_, " logits are missing");
  if (std::fclose(std::exchange(file_, nullptr)) != 0)
    fail("npy", "expected to write ", path_.string(), ", got: ", std::strerror(errno));
}

}  // namespace mlxforge
