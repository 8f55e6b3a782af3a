// One algorithm over one operator, behind one virtual interface: what Python holds.
#pragma once

#include <atomic>
#include <optional>

#include "fold_column.hpp"
#include "nulls.hpp"
#include "port.hpp"
#include "signals.hpp"
#include "slidefold/columns/frames.hpp"
#include "slidefold/columns/rounds.hpp"
#include "slidefold/columns/slide.hpp"
#include "slidefold/storage/ring.hpp"
#include "slidefold/storage/undo.hpp"

namespace slidefold::bindings {

struct Face {
  virtual ~Face() = default;
  virtual std::unique_ptr<Face> clone() const = 0;
  virtual std::size_t size() const = 0;
  virtual std::size_t bytes() const = 0;
  virtual void check() const = 0;
  // Shows the objects that it holds to the garbage collector.
  virtual void visit_objects(ObjectVisitor&) const {}
  // The whole state, into a face made alike. load reads what save wrote; check() comes after it.
  virtual void save(Saver& a) = 0;
  virtual void load(Loader& a) = 0;
  virtual PyObject* query() = 0;  // a new reference

  virtual void insert(PyObject* value) = 0;
  virtual void evict(std::size_t count) = 0;
  // Evicts, inserts, and answers: one step of a window that includes its newest row.
  virtual PyObject* push(PyObject* value, std::size_t evictions) = 0;
  // Answers before `value` is seen. Rows wait until `flush` says that the next ones may see them.
  virtual PyObject* push_behind(PyObject* value, bool flush, std::size_t evictions) = 0;
  // Lets waiting rows be seen and the oldest ones leave, without a new row.
  virtual void move_on(bool flush, std::size_t evictions) = 0;
  virtual std::size_t waiting() const = 0;

  virtual nb::object slide(nb::handle values, std::size_t window, bool drain) const = 0;
  virtual nb::object latencies(nb::handle values, std::size_t window) const = 0;
  // What rounds take on a copy of this window, which must be empty (columns/rounds.hpp). `leaving`
  // may be null.
  virtual nb::object rounds(nb::handle values, const Rounds& rounds,
                            const std::int64_t* leaving) const = 0;
  // (results, valid) of the frames lo[i] to hi[i], which never go back, over a column without
  // nulls.
  virtual nb::object fold(nb::handle values, const std::int64_t* lo, const std::int64_t* hi,
                          std::size_t frames) const = 0;

  // What only some algorithms have.
  virtual std::uint64_t insert_at(PyObject*) { missing("positions"); }
  virtual void evict_at(std::uint64_t) { missing("evict(position)"); }
  virtual void update(const std::vector<std::uint64_t>&, nb::list) { missing("update"); }
  virtual void trigger() { missing("trigger"); }
  virtual PyObject* prefix(std::uint64_t) { missing("prefix"); }
  virtual PyObject* suffix(std::uint64_t) { missing("suffix"); }
  virtual std::size_t capacity() const { missing("capacity"); }
  virtual void bulk_evict(std::size_t count) { evict(count); }

  std::shared_ptr<std::atomic<std::int64_t>> combines;  // set when the operator is counted

