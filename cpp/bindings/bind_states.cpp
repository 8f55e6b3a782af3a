// States as values in Python: bytes that the operator's own archive writes. A range of rows folds
// to a state, states combine, and frames are folded around a state that stands for many rows.
#include <vector>

#include "registry.hpp"
#include "saved.hpp"
#include "signals.hpp"

namespace slidefold::bindings {
namespace {

using Bounds = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Op>
nb::bytes save_state(const Op& op, typename Op::State& state) {
  Saver saver;
  op.archive(saver, state);
  return as_bytes(saver);
}

template <class Op>
typename Op::State load_state(const Op& op, nb::handle given) {
  nb::bytes bytes;
  if (!nb::try_cast<nb::bytes>(given, bytes)) {
    fail("ValueTypeError", "expected the bytes of a state, got " + shown(given.ptr()));
  }
  typename Op::State state;
  Loader loader(view_of(bytes));
  op.archive(loader, state);
  loader.finish();
  return state;
}

void require_ranges(const Bounds& lo, const Bounds& hi, std::size_t rows) {
  if (lo.shape(0) != hi.shape(0)) {
    fail("ValueTypeError", "lo and hi differ in length: " + std::to_string(lo.shape(0)) + " and " +
                               std::to_string(hi.shape(0)));
  }
  for (std::size_t i = 0; i < lo.shape(0); ++i) {
    const std::int64_t from = lo.data()[i], to = hi.data()[i];
    if (from < 0 || from > to || to > static_cast<std::int64_t>(rows)) {
      fail("ValueTypeError", "a range lies in the column, but not range " + std::to_string(i));
    }
  }
}

// One state per range of rows, None for a range without rows.
template <class Op>
nb::list states_of(const Op& op, nb::handle values, const Bounds& lo, const Bounds& hi) {
  using State = typename Op::State;
  const Columns<Op> columns(op, values, ResultCount::exactly(0));
  require_ranges(lo, hi, columns.rows());
  std::vector<State> states(lo.shape(0));
  run_long(columns.needs_gil(), [&] {
    RowPoll polled;
    for (std::size_t i = 0; i < states.size(); ++i) {
      const auto from = static_cast<std::size_t>(lo.data()[i]);
      const auto to = static_cast<std::size_t>(hi.data()[i]);
      if (from == to) continue;
      State state = columns.lift(from);
      for (std::size_t row = from + 1; row < to; ++row) {
        polled(1);
        state = op.combine(state, columns.lift(row));
      }
      states[i] = std::move(state);
    }
  });
  nb::list found;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (lo.data()[i] == hi.data()[i]) {
      found.append(nb::none());
    } else {
      found.append(save_state(op, states[i]));
    }
  }
  return found;
}

// The state of several ranges of rows together, the oldest first.
template <class Op>
nb::bytes combined(const Op& op, const nb::list& given) {
  if (given.size() == 0) fail("ValueTypeError", "expected at least one state, got none");
  typename Op::State state = load_state(op, given[0]);
  for (std::size_t i = 1; i < given.size(); ++i) {
    state = op.combine(state, load_state(op, given[i]));
  }
  return save_state(op, state);
}

// (results, valid) of frames that all hold a middle: frame i is the rows lo[i] to `middle`, the
// state, and the rows `middle` to hi[i]. The folds that end at the middle are made once; those that
// start behind it grow from frame to frame.
template <class Op>
nb::object folded_around(const Op& op, nb::handle values, std::size_t middle, nb::handle given,
                         const Bounds& lo, const Bounds& hi) {
  using State = typename Op::State;
  const std::size_t frames = lo.shape(0);
  Columns<Op> columns(op, values, ResultCount::exactly(frames));
  require_ranges(lo, hi, columns.rows());
  for (std::size_t i = 0; i < frames; ++i) {
    const bool around = lo.data()[i] <= static_cast<std::int64_t>(middle) &&
                        hi.data()[i] >= static_cast<std::int64_t>(middle);
    if (!around || (i > 0 && hi.data()[i] < hi.data()[i - 1])) {
      fail("ValueTypeError",
           "every frame holds the middle and never goes back, but not frame " + std::to_string(i));
    }
  }
  std::vector<State> before(middle + 1);
  before[middle] = load_state(op, given);
  nb::object valid = nb::module_::import_("numpy").attr("empty")(frames, "bool");
  bool* const flags = nb::cast<nb::ndarray<bool, nb::ndim<1>, nb::c_contig>>(valid).data();
  run_long(columns.needs_gil(), [&] {
    RowPoll polled;
    for (std::size_t row = middle; row-- > 0;) {
      polled(1);
      before[row] = op.combine(columns.lift(row), before[row + 1]);
    }
    State behind = op.identity();
    std::size_t to = middle;
    for (std::size_t i = 0; i < frames; ++i) {
      polled(1);
      for (const auto end = static_cast<std::size_t>(hi.data()[i]); to < end; ++to) {
        behind = to == middle ? columns.lift(to) : op.combine(behind, columns.lift(to));
      }
      const State& older = before[static_cast<std::size_t>(lo.data()[i])];
      flags[i] = columns.lower_or_blank(i, to == middle ? older : op.combine(older, behind), false);
    }
  });
  return nb::make_tuple(columns.finish(), valid);
}

}  // namespace

void bind_states(nb::module_& m) {
  m.def(
      "fold_states",
      [](nb::handle op, nb::handle values, const Bounds& lo, const Bounds& hi) {
        return with_erased(erase(spec_from(op), false),
                           [&](auto erased) { return states_of(erased, values, lo, hi); });
      },
      nb::arg("op"), nb::arg("values").none(), nb::arg("lo"), nb::arg("hi"));
  m.def(
      "combine_states",
      [](nb::handle op, const nb::list& states) {
        return with_erased(erase(spec_from(op), false),
                           [&](auto erased) { return combined(erased, states); });
      },
      nb::arg("op"), nb::arg("states"));
  m.def(
      "fold_around",
      [](nb::handle op, nb::handle values, std::size_t middle, nb::handle state, const Bounds& lo,
         const Bounds& hi) {
        return with_erased(erase(spec_from(op), false), [&](auto erased) {
          return folded_around(erased, values, middle, state, lo, hi);
        });
      },
      nb::arg("op"), nb::arg("values").none(), nb::arg("middle"), nb::arg("state"), nb::arg("lo"),
      nb::arg("hi"));
}

}  // namespace slidefold::bindings
