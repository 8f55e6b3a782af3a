// One algorithm over one operator, behind one virtual interface: what Python holds.
#pragma once

#include <atomic>
#include <deque>
#include <optional>

#include "nulls.hpp"
#include "port.hpp"
#include "slidefold/columns/frames.hpp"
#include "slidefold/columns/slide.hpp"
#include "slidefold/storage/ring.hpp"
#include "slidefold/storage/undo.hpp"

namespace slidefold::bindings {

// What takes steps, one call from Python at a time: a user's operator, or another thread while it
// runs, must not find a window half way through a step.
class Stepping {
 protected:
  bool calls_out_ = false;  // Python code may run inside a step

 private:
  friend class Turn;
  struct Busy {  // a copy starts idle
    bool now = false;
    Busy() = default;
    Busy(const Busy&) {}
  } busy_;
};

class Turn {
 public:
  explicit Turn(Stepping& taken) : taken_(taken.calls_out_ ? &taken : nullptr) {
    if (taken_ == nullptr) return;
    if (taken_->busy_.now) {
      fail("BusyError", "this window is at work: its operator must not use it");
    }
    taken_->busy_.now = true;
  }
  Turn(const Turn&) = delete;
  ~Turn() {
    if (taken_ != nullptr) taken_->busy_.now = false;
  }

 private:
  Stepping* taken_;
};

struct Face : Stepping {
  virtual ~Face() = default;
  virtual std::unique_ptr<Face> clone() const = 0;
  virtual std::size_t size() const = 0;
  virtual std::size_t bytes() const = 0;
  virtual void check() const = 0;
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

inline void require_frames(const std::int64_t* lo, const std::int64_t* hi, std::size_t frames,
                           std::size_t rows) {
  for (std::size_t i = 0; i < frames; ++i) {
    const bool inside = 0 <= lo[i] && lo[i] <= hi[i] && hi[i] <= static_cast<std::int64_t>(rows);
    if (!inside || (i > 0 && (lo[i] < lo[i - 1] || hi[i] < hi[i - 1]))) {
      fail("ValueTypeError",
           "frames lie in the column and never go back, but not frame " + std::to_string(i));
    }
  }
}

struct Options {
  bool checked = false;      // keep the window's contents beside it, so that check() sees all
  bool counted = false;      // count the combines
  bool batch = false;        // FlatFat: repair the tree at a trigger only
  std::size_t capacity = 0;  // FlatFat: fixed capacity, 0 grows
  bool skips_nulls = true;   // None adds nothing; else it is a value
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
        may_fail_(Port<Op>::may_fail(op_)) {
    calls_out_ = Port<Op>::calls_out(op_);
  }

  std::unique_ptr<Face> clone() const override { return std::make_unique<FaceOf>(*this); }
  std::size_t size() const override { return algorithm_.size(); }
  std::size_t bytes() const override { return algorithm_.bytes() + nulls_.bytes(); }

  void check() const override {
    require(null_rows() <= size(), "N1: no more nulls than rows");
    if (!checked_) return algorithm_.check(nullptr);
    const std::vector<State> contents(contents_.begin(), contents_.end());
    algorithm_.check(&contents);
  }

