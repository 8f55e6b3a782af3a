// A time window that takes late events: a tree by time, and the bounds that say what is too late.
//
// Layout: a tree; the window's end, the first time that is still taken, the newest time that left.
// Invariants: L1 the tree holds no tick before first_kept(). L2 nothing in it is newer than end_.
//   L3 the bound never goes back, and is at most one tick after the end.
// Cost: that of the tree: a push amortised O(log d), an answer that covers all O(1), else O(log d).
// Paper: fiba-out-of-order; the window rules are slidefold's own.
#pragma once

#include <optional>

#include "tree_face.hpp"
#include "window.hpp"

namespace slidefold::bindings {

class LateWindow final : public LiveWindow {
 public:
  LateWindow(TreePtr tree, const Rule& rule)
      : tree_(std::move(tree)),
        rule_(rule),
        axis_(rule.datetimes, !rule.range.integral || !rule.lateness.integral) {}
  LateWindow(const LateWindow& other)
      : LiveWindow(),
        tree_(other.tree_->clone()),
        rule_(other.rule_),
        axis_(other.axis_),
        marks_(other.marks_) {}

  std::unique_ptr<LiveWindow> clone() const override { return std::make_unique<LateWindow>(*this); }
  void visit_objects(ObjectVisitor& visitor) const override { tree_->visit_objects(visitor); }
  PyObject* push(PyObject* value) override;
  PyObject* push(PyObject* time, PyObject* value) override;
  PyObject* query() override;
  PyObject* query_last(PyObject* range) override;
  PyObject* query_range(PyObject* since, PyObject* until) override;
  bool evict(PyObject* time) override;
  void advance(PyObject* time) override;
  std::int64_t late() const override { return marks_.late; }
  std::size_t size() const override { return tree_->size(); }
  std::size_t bytes() const override { return tree_->bytes(); }
  void check() const override;
  void save(Saver& a) override;
  void load(Loader& a) override;

 private:
  struct Marks {
    bool started = false;
    Tick end = 0;              // the newest time, or where advance() moved it
    Tick bound = kFirstTick;   // events before it are late
    std::optional<Tick> gone;  // no entry up to here is sure to be there still
    std::int64_t late = 0;
  };

  Tick read(PyObject* time);
  Span length(PyObject* range) const;
  Tick first_kept(const Marks& marks) const;
  Tick last_inside(Tick end) const { return bindings::last_inside(end, rule_.keeps_end); }
  PyObject* answer(Tick since, Tick until) const;
  static void note_gone(Marks& marks, Tick until);
  template <class Archive>
  void archive_marks(Archive& a);

  TreePtr tree_;
  Rule rule_;
  TimeAxis axis_;
  Marks marks_;
};

}  // namespace slidefold::bindings