 private:
  [[noreturn]] static void missing(const char* what) {
    fail("PairError", std::string("this algorithm has no ") + what);
  }
};

inline nb::object numbers(const std::vector<std::int64_t>& values) {
  Writer<std::int64_t> writer(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) writer.set(i, values[i]);
  return writer.finish();
}

// What rounds read: nanoseconds, or the counter of a counted operator.
template <class AnyFace>
RoundClock round_clock(const Rounds& rounds, const AnyFace& face) {
  return {rounds.count_combines ? face.combines.get() : nullptr};
}

// The state of an item: one row, or a slice of rows folded; the column is read again and again.
template <class Op, class AnyColumns>
auto item_reader(const Op& op, const AnyColumns& columns, std::size_t slice) {
  if (columns.rows() == 0) fail("ValueTypeError", "rounds need at least one row");
  return [&op, &columns, slice, rows = columns.rows()](std::size_t item) {
    std::size_t row = item * slice % rows;
    auto state = columns.lift(row);
    for (std::size_t i = 1; i < slice; ++i) {
      row = row + 1 == rows ? 0 : row + 1;
      absorb(op, state, columns.lift(row));
    }
    return state;
  };
}

struct Options {
  bool checked = false;      // keep the window's contents beside it, so that check() sees all
  bool counted = false;      // count the combines
  bool batch = false;        // FlatFat: repair the tree at a trigger only
  std::size_t capacity = 0;  // FlatFat: fixed capacity, 0 grows
  bool skips_nulls = true;   // None adds nothing; else it is a value
  bool erased = false;       // never a template of its own
};

// The algorithm that runs a whole column where it differs from the one that takes single events.
template <class Algorithm>
struct ForColumns {
  using type = Algorithm;
};

// Whether the algorithm leaves whole columns to an operator that brings a loop of its own.
template <class Algorithm>
inline constexpr bool leaves_columns = false;

template <class Op, class Algorithm>
class FaceOf : public Face {
 protected:
  using State = typename Op::State;

 public:
  FaceOf(Op op, Algorithm algorithm, const Options& options)
      : op_(std::move(op)),
        algorithm_(std::move(algorithm)),
        checked_(options.checked),
        skips_nulls_(options.skips_nulls),
        may_fail_(Port<Op>::may_fail(op_)) {}

  [[gnu::cold]] std::unique_ptr<Face> clone() const override {
    return std::make_unique<FaceOf>(*this);
  }
  std::size_t size() const override { return algorithm_.size(); }
  std::size_t bytes() const override { return algorithm_.bytes() + nulls_.bytes(); }

  [[gnu::cold]] void check() const override {
    require(null_rows() <= size(), "N1: no more nulls than rows");
    algorithm_.check(checked_ ? &contents_ : nullptr);
  }

  [[gnu::cold]] void visit_objects(ObjectVisitor& visitor) const override {
    visit_states(op_, visitor, [&](const auto& visit) {
      algorithm_.for_states(visit);
      for (const State& state : waiting_) visit(state);
      for (const State& state : contents_) visit(state);
    });
  }

  [[gnu::cold]] void save(Saver& a) override { archive(a); }
  [[gnu::cold]] void load(Loader& a) override { archive(a); }

  PyObject* query() override {
    return guarded([&] { return lowered(null_rows()); });
  }

  void insert(PyObject* value) override {
    const bool null = is_null(value);
    State state = lifted(value, null);
    if (checked_) contents_.push_back(state);
    try {
      guarded([&] { put(std::move(state)); });
    } catch (...) {
      if (checked_) contents_.pop_back();
      throw;
    }
    nulls_.push(null, size() - 1);
  }

  void evict(std::size_t count) override {
    if (count > size()) fail("EmptyWindowError", "evict from an empty window");
    guarded([&] { drop(count); });
    forget(count);
  }

  PyObject* push(PyObject* value, std::size_t evictions) override {
    const bool null = is_null(value);
    State state = lifted(value, null);
    if (checked_) contents_.push_back(state);
    try {
      PyObject* result = guarded([&] {
        drop(evictions);
        put(std::move(state));
        return lowered(nulls_.count() - nulls_.among_oldest(evictions) + (null ? 1 : 0));
      });
      forget(evictions);
      nulls_.push(null, size() - 1);
      return result;
    } catch (...) {
      if (checked_) contents_.pop_back();
      throw;
    }
  }

  PyObject* push_behind(PyObject* value, bool flush, std::size_t evictions) override {
    const bool null = is_null(value);
    State state = lifted(value, null);
    PyObject* result = guarded([&] {
      if (flush) insert_waiting();
      drop(evictions);
      const std::size_t hidden = flush ? 0 : waiting_nulls_;
      return lowered(nulls_.count() - nulls_.among_oldest(evictions) - hidden);
    });
    if (flush) settle_waiting();
    forget(evictions);
    nulls_.push(null, size() + waiting());
    waiting_nulls_ += null ? 1 : 0;
    waiting_.push_back(std::move(state));
    return result;
  }

