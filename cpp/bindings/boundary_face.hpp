// SBA and PBA behind one virtual interface: windows W[range, slide] of rows or of time.
#pragma once

#include <optional>

#include "registry.hpp"
#include "slidefold/algorithms/boundary_rows.hpp"

namespace slidefold::bindings {

struct BoundaryFace {
  virtual ~BoundaryFace() = default;
  virtual std::unique_ptr<BoundaryFace> clone() const = 0;
  virtual std::size_t size() const = 0;
  virtual std::size_t bytes() const = 0;
  virtual std::size_t chunk() const = 0;
  virtual void check() const = 0;
  virtual void visit_objects(ObjectVisitor& visitor) const = 0;
  virtual void save(Saver& a) = 0;
  virtual void load(Loader& a) = 0;
  virtual PyObject* query() = 0;
  // Rows: the result at a slide boundary with a whole window, else None.
  virtual PyObject* push(PyObject*) { fail("ValueTypeError", "push takes a time and a value"); }
  // Time: a list of (end, result), one for each window with values that this time closes.
  virtual PyObject* push(PyObject*, PyObject*) { fail("ValueTypeError", "push takes a value"); }
  virtual PyObject* advance(PyObject*) { fail("ValueTypeError", "rows have no time to advance"); }
  virtual nb::object slide(nb::handle values) const = 0;
  // What rounds of fresh windows of rows take: each of them closes one slide.
  virtual nb::object rounds(nb::handle, const Rounds&) const {
    fail("ValueTypeError", "rounds run over rows");
  }

  std::shared_ptr<std::atomic<std::int64_t>> combines;
};
using BoundaryPtr = std::unique_ptr<BoundaryFace>;

struct BoundaryOptions {
  std::int64_t range = 0, slide = 1;
  std::size_t chunk = 0;  // 0: the best one
  bool timed = false;
  double combine_time = 0;  // of one combine, in the unit of range and slide
  bool checked = false, counted = false;
  bool skips_nulls = true;  // None adds nothing; else it is a value
};

template <class Op, class Engine>
class BoundaryRowsFace final : public BoundaryFace {
  using State = typename Op::State;

 public:
  BoundaryRowsFace(Op op, const BoundaryOptions& options)
      : op_(op),
        options_(options),
        rows_(op, static_cast<std::size_t>(options.range), static_cast<std::size_t>(options.slide),
              options.chunk) {}

  BoundaryPtr clone() const override { return std::make_unique<BoundaryRowsFace>(*this); }
  std::size_t size() const override { return rows_.size(); }
  std::size_t bytes() const override { return rows_.bytes(); }
  std::size_t chunk() const override { return rows_.chunk(); }

  void check() const override { rows_.check(options_.checked ? &contents_ : nullptr); }

  void visit_objects(ObjectVisitor& visitor) const override {
    visit_states(op_, visitor, [&](const auto& visit) {
      rows_.for_states(visit);
      for (const State& state : contents_) visit(state);
    });
  }

  void save(Saver& a) override { archive(a); }
  void load(Loader& a) override { archive(a); }

  PyObject* query() override {
    if (!rows_.complete()) return Port<Op>::lower(op_, op_.identity(), true);
    return Port<Op>::lower(op_, rows_.query(), only_nulls_);
  }

  PyObject* push(PyObject* value) override {
    const bool null = options_.skips_nulls && Port<Op>::is_null(op_, value);
    State state = null ? State(op_.identity()) : Port<Op>::lift(op_, value);
    const auto range = static_cast<std::size_t>(options_.range);
    const std::size_t leaving = held_ == range ? 1 : 0;
    const bool only_nulls = nulls_.count() - nulls_.among_oldest(leaving) + (null ? 1 : 0) == range;
    bool closed = false;
    if (options_.checked) contents_.push_back(state);
    try {
      PyObject* result = transact(rows_, [&] {
        closed = rows_.insert(std::move(state));
        return closed ? Port<Op>::lower(op_, rows_.query(), only_nulls) : Py_NewRef(Py_None);
      });
      if (closed) only_nulls_ = only_nulls;
      nulls_.pop(leaving);
      held_ -= leaving;
      nulls_.push(null, held_++);
      remember();
      return result;
    } catch (...) {
      if (options_.checked) contents_.pop_back();
      throw;
    }
  }

