// A live window over in-order events: an algorithm, and the rule that says what leaves when.
#pragma once

#include "face.hpp"

namespace slidefold::bindings {

// What Python's windows/ decided: the rule in plain numbers.
struct Rule {
  bool timed = false;
  std::size_t rows = 0;      // rows windows
  bool datetimes = false;    // times are datetimes, in microseconds
  bool integral = true;      // the range is an integer
  std::int64_t range = 0;    // the time range, if integral
  double real_range = 0;     // the same as a float
  bool keeps_start = false;  // closed left or both: t - range itself is inside
  bool keeps_end = true;     // closed right or both: rows at t see each other
};

class Window {
 public:
  Window(std::unique_ptr<Face> face, const Rule& rule) : face_(std::move(face)), rule_(rule) {}
  Window(const Window& other)
      : face_(other.face_->clone()), rule_(other.rule_), clock_(other.clock_) {}
  Window(Window&&) = default;

  PyObject* push(PyObject* value);
  PyObject* push(PyObject* time, PyObject* value);
  PyObject* query() { return face_->query(); }
  Face& face() const { return *face_; }
  void advance(PyObject* time);
  std::size_t size() const { return face_->size(); }
  std::size_t bytes() const { return face_->bytes() + clock_.times.bytes(); }
  void check() const;

 private:
  // A point in time: an integer, or a float once a time or the range is one.
  union Time {
    std::int64_t integer;
    double real;
  };
  struct Clock {
    bool started = false;
    bool real = false;
    Time now{};
    Ring<Time> times;  // of the rows that the algorithm or its waiting room holds, oldest first
  };

  Time read(PyObject* time);
  void turn_real(PyObject* time);
  void turn_whole();
  // A step that fails leaves integer times integers.
  struct KeepKind {
    Window& window;
    bool real;
    bool done = false;
    explicit KeepKind(Window& w) : window(w), real(w.clock_.real) {}
    KeepKind(const KeepKind&) = delete;
    ~KeepKind() {
      if (!done && real != window.clock_.real) window.turn_whole();
    }
  };
  int compare(Time a, Time b) const;  // -1, 0, 1
  bool expired(Time row, Time end) const;
  std::size_t expired_by(Time end, std::size_t held) const;
  std::string shown(Time time) const;

  std::unique_ptr<Face> face_;
  Rule rule_;
  Clock clock_;
};

}  // namespace slidefold::bindings
