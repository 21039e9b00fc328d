#include "base/threads.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <sstream>

#include "base/check.h"

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mlxforge {
namespace {

using Clock = std::chrono::steady_clock;

inline void cpu_relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until done() or for `us` microseconds; returns done().
template <class Done>
bool spin(Done done, int us) {
  constexpr int kPausesPerClock = 32;
  for (int i = 0; i < kPausesPerClock; ++i, cpu_relax())
    if (done()) return true;
  const auto deadline = Clock::now() + std::chrono::microseconds(us);
  do {
    for (int i = 0; i < kPausesPerClock; ++i, cpu_relax())
      if (done()) return true;
  } while (Clock::now() < deadline);
  return false;
}

}  // namespace

void flush_denormals() {
#if defined(__x86_64__)
  constexpr unsigned kFtzDaz = 0x8040;
  const unsigned csr = _mm_getcsr();
  if ((csr & kFtzDaz) != kFtzDaz) _mm_setcsr(csr | kFtzDaz);
#elif defined(__aarch64__)
  constexpr uint64_t kFz = uint64_t{1} << 24;
  uint64_t fpcr;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  if (!(fpcr & kFz)) asm volatile("msr fpcr, %0" ::"r"(fpcr | kFz));
#endif
}

ThreadPool::ThreadPool(int n_threads) {
  check(n_threads >= 1, "a thread pool has at least one thread, got ", n_threads);
  for (int t = 1; t < n_threads; ++t) helpers_.emplace_back([this, t] { helper_main(t); });
}

ThreadPool::~ThreadPool() {
  stop_ = true;
  wakes_.fetch_add(1);
  wakes_.notify_all();
  for (auto& helper : helpers_) helper.join();
}

void ThreadPool::run_job(int n_chunks, Call call, const void* f) {
  flush_denormals();
  if (n_chunks <= 1 || helpers_.empty()) {
    for (int c = 0; c < n_chunks; ++c) call(f, c, 0);
    return;
  }
  call_ = call;
  f_ = f;
  n_chunks_ = n_chunks;
  unfinished_.store(n_chunks, std::memory_order_relaxed);
  unclaimed_.store(n_chunks);  // publishes the job; ordered before the look at parked_, as park()
                               // orders the two the other way round
  if (parked_.load() > 0) {
    wakes_.fetch_add(1);
    wakes_.notify_all();
  }
  finish(work(0));
  wait_for_helpers();
}

// Claims and runs chunks until none is left; returns how many it ran. They count as unfinished
// until finish().
int ThreadPool::work(int thread) {
  int done = 0;
  while (unclaimed_.load(std::memory_order_relaxed) > 0) {
    const int left = unclaimed_.fetch_sub(1, std::memory_order_acquire);
    if (left <= 0) break;
    call_(f_, n_chunks_ - left, thread);
    ++done;
  }
  return done;
}

void ThreadPool::finish(int chunks) {
  if (chunks > 0 && unfinished_.fetch_sub(chunks) == chunks && caller_parked_.load())
    unfinished_.notify_one();
}

// A helper may have lost its core in the middle of a chunk. After a short spin the caller gives its
// own core away, so that the system can run the helper there.
void ThreadPool::wait_for_helpers() {
  constexpr int kCallerSpinUs = 100;
  if (spin([this] { return unfinished_.load(std::memory_order_acquire) == 0; }, kCallerSpinUs))
    return;
  caller_parked_ = true;
  for (int left; (left = unfinished_.load()) != 0;) unfinished_.wait(left);
  caller_parked_ = false;
}

void ThreadPool::helper_main(int thread) {
  flush_denormals();
  const auto work_waits = [this] {
    return unclaimed_.load(std::memory_order_relaxed) > 0 || stop_.load(std::memory_order_relaxed);
  };
  while (!stop_.load(std::memory_order_relaxed)) {
    finish(work(thread));
    if (!spin(work_waits, kSpinUs)) park();
  }
}

void ThreadPool::park() {
  const int wakes = wakes_.load();
  parked_.fetch_add(1);
  if (unclaimed_.load() <= 0 && !stop_.load()) wakes_.wait(wakes);
  parked_.fetch_sub(1);
}

namespace {

// The text of a small system file, or "" when it cannot be read.
std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  if (in) text << in.rdbuf();
  return text.str();
}

double v2_quota(const std::string& group) {  // "max 100000" or "150000 100000", microseconds
  std::istringstream in(read_text(group + "/cpu.max"));
  double quota, period;
  return in >> quota >> period && period > 0 ? quota / period : 0;
}

double v1_quota(const std::string& group) {  // -1: none
  std::istringstream quota_in(read_text(group + "/cpu.cfs_quota_us")),
      period_in(read_text(group + "/cpu.cfs_period_us"));
  double quota, period;
  return quota_in >> quota && period_in >> period && quota > 0 && period > 0 ? quota / period : 0;
}

// The smallest quota on the way from mount/path up to mount; inside a container the path may not
// exist below the mount.
template <class Quota>
double least_quota(const std::string& mount, std::string path, Quota quota_of) {
  double least = 0;
  for (;;) {
    const double quota = quota_of(mount + path);
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
    if (path.empty()) return least;
    path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

}  // namespace

double cgroup_cpu_quota(const std::string& root) {
  double least = 0;
  std::istringstream groups(read_text(root + "/proc/self/cgroup"));
  for (std::string line;
       std::getline(groups, line);) {  // "0::/path" (v2) or "4:cpu,cpuacct:/path" (v1)
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1), mount = root + "/sys/fs/cgroup";
    double quota = 0;
    if (controllers.empty())
      quota = least_quota(mount, path, v2_quota);
    else if (("," + controllers + ",").find(",cpu,") != std::string::npos)
      quota = least_quota(mount + "/" + controllers, path, v1_quota);
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
  }
  return least;
}

int default_threads() {
  int cpus = static_cast<int>(std::thread::hardware_concurrency());
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) cpus = CPU_COUNT(&allowed);
#endif
  const double quota = cgroup_cpu_quota();
  if (quota > 0) cpus = std::min(cpus, static_cast<int>(quota));
  return std::max(cpus, 1);
}

}  // namespace mlxforge
