// A ring of slice aggregates, some of which may be empty.
//
// Layout: `states_`, one slot a slice; `gaps_`, one byte a slot, is made when the first empty slice
//   comes (slices of rows never are); while a transaction is open a journal of overwritten slots.
// Invariants: I1 an empty slot holds T{}. I2 gaps_ is empty or as long as states_.
// Cost: every operation O(1), the first clear and rollback O(n). Threads may work on different
//   slots; only one of them may call clear, and write never looks at gaps_.
// Paper: pba-parallel-boundary, section 4.4: lcs overwrites saa in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "slidefold/operator.hpp"
#include "slidefold/storage/archive.hpp"

namespace slidefold {

template <class T, bool kUndo = false>
class SliceRing {
 public:
  explicit SliceRing(std::size_t count = 1) : states_(count) {}

  std::size_t size() const { return states_.size(); }
  std::size_t bytes() const { return states_.capacity() * sizeof(T) + gaps_.capacity(); }
  std::size_t next(std::size_t at) const { return at + 1 == size() ? 0 : at + 1; }
  std::size_t prev(std::size_t at) const { return at == 0 ? size() - 1 : at - 1; }
  std::size_t ahead(std::size_t at, std::size_t steps) const {
    return at + steps < size() ? at + steps : at + steps - size();
  }

  const T& operator[](std::size_t at) const { return states_[at]; }
  bool filled(std::size_t at) const { return gaps_.empty() || gaps_[at] == 0; }

  // A new state for a slot that is filled already.
  void write(std::size_t at, T state) {
    if constexpr (kUndo) {
      if (open_) journal_.push_back({at, std::move(states_[at]), !filled(at)});
    }
    states_[at] = std::move(state);
  }

  void set(std::size_t at, T state) {
    write(at, std::move(state));
    if (!gaps_.empty()) gaps_[at] = 0;
  }

  void clear(std::size_t at) {
    if (gaps_.empty()) gaps_.assign(size(), 0);
    write(at, T{});
    gaps_[at] = 1;
  }

  // combine(slot, newer) into the slot.
  template <Monoid Op>
  void fold(const Op& op, std::size_t at, const T& newer) {
    if constexpr (kUndo) {
      write(at, op.combine(states_[at], newer));
    } else {
      absorb(op, states_[at], newer);
    }
  }

  // Calls visit(state) for all slots.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const T& state : states_) visit(state);
  }

  // Saves or loads the slots for which held(slot) is true; visit(state) does so for one of them.
  // A byte a slot says what is in it: that many slots need at least as many bytes.
  template <class Archive, class Held, class Visit>
  void archive(Archive& a, const Held& held, const Visit& visit) {
    if constexpr (Archive::kLoading) *this = SliceRing(size());
    for (std::size_t at = 0; at < size(); ++at) {
      std::uint8_t kind = !held(at) ? kUnused : filled(at) ? kFilled : kGap;
      a(kind);
      if constexpr (Archive::kLoading) {
        expect(held(at) ? kind == kFilled || kind == kGap : kind == kUnused,
               "a slice is there that should not be, or the other way round");
        if (kind == kGap) clear(at);
        if (kind != kFilled) continue;
        T state{};
        visit(state);
        set(at, std::move(state));
      } else {
        if (kind == kFilled) visit(states_[at]);
      }
    }
  }

  void begin() { open_ = true; }
  void commit() { close(); }
  void rollback() {
    for (auto old = journal_.rbegin(); old != journal_.rend(); ++old) {
      states_[old->at] = std::move(old->state);
      if (!gaps_.empty()) gaps_[old->at] = old->gap ? 1 : 0;
    }
    close();
  }

 private:
  static constexpr std::uint8_t kUnused = 0, kFilled = 1, kGap = 2;

  struct Old {
    std::size_t at;
    T state;
    bool gap;
  };

  void close() {
    open_ = false;
    journal_.clear();
  }

  std::vector<T> states_;
  std::vector<unsigned char> gaps_;
  bool open_ = false;
  std::vector<Old> journal_;
};

}  // namespace slidefold
