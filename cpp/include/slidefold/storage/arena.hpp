// Nodes of one size, known by a 32-bit index.
//
// Layout: chunks of 2^k nodes. The first chunk starts with one node and doubles (its nodes move),
// so
//   that a tiny tree stays tiny; the others are allocated whole and never move. A node is free when
//   its bit in the chunk's map is set; nothing is written into free nodes. A Slab says how a node
//   is made, reset, copied and destroyed; the states of a node are constructed as long as its chunk
//   is.
// Invariants: I1 a chunk's number of used nodes is that of its clear bits. I2 the open list holds
//   exactly the chunks with a free node. I3 an unused chunk is kept only while less than a quarter
//   of the nodes, or one chunk, is idle.
// Cost: make and drop O(1), amortised while the first chunk grows. Giving a chunk back is one free.
// Paper: fiba-bulk, section 6.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "slidefold/operator.hpp"

namespace slidefold {

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = ~NodeId{0};

template <class Slab>
class Arena {
 public:
  explicit Arena(Slab slab) : slab_(std::move(slab)) {
    const std::size_t most = kChunkBytes / slab_.stride();
    shift_ = static_cast<std::uint32_t>(std::bit_width(std::max<std::size_t>(most, 1)) - 1);
    mask_ = (NodeId{1} << shift_) - 1;
  }
  Arena(const Arena& other)
      : slab_(other.slab_),
        shift_(other.shift_),
        mask_(other.mask_),
        open_(other.open_),
        vacant_(other.vacant_),
        unused_(other.unused_),
        used_(other.used_),
        room_(other.room_) {
    chunks_.reserve(other.chunks_.size());
    bases_.reserve(other.chunks_.size());
    for (const Chunk& from : other.chunks_) {
      chunks_.push_back(from);
      chunks_.back().data = nullptr;
      if (from.data != nullptr) chunks_.back().data = copied(from.data, from.size, from.size);
      bases_.push_back(chunks_.back().data);
    }
  }
  Arena(Arena&& other) noexcept : slab_(other.slab_) { swap(other); }
  Arena& operator=(Arena other) noexcept {
    swap(other);
    return *this;
  }
  ~Arena() {
    for (Chunk& chunk : chunks_) release(chunk);
  }

  std::byte* operator[](NodeId id) { return bases_[id >> shift_] + place(id); }
  const std::byte* operator[](NodeId id) const { return bases_[id >> shift_] + place(id); }

  std::size_t used() const { return used_; }
  std::size_t room() const { return room_; }
  bool full() const { return open_.empty(); }
  std::size_t bytes() const {
    std::size_t total = chunks_.capacity() * sizeof(Chunk) + room_ * slab_.stride();
    for (const Chunk& chunk : chunks_) total += chunk.map.capacity() * sizeof(std::uint64_t);
    return total +
           (open_.capacity() + vacant_.capacity() + unused_.capacity()) * sizeof(std::uint32_t);
  }

  // A node as its last owner left it. Other nodes may move.
  NodeId make() {
    if (open_.empty()) grow();
    const std::uint32_t c = open_.back();
    Chunk& chunk = chunks_[c];
    while (chunk.map[chunk.hint] == 0)
      chunk.hint = chunk.hint + 1 < chunk.map.size() ? chunk.hint + 1 : 0;
    std::uint64_t& word = chunk.map[chunk.hint];
    const auto bit = static_cast<std::uint32_t>(std::countr_zero(word));
    word &= word - 1;
    ++used_;
    if (++chunk.used == chunk.size) open_.pop_back();
    return (c << shift_) | (chunk.hint * 64 + bit);
  }

  // What the node owns is released now.
  void drop(NodeId id) {
    const std::uint32_t c = id >> shift_;
    Chunk& chunk = chunks_[c];
    const NodeId at = id & mask_;
    slab_.reset(chunk.data + at * slab_.stride());
    chunk.map[at / 64] |= std::uint64_t{1} << (at % 64);
    --used_;
    if (chunk.used-- == chunk.size) {
      chunk.place = static_cast<std::uint32_t>(open_.size());
      open_.push_back(c);
    }
    if (chunk.used == 0 && !std::exchange(chunk.listed, true)) unused_.push_back(c);
    while (!unused_.empty() && (chunks_[unused_.back()].used != 0 || idle(unused_.back()))) {
      const std::uint32_t last = unused_.back();
      unused_.pop_back();
      chunks_[last].listed = false;
      if (chunks_[last].used == 0) give_back(last);
    }
  }