  nb::object slide(nb::handle values) const override {
    const auto slide = static_cast<std::size_t>(options_.slide);
    Columns<Op> columns(op_, values, slide);
    // A window longer than the column holds all of it, and needs no more room.
    const std::size_t range =
        std::min(static_cast<std::size_t>(options_.range), std::max(slide, columns.rows()));
    const bool nulls = options_.skips_nulls && columns.any_null();
    run_long(columns.needs_gil(), [&] {
      const std::optional<ValueCounts> counts =
          nulls ? std::optional<ValueCounts>(columns) : std::nullopt;
      BoundaryRows<Engine> rows(op_, range, slide, options_.chunk);
      Pacer pace;
      for (std::size_t row = 0; row < columns.rows(); ++row) {
        pace();
        rows.insert(nulls && columns.null(row) ? State(op_.identity()) : columns.lift(row));
        if ((row + 1) % slide != 0) continue;
        const std::size_t first = row + 1 > range ? row + 1 - range : 0, result = row / slide;
        !counts || counts->any(first, row + 1) ? columns.lower(result, rows.query())
                                               : columns.lower_empty(result);
      }
    });
    return columns.finish();
  }

  nb::object rounds(nb::handle values, const Rounds& rounds) const override {
    Columns<Op> columns(op_, values, kNoResults);
    columns.refuse_nulls();
    const auto range = static_cast<std::size_t>(options_.range);
    const auto slide = static_cast<std::size_t>(options_.slide);
    const auto lift = item_reader(op_, columns, 1);
    std::vector<std::int64_t> taken;
    run_long(columns.needs_gil(), [&] {
      BoundaryRows<Engine> engine(op_, range, slide, options_.chunk);
      std::size_t next = 0;
      Pacer pace;
      while (next < range + slide - range % slide) {
        pace();
        engine.insert(lift(next++));
      }
      State last = op_.identity();
      taken = run_rounds(
          rounds.count, rounds.timed, round_clock(rounds, *this),
          [&](std::size_t) {
            for (std::size_t row = 1; row < slide; ++row) engine.insert(lift(next++));
            last = lift(next++);
          },
          [](std::size_t) {}, [&](std::size_t) { engine.insert(std::move(last)); },
          [&] { use(engine.query()); });
    });
    return numbers(taken);
  }

 private:
  // Keeps the last closed window and what came after it.
  void remember() {
    if (!options_.checked) return;
    const std::size_t held = static_cast<std::size_t>(options_.range) + rows_.open_rows();
    if (contents_.size() > held)
      contents_.erase(contents_.begin(), contents_.end() - static_cast<long>(held));
  }

  template <class Archive>
  void archive(Archive& a) {
    rows_.archive(a);
    a(nulls_, held_, only_nulls_);
    expect(held_ <= static_cast<std::size_t>(options_.range) && nulls_.fits(held_),
           "the nulls are not those of the rows");
    if (options_.checked) archive_states(a, op_, contents_);
  }

  Op op_;
  BoundaryOptions options_;
  BoundaryRows<Engine> rows_;
  std::vector<State> contents_;  // only when checked
  NullFlags nulls_;              // of the last rows, as many as a window holds
  std::size_t held_ = 0;         // how many these are
  bool only_nulls_ = false;      // of the last closed window
};

template <class Op, class Engine>
class BoundaryTimeFace final : public BoundaryFace {
  using State = typename Op::State;

 public:
  BoundaryTimeFace(Op op, const BoundaryOptions& options)
      : op_(op),
        skips_nulls_(options.skips_nulls),
        range_(options.range),
        slide_(options.slide),
        engine_(op, static_cast<std::size_t>(range_ / slide_), range_ % slide_ != 0,
                options.chunk != 0
                    ? options.chunk
                    : optimal_chunk_time(static_cast<double>(range_), static_cast<double>(slide_),
                                         options.combine_time)) {}

  BoundaryPtr clone() const override { return std::make_unique<BoundaryTimeFace>(*this); }
  std::size_t size() const override { return engine_.size(); }
  std::size_t bytes() const override { return engine_.bytes(); }
  std::size_t chunk() const override { return engine_.chunk(); }
  void check() const override { engine_.check(nullptr); }
  void visit_objects(ObjectVisitor& visitor) const override {
    visit_states(op_, visitor, [&](const auto& visit) {
      engine_.for_states(visit);
      if (last_) visit(*last_);
    });
  }
  void save(Saver& a) override { archive(a); }
  void load(Loader& a) override { archive(a); }
  PyObject* query() override {
    return last_ ? Port<Op>::lower(op_, *last_, last_only_nulls_) : Py_NewRef(Py_None);
  }