  void save(Saver& a) override { archive(a); }
  void load(Loader& a) override { archive(a); }

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
        step_through(columns, window, drain);
      } else if constexpr (requires {
                             ForColumns<Algorithm>::slide(op_, rows, window, lift, emit);
                           }) {
        drain ? ForColumns<Algorithm>::drain(op_, rows, window, lift, emit)
              : ForColumns<Algorithm>::slide(op_, rows, window, lift, emit);
      } else {
        step_through(columns, window, drain);
      }
    });
  }

  nb::object latencies(nb::handle values, std::size_t window) const override {
    std::vector<std::int64_t> steps;
    over_column(values, [&](auto& columns, std::size_t rows) {
      Algorithm runner(op_);
      const bool nulls = skips_nulls_ && columns.any_null();
      const auto lift = [&](std::size_t row) {
        return nulls && columns.null(row) ? op_.identity() : columns.lift(row);
      };
      // All results go to one row: a fresh page of the result is not the algorithm's latency.
      const auto emit = [&](std::size_t, const State& state) { columns.lower(0, state); };
      steps = slidefold::latencies(runner, rows, window, lift, emit);
    });
    Writer<std::int64_t> writer(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) writer.set(i, steps[i]);
    return writer.finish();
  }

  nb::object fold(nb::handle values, const std::int64_t* lo, const std::int64_t* hi,
                  std::size_t frames) const override {
    Columns<Op> columns(op_, values, ResultCount::exactly(frames));
    require_frames(lo, hi, frames, columns.rows());
    nb::object valid = nb::module_::import_("numpy").attr("empty")(frames, "bool");
    bool* const flags = nb::cast<nb::ndarray<bool, nb::ndim<1>, nb::c_contig>>(valid).data();
    const auto lift = [&](std::size_t row) { return columns.lift(row); };
    const auto emit = [&](std::size_t frame, const State& state, bool empty) {
      flags[frame] = columns.lower_or_blank(frame, state, empty);
    };
    const auto run = [&] {
      if constexpr (requires { ForColumns<Algorithm>::slide(op_, frames, frames, lift, lift); }) {
        const std::size_t window = rows_window(lo, hi, frames);
        if (window > 1) return fold_rows(lo, frames, window, lift, emit);
      }
      if constexpr (requires { ForColumns<Algorithm>::fold(op_, lo, hi, frames, lift, emit); }) {
        ForColumns<Algorithm>::fold(op_, lo, hi, frames, lift, emit);
      } else {
        typename ForColumns<Algorithm>::type runner(op_);
        fold_frames(runner, lo, hi, frames, lift, emit);
      }
    };
    if (columns.needs_gil()) {
      run();
    } else {
      nb::gil_scoped_release without_gil;
      run();
    }
    return nb::make_tuple(columns.finish(), valid);
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
  std::deque<State> contents_;  // only when checked_

 private:
  void insert_waiting() {
    for (const State& state : waiting_) put(state);
  }
  void settle_waiting() {
    if (checked_) contents_.insert(contents_.end(), waiting_.begin(), waiting_.end());
    waiting_.clear();
    waiting_nulls_ = 0;
  }

  // Rows windows have kernels of their own, one call a group.
  template <class Lift, class Emit>
  void fold_rows(const std::int64_t* lo, std::size_t frames, std::size_t window, Lift& lift,
                 Emit& emit) const {
    for_groups(lo, frames, [&](std::size_t begin, std::size_t end) {
      ForColumns<Algorithm>::slide(
          op_, end - begin, window, [&](std::size_t row) { return lift(begin + row); },
          [&](std::size_t row, const State& state) { emit(begin + row, state, false); });
    });
  }

  // Step by step, where there is no kernel or there are nulls, of which kernels know nothing.
  template <class AnyColumns>
  void step_through(AnyColumns& columns, std::size_t window, bool drain) const {
    const bool nulls = skips_nulls_ && columns.any_null();
    const std::optional<ValueCounts> values =
        nulls ? std::optional<ValueCounts>(columns) : std::nullopt;
    const auto lift = [&](std::size_t row) {
      return nulls && columns.null(row) ? State(op_.identity()) : columns.lift(row);
    };
    const auto emit = [&](std::size_t row, const State& state) {
      if (!nulls) return columns.lower(row, state);
      const std::size_t full = row + 1 > window ? row + 1 - window : 0;
      const std::size_t first = drain ? row - row % window : full;
      values->any(first, row + 1) ? columns.lower(row, state) : columns.lower_empty(row);
    };
    typename ForColumns<Algorithm>::type runner(op_);
    runner.reserve(std::min(window, columns.rows()));
    drain ? slidefold::drain(runner, columns.rows(), window, lift, emit)
          : slidefold::slide(runner, columns.rows(), window, lift, emit);
  }

  template <class Archive>
  void archive(Archive& a) {
    algorithm_.archive(a);
    archive_states(a, op_, waiting_);
    a(nulls_, waiting_nulls_);
    expect(nulls_.fits(size() + waiting()) && waiting_nulls_ <= nulls_.count(),
           "the nulls are not those of the rows");
    if (checked_) archive_states(a, op_, contents_);
  }

  template <class Run>
  nb::object over_column(nb::handle values, Run&& run) const {
    Columns<Op> columns(op_, values);
    if (columns.needs_gil()) {
      run(columns, columns.rows());
    } else {
      nb::gil_scoped_release without_gil;
      run(columns, columns.rows());
    }
    return columns.finish();
  }

  std::vector<State> waiting_;
  NullFlags nulls_;  // of the rows that the algorithm holds, then of those that wait
  std::size_t waiting_nulls_ = 0;
};

}  // namespace slidefold::bindings
