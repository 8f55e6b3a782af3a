// Times as Python gives them, and as ticks: 64-bit integers that sort as the times do.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "python.hpp"

namespace slidefold::bindings {

using Tick = std::int64_t;
inline constexpr Tick kFirstTick = std::numeric_limits<Tick>::min();
inline constexpr Tick kLastTick = std::numeric_limits<Tick>::max();

// A datetime, naive ones in UTC, or a numpy.datetime64 since 1970; whole microseconds only.
std::int64_t microseconds(PyObject* time);

// The last tick of a window that ends at `end`, and whether there is one at all: nothing lies
// before the first tick.
inline Tick last_inside(Tick end, bool keeps_end) {
  return keeps_end || end == kFirstTick ? end : end - 1;
}

// Whether a float64 holds an integer, and all smaller ones, exactly.
inline bool exact_in_double(std::int64_t value) {
  constexpr std::int64_t limit = std::int64_t{1} << 53;
  return -limit <= value && value <= limit;
}

// Compares end - row with range as real numbers: -1, 0 or 1. Rounded differences would put a row
// out of its own window where the range is smaller than the spacing of floats.
int compare_distance(double end, double row, double range);

// The bits of a float, turned so that they sort as integers. Its own inverse, but for -0.0.
inline Tick tick_of(double time) {
  const auto bits = std::bit_cast<std::int64_t>(time == 0 ? 0.0 : time);
  return bits ^ ((bits >> 63) & kLastTick);
}
inline double real_of(Tick tick) {
  return std::bit_cast<double>(tick ^ ((tick >> 63) & kLastTick));
}

// A length of time, as an integer where it is one.
struct Span {
  bool integral = true;
  std::int64_t whole = 0;
  double real = 0;
  static Span from(PyObject* number);
};

// How times become ticks: integers and datetimes are their own, floats by tick_of. Integers turn
// into floats with the first float that comes.
class TimeAxis {
 public:
  explicit TimeAxis(bool datetimes = false, bool real = false)
      : datetimes_(datetimes), real_(real) {}

  bool real() const { return real_; }

  // The tick of a time. `turn(to)` is called before the first float among integers is taken:
  // every tick held must become to(tick).
  template <class Turn>
  Tick read(PyObject* time, Turn&& turn) {
    if (PyLong_CheckExact(time) && !real_ && !datetimes_) return to_int64(time);
    return read_other(time, [&](auto&& to) { turn(to); });
  }
  // The tick of a time that is only asked about: the axis stays as it is. A float between two
  // integers is rounded up or down.
  Tick read_bound(PyObject* time, bool up) const;

  nb::object time_of(Tick tick) const;
  std::string shown(Tick tick) const;

  // The first tick of the window that ends at `end`; the tick of end - range is inside if
  // `keeps_start`.
  Tick first_inside(Tick end, const Span& range, bool keeps_start) const;

  // The kind of times. An axis that has to be real stays so.
  template <class Archive>
  void archive(Archive& a) {
    const bool must = real_;
    a(real_);
    expect((real_ || !must) && !(real_ && datetimes_), "times are of another kind");
  }
  // Whether a tick that was loaded stands for a time.
  bool holds(Tick tick) const { return !real_ || std::isfinite(real_of(tick)); }

  // Integer ticks to float ticks; a number that a float cannot hold is refused.
  static Tick turned(Tick tick, PyObject* time);

 private:
  void require_number(PyObject* time) const;
  static double finite(PyObject* time);

  template <class Turn>
  Tick read_other(PyObject* time, Turn&& turn) {
    if (datetimes_) return microseconds(time);
    require_number(time);
    const bool integer = !PyFloat_Check(time) && PyIndex_Check(time) != 0;
    if (integer && !real_) return to_int64(time);
    const double value = finite(time);
    if (integer && !exact_in_double(to_int64(time))) {
      fail("ValueTypeError",
           "expected a time that a float64 holds exactly, got " + bindings::shown(time));
    }
    if (!real_) {
      turn([&](Tick tick) { return turned(tick, time); });
      real_ = true;
    }
    return tick_of(value);
  }

  bool datetimes_;
  bool real_;
};

}  // namespace slidefold::bindings
