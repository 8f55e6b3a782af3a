// The nodes of a store: leaves with rows, column by column, and inner nodes with states.
//
// Layout: a leaf holds rows first to end() of each column, behind its header: times, then the
//   columns, then one presence mask per row. An inner node holds children first to end(): the time
//   at which each begins, how many rows it has, and for each part a slot with the fold of the
//   child. Rows and children leave in front, so `first` moves.
// Invariants: I1 times ascend within a leaf, and from leaf to leaf. I2 counts are exact, and a
//   child begins no earlier than its `begins`. I3 a made state that is not dirty equals the fold of
//   its child. I4 a hole bit is set for each presence that some row of the leaf does not have
//   (bit 63 stands for all presences from 63 on). I5 `next` links the leaves in order.
// Cost: opening a gap in a node moves what lies behind it: at most kLeafMost rows or kFan children.
// Paper: fiba-out-of-order, section 3: a B+-tree whose inner nodes hold aggregates. Values lie in
//   the leaves as they came, so that two operators of one column share them.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "slidefold/engine/part.hpp"

namespace slidefold::engine {

inline constexpr std::int32_t kFan = 16;         // children of an inner node
inline constexpr std::int32_t kLeafFull = 64;    // rows of a leaf that is filled in order
inline constexpr std::int32_t kLeafMost = 96;    // late rows fill it up to here before it splits
inline constexpr std::int32_t kLeafFirst = 4;    // room in the only leaf of a small key
inline constexpr std::int32_t kLeafTail = 16;    // room in a new leaf behind full ones
inline constexpr std::int32_t kHeightMost = 15;  // 32 * 8^14 rows at least

// The rows of a batch, column by column.
struct Rows {
  const Time* times;
  const void* const* columns;
  const std::uint8_t* present = nullptr;  // Shape::mask_bytes() per row; null: all present
};

// What all stores of an engine have in common.
struct Shape {
  std::uint32_t columns = 0;    // of words
  std::uint32_t presences = 0;  // bits of a row's mask
  std::vector<Part> parts;

  std::uint32_t mask_bytes() const { return (presences + 7) / 8; }
};

struct Leaf {
  std::uint16_t first = 0, count = 0, room = 0, spare = 0;
  std::uint64_t holes = 0;
  Leaf* next = nullptr;

  std::int32_t end() const { return first + count; }
  bool full() const { return end() == room; }
  Time* times() { return reinterpret_cast<Time*>(this + 1); }
  const Time* times() const { return reinterpret_cast<const Time*>(this + 1); }
  Word* column(std::uint32_t c) {
    static_assert(kTimes + 1 == 0);  // they lie before the others
    return reinterpret_cast<Word*>(this + 1) + std::size_t{room} * (c + 1);
  }
  const Word* column(std::uint32_t c) const { return const_cast<Leaf*>(this)->column(c); }
  Time oldest() const { return times()[first]; }
  Time newest() const { return times()[end() - 1]; }
};

inline std::uint64_t hole_bit(std::uint32_t presence) {
  return std::uint64_t{1} << std::min<std::uint32_t>(presence, 63);
}

struct Inner {
  std::uint16_t first = 0, count = 0;
  std::uint32_t dirty = 0;  // children whose states are older than they are
  Time begins[kFan];
  void* children[kFan];
  std::uint32_t counts[kFan];

  std::int32_t end() const { return first + count; }
  Inner* inner(std::int32_t i) const { return static_cast<Inner*>(children[i]); }
  Leaf* leaf(std::int32_t i) const { return static_cast<Leaf*>(children[i]); }
  std::uint64_t rows() const {
    std::uint64_t total = 0;
    for (std::int32_t i = first; i < end(); ++i) total += counts[i];
    return total;
  }
};

// Makes, moves and frees nodes of one shape.
class Nodes {
 public:
  explicit Nodes(Shape shape) : shape_(std::move(shape)) {
    std::size_t at = sizeof(Inner);
    made_at_ = at;
    at += sizeof(std::uint32_t) * shape_.parts.size();
    at = (at + 15) / 16 * 16;
    for (const Part& part : shape_.parts) {
      slots_.push_back(at);
      at += part.slot_bytes() * kFan;
      at = (at + 15) / 16 * 16;
    }
    inner_bytes_ = at;
  }

  const Shape& shape() const { return shape_; }
  const Part& part(std::size_t p) const { return shape_.parts[p]; }
  void set_idle(std::size_t p, bool idle) { shape_.parts[p].idle = idle; }
  std::size_t bytes() const { return bytes_; }

  // ---- leaves

