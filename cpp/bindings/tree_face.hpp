// FiBA and the classic B-tree over one operator, behind one virtual interface. Times are ticks.
#pragma once

#include <algorithm>
#include <functional>

#include "registry.hpp"
#include "slidefold/algorithms/fiba.hpp"
#include "slidefold/columns/tree_rounds.hpp"
#include "times.hpp"

namespace slidefold::bindings {

struct TreeFace {
  virtual ~TreeFace() = default;
  virtual std::unique_ptr<TreeFace> clone() const = 0;
  virtual std::size_t size() const = 0;
  virtual std::size_t bytes() const = 0;
  virtual void check() const = 0;
  virtual void visit_objects(ObjectVisitor&) const {}
  virtual void save(Saver& a) = 0;
  virtual void load(Loader& a) = 0;   // into an empty tree
  virtual Tick oldest() const = 0;    // of a tree that is not empty
  virtual Tick youngest() const = 0;  // likewise

  virtual PyObject* query() = 0;  // a new reference
  virtual PyObject* query(Tick since, Tick until) = 0;
  virtual void insert(Tick time, PyObject* value) = 0;
  virtual bool evict(Tick time) = 0;  // says whether there was an entry
  virtual void bulk_insert(const std::vector<Tick>& times, nb::handle values) = 0;
  virtual void bulk_evict(Tick until) = 0;
  // Inserts, evicts all before `first` and answers for [since, until]: one step of a window.
  virtual PyObject* push(Tick time, PyObject* value, Tick first, Tick since, Tick until) = 0;

  // A fresh tree over a whole column, in bulks of `bulk` rows: after each, what is `range` or more
  // older than the youngest leaves, and the rest is folded. One result a bulk.
  virtual nb::object slide(const std::vector<Tick>& times, nb::handle values, std::uint64_t range,
                           std::size_t bulk) const = 0;

  // What rounds of a fresh tree take (columns/tree_rounds.hpp).
  virtual nb::object rounds(nb::handle values, const Rounds& rounds) const = 0;
  virtual nb::object rounds(const std::vector<Tick>& times, nb::handle values, std::int64_t range,
                            const Rounds& rounds) const = 0;

  // Calls visit(time, result of that entry) in time order.
  virtual void for_each(const std::function<void(Tick, nb::object)>& visit) = 0;
  // Gives every entry another time; the order stays.
  virtual void retime(const std::function<Tick(Tick)>& to) = 0;

  std::shared_ptr<std::atomic<std::int64_t>> combines;
};
using TreePtr = std::unique_ptr<TreeFace>;

struct TreeOptions {
  int min_arity = 0, max_arity = 0;
  bool counted = false;
  bool skips_nulls = true;  // None adds nothing; else it is a value
};

template <class Op, class Tree>
class TreeFaceOf final : public TreeFace {
  using State = typename Op::State;

 public:
  template <class... Arity>
  TreeFaceOf(const Op& op, bool skips_nulls, Arity... arity)
      : op_(op), empty_(op, arity...), tree_(empty_), skips_nulls_(skips_nulls) {}

  TreePtr clone() const override { return std::make_unique<TreeFaceOf>(*this); }
  std::size_t size() const override { return tree_.size(); }
  std::size_t bytes() const override { return tree_.bytes() + valued_.bytes(); }
  void check() const override { tree_.check(); }
  void visit_objects(ObjectVisitor& visitor) const override {
    visit_states(op_, visitor, [&](const auto& visit) { tree_.for_states(visit); });
  }
  void save(Saver& a) override {
    tree_.archive(a);
    a(valued_);
  }
  void load(Loader& a) override {
    tree_.archive(a);
    a(valued_);
  }
  Tick oldest() const override { return tree_.oldest(); }
  Tick youngest() const override { return tree_.youngest(); }

  PyObject* query() override { return query_all(valued_.any()); }
  PyObject* query(Tick since, Tick until) override {
    return query_range(since, until, valued_.any(since, until));
  }

