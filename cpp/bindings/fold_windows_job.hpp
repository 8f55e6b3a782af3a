// A column of results by an operator that is known when this is compiled.
#pragma once

#include <bit>
#include <cstdint>

#include "fold_windows.hpp"
#include "slidefold/columns/column_operators.hpp"
#include "slidefold/columns/time_windows.hpp"
#include "slidefold/columns/two_stacks.hpp"

namespace slidefold::bindings {

// The values of a column without nulls.
template <class Op>
struct LiftValue {
  Op op;
  const typename Op::In* values;
  typename Op::State operator()(std::size_t row) const { return op.lift(values[row]); }
};

// Values of which some are null: the neutral one takes their place, without a branch, which nulls
// at random would mispredict.
template <class Op>
struct LiftOrNeutral {
  Op op;
  const typename Op::In* values;
  const bool* valid;
  typename Op::State operator()(std::size_t row) const {
    const std::uint64_t absent = std::uint64_t{valid[row]} - 1;  // all bits, or none
    const auto value = std::bit_cast<std::uint64_t>(values[row]);
    const auto neutral = std::bit_cast<std::uint64_t>(op.neutral());
    using In = typename Op::In;
    return op.lift(std::bit_cast<In>((value & ~absent) | (neutral & absent)));
  }
};

// Values of which some may be null.
template <class Op, class Values>
struct LiftPresent {
  Op op;
  Values values;
  const bool* valid;
  typename Op::State operator()(std::size_t row) const {
    const bool present = valid == nullptr || valid[row];
    if constexpr (requires { op.lift(values[row], present); }) {
      return op.lift(values[row], present);
    } else {
      return present ? op.lift(values[row]) : op.identity();
    }
  }
};

// Writes results. Those of a window that ends before its row are one row behind.
template <class Op>
struct EmitRow {
  Op op;
  typename Op::Out* results;
  bool* valid;
  Share* share;
  std::size_t first;  // rows before it only fill the window
  Destinations at;
  std::size_t behind = 0;

  void operator()(std::size_t row, const typename Op::State& state) const {
    row += behind;
    if (row < first) return;
    if (!defined(op, state)) return none(row);
    if constexpr (fallible_v<Op>) {
      try {
        results[at[row]] = op.lower(state);
      } catch (const ResultOverflow& error) {
        results[at[row]] = {};
        share->beyond.push_back({row, error.what()});
      }
    } else {
      results[at.next(results, row)] = op.lower(state);
    }
  }
  void none(std::size_t row) const {
    results[at[row]] = {};
    valid[at[row]] = false;
    share->missing = true;
  }
};

template <Invertible Op, class Lift, class Emit>
class InvertibleColumn {
 public:
  InvertibleColumn(const Op& op, std::size_t window, const Lift& lift, const Emit& emit)
      : op_(op), window_(window), lift_(lift), emit_(emit) {}
  void slide(std::size_t first, std::size_t last) {
    LoopCopy<const Op> op = op_;
    LoopCopy<Lift> lift = lift_;
    LoopCopy<Emit> emit = emit_;
    const std::size_t full = first + std::min(last - first, window_), window = window_;
    typename Op::State total = op.identity();
    in_blocks(first, full, [&](std::size_t row) {
      total = op.combine(total, lift(row));
      emit(row, total);
    });
    in_blocks(full, last, [&](std::size_t row) {
      total = op.remove(op.combine(total, lift(row)), lift(row - window));
      emit(row, total);
    });
  }

