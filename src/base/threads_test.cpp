#include "base/threads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>

namespace mlxforge {
namespace {

TEST(ThreadPool, RunsEveryChunkOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    ASSERT_EQ(pool.size(), threads);
    for (int n : {0, 1, 2, 3, 7, 64, 1000}) {
      std::vector<int> calls(n);
      std::atomic<bool> bad_thread{false};
      pool.run(n, [&](int chunk, int thread) noexcept {
        ++calls[chunk];
        if (thread < 0 || thread >= threads) bad_thread = true;
      });
      EXPECT_EQ(calls, std::vector<int>(n, 1)) << threads << " threads";
      EXPECT_FALSE(bad_thread);
    }
  }
}

// Every job's state lies on the stack and is overwritten after run(): a helper that came late would
// be caught by TSan or count wrong. Random pauses let helpers spin, park and wake in every order.
TEST(ThreadPool, StressOfShortJobsAndPauses) {
  ThreadPool pool(4);
  std::mt19937 rng(1);
  for (int job = 0; job < 5000; ++job) {
    const int n = static_cast<int>(rng() % 9);
    std::vector<long> out(n);
    pool.run(n, [&, job](int chunk, int) noexcept { out[chunk] = long{job} * 16 + chunk; });
    for (int c = 0; c < n; ++c) ASSERT_EQ(out[c], long{job} * 16 + c);
    if (rng() % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(rng() % 600));
  }
}

TEST(ThreadPool, CallerMayChangeBetweenJobs) {
  ThreadPool pool(2);
  std::atomic<int> sum{0};
  for (int i = 0; i < 10; ++i)
    std::thread([&] { pool.run(10, [&](int chunk, int) noexcept { sum += chunk; }); }).join();
  EXPECT_EQ(sum, 450);
}

TEST(ThreadPool, SubnormalsAreZeroOnEveryThread) {
  ThreadPool pool(3);
  std::vector<float> out(300, 1);
  volatile float tiny = std::numeric_limits<float>::min();
  pool.run(300, [&](int chunk, int) noexcept { out[chunk] = tiny * 0.5f; });
  EXPECT_EQ(std::accumulate(out.begin(), out.end(), 0.f), 0.f);
}

TEST(ThreadPool, IdleUsesNoCpu) {
  ThreadPool pool(4);
  pool.run(64, [](int, int) noexcept {});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the helpers park
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC,
            0.01);  // CPU time, not wall time
}

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

TEST(DefaultThreads, AtLeastOne) { EXPECT_GE(default_threads(), 1); }

}  // namespace
}  // namespace mlxforge
