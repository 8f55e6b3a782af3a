#include "late_window.hpp"

#include <datetime.h>

#include <unordered_map>

#include "saved.hpp"

namespace slidefold::bindings {

Tick LateWindow::read(PyObject* time) {
  return axis_.read(time, [&](auto&& to) {
    Marks turned = marks_;
    if (marks_.started) {
      turned.end = to(marks_.end);
      if (marks_.bound != kFirstTick) turned.bound = to(marks_.bound);
      // The bound of an advance is the tick after it, which is nearer among floats.
      if (marks_.end < marks_.bound) turned.bound = turned.end + 1;
      if (marks_.gone) turned.gone = to(*marks_.gone);
    }
    tree_->retime(to);
    marks_ = turned;
  });
}

// Windows end at the bound or later, or where a query would end.
Tick LateWindow::first_kept(const Marks& marks) const {
  return axis_.first_inside(std::min(marks.bound, marks.end), rule_.range, rule_.keeps_start);
}

void LateWindow::note_gone(Marks& marks, Tick until) {
  if (!marks.gone || *marks.gone < until) marks.gone = until;
}

PyObject* LateWindow::push(PyObject*) {
  fail("ValueTypeError", "a time window takes push(time, value), got one argument");
}

PyObject* LateWindow::push(PyObject* time, PyObject* value) {
  const Tick now = read(time);
  if (marks_.started && now < marks_.bound) {
    if (rule_.raises) {
      fail("TimeOrderError", "the event at " + axis_.shown(now) + " is late: this window takes " +
                                 axis_.shown(marks_.bound) + " and later");
    }
    ++marks_.late;
    return Py_NewRef(Py_None);
  }
  Marks next = marks_;
  if (!marks_.started || marks_.end < now) {
    next.started = true;
    next.end = now;
    next.bound = std::max(marks_.bound, axis_.first_inside(now, rule_.lateness, true));
  }
  const Tick first = first_kept(next);
  if (tree_->size() > 0 && tree_->oldest() < first) note_gone(next, first - 1);
  PyObject* result = tree_->push(
      now, value, first, axis_.first_inside(now, rule_.range, rule_.keeps_start), last_inside(now));
  marks_ = next;
  return result;
}

PyObject* LateWindow::query() {
  if (!marks_.started) return tree_->query();
  const Tick since = axis_.first_inside(marks_.end, rule_.range, rule_.keeps_start);
  return tree_->query(since, last_inside(marks_.end));
}

// Refuses what would be answered without rows that have left.
PyObject* LateWindow::answer(Tick since, Tick until) const {
  if (marks_.gone && since <= *marks_.gone && since <= until) {
    fail("WindowError", "events at or before " + axis_.shown(*marks_.gone) +
                            " have left this window, so it cannot answer from " +
                            axis_.shown(since) + " on");
  }
  return tree_->query(since, until);
}

namespace {

// The duration of a timedelta in microseconds, if windows take it: from 0 to 292 years.
std::optional<std::int64_t> microseconds_of(PyObject* duration) {
  const std::int64_t days = PyDateTime_DELTA_GET_DAYS(duration);
  if (days < 0 || days >= 106751) return std::nullopt;
  const std::int64_t seconds = days * 86400 + PyDateTime_DELTA_GET_SECONDS(duration);
  const std::int64_t whole = seconds * 1'000'000 + PyDateTime_DELTA_GET_MICROSECONDS(duration);
  return whole > 0 ? std::optional(whole) : std::nullopt;
}

Span whole_span(std::int64_t steps) {
  return {.integral = true, .whole = steps, .real = static_cast<double>(steps)};
}

// Reads the plain ranges; all others, also invalid ones, are for Python to read.
std::optional<Span> plain_span(PyObject* range, bool datetimes) {
  if (datetimes) {
    if (PyDateTimeAPI == nullptr) PyDateTime_IMPORT;
    if (!PyDelta_CheckExact(range)) return std::nullopt;
    const std::optional<std::int64_t> whole = microseconds_of(range);
    return whole ? std::optional(whole_span(*whole)) : std::nullopt;
  }
  if (PyLong_CheckExact(range)) {
    int beyond = 0;
    const long long whole = PyLong_AsLongLongAndOverflow(range, &beyond);
    return beyond == 0 && whole > 0 ? std::optional(whole_span(whole)) : std::nullopt;
  }
  if (!PyFloat_Check(range)) return std::nullopt;
  const double real = PyFloat_AS_DOUBLE(range);
  if (!std::isfinite(real) || real <= 0) return std::nullopt;
  return Span{.integral = false, .whole = 0, .real = real};
}

// A range as Python's windows read it: a duration where times are datetimes, else a number.
Span read_span(PyObject* range, bool datetimes) {
  const nb::object window =
      nb::module_::import_("slidefold.definition.windows").attr("time")(nb::handle(range));
  if (datetimes != nb::cast<bool>(window.attr("datetimes"))) {
    fail("WindowError", std::string("this window counts in ") +
                            (datetimes ? "durations" : "numbers") +
                            ", got last=" + bindings::shown(range));
  }
  return Span::from(nb::object(window.attr("rule")()["range"]).ptr());
}

}  // namespace

Span LateWindow::length(PyObject* range) const {
  if (const std::optional<Span> plain = plain_span(range, rule_.datetimes)) return *plain;
  if (!rule_.datetimes || !PyUnicode_CheckExact(range)) return read_span(range, rule_.datetimes);
  // A program has few texts of durations, and each is parsed once.
  static std::unordered_map<std::string, Span> known;
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(range, &size);
  if (text == nullptr) {  // a lone surrogate: Python says what is wrong with it
    PyErr_Clear();
    return read_span(range, true);
  }
  const std::string key(text, static_cast<std::size_t>(size));
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const Span span = read_span(range, true);
  if (known.size() >= 256) known.clear();
  known.emplace(key, span);
  return span;
}

PyObject* LateWindow::query_last(PyObject* range) {
  if (!marks_.started) return tree_->query();
  Span span = length(range);
  if (!axis_.real() &&
      !span.integral) {  // among integers, the rows in (t-2.5, t] are those in (t-3, t]
    span.whole = static_cast<std::int64_t>(
        std::min(rule_.keeps_start ? std::floor(span.real) : std::ceil(span.real), 0x1p62));
  }
  return answer(axis_.first_inside(marks_.end, span, rule_.keeps_start), last_inside(marks_.end));
}

PyObject* LateWindow::query_range(PyObject* since, PyObject* until) {
  const Tick first = axis_.read_bound(since, true), last = axis_.read_bound(until, false);
  const int after = PyObject_RichCompareBool(since, until, Py_GT);
  if (after < 0) throw nb::python_error();
  if (after == 1) {
    fail("WindowError",
         "since is after until: " + bindings::shown(since) + " > " + bindings::shown(until));
  }
  return answer(first, last);
}

bool LateWindow::evict(PyObject* time) {
  const Tick first = axis_.read_bound(time, true), last = axis_.read_bound(time, false);
  return first == last && tree_->evict(first);
}

void LateWindow::advance(PyObject* time) {
  const Tick now = read(time);
  if (marks_.started && now < marks_.bound) return;
  Marks next = marks_;
  next.end = marks_.started ? std::max(marks_.end, now) : now;
  next.started = true;
  next.bound = now == kLastTick ? now : now + 1;
  const Tick first = first_kept(next);
  if (tree_->size() > 0 && tree_->oldest() < first) {
    note_gone(next, first - 1);
    tree_->bulk_evict(first - 1);
  }
  marks_ = next;
}

template <class Archive>
void LateWindow::archive_marks(Archive& a) {
  a(axis_, marks_.started, marks_.end, marks_.bound);
  a.count(marks_.late);
  bool any = marks_.gone.has_value();
  a(any);
  if constexpr (Archive::kLoading) marks_.gone = any ? std::optional<Tick>(0) : std::nullopt;
  if (any) a(*marks_.gone);
}

void LateWindow::save(Saver& a) {
  archive_marks(a);
  save_face(a, *tree_);
}

void LateWindow::load(Loader& a) {
  archive_marks(a);
  load_face(a, *tree_);
  expect_times(axis_, *tree_);
  // The bound of an advance may be the tick after the last finite one.
  const auto& [started, end, bound, gone, late] = marks_;
  expect(started ? axis_.holds(end) && axis_.holds(std::min(bound, end))
                 : end == 0 && bound == kFirstTick && !gone,
         "the window's end is not a time");
  check();
}

void LateWindow::check() const {
  tree_->check();
  require(marks_.late >= 0, "L0: the number of late events is not negative");
  require(marks_.bound <= marks_.end || marks_.bound - 1 == marks_.end,
          "L3: the bound is at most one tick after the end");
  if (tree_->size() == 0) return;
  require(marks_.started, "L2: a window with entries has an end");
  require(tree_->oldest() >= first_kept(marks_), "L1: nothing is kept that no window needs");
  require(tree_->youngest() <= marks_.end, "L2: no entry is newer than the window's end");
}

}  // namespace slidefold::bindings
