#include "window.hpp"

#include <datetime.h>

#include <cmath>

#include "saved.hpp"

namespace slidefold::bindings {

Window::Time Window::read(PyObject* time) {
  if (rule_.datetimes) return {.integer = microseconds(time)};
  if (PyDateTimeAPI == nullptr) PyDateTime_IMPORT;
  if (PyDateTime_Check(time) || PyBool_Check(time)) {
    fail("ValueTypeError", "this window counts in numbers, so it expected a number as time, got " +
                               bindings::shown(time));
  }
  const bool integer = PyLong_Check(time) || (!PyFloat_Check(time) && PyIndex_Check(time));
  if (!clock_.real && integer && rule_.range.integral) return {.integer = to_int64(time)};
  const double real = to_double(time);
  if (!std::isfinite(real)) {
    fail("ValueTypeError", "expected a finite time, got " + bindings::shown(time));
  }
  if (integer && !exact_in_double(to_int64(time))) {
    fail("ValueTypeError",
         "expected a time that a float64 holds exactly, got " + bindings::shown(time));
  }
  if (!clock_.real) turn_real(time);
  return {.real = real};
}

// The first float among integer times: all of them become floats, if that loses nothing.
void Window::turn_real(PyObject* time) {
  auto& times = clock_.times;
  const auto check = [&](std::int64_t value) {
    if (!exact_in_double(value)) {
      fail("ValueTypeError",
           "integer times beyond 2**53 do not mix with the float " + bindings::shown(time));
    }
  };
  if (clock_.started) check(clock_.now.integer);
  for (auto at = times.first(); at != times.last(); ++at) check(times[at].integer);
  for (auto at = times.first(); at != times.last(); ++at) {
    times.set(at, {.real = static_cast<double>(times[at].integer)});
  }
  if (clock_.started) clock_.now.real = static_cast<double>(clock_.now.integer);
  clock_.real = true;
}

// Takes turn_real back, which has lost nothing.
void Window::turn_whole() {
  auto& times = clock_.times;
  for (auto at = times.first(); at != times.last(); ++at) {
    times.set(at, {.integer = static_cast<std::int64_t>(times[at].real)});
  }
  if (clock_.started) clock_.now.integer = static_cast<std::int64_t>(clock_.now.real);
  clock_.real = false;
}

int Window::compare(Time a, Time b) const {
  if (clock_.real) return a.real < b.real ? -1 : a.real > b.real;
  return a.integer < b.integer ? -1 : a.integer > b.integer;
}

// Whether a row lies before the start of the window that ends at `end`.
bool Window::expired(Time row, Time end) const {
  if (clock_.real) {
    const int distance = compare_distance(end.real, row.real, rule_.range.real);
    return rule_.keeps_start ? distance > 0 : distance >= 0;
  }
  const int128 start = static_cast<int128>(end.integer) - rule_.range.whole;
  return rule_.keeps_start ? row.integer < start : row.integer <= start;
}

// How many of the oldest `held` rows leave when the window ends at `end`.
std::size_t Window::expired_by(Time end, std::size_t held) const {
  const auto& times = clock_.times;
  std::size_t count = 0;
  while (count < held && expired(times[times.at(count)], end)) ++count;
  return count;
}

std::string Window::shown(Time time) const {
  if (clock_.real) return nb::repr(nb::float_(time.real)).c_str();
  if (!rule_.datetimes) return std::to_string(time.integer);
  return TimeAxis(true).shown(time.integer);
}

PyObject* Window::push(PyObject* value) {
  if (rule_.timed)
    fail("ValueTypeError", "a time window takes push(time, value), got one argument");
  if (rule_.keeps_end) return face_->push(value, face_->size() == rule_.rows);
  const bool overfull = face_->size() + face_->waiting() > rule_.rows;
  return face_->push_behind(value, true, overfull);
}

PyObject* Window::push(PyObject* time, PyObject* value) {
  if (!rule_.timed) fail("ValueTypeError", "a rows window takes push(value), got two arguments");
  KeepKind kind(*this);
  const Time now = read(time);
  const int step = clock_.started ? compare(now, clock_.now) : 1;
  if (step < 0) {
    fail("TimeOrderError", "time went backwards, from " + shown(clock_.now) + " to " + shown(now) +
                               ": this window takes events in order");
  }
  PyObject* result = nullptr;
  std::size_t leaving = 0;
  if (rule_.keeps_end) {
    leaving = expired_by(now, face_->size());
    result = face_->push(value, leaving);
  } else {
    const bool moved = step > 0;  // rows of the time before may be seen now
    leaving = expired_by(now, face_->size() + (moved ? face_->waiting() : 0));
    result = face_->push_behind(value, moved, leaving);
  }
  for (std::size_t i = 0; i < leaving; ++i) clock_.times.pop_front();
  clock_.times.push_back(now);
  clock_.now = now;
  clock_.started = true;
  kind.done = true;
  return result;
}

void Window::advance(PyObject* time) {
  if (!rule_.timed) fail("ValueTypeError", "a rows window has no time to advance");
  KeepKind kind(*this);
  const Time now = read(time);
  if (clock_.started && compare(now, clock_.now) <= 0) return;
  const std::size_t leaving = expired_by(now, clock_.times.size());
  face_->move_on(!rule_.keeps_end, leaving);
  for (std::size_t i = 0; i < leaving; ++i) clock_.times.pop_front();
  clock_.now = now;
  clock_.started = true;
  kind.done = true;
}

template <class Archive>
void Window::archive_clock(Archive& a) {
  const auto visit = [&](auto& time) {
    if (!clock_.real) return a(time.integer);
    a(time.real);
    expect(std::isfinite(time.real), "a time is not finite");
  };
  a(clock_.started, clock_.real);
  if (clock_.started) visit(clock_.now);
  clock_.times.archive(a, visit);
}

void Window::save(Saver& a) {
  save_face(a, *face_);
  archive_clock(a);
}

void Window::load(Loader& a) {
  load_face(a, *face_);
  archive_clock(a);
  const auto& [started, real, now, times] = clock_;
  expect(rule_.timed || !started, "a rows window has a time");
  expect(started ? real || rule_.range.integral : times.empty() && !real,
         "times without a beginning");
  expect(!real || !rule_.datetimes, "a datetime is not in whole microseconds");
  check();
}

void Window::check() const {
  face_->check();
  const std::size_t waiting = face_->waiting();
  if (!rule_.timed) {
    require(face_->size() <= rule_.rows, "W1: a rows window holds at most its rows");
    require(waiting <= std::size_t{rule_.keeps_end ? 0u : 1u}, "W6: only the newest row waits");
    return;
  }
  const auto& times = clock_.times;
  require(waiting == 0 || !rule_.keeps_end, "W6: a window that includes its end lets no row wait");
  require(times.size() == face_->size() + waiting, "W2: every row has its time");
  for (auto at = times.first(); at != times.last(); ++at) {
    require(compare(times[at], clock_.now) <= 0, "W3: no row is newer than the window's end");
    require(!expired(times[at], clock_.now), "W4: no row is older than the window's start");
    if (at != times.first()) require(compare(times[at - 1], times[at]) <= 0, "W5: in time order");
    const bool waits = times.rank(at) >= face_->size();
    require(!waits || compare(times[at], clock_.now) == 0, "W6: only rows of the end wait");
  }
}

}  // namespace slidefold::bindings
