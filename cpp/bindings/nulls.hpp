// Which rows of a window are null: they take their place, and add nothing to the fold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "slidefold/storage/archive.hpp"

namespace slidefold::bindings {

// Flags exist only while there is a null among the rows, so that windows without nulls pay nothing.
class NullFlags {
 public:
  std::size_t count() const { return nulls_; }
  std::size_t bytes() const { return flags_.size(); }

  // How many of the oldest rows are null.
  std::size_t among_oldest(std::size_t rows) const { return nulls_ == 0 ? 0 : count_oldest(rows); }
  std::size_t among_youngest(std::size_t rows) const {
    return nulls_ == 0 ? 0 : nulls_ - among_oldest(flags_.size() - rows);
  }
  void push(bool null, std::size_t rows_before) {
    if (null || nulls_ > 0) note(null, rows_before);
  }
  void pop(std::size_t rows) {
    if (nulls_ > 0) forget(rows);
  }

  // Whether these can be the flags of so many rows.
  bool fits(std::size_t rows) const { return nulls_ == 0 ? flags_.empty() : flags_.size() == rows; }

  void archive(Saver& a);
  void archive(Loader& a);

 private:
  std::size_t count_oldest(std::size_t rows) const;
  void note(bool null, std::size_t rows_before);
  void forget(std::size_t rows);

  std::deque<bool> flags_;  // oldest first
  std::size_t nulls_ = 0;
};

// The times that hold a value beside those that hold nothing but nulls. Filled in when the first
// null comes, so that trees without nulls pay nothing.
class ValuedTimes {
 public:
  using Tick = std::int64_t;
  bool watching() const { return watching_; }
  std::size_t bytes() const { return times_.size() * 5 * sizeof(Tick); }
  // Whether a fold of [since, until] has values; asked only while watching.
  bool any(Tick since, Tick until) const { return watching_ && held(since, until); }
  bool any() const { return !times_.empty(); }
  bool holds(Tick time) const { return held(time, time); }

  // Before the first null: the tree calls add for each of its entries.
  template <class Fill>
  void watch(Fill&& fill) {
    if (!watching_) fill();
    watching_ = true;
  }
  void add(Tick time);
  void erase(Tick time) {
    if (watching_) drop(time);
  }
  void erase_until(Tick until) {
    if (watching_) drop_until(until);
  }
  void stop() {
    if (watching_) clear();
  }
  void retime(const std::function<Tick(Tick)>& to);

  void archive(Saver& a);
  void archive(Loader& a);

 private:
  bool held(Tick since, Tick until) const;
  void drop(Tick time);
  void drop_until(Tick until);
  void clear();

  bool watching_ = false;
  std::set<Tick> times_;
};

// How many values there are up to each row of a column, to tell windows of nothing but nulls.
class ValueCounts {
 public:
  template <class Columns>
  explicit ValueCounts(const Columns& columns) : before_(columns.rows() + 1) {
    for (std::size_t row = 0; row < columns.rows(); ++row) {
      before_[row + 1] = before_[row] + (columns.null(row) ? 0 : 1);
    }
  }
  bool any(std::size_t first, std::size_t end) const { return before_[end] > before_[first]; }

 private:
  std::vector<std::size_t> before_;
};

}  // namespace slidefold::bindings
