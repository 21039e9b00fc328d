// Says that nobody waits for a result any more; long work looks at it now and then and ends early.
// Any thread may set it or ask; once set, it stays so.
#pragma once

#include <atomic>

namespace mlxforge {

class CancelFlag {
 public:
  void set() { set_ = true; }
  bool is_set() const { return set_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> set_ = false;
};

inline const CancelFlag kNeverCancelled;

}  // namespace mlxforge
