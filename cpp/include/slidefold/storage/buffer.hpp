// An array of fixed length, on huge pages where it is large.
//
// Layout: `size` elements, value-initialised unless T is trivially copyable: then they hold
// anything. Invariants: none. Cost: one allocation. From 4 MiB on the kernel is asked for huge
// pages: touching 32 MiB for the first
//   time then takes 16 page faults instead of 8,192, which is a third of a slide over 2^22 rows.
// Paper: none.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace slidefold {

template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size) : size_(size) {
    if (size == 0) return;
    const std::size_t bytes = size * sizeof(T);
    data_ = static_cast<T*>(::operator new(bytes, alignment()));
#ifdef __linux__
    if (large()) madvise(data_, bytes, MADV_HUGEPAGE);
#endif
    if constexpr (!std::is_trivially_copyable_v<T>) {
      try {
        std::uninitialized_value_construct_n(data_, size);
      } catch (...) {
        ::operator delete(data_, alignment());
        throw;
      }
    }
  }
  Buffer(const Buffer& other) : Buffer(other.size_) {
    for (std::size_t i = 0; i < size_; ++i) data_[i] = other.data_[i];
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() {
    if (data_ == nullptr) return;
    std::destroy_n(data_, size_);
    ::operator delete(data_, alignment());
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

 private:
  static constexpr std::size_t kHugePage = std::size_t{1} << 21;
  bool large() const { return size_ * sizeof(T) >= 2 * kHugePage; }
  std::align_val_t alignment() const { return std::align_val_t{large() ? kHugePage : alignof(T)}; }

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace slidefold
