// Memory for scratch and blocks of weights: 64-byte aligned, on huge pages where it is big and the
// system gives them. An AlignedBuffer owns its bytes, can be moved and is not initialised.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace mlxforge::cpu {

class AlignedBuffer {
 public:
  static constexpr size_t kHugePage = size_t{2} << 20;

  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t bytes) : size_(bytes) {  // throws std::bad_alloc
    const size_t alignment = bytes >= 2 * kHugePage ? kHugePage : 64;
    const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    data_.reset(
        static_cast<std::byte*>(std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded)));
    if (!data_) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    // A wish; refusal costs only speed. The last part stays on small pages: a huge one would waste
    // up to 2 MiB a matrix.
    if (alignment == kHugePage) madvise(data_.get(), bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  }

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  size_t size() const { return size_; }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data_.get());
  }

  // At least `bytes`; the old contents are lost when it grows.
  void reserve(size_t bytes) {
    if (bytes > size_) *this = AlignedBuffer(bytes);
  }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t size_ = 0;
};

}  // namespace mlxforge::cpu
