// Kernels made of operators: the loops over values, the only code here that knows their types.
//
// Layout: Reader<In> reads what an operator lifts from columns of words. kernel_of<Op>() is the
//   table for an operator whose inputs can be read so.
// Invariants: none beyond those of Kernel.
// Cost: fold O(values). run O(answers + values), amortised: the suffix folds of the lower end are
//   made once from its newest value back, as Two-Stacks does when it flips.
// Paper: daba-in-order, section 4 (Two-Stacks) for run.
#pragma once

#include <algorithm>
#include <bit>
#include <type_traits>

#include "slidefold/engine/pool.hpp"
#include "slidefold/operators/arithmetic.hpp"
#include "slidefold/operators/extremes.hpp"
#include "slidefold/operators/positional.hpp"

namespace slidefold::engine {

template <class In>
struct Reader;

template <class In>
  requires(std::is_same_v<In, double> || std::is_same_v<In, std::int64_t>)
struct Reader<In> {
  static In read(const void* const* columns, std::int32_t row) {
    return static_cast<const In*>(columns[0])[row];
  }
};
template <>
struct Reader<bool> {
  static bool read(const void* const* columns, std::int32_t row) {
    return static_cast<const Word*>(columns[0])[row] != 0;
  }
};
template <>
struct Reader<std::string> {
  static std::string read(const void* const* columns, std::int32_t row) {
    return std::string(text_of(static_cast<const Word*>(columns[0])[row]));
  }
};
// A value that may be null takes two columns: itself, and whether there is one.
template <>
struct Reader<Maybe<std::int64_t>> {
  static Maybe<std::int64_t> read(const void* const* columns, std::int32_t row) {
    return {Reader<std::int64_t>::read(columns, row), Reader<std::int64_t>::read(columns + 1, row)};
  }
};
template <>
struct Reader<Anything> {
  static Anything read(const void* const*, std::int32_t) { return {}; }
};
template <class In>
concept Readable =
    requires(const void* const* columns) { Reader<In>::read(columns, std::int32_t{}); };
template <class Arg, class Key>
  requires(Readable<Arg> && Readable<Key>)
struct Reader<Pair<Arg, Key>> {
  static Pair<Arg, Key> read(const void* const* columns, std::int32_t row) {
    return {Reader<Arg>::read(columns, row), Reader<Key>::read(columns + 1, row)};
  }
};

// Adds four runs side by side, which a compiler may not do with floats by itself.
inline double sum_of(const double* values, std::int32_t count) {
  double sums[4] = {};
  std::int32_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int k = 0; k < 4; ++k) sums[k] += values[i + k];
  }
  double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  for (; i < count; ++i) sum += values[i];
  return sum;
}

template <class Op>
struct KernelOf {
  using State = typename Op::State;
  using In = typename Op::In;
  static constexpr bool kSmall = std::is_trivially_copyable_v<State> && sizeof(State) <= 64;

  static const Op& op(const Part& part) { return *static_cast<const Op*>(part.context.get()); }

  static void add(const Op& op, State& state, const void* const* columns, std::int32_t first,
                  std::int32_t count) {
    if constexpr (std::is_same_v<Op, Count>) {
      state += count;
    } else if constexpr (std::is_same_v<Op, Sum<double>>) {
      state += sum_of(static_cast<const double*>(columns[0]) + first, count);
    } else if constexpr (std::is_same_v<Op, Mean<double>>) {
      state.sum += sum_of(static_cast<const double*>(columns[0]) + first, count);
      state.n += count;
    } else if constexpr (requires { op.add_run(state, columns, first, count); }) {
      op.add_run(state, columns, first, count);
    } else {
      for (std::int32_t i = first; i < first + count; ++i) add_one(op, state, columns, i);
    }
  }
  static void add_one(const Op& op, State& state, const void* const* columns, std::int32_t row) {
    if constexpr (requires { op.add(state, Reader<In>::read(columns, row)); }) {
      op.add(state, Reader<In>::read(columns, row));
    } else {
      slidefold::absorb(op, state, op.lift(Reader<In>::read(columns, row)));
    }
  }

  static void fold(const Part& part, void* state, const void* const* columns, std::int32_t first,
                   std::int32_t count) {
    add(op(part), *static_cast<State*>(state), columns, first, count);
  }