  PyObject* push(PyObject* time, PyObject* value) override {
    const std::int64_t now = in_order(time);
    const bool null = skips_nulls_ && Port<Op>::is_null(op_, value);
    State state = null ? State(op_.identity()) : Port<Op>::lift(op_, value);
    std::optional<State> last;
    bool only_nulls = false;
    nb::list closed = transact(engine_, [&] {
      nb::list result = close_until(now, last, only_nulls);
      const std::int64_t past = now % slide_;  // the slice's start, which is at or before now
      const std::int64_t inside = past < 0 ? past + slide_ : past;
      engine_.add(std::move(state), inside >= slide_ - range_ % slide_);
      return result;
    });
    commit(now, last, only_nulls);
    newest_ = now;
    any_ = true;
    if (!null) {
      newest_value_ = now;
      any_value_ = true;
    }
    return closed.release().ptr();
  }

  PyObject* advance(PyObject* time) override {
    const std::int64_t now = in_order(time);
    std::optional<State> last;
    bool only_nulls = false;
    nb::list closed = transact(engine_, [&] { return close_until(now, last, only_nulls); });
    commit(now, last, only_nulls);
    return closed.release().ptr();
  }

  nb::object slide(nb::handle) const override {
    fail("ValueTypeError", "slide runs over rows; windows of time take push(time, value)");
  }

 private:
  std::int64_t slice_of(std::int64_t time) const {
    return time / slide_ - (time % slide_ < 0 ? 1 : 0);
  }

  std::int64_t in_order(PyObject* time) const {
    const std::int64_t now = to_int64(time);
    if (started_ && now < now_) {
      fail("TimeOrderError", "time went backwards, from " + std::to_string(now_) + " to " +
                                 std::to_string(now) + ": this window takes events in order");
    }
    return now;
  }

  // Closes the slices before that of `now`; (end, result) of each window that holds a value, and
  // the state of the last of them.
  nb::list close_until(std::int64_t now, std::optional<State>& newest, bool& only_nulls) {
    nb::list closed;
    if (!started_) return closed;
    const std::int64_t open = slice_of(now_), next = slice_of(now);
    std::int64_t last = open;
    if (any_) {
      const int128 reach = static_cast<int128>(newest_) + range_;  // later windows are empty
      last = std::min(next, reach >= now ? next : slice_of(static_cast<std::int64_t>(reach)));
    }
    for (std::int64_t end = open + 1; end <= last; ++end) {
      engine_.close_slice();
      const int128 start = static_cast<int128>(end) * slide_ - range_;
      only_nulls = !any_value_ || newest_value_ < start;
      closed.append(nb::make_tuple(end * slide_,
                                   nb::steal(Port<Op>::lower(op_, engine_.query(), only_nulls))));
    }
    if (last > open) newest = engine_.query();
    engine_.skip_slices(static_cast<std::uint64_t>(next) -
                        static_cast<std::uint64_t>(std::max(last, open)));
    return closed;
  }

  void commit(std::int64_t now, std::optional<State>& last, bool only_nulls) {
    now_ = now;
    started_ = true;
    if (!last) return;
    last_ = std::move(last);
    last_only_nulls_ = only_nulls;
  }

  template <class Archive>
  void archive(Archive& a) {
    engine_.archive(a);
    a(started_, any_, now_, newest_, any_value_, newest_value_, last_only_nulls_);
    bool closed = last_.has_value();
    a(closed);
    if constexpr (Archive::kLoading) {
      expect(any_ ? started_ && newest_ <= now_ : !closed, "the newest value is in the future");
      last_.reset();
      if (closed) last_.emplace();
    }
    if (closed) archive_state(a, op_, *last_);
  }

  Op op_;
  bool skips_nulls_;
  std::int64_t range_, slide_;
  Engine engine_;
  bool started_ = false, any_ = false, any_value_ = false;
  std::int64_t now_ = 0, newest_ = 0;
  std::int64_t newest_value_ = 0;  // of what is not null
  std::optional<State> last_;      // of the last window that closed with rows
  bool last_only_nulls_ = false;
};

template <template <class> class Engine>
struct BoundaryBuild {
  template <class Op>
  struct Build {
    static BoundaryPtr make(const Op& op, const BoundaryOptions& options) {
      if constexpr (Erased<Op>) {  // over time, every push is a call from Python
        if (options.timed) return std::make_unique<BoundaryTimeFace<Op, Engine<Op>>>(op, options);
      }
      return std::make_unique<BoundaryRowsFace<Op, Engine<Op>>>(op, options);
    }
  };
};

BoundaryPtr make_sba(const Spec& spec, const BoundaryOptions& options);
BoundaryPtr make_pba(const Spec& spec, const BoundaryOptions& options);

}  // namespace slidefold::bindings