  // Calls visit(node) for all nodes, free ones too.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Chunk& chunk : chunks_) {
      for (std::size_t i = 0; chunk.data != nullptr && i < chunk.size; ++i) {
        visit(chunk.data + i * slab_.stride());
      }
    }
  }

  bool live(NodeId id) const {
    if (id >> shift_ >= chunks_.size()) return false;
    const Chunk& chunk = chunks_[id >> shift_];
    const NodeId at = id & mask_;
    return chunk.data != nullptr && at < chunk.size && (chunk.map[at / 64] >> (at % 64) & 1) == 0;
  }

  void check() const {
    std::size_t used = 0, room = 0, open = 0;
    for (const Chunk& chunk : chunks_) {
      if (chunk.data == nullptr) continue;
      std::size_t free = 0;
      for (const std::uint64_t word : chunk.map)
        free += static_cast<std::size_t>(std::popcount(word));
      require(free + chunk.used == chunk.size,
              "arena I1: used nodes are those not on the free list");
      used += chunk.used;
      room += chunk.size;
      open += free != 0;
      const auto c = static_cast<std::uint32_t>(&chunk - chunks_.data());
      require(chunk.used != 0 || !idle(c), "arena I3: an idle chunk is given back");
    }
    require(used == used_ && room == room_, "arena I1: the totals are the sums over the chunks");
    require(open == open_.size(), "arena I2: the open list holds the chunks with a free node");
    for (std::size_t i = 0; i < open_.size(); ++i) {
      const Chunk& chunk = chunks_[open_[i]];
      require(chunk.data != nullptr && chunk.used < chunk.size && chunk.place == i,
              "arena I2: an open chunk has a free node and knows its place");
    }
  }

 private:
  static constexpr std::size_t kChunkBytes = std::size_t{1} << 16;
  struct Chunk {
    std::byte* data = nullptr;
    std::vector<std::uint64_t> map;  // set: free
    std::uint32_t size = 0;
    std::uint32_t used = 0;
    std::uint32_t hint = 0;   // where to look for a free node first
    std::uint32_t place = 0;  // in open_, while it has a free node
    bool listed = false;      // in unused_
  };

  // Whether a chunk that is not used is more than may be kept.
  bool idle(std::uint32_t c) const {
    const std::size_t size = chunks_[c].size;
    return 4 * (room_ - size) >= 5 * used_ + 4 * size;
  }

  std::size_t place(NodeId id) const { return (id & mask_) * slab_.stride(); }

  std::byte* allocated(std::size_t size) const {
    return static_cast<std::byte*>(::operator new(size * slab_.stride(), kAlign));
  }

  // `size` nodes, the first `kept` of them copies.
  std::byte* copied(const std::byte* from, std::size_t kept, std::size_t size) const {
    std::byte* data = allocated(size);
    std::size_t i = 0;
    try {
      for (; i < kept; ++i) slab_.copy(data + i * slab_.stride(), from + i * slab_.stride());
      for (; i < size; ++i) slab_.construct(data + i * slab_.stride());
    } catch (...) {
      while (i-- > 0) slab_.destroy(data + i * slab_.stride());
      ::operator delete(data, kAlign);
      throw;
    }
    return data;
  }

  void grow() {
    const std::uint32_t whole = mask_ + 1;
    if (room_ != 0 && room_ < whole) {
      Chunk& chunk = chunks_[0];
      const std::uint32_t size = 2 * chunk.size;
      open_.reserve(1);
      chunk.map.resize((size + 63) / 64);
      std::byte* data = copied(chunk.data, chunk.size, size);
      release(chunk);
      chunk.data = bases_[0] = data;
      set_free(chunk, chunk.size, size);
      room_ += size - chunk.size;
      chunk.size = size;
      chunk.place = 0;
      open_.push_back(0);
      return;
    }
    const std::uint32_t size = room_ == 0 ? 1 : whole;
    if (vacant_.empty()) {
      if (bases_.capacity() == bases_.size()) bases_.reserve(2 * bases_.size() + 1);
      chunks_.emplace_back();
      bases_.push_back(nullptr);
      vacant_.push_back(static_cast<std::uint32_t>(chunks_.size() - 1));
    }
    if (size < whole) std::sort(vacant_.rbegin(), vacant_.rend());  // a small chunk is the first
    open_.reserve(chunks_.size());
    const std::uint32_t c = vacant_.back();
    Chunk& chunk = chunks_[c];
    chunk.map.assign((size + 63) / 64, 0);
    chunk.data = bases_[c] = copied(nullptr, 0, size);
    chunk.size = size;
    chunk.used = chunk.hint = 0;
    chunk.place = static_cast<std::uint32_t>(open_.size());
    set_free(chunk, 0, size);
    room_ += size;
    open_.push_back(c);
    vacant_.pop_back();
  }

  static void set_free(Chunk& chunk, std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t i = from; i < to; ++i) chunk.map[i / 64] |= std::uint64_t{1} << (i % 64);
  }

  void give_back(std::uint32_t c) {
    Chunk& chunk = chunks_[c];
    vacant_.push_back(c);
    chunks_[open_.back()].place = chunk.place;
    open_[chunk.place] = open_.back();
    open_.pop_back();
    room_ -= chunk.size;
    release(chunk);
    chunk = Chunk{};
  }

  void release(Chunk& chunk) {
    if (chunk.data == nullptr) return;
    for (std::size_t i = 0; i < chunk.size; ++i) slab_.destroy(chunk.data + i * slab_.stride());
    ::operator delete(chunk.data, kAlign);
    chunk.data = nullptr;
  }

  void swap(Arena& other) noexcept {
    std::swap(slab_, other.slab_);
    std::swap(shift_, other.shift_);
    std::swap(mask_, other.mask_);
    chunks_.swap(other.chunks_);
    bases_.swap(other.bases_);
    open_.swap(other.open_);
    vacant_.swap(other.vacant_);
    unused_.swap(other.unused_);
    std::swap(used_, other.used_);
    std::swap(room_, other.room_);
  }

  static constexpr std::align_val_t kAlign{64};
  Slab slab_;
  std::uint32_t shift_ = 0;
  NodeId mask_ = 0;
  std::vector<Chunk> chunks_;
  std::vector<std::byte*> bases_;      // of the chunks, for a node's address in one look
  std::vector<std::uint32_t> open_;    // chunks with a free node, the next to use last
  std::vector<std::uint32_t> vacant_;  // places in chunks_ whose chunk was given back
  std::vector<std::uint32_t> unused_;  // chunks that were unused once, and may be so still
  std::size_t used_ = 0;
  std::size_t room_ = 0;
};

}  // namespace slidefold
