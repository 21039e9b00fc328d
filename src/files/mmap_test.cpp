#include "files/mmap.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "files/test_support.h"

namespace mlxforge {
namespace {

std::string open_error(const std::filesystem::path& path) {
  return error_of([&] { MappedFile file(path); });
}

TEST(MappedFile, ShowsTheBytesAlsoThroughLinks) {
  const TempDir dir;
  dir.write("a", "hello");
  std::filesystem::create_symlink("a", dir / "link");
  EXPECT_EQ(MappedFile(dir / "a").text(), "hello");
  EXPECT_EQ(MappedFile(dir / "link").text(), "hello");
}

TEST(MappedFile, BytesStayInPlaceWhenMoved) {
  const TempDir dir;
  MappedFile a(dir.write("a", "first"));
  MappedFile b(dir.write("b", "second"));
  const auto* place = a.bytes().data();
  b = std::move(a);
  const MappedFile c(std::move(b));
  EXPECT_EQ(c.bytes().data(), place);
  EXPECT_EQ(c.text(), "first");
  EXPECT_EQ(c.path(), dir / "a");
}

TEST(MappedFile, RefusesWhatIsNoFile) {
  const TempDir dir;
  dir.write("empty", "");
  ::mkfifo((dir / "fifo").c_str(), 0600);
  std::filesystem::create_symlink("nowhere", dir / "dangling");
  const std::vector<std::pair<std::filesystem::path, std::string>> cases = {
      {dir / "none", "No such file"},   {dir / "dangling", "No such file"},
      {dir / "empty", "is empty"},      {dir.path(), "got the folder"},
      {dir / "fifo", "a regular file"}, {"/dev/zero", "a regular file"},
  };
  for (const auto& [path, says] : cases) {
    const std::string error = open_error(path);
    EXPECT_NE(error.find(says), std::string::npos) << path << ": " << error;
    EXPECT_NE(error.find(path.string()), std::string::npos) << error;
  }
}

// Pages of this mapping that the process has in its page table (what RSS counts).
#ifdef __linux__
size_t resident_pages(const MappedFile& file) {
  std::ifstream smaps("/proc/self/smaps");
  std::ostringstream start;
  start << std::hex << reinterpret_cast<uintptr_t>(file.bytes().data()) << '-';
  std::string line;
  while (std::getline(smaps, line) && !line.starts_with(start.str())) {
  }
  while (std::getline(smaps, line))
    if (line.starts_with("Rss:"))
      return std::stoul(line.substr(4)) * 1024 / ::sysconf(_SC_PAGESIZE);
  return 0;
}

TEST(MappedFile, ReleaseDropsWholePagesOnlyAndLosesNothing) {
  const TempDir dir;
  const size_t page = ::sysconf(_SC_PAGESIZE);
  const MappedFile file(dir.write("a", std::string(64 * page, 'x')));
  const auto touch = [&] {
    size_t sum = 0;
    for (const std::byte b : file.bytes()) sum += static_cast<size_t>(b);
    return sum;
  };
  EXPECT_EQ(touch(), 64 * page * 'x');
  EXPECT_EQ(resident_pages(file), 64);
  file.release(file.bytes().subspan(1, 3 * page));  // pages 1 and 2 lie wholly inside
  EXPECT_EQ(resident_pages(file), 62);
  file.release(file.bytes().subspan(5, 7));
  EXPECT_EQ(resident_pages(file), 62);
  file.release(file.bytes());
  EXPECT_EQ(resident_pages(file), 0);
  EXPECT_EQ(touch(), 64 * page * 'x');
}
#endif

TEST(MappedFile, ForeignRangesAreBugs) {
  const TempDir dir;
  const MappedFile file(dir.write("a", "hello"));
  const std::vector<std::byte> other(5);
  EXPECT_THROW(file.release(other), CheckFailure);
}

}  // namespace
}  // namespace mlxforge
