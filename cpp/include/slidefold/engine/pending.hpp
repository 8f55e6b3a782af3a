// Rows that wait for the watermark, by time.
//
// Layout: sorted runs, the longest first, each less than half as long as the one before it; rows
//   leave a run in front.
// Invariants: I1 a run is sorted by time and number. I2 the rest of a run is more than twice as
//   long as the rest of the next, or was when that came. I3 size is the number of rows.
// Cost: a row O(log n) amortised, in moves from one array to another;
//   m rows that become final O(m + log n runs).
// Paper: none; runs that merge when they are of one size, as in a log-structured merge tree.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "slidefold/engine/keys.hpp"

namespace slidefold::engine {

struct Waiting {
  Time time;
  std::uint64_t number;  // in order of arrival
  Slot slot;

  friend bool operator<(const Waiting& a, const Waiting& b) {
    return a.time != b.time ? a.time < b.time : a.number < b.number;
  }
};

class Pending {
  struct Run {
    std::vector<Waiting> rows;
    std::size_t first;
    std::vector<Waiting>::const_iterator begin() const {
      return rows.begin() + static_cast<std::ptrdiff_t>(first);
    }
    std::vector<Waiting>::const_iterator end() const { return rows.end(); }
    std::size_t left() const { return rows.size() - first; }
  };

 public:
  std::size_t size() const { return size_; }
  std::size_t bytes() const {
    std::size_t total = runs_.capacity() * sizeof(Run);
    for (const Run& run : runs_) total += run.rows.capacity() * sizeof(Waiting);
    return total;
  }

  // Takes rows in any order.
  void add(std::vector<Waiting> rows) {
    if (rows.empty()) return;
    if (!std::is_sorted(rows.begin(), rows.end())) std::sort(rows.begin(), rows.end());
    size_ += rows.size();
    runs_.push_back({std::move(rows), 0});
    while (runs_.size() > 1 && runs_[runs_.size() - 2].left() <= 2 * runs_.back().left()) {
      Run newer = std::move(runs_.back());
      runs_.pop_back();
      Run& older = runs_.back();
      std::vector<Waiting> both(older.left() + newer.left());
      std::merge(older.begin(), older.end(), newer.begin(), newer.end(), both.begin());
      older = {std::move(both), 0};
    }
  }

  // Takes out the rows up to a watermark, in order.
  std::vector<Waiting> due(Time watermark) {
    std::vector<Waiting> found;
    for (Run& run : runs_) {
      const auto end =
          std::upper_bound(run.begin(), run.end(), watermark,
                           [](Time time, const Waiting& row) { return time < row.time; });
      const auto middle = static_cast<std::ptrdiff_t>(found.size());
      found.insert(found.end(), run.begin(), end);
      std::inplace_merge(found.begin(), found.begin() + middle, found.end());
      run.first = static_cast<std::size_t>(end - run.rows.begin());
    }
    size_ -= found.size();
    std::erase_if(runs_, [](const Run& run) { return run.left() == 0; });
    for (Run& run : runs_) {  // rows that have left give their room back
      if (2 * run.first < run.rows.size()) continue;
      run = {std::vector<Waiting>(run.begin(), run.end()), 0};
    }
    return found;
  }

  // The oldest time that waits; there must be one.
  Time oldest() const {
    Time time = std::numeric_limits<Time>::max();
    for (const Run& run : runs_) time = std::min(time, run.begin()->time);
    return time;
  }

  void check() const {
    std::size_t total = 0;
    for (const Run& run : runs_) {
      require(run.left() > 0, "pending: no run is empty");
      require(std::is_sorted(run.begin(), run.end()), "pending I1: a run is sorted");
      total += run.left();
    }
    require(total == size_, "pending I3: size is the number of rows");
  }

 private:
  std::vector<Run> runs_;
  std::size_t size_ = 0;
};

}  // namespace slidefold::engine
