#include "times.hpp"

#include <datetime.h>

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

}  // namespace

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
      fail("ValueTypeError", "expected a time in whole microseconds, got " + shown(time));
    }
    fail("ValueTypeError",
         "this window counts in durations, so it expected a datetime as time, got " + shown(time));
  }
  if (!PyDateTime_CheckExact(time)) {
    int finer = 0;  // pandas has nanoseconds, and none that are a number for NaT
    const nb::object nanosecond = nb::getattr(nb::handle(time), "nanosecond", nb::int_(0));
    if (!nb::try_cast<int>(nanosecond, finer) || finer != 0) {
      fail("ValueTypeError", "expected a time in whole microseconds, got " + shown(time));
    }
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

int compare_distance(double end, double row, double range) {
  const double rounded = end - row;
  if (rounded != range) return rounded < range ? -1 : 1;
  const double part = rounded - end;
  const double rest = (end - (rounded - part)) - (row + part);  // what rounding took away
  return rest < 0 ? -1 : rest > 0;
}

Span Span::from(PyObject* number) {
  Span span;
  span.integral = PyLong_Check(number);
  if (span.integral) span.whole = to_int64(number);
  span.real = PyFloat_AsDouble(number);
  return span;
}

void TimeAxis::require_number(PyObject* time) const {
  if (PyDateTimeAPI == nullptr) PyDateTime_IMPORT;
  if (!PyDateTime_Check(time) && !PyBool_Check(time)) return;
  fail("ValueTypeError", "expected a number as time, got " + bindings::shown(time));
}

double TimeAxis::finite(PyObject* time) {
  const double value = to_double(time);
  if (!std::isfinite(value)) {
    fail("ValueTypeError", "expected a finite time, got " + bindings::shown(time));
  }
  return value;
}

Tick TimeAxis::turned(Tick tick, PyObject* time) {
  if (!exact_in_double(tick)) {
    fail("ValueTypeError",
         "integer times beyond 2**53 do not mix with the float " + bindings::shown(time));
  }
  return tick_of(static_cast<double>(tick));
}

Tick TimeAxis::read_bound(PyObject* time, bool up) const {
  if (datetimes_) return microseconds(time);
  require_number(time);
  if (!PyFloat_Check(time) && PyIndex_Check(time) != 0) {
    const std::int64_t whole = to_int64(time);
    if (!real_) return whole;
    // The nearest float may lie on the other side of the integer.
    const auto near = static_cast<double>(whole);
    const Tick tick = tick_of(near);
    if (near == 0x1p63) return up ? tick : tick - 1;
    const auto back = static_cast<std::int64_t>(near);
    return up ? tick + (back < whole) : tick - (back > whole);
  }
  const double value = to_double(time);
  if (std::isnan(value)) fail("ValueTypeError", "expected a time, got " + bindings::shown(time));
  if (real_) return tick_of(value);
  const double whole = up ? std::ceil(value) : std::floor(value);
  if (whole >= 0x1p63) return kLastTick;
  if (whole < -0x1p63) return kFirstTick;
  return static_cast<Tick>(whole);
}

nb::object TimeAxis::time_of(Tick tick) const {
  if (real_) return nb::float_(real_of(tick));
  if (!datetimes_) return nb::int_(tick);
  nb::module_ datetime = nb::module_::import_("datetime");
  nb::object epoch = datetime.attr("datetime")(1970, 1, 1);
  nb::object since = datetime.attr("timedelta")(0, 0, tick);
  const nb::object date = nb::steal(PyNumber_Add(epoch.ptr(), since.ptr()));
  if (!date.is_valid()) throw nb::python_error();
  return date;
}

std::string TimeAxis::shown(Tick tick) const {
  if (real_) return nb::repr(nb::float_(real_of(tick))).c_str();
  if (!datetimes_) return std::to_string(tick);
  try {
    return nb::str(time_of(tick)).c_str();
  } catch (nb::python_error&) {  // beyond the year 9999
    return std::to_string(tick) + " microseconds after 1970";
  }
}

Tick TimeAxis::first_inside(Tick end, const Span& range, bool keeps_start) const {
  if (!real_) {
    const int128 start = static_cast<int128>(end) - range.whole + (keeps_start ? 0 : 1);
    return start < kFirstTick ? kFirstTick : static_cast<Tick>(start);
  }
  const double newest = real_of(end);
  if (!std::isfinite(newest)) return end;  // beyond all times: nothing but the end is inside
  const auto outside = [&](Tick tick) {
    const int distance = compare_distance(newest, real_of(tick), range.real);
    return keeps_start ? distance > 0 : distance >= 0;
  };
  Tick tick = tick_of(std::max(newest - range.real, std::numeric_limits<double>::lowest()));
  while (outside(tick)) ++tick;
  while (!outside(tick - 1)) --tick;
  return tick;
}

}  // namespace slidefold::bindings
