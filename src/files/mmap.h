// MappedFile: a whole regular file, read-only, in memory without being read. Links are followed.
// The bytes live exactly as long as the object (moving it keeps them in place); everything parsed
// from them holds views into it.
//
// Threads: const methods may be called from any thread. Requires that nobody shortens the file
// meanwhile: touching a page past the new end is SIGBUS, as with every mmap.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace mlxforge {

class MappedFile {
 public:
  // Throws Error, naming the path, unless it is a readable regular file that is not empty.
  explicit MappedFile(std::filesystem::path path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  bool contains(std::span<const std::byte> part) const;

  // `part` has been consumed: the pages that lie wholly inside it leave our RSS. They are read
  // again if touched again.
  void release(std::span<const std::byte> part) const;

 private:
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

}  // namespace mlxforge
