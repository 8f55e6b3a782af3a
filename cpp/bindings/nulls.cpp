#include "nulls.hpp"

namespace slidefold::bindings {

std::size_t NullFlags::count_oldest(std::size_t rows) const {
  std::size_t found = 0;
  for (std::size_t i = 0; i < rows && i < flags_.size(); ++i) found += flags_[i] ? 1 : 0;
  return found;
}

void NullFlags::note(bool null, std::size_t rows_before) {
  if (nulls_ == 0) flags_.assign(rows_before, false);
  flags_.push_back(null);
  nulls_ += null ? 1 : 0;
}

void NullFlags::forget(std::size_t rows) {
  nulls_ -= count_oldest(rows);
  flags_.erase(flags_.begin(), flags_.begin() + static_cast<std::ptrdiff_t>(rows));
  if (nulls_ == 0) flags_.clear();
}

void NullFlags::archive(Saver& a) {
  std::vector<std::uint8_t> flags(flags_.begin(), flags_.end());
  a(flags);
}

void NullFlags::archive(Loader& a) {
  std::vector<std::uint8_t> flags;
  a(flags);
  flags_.assign(flags.begin(), flags.end());
  nulls_ = count_oldest(flags_.size());
}

bool ValuedTimes::held(Tick since, Tick until) const {
  const auto found = times_.lower_bound(since);
  return found != times_.end() && *found <= until;
}

void ValuedTimes::add(Tick time) { times_.insert(time); }
void ValuedTimes::drop(Tick time) { times_.erase(time); }

void ValuedTimes::drop_until(Tick until) {
  times_.erase(times_.begin(), times_.upper_bound(until));
}

void ValuedTimes::clear() {
  watching_ = false;
  times_.clear();
}

void ValuedTimes::retime(const std::function<Tick(Tick)>& to) {
  std::set<Tick> moved;
  for (const Tick time : times_) moved.insert(moved.end(), to(time));
  times_ = std::move(moved);
}

void ValuedTimes::archive(Saver& a) {
  std::vector<Tick> times(times_.begin(), times_.end());
  a(watching_, times);
}

void ValuedTimes::archive(Loader& a) {
  std::vector<Tick> times;
  a(watching_, times);
  times_ = std::set<Tick>(times.begin(), times.end());
}

}  // namespace slidefold::bindings
