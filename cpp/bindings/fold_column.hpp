// A whole column folded over frames, with the mask of those that have a result.
#pragma once

#include "port.hpp"
#include "signals.hpp"

namespace slidefold::bindings {

// Row i sees the rows lo[i] to hi[i], hi excluded.
struct FrameBounds {
  const std::int64_t* lo;
  const std::int64_t* hi;
  std::size_t frames;
};

// Frames lie in the column and never go back.
void require_frames(const FrameBounds& bounds, std::size_t rows);

// (results, valid) over a column without nulls: run(lift, emit) calls emit(frame, state, empty).
template <class Op, class Run>
nb::object fold_column(const Op& op, nb::handle values, const FrameBounds& bounds, Run&& run) {
  Columns<Op> columns(op, values, ResultCount::exactly(bounds.frames));
  require_frames(bounds, columns.rows());
  nb::object valid = nb::module_::import_("numpy").attr("empty")(bounds.frames, "bool");
  bool* const flags = nb::cast<nb::ndarray<bool, nb::ndim<1>, nb::c_contig>>(valid).data();
  const auto lift = [&](std::size_t row) { return columns.lift(row); };
  const auto emit = [&](std::size_t frame, const typename Op::State& state, bool empty) {
    flags[frame] = columns.lower_or_blank(frame, state, empty);
  };
  run_long(columns.needs_gil(), [&] { run(lift, emit); });
  return nb::make_tuple(columns.finish(), valid);
}

}  // namespace slidefold::bindings
