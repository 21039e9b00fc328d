#include "base/threads.h"

#include <chrono>
#include <cstdint>
#include <system_error>

#include "base/check.h"
#include "base/clock.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mlxforge {
namespace {

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
  try {
    for (int t = 1; t < n_threads; ++t) helpers_.emplace_back([this, t] { helper_main(t); });
  } catch (const std::system_error& e) {
    stop();
    fail("base", "expected to start ", n_threads, " threads, got: ", e.what(),
         "; give fewer --threads");
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  stop_ = true;
  wake_helpers();
  for (auto& helper : helpers_) helper.join();
}

void ThreadPool::wake_helpers() {
  wakes_.fetch_add(1);
  wakes_.notify_all();
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
  if (parked_.load() > 0) wake_helpers();
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

}  // namespace mlxforge
