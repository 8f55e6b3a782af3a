// The k-th smallest of several multisets together, some of them to be taken away.
//
// Layout: a base that knows ranks (the multiset of a window), and sorted spans that are added to it
//   or taken from it. Nothing is changed.
// Invariants: I1 what is taken away is in the base or in what is added. I2 the answer lies between
//   two bounds that close in; each span is looked at between them only.
// Cost: O(log n) rounds; in each, a binary search in what is left of each span. The next bound is
//   guessed from how many keys lie between the last two, so that keys which are spread alike in all
//   spans take about five rounds; every third round halves, whatever the keys are.
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
    for (unsigned round = 1;; ++round) {
      std::size_t below = low, inside = high - low;
      for (const Span& span : spans_) {
        below += span.adds ? span.low : std::size_t{0} - span.low;
        inside += span.adds ? span.high - span.low : span.low - span.high;
      }
      const double share =
          round % 3 == 0 ? 0.5
                         : (static_cast<double>(k - below) + 0.5) / static_cast<double>(inside);
      const Key pivot = low < high ? base_.select(guess(low, high, share)).at : longest(share);
      const std::size_t base_smaller = base_.rank(pivot), base_behind = base_.rank_behind(pivot);
      std::size_t smaller = base_smaller, not_larger = base_behind;
      for (Span& span : spans_) {
        span.at = place(span, pivot, false);
        span.behind = span.at;
        if (span.at < span.high && !(pivot < span.keys[span.at])) {
          span.behind = place(span, pivot, true);
        }
        smaller += span.adds ? span.at : std::size_t{0} - span.at;
        not_larger += span.adds ? span.behind : std::size_t{0} - span.behind;
      }
      if (k < smaller) {
        high = std::min(high, base_smaller);
        for (Span& span : spans_) span.high = span.at;
      } else if (k >= not_larger) {
        low = std::max(low, base_behind);
        for (Span& span : spans_) span.low = span.behind;
      } else {
        return pivot;
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
    std::size_t low, high;           // what may still be the answer
    std::size_t at = 0, behind = 0;  // where the last bound lies, before and behind equal keys
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

  static std::size_t guess(std::size_t low, std::size_t high, double share) {
    const auto ahead = static_cast<std::size_t>(static_cast<double>(high - low) * share);
    return low + std::min(ahead, high - low - 1);
  }
  // A key of the longest of what is left of the spans that are added.
  Key longest(double share) const {
    const Span* best = nullptr;
    for (const Span& span : spans_) {
      if (!span.adds || span.low == span.high) continue;
      if (best == nullptr || span.high - span.low > best->high - best->low) best = &span;
    }
    return best->keys[guess(best->low, best->high, share)];
  }

  const CountedTreeOf<Key>& base_;
  std::vector<Span> spans_;
  std::size_t size_;
};

}  // namespace slidefold::engine
