// The k-th smallest of several multisets together, some of them to be taken away.
//
// Layout: a base that knows ranks (the multiset of a window), and sorted spans that are added to it
//   or taken from it. Nothing is changed.
// Invariants: I1 what is taken away is in the base or in what is added. I2 the answer lies between
//   two bounds that close in; each span is looked at between them only.
// Cost: O(log n) rounds; in each, a binary search in what is left of each span.
// Paper: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "slidefold/storage/counted_tree.hpp"

namespace slidefold::engine {

template <class Key>
class Selection {
 public:
  explicit Selection(const CountedTreeOf<Key>& base) : base_(base), size_(base.size()) {}

  void add(std::span<const Key> sorted) { take(sorted, true); }
  void remove(std::span<const Key> sorted) { take(sorted, false); }
  std::size_t size() const { return size_; }

  // The k-th smallest, from 0.
  Key select(std::size_t k) {
    open();
    std::size_t low = 0, high = base_.size();  // the base's keys that may be it
    for (;;) {
      const Key* pivot = nullptr;
      Key middle{};
      if (low < high) {
        middle = base_.select((low + high) / 2).at;
        pivot = &middle;
      } else {
        pivot = longest();
        middle = *pivot;
      }
      const std::size_t smaller = counted(middle, false), not_larger = counted(middle, true);
      if (k < smaller) {
        high = std::min(high, base_.rank(middle));
        close(middle, false);
      } else if (k >= not_larger) {
        low = std::max(low, base_.rank_behind(middle));
        close(middle, true);
      } else {
        return middle;
      }
    }
  }
  // How many are smaller than a key; with those that are equal, if so asked.
  std::size_t rank(const Key& key, bool with_equal) {
    open();
    return counted(key, with_equal);
  }

 private:
  struct Span {
    std::span<const Key> keys;
    bool adds;
    std::size_t low, high;  // what may still be the answer
  };

  void open() {
    for (Span& span : spans_) span.low = 0, span.high = span.keys.size();
  }
  std::size_t counted(const Key& key, bool with_equal) const {
    auto count = static_cast<std::ptrdiff_t>(with_equal ? base_.rank_behind(key) : base_.rank(key));
    for (const Span& span : spans_) {
      const auto places = static_cast<std::ptrdiff_t>(place(span, key, with_equal));
      count += span.adds ? places : -places;
    }
    return static_cast<std::size_t>(count);
  }

  void take(std::span<const Key> sorted, bool adds) {
    if (sorted.empty()) return;
    spans_.push_back({sorted, adds, 0, sorted.size()});
    size_ += adds ? sorted.size() : std::size_t{0} - sorted.size();
  }
  static std::size_t place(const Span& span, const Key& key, bool behind_equal) {
    const auto first = span.keys.begin() + static_cast<std::ptrdiff_t>(span.low);
    const auto last = span.keys.begin() + static_cast<std::ptrdiff_t>(span.high);
    const auto at =
        behind_equal ? std::upper_bound(first, last, key) : std::lower_bound(first, last, key);
    return static_cast<std::size_t>(at - span.keys.begin());
  }

  // All that may be the answer is larger than a key, or smaller.
  void close(const Key& key, bool larger) {
    for (Span& span : spans_) {
      const std::size_t at = place(span, key, larger);
      (larger ? span.low : span.high) = at;
    }
  }
  // The middle of the longest of what is left of the spans that are added.
  const Key* longest() const {
    const Span* best = nullptr;
    for (const Span& span : spans_) {
      if (!span.adds || span.low == span.high) continue;
      if (best == nullptr || span.high - span.low > best->high - best->low) best = &span;
    }
    return &best->keys[(best->low + best->high) / 2];
  }

  const CountedTreeOf<Key>& base_;
  std::vector<Span> spans_;
  std::size_t size_;
};

}  // namespace slidefold::engine
