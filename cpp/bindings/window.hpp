// Live windows: an algorithm, and the rule that says what leaves when.
#pragma once

#include "face.hpp"
#include "times.hpp"

namespace slidefold::bindings {

// What Python's windows/ decided: the rule in plain numbers.
struct Rule {
  bool timed = false;
  std::size_t rows = 0;      // rows windows
  bool datetimes = false;    // times are datetimes, in microseconds
  Span range;                // time windows
  bool keeps_start = false;  // closed left or both: t - range itself is inside
  bool keeps_end = true;     // closed right or both: rows at t see each other
  Span lateness;             // late windows: how far behind the newest time an event may be
  bool raises = false;       // late windows: what is later than that is an error, not dropped
};

Rule rule_from(nb::dict description);

// What both kinds of window do. Methods that return an object return a new reference.
class LiveWindow {
 public:
  virtual ~LiveWindow() = default;
  virtual std::unique_ptr<LiveWindow> clone() const = 0;
  virtual void visit_objects(ObjectVisitor& visitor) const = 0;
  virtual PyObject* push(PyObject* value) = 0;
  virtual PyObject* push(PyObject* time, PyObject* value) = 0;
  virtual PyObject* query() = 0;
  virtual void advance(PyObject* time) = 0;
  virtual std::size_t size() const = 0;
  virtual std::size_t bytes() const = 0;
  virtual void check() const = 0;
  virtual void save(Saver& a) = 0;
  virtual void load(Loader& a) = 0;  // into a window made alike; checks what it has loaded

  // Late windows only.
  virtual PyObject* query_last(PyObject*) { only_late("query(last=)"); }
  virtual PyObject* query_range(PyObject*, PyObject*) { only_late("query(since, until)"); }
  virtual bool evict(PyObject*) { only_late("evict(time)"); }
  virtual std::int64_t late() const { return 0; }

 private:
  [[noreturn]] static void only_late(const char* what) {
    fail("WindowError", std::string(what) + " needs a time window that was made with lateness=");
  }
};

// A window over events in order.
class Window final : public LiveWindow {
 public:
  Window(std::unique_ptr<Face> face, const Rule& rule) : face_(std::move(face)), rule_(rule) {}
  Window(const Window& other)
      : LiveWindow(), face_(other.face_->clone()), rule_(other.rule_), clock_(other.clock_) {}

  std::unique_ptr<LiveWindow> clone() const override { return std::make_unique<Window>(*this); }
  void visit_objects(ObjectVisitor& visitor) const override { face_->visit_objects(visitor); }
  PyObject* push(PyObject* value) override;
  PyObject* push(PyObject* time, PyObject* value) override;
  PyObject* query() override { return face_->query(); }
  void advance(PyObject* time) override;
  std::size_t size() const override { return face_->size(); }
  std::size_t bytes() const override { return face_->bytes() + clock_.times.bytes(); }
  void check() const override;
  void save(Saver& a) override;
  void load(Loader& a) override;

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
  template <class Archive>
  void archive_clock(Archive& a);

  std::unique_ptr<Face> face_;
  Rule rule_;
  Clock clock_;
};

}  // namespace slidefold::bindings
