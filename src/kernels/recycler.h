// Buffers for the outputs of eager ops. A buffer goes back to its size class when the array that
// holds it goes, and serves the next op: a step allocates nothing once it has run before. Used by
// the worker thread only; arrays may outlive the recycler.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "kernels/mx.h"

namespace mlxforge {

class Recycler {
 public:
  mx::allocator::Data take(size_t bytes);  // throws std::bad_alloc

 private:
  struct Free {
    std::map<size_t, std::vector<mx::allocator::Buffer>> by_size;
    ~Free();
  };
  std::shared_ptr<Free> free_ = std::make_shared<Free>();
};

}  // namespace mlxforge
