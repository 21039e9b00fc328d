// ThreadPool: the compute threads of one worker. The caller of run() is thread 0; the pool owns the
// other size() - 1 ("helpers"). One job at a time: run() may be called by one thread at a time and
// never from inside a job; the caller need not be the thread that constructed the pool. Chunks are
// claimed one by one from an atomic counter, so a slowed core takes fewer of them. Helpers spin for
// kSpinUs after a job, then park: an idle pool uses no CPU. run() allocates nothing. Every pool
// thread, and the caller of run() from then on, treats subnormal floats as zero (FTZ/DAZ), for the
// same bits everywhere.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace mlxforge {

class ThreadPool {
 public:
  static constexpr int kSpinUs = 200;  // a helper waits this long for the next job before it parks

  explicit ThreadPool(int n_threads);  // at least 1, the caller counted
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(helpers_.size()) + 1; }

  // Calls f(chunk, thread) once for every chunk in [0, n_chunks), 0 <= thread < size(), and returns
  // when all calls have. Chunks start in ascending order. f must be noexcept. Effects of f are
  // visible to the caller on return.
  template <class F>
  void run(int n_chunks, F&& f) {
    using Fn = std::remove_reference_t<F>;
    static_assert(std::is_nothrow_invocable_v<Fn&, int, int>,
                  "a job is noexcept: kernels report failures as data");
    run_job(
        n_chunks,
        [](const void* fn, int chunk, int thread) noexcept {
          (*static_cast<Fn*>(const_cast<void*>(fn)))(chunk, thread);
        },
        std::addressof(f));
  }

 private:
  using Call = void (*)(const void* f, int chunk, int thread) noexcept;

  void stop();
  void wake_helpers();
  void run_job(int n_chunks, Call call, const void* f);
  int work(int thread);
  void wait_for_helpers();
  void finish(int chunks);
  void helper_main(int thread);
  void park();

  // The job. Written by run_job while no chunk is out; read only by a thread that holds a claimed
  // chunk. A helper that wakes late finds unclaimed_ <= 0 and never looks at call_ or f_, which may
  // be gone.
  Call call_ = nullptr;
  const void* f_ = nullptr;
  int n_chunks_ = 0;

  alignas(64) std::atomic<int> unclaimed_{
      0};  // chunks left to claim; below zero after claims in vain
  alignas(64) std::atomic<int> unfinished_{0};  // chunks whose f has not returned
  alignas(64) std::atomic<int> parked_{0};      // helpers parked or about to park
  std::atomic<int> wakes_{0};                   // what parked helpers wait on
  std::atomic<bool> caller_parked_{false};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> helpers_;
};

// Subnormal inputs and results of this thread's float operations become zero, from now on.
void flush_denormals();

}  // namespace mlxforge
