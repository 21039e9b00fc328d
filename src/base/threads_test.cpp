#include "base/threads.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <numeric>
#include <random>

#include "base/check.h"

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

#ifndef MLXFORGE_SANITIZED  // sanitizers map terabytes
TEST(ThreadPoolDeathTest, ThreadsThatTheSystemRefusesAreAnError) {
  const auto start_too_many = [] {
    const rlimit little{.rlim_cur = 256 << 20, .rlim_max = 256 << 20};  // stacks take more
    setrlimit(RLIMIT_AS, &little);
    try {
      ThreadPool pool(1024);
    } catch (const Error& e) {
      std::_Exit(std::string(e.what()).find("--threads") == std::string::npos ? 1 : 0);
    }
    std::_Exit(2);
  };
  EXPECT_EXIT(start_too_many(), testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace mlxforge
