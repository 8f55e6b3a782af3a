// How often each value occurs: the number of different values, the most frequent ones, the entropy.
//
// Layout: a count per value; where the most frequent values are asked for, the values once more in
//   order of their counts. The entropy comes from the sum of c ln c over all counts c, which is
//   kept as a whole number of 2^-64: what enters and leaves again leaves no trace.
// Invariants: I1 counts are positive, and their sum is the size. I2 the sum of c ln c is that of
//   the counts. I3 if values are in order, each is there once, with its count.
// Cost: insert and erase O(1), or O(log values) in order; distinct and entropy O(1), the k most
//   frequent O(k).
// Paper: none: these have no associative combine that is smaller than the counts.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "slidefold/operator.hpp"

namespace slidefold {

__extension__ using Weight = __int128;

// c ln c in units of 2^-64.
inline Weight count_weight(std::uint64_t count) {
  if (count < 2) return 0;
  const auto c = static_cast<long double>(count);
  return static_cast<Weight>(std::round(c * std::log(c) * 0x1p64L));
}

// The entropy of n values, given the sum of the weights of their counts.
inline double entropy_of(Weight weights, std::uint64_t n, std::size_t distinct) {
  if (distinct < 2) return 0;
  const auto all = static_cast<long double>(n);
  return static_cast<double>(std::log(all) - static_cast<long double>(weights) * 0x1p-64L / all);
}

template <class K, class Hash = std::hash<K>>
class Tally {
 public:
  using Key = K;
  struct ByCount {
    bool operator()(const std::pair<std::uint64_t, Key>& a,
                    const std::pair<std::uint64_t, Key>& b) const {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    }
  };
  explicit Tally(bool ordered = false) : ordered_(ordered) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t distinct() const { return counts_.size(); }
  double entropy() const { return entropy_of(weights_, size_, counts_.size()); }
  Weight weights() const { return weights_; }
  std::uint64_t count(const Key& key) const {
    const auto found = counts_.find(key);
    return found == counts_.end() ? 0 : found->second;
  }
  std::size_t bytes() const {
    return counts_.size() * (sizeof(Key) + 32) + order_.size() * (sizeof(Key) + 48);
  }
  void clear() {
    counts_.clear();
    order_.clear();
    size_ = 0;
    weights_ = 0;
  }

  void insert(const Key& key) { change(key, 1); }
  bool erase(const Key& key) {
    if (counts_.find(key) == counts_.end()) return false;
    change(key, -1);
    return true;
  }

  // Calls visit(key, count) for the k most frequent values; of equally frequent ones the smallest
  // come first.
  template <class Visit>
  void most_frequent(std::size_t k, Visit&& visit) const {
    for (auto at = order_.begin(); at != order_.end() && k > 0; ++at, --k) {
      visit(at->second, at->first);
    }
  }
  // The counts and values in that order.
  const auto& by_count() const { return order_; }

  void check() const {
    std::uint64_t sum = 0;
    Weight weights = 0;
    for (const auto& [key, count] : counts_) {
      require(count > 0, "I1: a count is positive");
      sum += count;
      weights += count_weight(count);
      if (ordered_) require(order_.count({count, key}) == 1, "I3: a value is in order");
    }
    require(sum == size_, "I1: the size");
    require(weights == weights_, "I2: the sum of the weights");
    require(order_.size() == (ordered_ ? counts_.size() : 0), "I3: nothing else is in order");
  }

 private:
  void change(const Key& key, int by) {
    std::uint64_t& count = counts_[key];
    const std::uint64_t before = count, after = before + static_cast<std::uint64_t>(by);
    if (ordered_ && after > 0) order_.insert({after, key});
    if (ordered_ && before > 0) order_.erase({before, key});
    weights_ += count_weight(after) - count_weight(before);
    count = after;
    if (after == 0) counts_.erase(key);
    size_ += static_cast<std::size_t>(by);
  }

  bool ordered_;
  std::size_t size_ = 0;
  Weight weights_ = 0;
  std::unordered_map<Key, std::uint64_t, Hash> counts_;
  std::set<std::pair<std::uint64_t, Key>, ByCount> order_;
};

}  // namespace slidefold
