// An array of fixed length, on huge pages where it is large.
//
// Layout: `size` elements, value-initialised unless T is trivially copyable: then they hold
//   anything.
// Invariants: none.
// Cost: one allocation. From 1 MiB on it is a block of large_memory.hpp: touching 32 MiB for the
//   first time then takes 16 page faults instead of 8,192, which is a third of a slide over 2^22
//   rows.
// Paper: none.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "slidefold/storage/large_memory.hpp"

namespace slidefold {

template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size) : size_(size) {
    if (size == 0) return;
    data_ = static_cast<T*>(large() ? LargeMemory::take(bytes())
                                    : ::operator new(bytes(), std::align_val_t{alignof(T)}));
    if constexpr (!std::is_trivially_copyable_v<T>) {
      try {
        std::uninitialized_value_construct_n(data_, size);
      } catch (...) {
        release();
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
    release();
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
  std::size_t bytes() const { return size_ * sizeof(T); }
  bool large() const { return bytes() >= LargeMemory::kLeast; }
  void release() noexcept {
    if (large()) return LargeMemory::give_back(data_, bytes());
    ::operator delete(data_, std::align_val_t{alignof(T)});
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace slidefold