  Leaf* make_leaf(std::int32_t room) {
    Leaf* leaf = ::new (allocate(leaf_bytes(room))) Leaf();
    leaf->room = static_cast<std::uint16_t>(room);
    return leaf;
  }
  void free(Leaf* leaf) { release(leaf, leaf_bytes(leaf->room)); }

  std::uint8_t* mask(Leaf* leaf, std::int32_t row) const {
    return reinterpret_cast<std::uint8_t*>(leaf->column(shape_.columns)) +
           static_cast<std::size_t>(row) * shape_.mask_bytes();
  }
  const std::uint8_t* mask(const Leaf* leaf, std::int32_t row) const {
    return mask(const_cast<Leaf*>(leaf), row);
  }
  bool present(const Leaf* leaf, std::int32_t row, std::uint32_t presence) const {
    return presence == kAlways || (mask(leaf, row)[presence / 8] >> (presence % 8) & 1) != 0;
  }
  static bool has_holes(const Leaf* leaf, std::uint32_t presence) {
    return presence != kAlways && (leaf->holes & hole_bit(presence)) != 0;
  }

  // Rows of one leaf to a place in another, or in the same.
  void copy_rows(Leaf* to, std::int32_t at, const Leaf* from, std::int32_t from_at,
                 std::int32_t count) const {
    const auto n = static_cast<std::size_t>(count);
    std::memmove(to->times() + at, from->times() + from_at, n * sizeof(Time));
    for (std::uint32_t c = 0; c < shape_.columns; ++c) {
      std::memmove(to->column(c) + at, from->column(c) + from_at, n * sizeof(Word));
    }
    if (shape_.presences > 0) {
      std::memmove(mask(to, at), mask(from, from_at), n * shape_.mask_bytes());
    }
    to->holes |= from->holes;
  }
  void put_row(Leaf* leaf, std::int32_t at, const Rows& rows, std::size_t row) const {
    leaf->times()[at] = rows.times[row];
    for (std::uint32_t c = 0; c < shape_.columns; ++c) {
      leaf->column(c)[at] = static_cast<const Word*>(rows.columns[c])[row];
    }
    const std::uint32_t bytes = shape_.mask_bytes();
    if (bytes == 0) return;
    std::uint8_t* const own = mask(leaf, at);
    if (rows.present == nullptr) {
      std::memset(own, 0xFF, bytes);
      return;
    }
    std::memcpy(own, rows.present + row * bytes, bytes);
    for (std::uint32_t p = 0; p < shape_.presences; ++p) {
      if ((own[p / 8] >> (p % 8) & 1) == 0) leaf->holes |= hole_bit(p);
    }
  }
  // Moves rows to the front of their room.
  void compact(Leaf* leaf) const {
    copy_rows(leaf, 0, leaf, leaf->first, leaf->count);
    leaf->first = 0;
  }

  // Calls visit(first, count) for each run of rows that are present.
  template <class Visit>
  void present_runs(const Leaf* leaf, std::int32_t first, std::int32_t end, std::uint32_t presence,
                    Visit&& visit) const {
    if (!has_holes(leaf, presence)) {
      if (first < end) visit(first, end - first);
      return;
    }
    for (std::int32_t i = first; i < end;) {
      if (!present(leaf, i, presence)) {
        ++i;
        continue;
      }
      std::int32_t stop = i + 1;
      while (stop < end && present(leaf, stop, presence)) ++stop;
      visit(i, stop - i);
      i = stop;
    }
  }

  // ---- inner nodes

  Inner* make_inner() {
    Inner* node = ::new (allocate(inner_bytes_)) Inner();
    std::memset(reinterpret_cast<std::byte*>(node) + made_at_, 0, inner_bytes_ - made_at_);
    return node;
  }
  void free(Inner* node) {
    for (std::size_t p = 0; p < slots_.size(); ++p) {
      if (part(p).inside()) continue;
      for (std::int32_t i = 0; i < kFan; ++i) drop_state(p, pointer(node, p, i));
    }
    release(node, inner_bytes_);
  }