  void move_on(bool flush, std::size_t evictions) override {
    guarded([&] {
      if (flush) insert_waiting();
      drop(evictions);
    });
    if (flush) settle_waiting();
    forget(evictions);
  }
  std::size_t waiting() const override { return waiting_.size(); }

  nb::object slide(nb::handle values, std::size_t window, bool drain) const override {
    if constexpr (Erased<Op> && leaves_columns<Algorithm>) {
      if (!drain && ports(op_).slide != nullptr) {  // over arrays, which have no nulls
        return ports(op_).slide(op_.context.get(), values, window);
      }
    }
    return over_column(values, [&](auto& columns, std::size_t rows) {
      const auto lift = [&](std::size_t row) { return columns.lift(row); };
      const auto emit = [&](std::size_t row, const State& state) { columns.lower(row, state); };
      if (skips_nulls_ && columns.any_null()) {
        step_through_nulls(columns, window, drain);
      } else if constexpr (requires {
                             ForColumns<Algorithm>::slide(op_, rows, window, lift, emit);
                           }) {
        drain ? ForColumns<Algorithm>::drain(op_, rows, window, lift, emit)
              : ForColumns<Algorithm>::slide(op_, rows, window, lift, emit);
      } else {
        Runner runner(op_);
        runner.reserve(std::min(window, rows));
        slidefold::slide(runner, rows, window, drain, lift, emit);
      }
    });
  }

  nb::object latencies(nb::handle values, std::size_t window) const override {
    std::vector<std::int64_t> steps;
    over_column(values, [&](auto& columns, std::size_t rows) {
      Steps runner(op_);
      const bool nulls = skips_nulls_ && columns.any_null();
      const auto lift = [&](std::size_t row) {
        return nulls && columns.null(row) ? op_.identity() : columns.lift(row);
      };
      // All results go to one row: a fresh page of the result is not the algorithm's latency.
      const auto emit = [&](std::size_t, const State& state) { columns.lower(0, state); };
      steps = slidefold::latencies(runner, rows, window, lift, emit);
    });
    return numbers(steps);
  }

  nb::object rounds(nb::handle values, const Rounds& rounds,
                    const std::int64_t* leaving) const override {
    Columns<Op> columns(op_, values, kNoResults);
    columns.refuse_nulls();
    const auto lift = item_reader(op_, columns, rounds.slice);
    std::vector<std::int64_t> taken;
    run_long(columns.needs_gil(), [&] {
      Steps runner(algorithm_);
      taken = in_order_rounds(runner, rounds, round_clock(rounds, *this), leaving, lift);
    });
    return numbers(taken);
  }

  // Pairs known at compile time are folded in fold_static.cpp, everything else through its table.
  nb::object fold(nb::handle values, const std::int64_t* lo, const std::int64_t* hi,
                  std::size_t frames) const override {
    if constexpr (Erased<Op>) {
      const FrameBounds bounds{lo, hi, frames};
      return fold_column(op_, values, bounds, [&](const auto& lift, const auto& emit) {
        if constexpr (requires { ForColumns<Algorithm>::fold(op_, lo, hi, frames, lift, emit); }) {
          ForColumns<Algorithm>::fold(op_, lo, hi, frames, lift, emit);
        } else {
          Runner runner(op_);
          fold_frames(runner, lo, hi, frames, lift, emit);
        }
      });
    } else {
      std::abort();
    }
  }

  void bulk_evict(std::size_t count) override {
    if constexpr (requires { algorithm_.bulk_evict(count); }) {
      if (count > size()) {
        fail("EmptyWindowError", "bulk_evict(" + std::to_string(count) + ") from a window of " +
                                     std::to_string(size()));
      }
      guarded([&] { algorithm_.bulk_evict(count); });
      forget(count);
    } else {
      evict(count);
    }
  }

 protected:
  template <class Step>
  auto guarded(Step&& step) {
    if constexpr (fallible_v<Op>) {
      if (may_fail_) return transact(algorithm_, step);
    }
    return step();
  }

