#include "files/mmap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace mlxforge {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

// The size of the regular, non-empty file behind fd.
size_t file_size(int fd, const std::filesystem::path& path) {
  struct stat info{};
  if (::fstat(fd, &info) != 0)
    fail("files", "cannot stat ", path.string(), ": ", std::strerror(errno));
  if (S_ISDIR(info.st_mode)) fail("files", "expected a file, got the folder ", path.string());
  if (!S_ISREG(info.st_mode)) fail("files", "expected a regular file, got ", path.string());
  if (info.st_size <= 0) fail("files", path.string(), " is empty");
  return static_cast<size_t>(info.st_size);
}

void unmap(std::span<const std::byte> bytes) {
  if (!bytes.empty()) ::munmap(const_cast<std::byte*>(bytes.data()), bytes.size());
}

}  // namespace

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  // O_NONBLOCK: opening a FIFO must fail the size check, not wait for a writer.
  const Descriptor file{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) fail("files", "cannot open ", path_.string(), ": ", std::strerror(errno));
  const size_t size = file_size(file.fd, path_);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (address == MAP_FAILED)
    fail("files", "cannot map ", path_.string(), ": ", std::strerror(errno));
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() { unmap(bytes_); }

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

bool MappedFile::contains(std::span<const std::byte> part) const {
  return part.data() >= bytes_.data() && part.data() + part.size() <= bytes_.data() + bytes_.size();
}

void MappedFile::release(std::span<const std::byte> part) const {
  check(contains(part), "release outside ", path_.string());
  const size_t begin = part.data() - bytes_.data();
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t first = (begin + page - 1) / page * page;
  const size_t end = (begin + part.size()) / page * page;
  // Clean pages of a file: dropping them loses nothing.
  if (first < end)
    ::madvise(const_cast<std::byte*>(bytes_.data()) + first, end - first, MADV_DONTNEED);
}

}  // namespace mlxforge
