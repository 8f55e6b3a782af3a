#include "window.hpp"

#include <datetime.h>

#include <cmath>

namespace slidefold::bindings {
namespace {

// Days from 1970-01-01 to a civil date.
std::int64_t days_from_civil(std::int64_t year, unsigned month, unsigned day) {
  year -= month <= 2;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const auto of_era = static_cast<unsigned>(year - era * 400);
  const unsigned of_year = (153 * (month + (month > 2 ? -3u : 9u)) + 2) / 5 + day - 1;
  const unsigned day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
  return era * 146097 + static_cast<std::int64_t>(day_of_era) - 719468;
}

constexpr std::int64_t kSecond = 1'000'000;

std::int64_t microseconds(PyObject* time) {
  if (PyDateTimeAPI == nullptr) PyDateTime_IMPORT;
  if (!PyDateTime_Check(time)) {
    nb::handle object(time);
    if (nb::hasattr(object, "astype") && nb::hasattr(object, "dtype") &&
        nb::cast<std::string>(object.attr("dtype").attr("kind")) == "M") {
      nb::object whole = object.attr("astype")("datetime64[us]");
      if (whole.attr("astype")(object.attr("dtype")).equal(object)) {
        return to_int64(whole.attr("astype")("int64").ptr());
      }
      fail("ValueTypeError", "a time in whole microseconds is due, got " + shown(time));
    }
    fail("ValueTypeError",
         "this window counts in durations, so a datetime is due as time, got " + shown(time));
  }
  int finer = 0;  // pandas has nanoseconds, and none that are a number for NaT
  const nb::object nanosecond = nb::getattr(nb::handle(time), "nanosecond", nb::int_(0));
  if (!nb::try_cast<int>(nanosecond, finer) || finer != 0) {
    fail("ValueTypeError", "a time in whole microseconds is due, got " + shown(time));
  }
  const std::int64_t days =
      days_from_civil(PyDateTime_GET_YEAR(time), static_cast<unsigned>(PyDateTime_GET_MONTH(time)),
                      static_cast<unsigned>(PyDateTime_GET_DAY(time)));
  std::int64_t seconds = days * 86400 + PyDateTime_DATE_GET_HOUR(time) * 3600 +
                         PyDateTime_DATE_GET_MINUTE(time) * 60 + PyDateTime_DATE_GET_SECOND(time);
  std::int64_t result = seconds * kSecond + PyDateTime_DATE_GET_MICROSECOND(time);
  PyObject* zone = PyDateTime_DATE_GET_TZINFO(time);
  if (zone != Py_None && zone != PyDateTime_TimeZone_UTC) {  // naive means UTC
    const nb::object offset = nb::handle(time).attr("utcoffset")();
    if (!offset.is_none()) {
      result -= (static_cast<std::int64_t>(PyDateTime_DELTA_GET_DAYS(offset.ptr())) * 86400 +
                 PyDateTime_DELTA_GET_SECONDS(offset.ptr())) *
                    kSecond +
                PyDateTime_DELTA_GET_MICROSECONDS(offset.ptr());
    }
  }
  return result;
}

bool exact_in_double(std::int64_t value) {
  constexpr std::int64_t limit = std::int64_t{1} << 53;
  return -limit <= value && value <= limit;
}

// Compares end - row with range as real numbers: -1, 0 or 1. Rounded differences would put a row
// out of its own window where the range is smaller than the spacing of floats.
int compare_distance(double end, double row, double range) {
  const double rounded = end - row;
  if (rounded != range) return rounded < range ? -1 : 1;
  const double part = rounded - end;
  const double rest = (end - (rounded - part)) - (row + part);  // what rounding took away
  return rest < 0 ? -1 : rest > 0;
}

}  // namespace

Window::Time Window::read(PyObject* time) {
  if (rule_.datetimes) return {.integer = microseconds(time)};
  if (PyDateTimeAPI == nullptr) PyDateTime_IMPORT;
  if (PyDateTime_Check(time) || PyBool_Check(time)) {
    fail("ValueTypeError",
         "this window counts in numbers, so a number is due as time, got " + bindings::shown(time));
  }
  const bool integer = PyLong_Check(time) || (!PyFloat_Check(time) && PyIndex_Check(time));
  if (!clock_.real && integer && rule_.integral) return {.integer = to_int64(time)};
  const double real = to_double(time);
  if (!std::isfinite(real)) {
    fail("ValueTypeError", "a finite time is due, got " + bindings::shown(time));
  }
  if (integer && !exact_in_double(to_int64(time))) {
    fail("ValueTypeError",
         "a time that a float64 holds exactly is due, got " + bindings::shown(time));
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
    const int distance = compare_distance(end.real, row.real, rule_.real_range);
    return rule_.keeps_start ? distance > 0 : distance >= 0;
  }
  const int128 start = static_cast<int128>(end.integer) - rule_.range;
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
  nb::module_ datetime = nb::module_::import_("datetime");
  nb::object epoch = datetime.attr("datetime")(1970, 1, 1);
  nb::object since = datetime.attr("timedelta")(0, 0, time.integer);
  const nb::object date = nb::steal(PyNumber_Add(epoch.ptr(), since.ptr()));
  if (date.is_valid()) return nb::str(nb::handle(date)).c_str();
  PyErr_Clear();  // beyond the year 9999
  return std::to_string(time.integer) + " microseconds after 1970";
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

void Window::check() const {
  face_->check();
  if (!rule_.timed) {
    require(face_->size() <= rule_.rows, "W1: a rows window holds at most its rows");
    return;
  }
  const auto& times = clock_.times;
  require(times.size() == face_->size() + face_->waiting(), "W2: every row has its time");
  for (auto at = times.first(); at != times.last(); ++at) {
    require(compare(times[at], clock_.now) <= 0, "W3: no row is newer than the window's end");
    require(!expired(times[at], clock_.now), "W4: no row is older than the window's start");
    if (at != times.first()) require(compare(times[at - 1], times[at]) <= 0, "W5: in time order");
  }
}

}  // namespace slidefold::bindings