  void insert(Tick time, PyObject* value) override {
    const bool null = skips_nulls_ && Port<Op>::is_null(op_, value);
    State state = lifted(value, null);
    if (null) watch();
    guarded([&] { tree_.insert(time, std::move(state)); });
    note(time, null);
  }
  bool evict(Tick time) override {
    const bool found = guarded([&] { return tree_.evict(time); });
    valued_.erase(time);
    if (tree_.empty()) valued_.stop();
    return found;
  }
  void bulk_evict(Tick until) override {
    guarded([&] { tree_.bulk_evict(until); });
    forget(until);
  }
  PyObject* push(Tick time, PyObject* value, Tick first, Tick since, Tick until) override {
    const bool null = skips_nulls_ && Port<Op>::is_null(op_, value);
    State state = lifted(value, null);
    if (null) watch();
    bool evicted = false;
    const bool sees_itself = !null && since <= time && time <= until;
    if constexpr (fallible_v<Op> && !combine_fallible_v<Op>)
      judge(state, sees_itself, since, until);
    PyObject* result = guarded([&] {
      tree_.insert(time, std::move(state));
      evicted = tree_.oldest() < first;
      if (evicted) tree_.bulk_evict(first - 1);
      return query_range(since, until, sees_itself || valued_.any(std::max(since, first), until));
    });
    note(time, null);
    if (evicted) forget(first - 1);
    return result;
  }

  void bulk_insert(const std::vector<Tick>& times, nb::handle values) override {
    const Columns<Op> columns(op_, values, kNoResults);
    require_rows(columns, times);
    const bool nulls = skips_nulls_ && columns.any_null();
    std::vector<State> states;
    states.reserve(times.size());
    {
      const Signals signals;
      Pacer pace;
      for (std::size_t row = 0; row < times.size(); ++row) {
        pace();
        states.push_back(nulls && columns.null(row) ? State(op_.identity()) : columns.lift(row));
      }
    }
    if (nulls) watch();
    insert_all(times, states);
    if (!valued_.watching()) return;
    for (std::size_t row = 0; row < times.size(); ++row) {
      if (!nulls || !columns.null(row)) valued_.add(times[row]);
    }
  }

  nb::object slide(const std::vector<Tick>& times, nb::handle values, std::uint64_t range,
                   std::size_t bulk) const override {
    Columns<Op> columns(op_, values, bulk);
    require_rows(columns, times);
    columns.refuse_nulls();
    const auto run = [&] {
      Tree tree = empty_;
      std::vector<State> states(bulk == 1 ? 0 : bulk);
      Pacer pace;
      for (std::size_t row = 0; row + bulk <= times.size(); row += bulk) {
        pace();
        if (bulk == 1) {
          tree.insert(times[row], columns.lift(row));
        } else {
          for (std::size_t i = 0; i < bulk; ++i) states[i] = columns.lift(row + i);
          tree.bulk_insert(times.data() + row, states.data(), bulk);
        }
        const Tick youngest = tree.youngest();
        const auto left = static_cast<Tick>(static_cast<std::uint64_t>(youngest) - range);
        if (left < youngest && tree.oldest() <= left) tree.bulk_evict(left);
        columns.lower(row / bulk, tree.query());
      }
    };
    run_long(columns.needs_gil(), run);
    return columns.finish();
  }

  nb::object rounds(nb::handle values, const Rounds& rounds) const override {
    return over_items(values, rounds, [&](const RoundClock& clock, const auto& lift) {
      return tree_rounds<State>(empty_, rounds, clock, lift);
    });
  }
  nb::object rounds(const std::vector<Tick>& times, nb::handle values, std::int64_t range,
                    const Rounds& rounds) const override {
    return over_items(values, rounds, [&](const RoundClock& clock, const auto& lift) {
      return timed_rounds(empty_, rounds, clock, times, range, lift);
    });
  }

  void for_each(const std::function<void(Tick, nb::object)>& visit) override {
    const Signals signals;
    Pacer pace;
    tree_.for_each([&](Tick time, const State& state) {
      pace();
      const bool null = valued_.watching() && !valued_.holds(time);
      visit(time, nb::steal(Port<Op>::lower(op_, state, null)));
    });
  }