 private:
  const Op op_;
  const std::size_t window_;
  Lift lift_;
  Emit emit_;
};

template <class Op, class Lift, class Emit>
struct Kernels {
  using Blocks = TwoStacksBlocks<Op, Lift, Emit>;
  using Rows = TwoStacksColumn<Op, Lift, Emit>;
};
template <Invertible Op, class Lift, class Emit>
struct Kernels<Op, Lift, Emit> {
  using Blocks = InvertibleBlocks<Op, Lift, Emit>;
  using Rows = InvertibleColumn<Op, Lift, Emit>;
};

template <class Op, class Lift>
struct FoldJob final : ResultJob<typename Op::Out> {
  using Emit = EmitRow<Op>;
  using Both = Kernels<Op, Lift, Emit>;
  std::shared_ptr<void> held;  // what the lift points to
  Lift lift;
  FoldJob(const JobSpec& spec, std::shared_ptr<void> whose, const Lift& how)
      : ResultJob<typename Op::Out>(spec), held(std::move(whose)), lift(how) {}

  struct FoldPart final : JobPart {
    FoldJob& job;
    Share& share;
    typename Both::Blocks kernel;
    LastPresent last_present;
    FoldPart(FoldJob& whose, const SortedTimes& sorted, Share& which)
        : job(whose),
          share(which),
          kernel(whose.lift.op, sorted, whose.reach.time, which.first, which.last, whose.lift,
                 whose.emit(which, 0)) {}
    void fold(const FrameBlock& block) override {
      kernel.fold(block);
      if (job.least == 0) return;
      const std::size_t end = job.reach.keeps_end() ? 1 : 0;
      const auto* const lo = block.lo - block.begin;
      constexpr std::size_t kRun = 64;
      for (std::size_t first = block.begin; first < block.end; first += kRun) {
        const std::size_t last = std::min(block.end, first + kRun);
        // Windows start in order: if the youngest start leaves the oldest row enough, all have it.
        const std::size_t start = lo[last - 1];
        if (first + end >= start && first + end - start >= job.enough) continue;
        job.require_rows(
            first, last, [lo](std::size_t row) { return lo[row]; }, share, last_present);
      }
    }
  };

  Emit emit(Share& share, std::size_t behind) {
    return {lift.op, this->results.data(), this->valid, &share, share.first, this->at, behind};
  }
  std::unique_ptr<JobPart> part(const SortedTimes& sorted, Share& share) override {
    return std::make_unique<FoldPart>(*this, sorted, share);
  }
  void fold_rows(const SortedTimes& sorted, Share& share) override {
    const std::size_t behind = this->reach.keeps_end() ? 0 : 1, window = this->reach.rows;
    const Emit emitted = emit(share, behind);
    typename Both::Rows kernel(lift.op, window, lift, emitted);
    LastPresent last_present;
    for_groups(sorted, share, [&](std::size_t start, std::size_t first, std::size_t last) {
      // The rows before the first one that its window holds.
      const std::size_t before = std::min(first - start, window - 1 + behind);
      if (first - before < last - behind) kernel.slide(first - before, last - behind);
      if (behind == 1 && first == start) emitted.none(start);
      if (this->least == 0) return;
      // Only the windows at the start of a group are shorter.
      const std::size_t few = window < this->enough ? last : std::min(last, start + this->enough);
      const auto lo = [=](std::size_t row) {
        const std::size_t hi = row + 1 - behind;
        return hi - std::min(hi - start, window);
      };
      this->require_rows(first, few, lo, share, last_present);
    });
  }
};

template <class Op, class Lift>
std::unique_ptr<Job> fold_job(const JobSpec& spec, std::shared_ptr<void> held, const Lift& lift) {
  return std::make_unique<FoldJob<Op, Lift>>(spec, std::move(held), lift);
}

// An array of a column's rows; it lives as long as what is returned.
template <class T>
std::shared_ptr<Column<T>> column_of(nb::handle values, std::size_t rows) {
  auto column = std::make_shared<Column<T>>();
  if (!nb::try_cast<Column<T>>(values, *column, false) || column->shape(0) != rows) {
    fail("ValueTypeError",
         "expected an array of " + std::to_string(rows) + " values of type " + Value<T>::name);
  }
  return column;
}

}  // namespace slidefold::bindings
