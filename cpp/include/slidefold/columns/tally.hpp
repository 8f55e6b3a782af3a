// How often values occur in the frames of a column, and where a value stands among them.
//
// Layout: values are codes, numbered from 0 in their order. A count per code; for the most frequent
//   codes a tree of the largest count below each node; for ranks a tree of sums (Fenwick).
// Invariants: the counts are those of the rows of the last frame.
// Cost: a row that enters or leaves O(1), or O(log codes) with a tree; frames that never go back
//   take two such steps per row of the column.
// Paper: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

#include "slidefold/storage/tally.hpp"

namespace slidefold {

// Moves a set of rows from frame to frame: calls enter(row) and leave(row).
template <class Set>
class FrameWalk {
 public:
  explicit FrameWalk(Set& set) : set_(set) {}

  void move(std::int64_t lo, std::int64_t hi) {
    if (hi < lo) hi = lo;
    if (lo >= hi_ || hi <= lo_) {  // nothing in common
      while (lo_ < hi_) set_.leave(lo_++);
      lo_ = hi_ = lo;
    }
    while (hi_ < hi) set_.enter(hi_++);
    while (lo_ > lo) set_.enter(--lo_);
    while (hi_ > hi) set_.leave(--hi_);
    while (lo_ < lo) set_.leave(lo_++);
  }

 private:
  Set& set_;
  std::int64_t lo_ = 0, hi_ = 0;
};

// The number of different values, and the entropy.
class CodeCounts {
 public:
  CodeCounts(const std::int32_t* codes, std::size_t distinct) : codes_(codes), counts_(distinct) {}

  void enter(std::int64_t row) {
    std::uint32_t& count = counts_[static_cast<std::size_t>(codes_[row])];
    weights_ += weight(count + 1) - weight(count);
    found_ += count == 0 ? 1 : 0;
    ++count;
    ++size_;
  }
  void leave(std::int64_t row) {
    std::uint32_t& count = counts_[static_cast<std::size_t>(codes_[row])];
    weights_ += weight(count - 1) - weight(count);
    --count;
    found_ -= count == 0 ? 1 : 0;
    --size_;
  }
  std::size_t size() const { return size_; }
  std::size_t distinct() const { return found_; }
  double entropy() const { return entropy_of(weights_, size_, found_); }
  void without_weights() { weighs_ = false; }

 private:
  Weight weight(std::uint32_t count) {
    if (!weighs_) return 0;
    while (known_.size() <= count) known_.push_back(count_weight(known_.size()));
    return known_[count];
  }
  const std::int32_t* codes_;
  std::vector<std::uint32_t> counts_;
  std::vector<Weight> known_;
  std::size_t found_ = 0, size_ = 0;
  Weight weights_ = 0;
  bool weighs_ = true;
};

// The most frequent values; of equally frequent ones the smallest come first.
class CodeModes {
 public:
  CodeModes(const std::int32_t* codes, std::size_t distinct) : codes_(codes) {
    while (leaves_ < distinct) leaves_ *= 2;
    most_.assign(2 * leaves_, 0);
  }
  void enter(std::int64_t row) { change(row, 1); }
  void leave(std::int64_t row) { change(row, -1); }
  bool empty() const { return most_[1] == 0; }

  std::int32_t mode() const { return leftmost(1); }
  // Calls visit(code, count) for the k most frequent codes.
  template <class Visit>
  void most_frequent(std::size_t k, Visit&& visit) {
    const auto later = [&](std::size_t a, std::size_t b) {
      return most_[a] != most_[b] ? most_[a] < most_[b] : first(a) > first(b);
    };
    std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> open(later);
    if (most_[1] > 0) open.push(1);
    while (k > 0 && !open.empty()) {
      const std::size_t node = open.top();
      open.pop();
      if (node >= leaves_) {
        visit(static_cast<std::int32_t>(node - leaves_), most_[node]);
        --k;
        continue;
      }
      for (const std::size_t child : {2 * node, 2 * node + 1}) {
        if (most_[child] > 0) open.push(child);
      }
    }
  }

 private:
  void change(std::int64_t row, int by) {
    std::size_t node = leaves_ + static_cast<std::size_t>(codes_[row]);
    most_[node] += static_cast<std::uint32_t>(by);
    for (node /= 2; node >= 1; node /= 2) {
      const std::uint32_t most = std::max(most_[2 * node], most_[2 * node + 1]);
      if (most_[node] == most) break;
      most_[node] = most;
    }
  }
  std::int32_t leftmost(std::size_t node) const {
    while (node < leaves_) node = most_[2 * node] == most_[node] ? 2 * node : 2 * node + 1;
    return static_cast<std::int32_t>(node - leaves_);
  }
  // The first code below a node: nodes of one count are taken from left to right.
  std::size_t first(std::size_t node) const {
    while (node < leaves_) node *= 2;
    return node;
  }
  const std::int32_t* codes_;
  std::size_t leaves_ = 1;
  std::vector<std::uint32_t> most_;
};

// How many values are smaller than one, and how many are equal.
class CodeRanks {
 public:
  CodeRanks(const std::int32_t* codes, std::size_t distinct)
      : codes_(codes), counts_(distinct), sums_(distinct + 1) {}
  void enter(std::int64_t row) { change(row, 1); }
  void leave(std::int64_t row) { change(row, -1); }
  std::size_t size() const { return size_; }
  // `code` may be the number of codes: larger than all.
  std::uint64_t below(std::size_t code) const {
    std::uint64_t sum = 0;
    for (std::size_t i = code; i > 0; i &= i - 1) sum += sums_[i];
    return sum;
  }
  std::uint64_t equal(std::size_t code) const { return code < counts_.size() ? counts_[code] : 0; }

 private:
  void change(std::int64_t row, int by) {
    const auto code = static_cast<std::size_t>(codes_[row]);
    counts_[code] += static_cast<std::uint32_t>(by);
    for (std::size_t i = code + 1; i < sums_.size(); i += i & (~i + 1)) {
      sums_[i] += static_cast<std::uint32_t>(by);
    }
    size_ += static_cast<std::size_t>(by);
  }
  const std::int32_t* codes_;
  std::vector<std::uint32_t> counts_, sums_;
  std::size_t size_ = 0;
};

}  // namespace slidefold
