// Which rows of a window are null: they take their place, and add nothing to the fold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <utility>
#include <vector>

namespace slidefold::bindings {

// Flags exist only while there is a null among the rows, so that windows without nulls pay nothing.
class NullFlags {
 public:
  std::size_t count() const { return nulls_; }
  std::size_t bytes() const { return flags_.size(); }

  // How many of the oldest rows are null.
  std::size_t among_oldest(std::size_t rows) const {
    std::size_t found = 0;
    for (std::size_t i = 0; i < rows && i < flags_.size(); ++i) found += flags_[i] ? 1 : 0;
    return found;
  }
  void push(bool null, std::size_t rows_before) {
    if (!null && nulls_ == 0) return;
    if (nulls_ == 0) flags_.assign(rows_before, false);
    flags_.push_back(null);
    nulls_ += null ? 1 : 0;
  }
  void pop(std::size_t rows) {
    if (nulls_ == 0) return;
    nulls_ -= among_oldest(rows);
    flags_.erase(flags_.begin(), flags_.begin() + static_cast<std::ptrdiff_t>(rows));
    if (nulls_ == 0) flags_.clear();
  }

  // Whether these can be the flags of so many rows.
  bool fits(std::size_t rows) const { return nulls_ == 0 ? flags_.empty() : flags_.size() == rows; }

  template <class Archive>
  void archive(Archive& a) {
    std::vector<std::uint8_t> flags(flags_.begin(), flags_.end());
    a(flags);
    if constexpr (Archive::kLoading) {
      flags_.assign(flags.begin(), flags.end());
      nulls_ = among_oldest(flags_.size());
    }
  }

 private:
  std::deque<bool> flags_;  // oldest first
  std::size_t nulls_ = 0;
};

// The times that hold a value beside those that hold nothing but nulls. Filled in when the first
// null comes, so that trees without nulls pay nothing.
template <class Tick>
class ValuedTimes {
 public:
  bool watching() const { return watching_; }
  std::size_t bytes() const { return times_.size() * 5 * sizeof(Tick); }
  // Whether a fold of [since, until] has values; asked only while watching.
  bool any(Tick since, Tick until) const {
    const auto found = times_.lower_bound(since);
    return found != times_.end() && *found <= until;
  }
  bool any() const { return !times_.empty(); }
  bool holds(Tick time) const { return times_.contains(time); }

  // Before the first null: the tree calls add for each of its entries.
  template <class Fill>
  void watch(Fill&& fill) {
    if (!watching_) fill();
    watching_ = true;
  }
  void add(Tick time) { times_.insert(time); }
  void erase(Tick time) { times_.erase(time); }
  void erase_until(Tick until) { times_.erase(times_.begin(), times_.upper_bound(until)); }
  void stop() {
    watching_ = false;
    times_.clear();
  }
  template <class To>
  void retime(To&& to) {
    std::set<Tick> moved;
    for (const Tick time : times_) moved.insert(moved.end(), to(time));
    times_ = std::move(moved);
  }

  template <class Archive>
  void archive(Archive& a) {
    std::vector<Tick> times(times_.begin(), times_.end());
    a(watching_, times);
    if constexpr (Archive::kLoading) times_ = std::set<Tick>(times.begin(), times.end());
  }

 private:
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
