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

size_t page_size() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

// Advises on the mapping's bytes [first, end); first is a multiple of the page size.
void advise(std::span<const std::byte> mapping, size_t first, size_t end, int advice) {
  if (first < end) ::madvise(const_cast<std::byte*>(mapping.data()) + first, end - first, advice);
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

void MappedFile::will_need(std::span<const std::byte> part) const {
  check(contains(part), "will_need outside ", path_.string());
  const size_t first = part.data() - bytes_.data();
  advise(bytes_, first - first % page_size(), first + part.size(), MADV_WILLNEED);
}

void MappedFile::release(std::span<const std::byte> part) const {
  check(contains(part), "release outside ", path_.string());
  const size_t first = part.data() - bytes_.data();
  const size_t end = first + part.size();
  const size_t page = page_size();
  // Clean pages of a file: dropping them loses nothing.
  advise(bytes_, (first + page - 1) / page * page, end - end % page, MADV_DONTNEED);
}

}  // namespace mlxforge