  void retime(const std::function<Tick(Tick)>& to) override {
    std::vector<Tick> times;
    std::vector<State> states;
    tree_.for_each([&](Tick time, const State& state) {
      times.push_back(to(time));
      states.push_back(state);
    });
    guarded([&] {
      tree_.bulk_evict(kLastTick);
      tree_.bulk_insert(times.data(), states.data(), times.size());
    });
    valued_.retime(to);
  }

 private:
  template <class Run>
  nb::object over_items(nb::handle values, const Rounds& rounds, const Run& run) const {
    Columns<Op> columns(op_, values, kNoResults);
    columns.refuse_nulls();
    const auto lift = item_reader(op_, columns, rounds.slice);
    std::vector<std::int64_t> taken;
    run_long(columns.needs_gil(), [&] { taken = run(round_clock(rounds, *this), lift); });
    return numbers(taken);
  }
  static void require_rows(const Columns<Op>& columns, const std::vector<Tick>& times) {
    if (columns.rows() == times.size()) return;
    fail("ValueTypeError", "times and values differ in length: " + std::to_string(times.size()) +
                               " and " + std::to_string(columns.rows()));
  }
  State lifted(PyObject* value, bool null) const {
    return null ? State(op_.identity()) : Port<Op>::lift(op_, value);
  }
  PyObject* query_all(bool any_values) {
    const bool only_nulls = valued_.watching() && !any_values;
    return Port<Op>::lower(op_, tree_.query(), tree_.empty() || only_nulls);
  }
  PyObject* query_range(Tick since, Tick until, bool any_values) {
    if (tree_.empty() || (since <= tree_.oldest() && tree_.youngest() <= until)) {
      return query_all(any_values);
    }
    fiba::Folder<Op> fold(op_);
    tree_.add_range(since, until, fold);
    const bool empty = !fold.any() || (valued_.watching() && !any_values);
    return Port<Op>::lower(op_, fold.take(), empty);
  }

  // ---- nulls: the entries with values are noted when a step has succeeded
  void watch() {
    valued_.watch([&] { tree_.for_each([&](Tick time, const State&) { valued_.add(time); }); });
  }
  void note(Tick time, bool null) {
    if (!null && valued_.watching()) valued_.add(time);
  }
  void forget(Tick until) {
    valued_.erase_until(until);
    if (tree_.empty()) valued_.stop();
  }

  // Throws if the result of a push would not lower: cheaper than a transaction around the push.
  void judge(const State& state, bool sees_itself, Tick since, Tick until) const {
    fiba::Folder<Op> fold(op_);
    tree_.add_range(since, until, fold);
    if (sees_itself) fold.add(state);
    if (fold.any()) (void)op_.lower(fold.take());
  }

  // A large bulk can be stopped: the tree is then as it was.
  void insert_all(const std::vector<Tick>& times, const std::vector<State>& states) {
    const auto insert = [&] { tree_.bulk_insert(times.data(), states.data(), times.size()); };
    if (times.size() < kLongRows || tree_.size() / 16 > times.size()) return guarded(insert);
    const Signals signals;
    if constexpr (combine_fallible_v<Op>) {
      transact(tree_, insert);
    } else {
      change_or_restore(tree_, insert);
    }
  }

  template <class Step>
  auto guarded(Step&& step) {
    if constexpr (combine_fallible_v<Op>) {
      if (Port<Op>::may_fail(op_)) return transact(tree_, step);
    }
    return step();
  }

  Op op_;
  const Tree empty_;  // of the same shape: what a slide begins with, whatever happens to tree_
  Tree tree_;
  bool skips_nulls_;
  ValuedTimes valued_;
};

// Ticks sort as times do, so the ends speak for all between them.
inline void expect_times(const TimeAxis& axis, const TreeFace& tree) {
  expect(tree.size() == 0 || (axis.holds(tree.oldest()) && axis.holds(tree.youngest())),
         "a time is not finite");
}

TreeOptions tree_options(nb::handle op, nb::dict options);
TreePtr make_fiba(const Spec& spec, const TreeOptions& options);
TreePtr make_btree(const Spec& spec, const TreeOptions& options);

}  // namespace slidefold::bindings