  // Which children have a state of a part.
  std::uint32_t& made(Inner* node, std::size_t p) const {
    return reinterpret_cast<std::uint32_t*>(reinterpret_cast<std::byte*>(node) + made_at_)[p];
  }
  void* slot(Inner* node, std::size_t p, std::int32_t i) const {
    return reinterpret_cast<std::byte*>(node) + slots_[p] +
           static_cast<std::size_t>(i) * part(p).slot_bytes();
  }
  void* state(Inner* node, std::size_t p, std::int32_t i) const {
    return part(p).inside() ? slot(node, p, i) : pointer(node, p, i);
  }
  bool has_state(Inner* node, std::size_t p, std::int32_t i) const {
    return (made(node, p) & ~node->dirty) >> i & 1;
  }
  // The same of several children in a row.
  bool has_states(Inner* node, std::size_t p, std::int32_t first, std::int32_t count) const {
    const std::uint32_t mask = ((1u << count) - 1) << first;
    return (made(node, p) & ~node->dirty & mask) == mask;
  }
  // The room of a state that is about to be made, which holds the identity.
  void* open_state(Inner* node, std::size_t p, std::int32_t i) {
    if ((node->dirty >> i & 1) != 0) {  // what other parts had made is as old
      for (std::size_t q = 0; q < slots_.size(); ++q) made(node, q) &= ~(1u << i);
      node->dirty &= ~(1u << i);
    }
    if (part(p).inside()) {
      part(p).identity(slot(node, p, i));
      return slot(node, p, i);
    }
    drop_state(p, pointer(node, p, i));
    const Algebra& algebra = part(p).algebra();
    void* const room = algebra.allocate();
    try {
      part(p).identity(room);
    } catch (...) {
      algebra.release(room);
      throw;
    }
    bytes_ += algebra.size;
    pointer(node, p, i) = room;
    return room;
  }
  void close_state(Inner* node, std::size_t p, std::int32_t i) const { made(node, p) |= 1u << i; }
  void forget_state(Inner* node, std::size_t p, std::int32_t i) const {
    made(node, p) &= ~(1u << i);
  }

  // Puts a child at i; those from i on move by one. There must be room.
  void insert_child(Inner* node, std::int32_t i, void* child, Time begins, std::uint64_t rows) {
    move_children(node, i + 1, node, i, node->end() - i);
    node->children[i] = child;
    node->begins[i] = begins;
    node->counts[i] = static_cast<std::uint32_t>(rows);
    node->dirty |= 1u << i;
    ++node->count;
  }
  void erase_child(Inner* node, std::int32_t i) {
    for (std::size_t p = 0; p < slots_.size(); ++p) {
      if (!part(p).inside()) drop_state(p, pointer(node, p, i));
    }
    if (i == node->first) {
      ++node->first;
    } else {
      move_children(node, i, node, i + 1, node->end() - i - 1);
    }
    --node->count;
  }
  // Children with their states, to another place; the places that they leave hold none.
  void move_children(Inner* to, std::int32_t at, Inner* from, std::int32_t from_at,
                     std::int32_t count) {
    if (count <= 0) return;
    const auto n = static_cast<std::size_t>(count);
    std::memmove(to->begins + at, from->begins + from_at, n * sizeof(Time));
    std::memmove(to->children + at, from->children + from_at, n * sizeof(void*));
    std::memmove(to->counts + at, from->counts + from_at, n * sizeof(std::uint32_t));
    const std::uint32_t mask = (1u << count) - 1;
    const auto moved = [&](std::uint32_t target, std::uint32_t source) {
      return (target & ~(mask << at)) | ((source >> from_at & mask) << at);
    };
    to->dirty = moved(to->dirty, from->dirty);
    for (std::size_t p = 0; p < slots_.size(); ++p) {
      made(to, p) = moved(made(to, p), made(from, p));
      std::memmove(slot(to, p, at), slot(from, p, from_at), n * part(p).slot_bytes());
      if (part(p).inside()) continue;
      for (std::int32_t i = from_at; i < from_at + count; ++i) {
        if (to != from || i < at || i >= at + count) pointer(from, p, i) = nullptr;
      }
    }
  }

 private:
  std::size_t leaf_bytes(std::int32_t room) const {
    const std::size_t row = sizeof(Time) + sizeof(Word) * shape_.columns + shape_.mask_bytes();
    return sizeof(Leaf) + (row * static_cast<std::size_t>(room) + 7) / 8 * 8;
  }
  void*& pointer(Inner* node, std::size_t p, std::int32_t i) const {
    return *static_cast<void**>(slot(node, p, i));
  }
  void drop_state(std::size_t p, void*& room) {
    if (room == nullptr) return;
    const Algebra& algebra = part(p).algebra();
    if (!algebra.plain) algebra.destroy(room);
    algebra.release(room);
    bytes_ -= algebra.size;
    room = nullptr;
  }
  void* allocate(std::size_t bytes) {
    void* const room = std::malloc(bytes);
    if (room == nullptr) throw std::bad_alloc();
    bytes_ += bytes;
    return room;
  }
  void release(void* room, std::size_t bytes) {
    bytes_ -= bytes;
    std::free(room);
  }

  Shape shape_;
  std::vector<std::size_t> slots_;  // where the states of each part begin
  std::size_t made_at_ = 0, inner_bytes_ = 0, bytes_ = 0;
};

}  // namespace slidefold::engine