  bool is_null(PyObject* value) const { return skips_nulls_ && Port<Op>::is_null(op_, value); }
  State lifted(PyObject* value, bool null) const {
    return null ? State(op_.identity()) : Port<Op>::lift(op_, value);
  }
  // The algorithm's code stands in the object once, not in each of the steps that use it.
  [[gnu::noinline]] void put(State state) { algorithm_.insert(std::move(state)); }
  [[gnu::noinline]] void drop(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) algorithm_.evict();
  }
  [[gnu::noinline]] PyObject* lowered(std::size_t nulls) {
    return Port<Op>::lower(op_, algorithm_.query(), algorithm_.size() == nulls);
  }
  virtual std::size_t null_rows() const { return nulls_.count() - waiting_nulls_; }

  // The oldest rows have left.
  void forget(std::size_t count) {
    nulls_.pop(count);
    if (checked_) contents_.erase(contents_.begin(), contents_.begin() + static_cast<long>(count));
  }

  Op op_;
  Algorithm algorithm_;
  bool checked_;
  bool skips_nulls_;
  bool may_fail_;
  std::vector<State> contents_;  // oldest first, only when checked_

 private:
  void insert_waiting() {
    for (const State& state : waiting_) put(state);
  }
  void settle_waiting() {
    if (checked_) contents_.insert(contents_.end(), waiting_.begin(), waiting_.end());
    waiting_.clear();
    waiting_nulls_ = 0;
  }

  // The algorithm as its code stands in the object already, not again in each loop over columns.
  class Steps {
   public:
    explicit Steps(const Op& op) : algorithm_(op) {}
    explicit Steps(const Algorithm& algorithm) : algorithm_(algorithm) {}
    std::size_t size() const { return algorithm_.size(); }
    void reserve(std::size_t count) { algorithm_.reserve(count); }
    [[gnu::noinline]] void insert(State state) { algorithm_.insert(std::move(state)); }
    [[gnu::noinline]] void evict() { algorithm_.evict(); }
    [[gnu::noinline]] State query() { return algorithm_.query(); }
    [[gnu::noinline]] void bulk_evict(std::size_t count)
      requires requires(Algorithm& a) { a.bulk_evict(count); }
    {
      algorithm_.bulk_evict(count);
    }

   private:
    Algorithm algorithm_;
  };
  // An operator behind a table gains little from a loop of its own.
  using Runner = std::conditional_t<Erased<Op>, Steps, typename ForColumns<Algorithm>::type>;

  // Step by step: kernels know nothing of nulls.
  template <class AnyColumns>
  [[gnu::cold]] void step_through_nulls(AnyColumns& columns, std::size_t window, bool drain) const {
    const ValueCounts values(columns);
    const auto lift = [&](std::size_t row) {
      return columns.null(row) ? State(op_.identity()) : columns.lift(row);
    };
    const auto emit = [&](std::size_t row, const State& state) {
      const std::size_t full = row + 1 > window ? row + 1 - window : 0;
      const std::size_t first = drain ? row - row % window : full;
      values.any(first, row + 1) ? columns.lower(row, state) : columns.lower_empty(row);
    };
    Steps runner(op_);
    slidefold::slide(runner, columns.rows(), window, drain, lift, emit);
  }

  template <class Archive>
  void archive(Archive& a) {
    algorithm_.archive(a);
    archive_states(a, op_, waiting_);
    a(nulls_, waiting_nulls_);
    if constexpr (Archive::kLoading) {
      expect(nulls_.fits(size() + waiting()) && waiting_nulls_ == nulls_.among_youngest(waiting()),
             "the nulls are not those of the rows");
    }
    if (checked_) archive_states(a, op_, contents_);
  }

  template <class Run>
  nb::object over_column(nb::handle values, Run&& run) const {
    Columns<Op> columns(op_, values);
    run_long(columns.needs_gil(), [&] { run(columns, columns.rows()); });
    return columns.finish();
  }

  std::vector<State> waiting_;
  NullFlags nulls_;  // of the rows that the algorithm holds, then of those that wait
  std::size_t waiting_nulls_ = 0;
};

}  // namespace slidefold::bindings
