#include "base/resources.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

namespace mlxforge {
namespace {

// A fake /proc and /sys.
class Cgroup : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(testing::TempDir()) / "mlxforge_cgroup";
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  double quota() { return cgroup_cpu_quota(root_.string()); }
  std::filesystem::path root_;
};

TEST_F(Cgroup, NoneMeansNoQuota) { EXPECT_EQ(quota(), 0); }

TEST_F(Cgroup, V2TakesTheLeastAncestor) {
  write("proc/self/cgroup", "0::/a/b\n");
  write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 0);
  write("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  write("sys/fs/cgroup/cpu.max", "800000 100000\n");
  EXPECT_EQ(quota(), 1.5);
}

TEST_F(Cgroup, V2InAContainerReadsTheMountRoot) {
  write("proc/self/cgroup", "0::/not/visible/here\n");
  write("sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota(), 4);
}

TEST_F(Cgroup, V1) {
  write("proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/x\n");
  write("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 0);
  write("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(quota(), 2.5);
}

TEST_F(Cgroup, MemoryIsWhatIsFreeOrReclaimableWithinTheLimit) {
  write("proc/meminfo", "MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable:    4000 kB\n");
  EXPECT_EQ(available_memory(root_.string()), 4000 * 1024);
  write("proc/self/statm", "900 1 0 0 0 0 0\n");
  EXPECT_EQ(resident_memory(root_.string()), sysconf(_SC_PAGESIZE));
  write("proc/self/cgroup", "0::/a\n");
  write("sys/fs/cgroup/a/memory.max", "max\n");
  EXPECT_EQ(available_memory(root_.string()), 4000 * 1024);
  write("sys/fs/cgroup/memory.max", "1048576\n");
  EXPECT_EQ(available_memory(root_.string()), 1048576 - sysconf(_SC_PAGESIZE));
  write("sys/fs/cgroup/memory.max", "1\n");
  EXPECT_EQ(available_memory(root_.string()), 0);
}

TEST_F(Cgroup, MemoryV1) {
  write("proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/x\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(cgroup_memory_limit(root_.string()), 0);
  write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "2147483648\n");
  EXPECT_EQ(cgroup_memory_limit(root_.string()), int64_t{1} << 31);
}

TEST(Resources, OfThisProcess) {
  EXPECT_GT(resident_memory(), 1 << 20);
  EXPECT_GE(peak_memory(), resident_memory() / 2);  // counted at other times
  EXPECT_GT(available_memory(), 1 << 20);
}

#if defined(__GLIBC__) && !defined(MLXFORGE_SANITIZED)  // sanitizers have their own allocator
TEST(Resources, FreedPiecesGoBackToTheSystem) {
  constexpr size_t kPieces = 65536, kBytes = 1024;
  std::vector<std::unique_ptr<char[]>> pieces;
  for (size_t i = 0; i < kPieces; ++i) {
    pieces.push_back(std::make_unique<char[]>(kBytes));  // zeroed, so resident
  }
  const auto last = std::move(pieces.back());  // keeps the heap from shrinking by itself
  pieces.clear();
  const int64_t before = resident_memory();
  release_free_memory();
  EXPECT_LT(resident_memory(), before - static_cast<int64_t>(kPieces * kBytes / 2));
}
#endif

TEST(DefaultThreads, AtLeastOne) { EXPECT_GE(default_threads(), 1); }

}  // namespace
}  // namespace mlxforge
