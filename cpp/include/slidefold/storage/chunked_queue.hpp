// A queue in linked chunks that never moves an element: growth costs O(1) in the worst case.
//
// Layout: chunks of kChunkBytes, aligned to their size, each with a prev/next header and as many
//   slots as fit; a cursor is a pointer to a slot, its chunk is found by masking the address. A few
//   emptied chunks are kept as spares.
// Invariants: I1 a cursor from first to last always points at a slot, never past a chunk's end: the
//   chunk after a full one exists already. I2 slots outside [first, last) hold T{} unless a
//   transaction is open. I3 at most kSpares spare chunks.
// Cost: every operation O(1) in the worst case (one allocation a chunk); at, rank and copy O(n).
// Paper: daba-in-order, Definition 4 (a resizable deque of chunked arrays).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "slidefold/storage/archive.hpp"

namespace slidefold {

template <class T, bool kUndo = false>
class ChunkedQueue {
  struct Chunk {
    Chunk* prev;
    Chunk* next;
    T* slots() { return reinterpret_cast<T*>(reinterpret_cast<char*>(this) + kHeader); }
  };
  static constexpr std::size_t kHeader =
      (2 * sizeof(void*) + alignof(T) - 1) / alignof(T) * alignof(T);
  static constexpr std::size_t kChunkBytes = [] {
    std::size_t bytes = 4096;  // a page: header 0.4%, and the allocator keeps pages at hand
    while (bytes < kHeader + 8 * sizeof(T)) bytes *= 2;
    return bytes;
  }();
  static constexpr std::size_t kSlots = (kChunkBytes - kHeader) / sizeof(T);
  static constexpr std::size_t kSpares = 2;

 public:
  using Cursor = T*;

  ChunkedQueue() { first_ = last_ = allocate(nullptr)->slots(); }
  ChunkedQueue(const ChunkedQueue& other) : ChunkedQueue() {
    for (Cursor at = other.first_; at != other.last_; at = next(at)) push_back(T(*at));
  }
  ChunkedQueue(ChunkedQueue&& other) : ChunkedQueue() { swap(other); }
  ChunkedQueue& operator=(ChunkedQueue other) {
    swap(other);
    return *this;
  }
  ~ChunkedQueue() {
    Chunk* chunk = chunk_of(open_ ? saved_first_ : first_);
    while (chunk != nullptr) free(std::exchange(chunk, chunk->next));
    while (spares_ != nullptr) free(std::exchange(spares_, spares_->next));
  }

  Cursor first() const { return first_; }
  Cursor last() const { return last_; }
  static Cursor next(Cursor at) {
    Chunk* chunk = chunk_of(at);
    return ++at == chunk->slots() + kSlots ? chunk->next->slots() : at;
  }
  static Cursor prev(Cursor at) {
    Chunk* chunk = chunk_of(at);
    return at == chunk->slots() ? chunk->prev->slots() + kSlots - 1 : at - 1;
  }
  std::size_t size() const { return size_; }
  bool empty() const { return first_ == last_; }
  std::size_t bytes() const { return chunks_ * kChunkBytes; }

  const T& operator[](Cursor at) const { return *at; }
  const T& front() const { return *first_; }
  const T& back() const { return *prev(last_); }

  Cursor at(std::size_t rank) const {
    Cursor at = first_;
    while (rank-- > 0) at = next(at);
    return at;
  }
  std::size_t rank(Cursor at) const {
    std::size_t rank = 0;
    for (Cursor here = first_; here != at; here = next(here)) ++rank;
    return rank;
  }

  void reserve(std::size_t) {}

  void set(Cursor at, T value) {
    if constexpr (kUndo) {
      if (open_) journal_.emplace_back(at, std::move(*at));
    }
    *at = std::move(value);
  }

  void push_back(T value) {
    Chunk* chunk = chunk_of(last_);
    if (last_ + 1 == chunk->slots() + kSlots) chunk->next = allocate(chunk);
    *last_ = std::move(value);
    last_ = next(last_);
    ++size_;
  }