  static void run(const Part& part, const Run& run) {
    const Op& o = op(part);
    std::vector<State> suffixes;  // of states that own memory
    constexpr std::uint32_t kMost = 128;
    const auto answer = [&](State* suffix, std::uint32_t from, std::uint32_t until) {
      State tail = o.identity();
      std::int32_t end = run.end;
      for (std::uint32_t i = until; i-- > from;) {
        if (run.at[i] < end) {
          State more = o.identity();
          add(o, more, run.lower, run.at[i], end - run.at[i]);
          slidefold::absorb(o, more, tail);
          tail = std::move(more);
          end = run.at[i];
        }
        suffix[i - from] = tail;
      }
      State& back = *static_cast<State*>(run.back);
      std::int32_t folded = from == 0 ? run.from : run.up[from - 1];
      for (std::uint32_t i = from; i < until; ++i) {
        if (folded < run.up[i]) {
          add(o, back, run.upper, folded, run.up[i] - folded);
          folded = run.up[i];
        }
        State& whole = suffix[i - from];
        slidefold::absorb(o, whole, back);
        run.sink->put(run.rows[i], &whole, run.held[i]);
      }
    };
    for (std::uint32_t i = 0; i < run.count; i += kMost) {
      const std::uint32_t until = std::min(run.count, i + kMost);
      if constexpr (kSmall) {
        alignas(State) std::byte room[kMost * sizeof(State)];
        answer(reinterpret_cast<State*>(room), i, until);
      } else {
        suffixes.assign(until - i, o.identity());
        answer(suffixes.data(), i, until);
      }
    }
  }

  static const Kernel* table() {
    static const Kernel kernel = {*AlgebraOf<Op>::table(), fold, run};
    return &kernel;
  }
};

// The same for operators known only at run time: each row is lifted, then absorbed.
struct ErasedKernel {
  static void fold(const Part& part, void* state, const void* const* columns, std::int32_t first,
                   std::int32_t count) {
    StateOf one(part);
    for (std::int32_t i = first; i < first + count; ++i) {
      one.fill([&](void* out) { part.lift(part, columns, i, out); });
      part.absorb(state, one.get());
    }
  }

  static void run(const Part& part, const Run& run) {
    constexpr std::uint32_t kMost = 64;
    for (std::uint32_t from = 0; from < run.count; from += kMost) {
      const std::uint32_t until = std::min(run.count, from + kMost);
      std::vector<StateOf> suffixes;
      suffixes.reserve(until - from);
      StateOf tail(part);
      tail.reset();
      std::int32_t end = run.end;
      for (std::uint32_t i = until; i-- > from;) {
        if (run.at[i] < end) {
          StateOf more(part);
          more.reset();
          fold(part, more.get(), run.lower, run.at[i], end - run.at[i]);
          part.absorb(more.get(), tail.get());
          tail.assign(more.get());
          end = run.at[i];
        }
        suffixes.emplace_back(part);
        suffixes.back().assign(tail.get());
      }
      std::int32_t folded = from == 0 ? run.from : run.up[from - 1];
      for (std::uint32_t i = from; i < until; ++i) {
        if (folded < run.up[i]) {
          fold(part, run.back, run.upper, folded, run.up[i] - folded);
          folded = run.up[i];
        }
        StateOf& whole = suffixes[until - 1 - i];
        part.absorb(whole.get(), run.back);
        run.sink->put(run.rows[i], whole.get(), run.held[i]);
      }
    }
  }

  static std::shared_ptr<const Kernel> of(const Algebra& algebra) {
    return std::make_shared<const Kernel>(Kernel{algebra, fold, run});
  }
};

// A part that is answered from the rows of its windows.
inline Part walking_part(std::vector<std::uint32_t> columns, std::uint32_t presence = kAlways) {
  Algebra nothing{};
  nothing.plain = true;
  Part part;
  part.own_kernel = std::make_shared<const Kernel>(Kernel{nothing, nullptr, nullptr});
  part.kernel = part.own_kernel.get();
  part.columns = std::move(columns);
  part.presence = presence;
  part.walks = true;
  return part;
}

template <class Op>
Part part_of(Op op, std::vector<std::uint32_t> columns, std::uint32_t presence = kAlways) {
  Part part;
  part.kernel = KernelOf<Op>::table();
  part.commutative = Op::commutative;
  part.context = std::make_shared<const Op>(std::move(op));
  part.columns = std::move(columns);
  part.presence = presence;
  return part;
}

}  // namespace slidefold::engine
