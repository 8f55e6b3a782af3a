// Keyed windows over one operator, behind one virtual interface. Keys are slots, times are ticks.
#pragma once

#include <functional>
#include <optional>
#include <type_traits>

#include "registry.hpp"
#include "slidefold/algorithms/keyed_windows.hpp"
#include "times.hpp"

namespace slidefold::bindings {

// What a batch asks: the bounds of a row's window, and what leaves afterwards.
struct Bounds {
  std::function<Tick(Tick)> since, until;
};

struct KeyedFace;
using KeyedPtr = std::unique_ptr<KeyedFace>;

struct KeyedFace {
  virtual ~KeyedFace() = default;
  virtual std::unique_ptr<KeyedFace> clone() const = 0;
  virtual std::uint64_t entries() const = 0;
  virtual std::size_t stores() const = 0;
  virtual std::size_t bytes() const = 0;
  virtual void check() const = 0;
  virtual void visit_objects(ObjectVisitor& visitor) const = 0;
  virtual bool empty(Slot slot) const = 0;

  // Inserts and answers; (results, valid) with one item a row. `inserted` tells which rows go in,
  // all if it is null; `first` is what is kept, of all keys in turn; `emptied` lists the keys that
  // hold nothing any more.
  virtual nb::object push(const std::vector<Slot>& slots, const std::vector<Tick>& times,
                          nb::handle values, const bool* inserted, const Bounds& bounds, Tick first,
                          std::vector<Slot>& emptied) = 0;
  virtual PyObject* query(Slot slot, Tick since, Tick until) = 0;
  virtual bool evict_at(Slot slot, Tick time) = 0;
  virtual void sweep(Tick first, std::vector<Slot>& emptied) = 0;
  virtual std::pair<Tick, Tick> ends(Slot slot) const = 0;  // of a key that holds something
  virtual void save(Saver& a, Slot slot) = 0;
  virtual void load(Loader& a, Slot slot) = 0;
  virtual KeyedPtr fresh() const = 0;  // another one without keys
  // Gives the keys other slots: that of slot s is moved[s] from now on.
  virtual void renumber(const std::vector<Slot>& moved) = 0;
};

template <class Op>
class KeyedFaceOf final : public KeyedFace {
  using State = typename Op::State;

 public:
  explicit KeyedFaceOf(const Op& op) : op_(op), windows_(op) {
    if constexpr (kMeasured) magnitudes_.emplace(0);
  }

  KeyedPtr clone() const override { return std::make_unique<KeyedFaceOf>(*this); }
  std::uint64_t entries() const override { return windows_.entries(); }
  std::size_t stores() const override { return windows_.stores(); }
  std::size_t bytes() const override { return windows_.bytes(); }
  void check() const override { windows_.check(); }
  void visit_objects(ObjectVisitor& visitor) const override {
    visit_states(op_, visitor, [&](const auto& visit) { windows_.for_states(visit); });
  }
  void renumber(const std::vector<Slot>& moved) override { windows_.renumber(moved); }
  bool empty(Slot slot) const override { return windows_.empty(slot); }

  nb::object push(const std::vector<Slot>& slots, const std::vector<Tick>& times, nb::handle values,
                  const bool* inserted, const Bounds& bounds, Tick first,
                  std::vector<Slot>& emptied) override {
    Columns<Op> columns(op_, values);
    if (columns.rows() != times.size()) {
      fail("ValueTypeError", "times and values differ in length: " + std::to_string(times.size()) +
                                 " and " + std::to_string(columns.rows()));
    }
    columns.refuse_nulls();
    nb::object valid = nb::module_::import_("numpy").attr("zeros")(times.size(), "bool");
    bool* const flags = nb::cast<nb::ndarray<bool, nb::ndim<1>, nb::c_contig>>(valid).data();
    const auto run = [&] {
      windows_.push(
          slots, times,
          [inserted](std::size_t row) { return inserted == nullptr || inserted[row]; },
          [&](std::size_t row) { return columns.lift(row); }, bounds.since, bounds.until,
          [&](std::size_t row, const State& state, bool empty) {
            flags[row] = columns.lower_or_blank(row, state, empty);
          });
      // Each key is looked at again after as many rows as there are keys.
      windows_.evict(first, 1 + times.size(), [&](Slot slot) { emptied.push_back(slot); });
    };
    if (columns.needs_gil()) {
      if constexpr (kMeasured) magnitudes_.reset();
      stoppable(times.size(), [&] { guarded(run); }, run);
    } else {
      const nb::gil_scoped_release without_gil;
      const bool fits = surely_fits(columns);
      stoppable(times.size(), [&] { fits ? run() : guarded(run); }, run);
    }
    for (std::size_t row = 0; row < slots.size(); ++row) {
      if (slots[row] == kNoSlot) columns.blank(row);
    }
    return nb::make_tuple(columns.finish(), valid);
  }

  PyObject* query(Slot slot, Tick since, Tick until) override {
    const auto [state, any] = windows_.query(slot, since, until);
    return Port<Op>::lower(op_, state, !any);
  }
  bool evict_at(Slot slot, Tick time) override {
    return guarded([&] { return windows_.evict_at(slot, time); });
  }
  std::pair<Tick, Tick> ends(Slot slot) const override { return windows_.ends(slot); }
  void save(Saver& a, Slot slot) override { windows_.archive(a, slot); }
  void load(Loader& a, Slot slot) override {
    if constexpr (kMeasured) magnitudes_.reset();
    windows_.archive(a, slot);
  }
  KeyedPtr fresh() const override { return std::make_unique<KeyedFaceOf>(op_); }
  void sweep(Tick first, std::vector<Slot>& emptied) override {
    guarded([&] {
      windows_.evict(first, windows_.stores(), [&](Slot slot) { emptied.push_back(slot); });
    });
  }

 private:
  // Runs a batch. A large one can be stopped: all is then as it was.
  template <class Step, class Run>
  void stoppable(std::size_t rows, Step&& step, Run&& run) {
    if (rows < kLongRows || windows_.entries() / 4 > rows) return step();
    const Signals signals;
    if constexpr (fallible_v<Op>) {
      transact(windows_, run);
    } else {
      change_or_restore(windows_, run);
    }
  }

  static constexpr bool kMeasured = requires(State state) { Op::fits(Op::magnitude(state)); };

  // Says that no result can fail, however large, so that the batch needs no journal: all values
  // that ever came in fit together.
  bool surely_fits(const Columns<Op>& columns) {
    if constexpr (kMeasured) {
      if (!magnitudes_) return false;
      for (std::size_t row = 0; row < columns.rows(); ++row) {
        *magnitudes_ += Op::magnitude(columns.lift(row));
      }
      return Op::fits(*magnitudes_);
    }
    return false;
  }

  template <class Step>
  auto guarded(Step&& step) {
    if constexpr (fallible_v<Op>) {
      if (Port<Op>::may_fail(op_)) return transact(windows_, step);
    }
    return step();
  }

  struct Nothing {};

  Op op_;
  KeyedWindows<Op> windows_;
  // Of all values that came in; nothing if that is not known.
  std::conditional_t<kMeasured, std::optional<State>, Nothing> magnitudes_{};
};

KeyedPtr make_keyed(const Spec& spec);

}  // namespace slidefold::bindings