  void pop_front() {
    Cursor gone = first_;
    first_ = next(first_);
    --size_;
    if constexpr (kUndo) {
      if (open_) return;
    }
    release(gone);
    if (chunk_of(gone) != chunk_of(first_)) recycle(chunk_of(gone));
  }

  // Calls visit(element) for all elements.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (Cursor at = first_; at != last_; at = next(at)) visit(*at);
  }

  // Saves or loads the elements; visit(element) does so for one of them.
  template <class Archive, class Visit>
  void archive(Archive& a, const Visit& visit) {
    const std::size_t count = a.length(size());
    if constexpr (Archive::kLoading) {
      *this = ChunkedQueue();
      for (std::size_t i = 0; i < count; ++i) {
        T value{};
        visit(value);
        push_back(std::move(value));
      }
    } else {
      for (Cursor at = first_; at != last_; at = next(at)) visit(*at);
    }
  }

  void begin() {
    open_ = true;
    saved_first_ = first_;
    saved_last_ = last_;
    saved_size_ = size_;
  }

  void commit() {
    for (Cursor at = saved_first_; at != first_;) {
      Cursor gone = at;
      at = next(at);
      release(gone);
      if (chunk_of(gone) != chunk_of(at)) recycle(chunk_of(gone));
    }
    close();
  }

  void rollback() {
    for (auto entry = journal_.rbegin(); entry != journal_.rend(); ++entry) {
      *entry->first = std::move(entry->second);
    }
    for (Cursor at = saved_last_; at != last_; at = next(at)) release(at);
    Chunk* tail = chunk_of(saved_last_);
    while (tail->next != nullptr) recycle_after(tail);
    first_ = saved_first_;
    last_ = saved_last_;
    size_ = saved_size_;
    close();
  }

 private:
  static Chunk* chunk_of(const T* at) {
    return reinterpret_cast<Chunk*>(reinterpret_cast<std::uintptr_t>(at) & ~(kChunkBytes - 1));
  }

  Chunk* allocate(Chunk* after) {
    Chunk* chunk = spares_;
    if (chunk != nullptr) {
      spares_ = chunk->next;
      --spare_count_;
    } else {
      void* memory = ::operator new(kChunkBytes, std::align_val_t{kChunkBytes});
      chunk = ::new (memory) Chunk;
      std::uninitialized_value_construct_n(chunk->slots(), kSlots);
      ++chunks_;
    }
    chunk->prev = after;
    chunk->next = nullptr;
    return chunk;
  }

  void free(Chunk* chunk) {
    std::destroy_n(chunk->slots(), kSlots);
    ::operator delete(chunk, std::align_val_t{kChunkBytes});
    --chunks_;
  }

  void spare(Chunk* chunk) {
    if (spare_count_ == kSpares) return free(chunk);
    chunk->next = spares_;
    spares_ = chunk;
    ++spare_count_;
  }

  // The oldest chunk holds nothing any more.
  void recycle(Chunk* chunk) {
    chunk->next->prev = nullptr;
    spare(chunk);
  }

  // The chunk after `chunk` (at the young end) holds nothing any more.
  void recycle_after(Chunk* chunk) {
    Chunk* gone = chunk->next;
    chunk->next = gone->next;
    spare(gone);
  }

  static void release(Cursor at) {
    if constexpr (!std::is_trivially_destructible_v<T>) *at = T{};
  }

  void close() {
    open_ = false;
    journal_.clear();
  }

  void swap(ChunkedQueue& other) {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
    std::swap(size_, other.size_);
    std::swap(chunks_, other.chunks_);
    std::swap(spares_, other.spares_);
    std::swap(spare_count_, other.spare_count_);
  }

  Cursor first_ = nullptr;
  Cursor last_ = nullptr;
  std::size_t size_ = 0;
  std::size_t chunks_ = 0;
  Chunk* spares_ = nullptr;
  std::size_t spare_count_ = 0;
  bool open_ = false;
  Cursor saved_first_ = nullptr;
  Cursor saved_last_ = nullptr;
  std::size_t saved_size_ = 0;
  std::vector<std::pair<Cursor, T>> journal_;
};

}  // namespace slidefold
