// Where windows end if not at rows: at multiples of a time, or at the start of local days.
//
// Layout: plain values, made once from a definition.
// Invariants: none.
// Cost: O(1), with local days O(log days).
// Paper: none.
#pragma once

#include <optional>

#include "slidefold/engine/rules.hpp"
#include "slidefold/operators/arithmetic.hpp"

namespace slidefold::engine {

// The rows that a window holds at an end: from end - far, or some local days before it, to
// end - near.
struct Held {
  Time far = 0, near = 0;
  std::size_t back = 0;  // days; 0 if it does not count them
  bool open = false;     // whether it leaves out the start of the first of these days
};

// Where windows end if not at rows: at multiples of a step. The largest windows at an end hold rows
// from end - far to end - near.
struct Grid {
  Time step = 1, shift = 0, far = 0, near = 0;
  std::vector<Held> largest;  // of which one must hold a row
  // Local days instead: ends are at the start of every n-th one.
  std::shared_ptr<const Days> days = nullptr;
  std::size_t every_days = 1, first_day = 0;
  std::size_t back = 0;  // how many days the largest window holds; 0 if it does not count days
  bool fill = false;     // ends without rows between others have results too

  // Where the largest window starts at an end.
  Time low(Time end) const { return back > 0 ? days->back(end, back) : before(end, far); }
  Time low(Time end, const Held& held) const {
    if (held.back == 0) return before(end, held.far);
    return days->back(end, held.back) + (held.open ? 1 : 0);
  }

  // The first day from one on that begins at an end.
  std::size_t end_day(std::size_t day) const {
    day = std::max(day, first_day);
    return day + (every_days - (day - first_day) % every_days) % every_days;
  }
  // The first end that is not before a time; nothing if it does not fit.
  std::optional<Time> from(Time t) const {
    if (days != nullptr) {
      const std::size_t day = end_day(days->from(t));
      if (day >= days->starts.size()) return std::nullopt;
      return days->starts[day];
    }
    const int128 ahead = static_cast<int128>(t) - shift;
    int128 steps = ahead / step;
    if (steps * step < ahead) ++steps;
    const int128 end = steps * step + shift;
    if (end > kNewest) return std::nullopt;
    return static_cast<Time>(end);
  }
};

}  // namespace slidefold::engine
