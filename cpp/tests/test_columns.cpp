// The column kernels of Two-Stacks Lite and DABA Lite against the algorithms, event by event: the
// same results to the bit, for the same number of combines.
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "check.hpp"
#include "monoids.hpp"
#include "slidefold/algorithms/daba_lite.hpp"
#include "slidefold/algorithms/two_stacks_lite.hpp"
#include "slidefold/columns/daba.hpp"
#include "slidefold/columns/slide.hpp"
#include "slidefold/columns/two_stacks.hpp"
#include "slidefold/operators/arithmetic.hpp"
#include "slidefold/operators/extremes.hpp"
#include "slidefold/operators/moments.hpp"
#include "slidefold/storage/ring.hpp"

using namespace slidefold;

namespace {

std::uint64_t calls = 0, lifts = 0;

template <bool kCheap>
struct Tree {
  static constexpr bool cheap_lift = kCheap;
  using State = std::uint64_t;
  State identity() const { return 0; }
  State combine(State older, State newer) const {
    ++calls;
    return test::mixed(older, newer);
  }
  static State lift(std::size_t row) { return ++lifts, (row + 1) * 0x94d049bb133111eb; }
};

struct Lite {
  template <class Op>
  using Algorithm = TwoStacksLite<Op>;
  template <class... Args>
  static void run(bool drain, Args&&... args) {
    drain ? drain_two_stacks(args...) : slide_two_stacks(args...);
  }
};

struct Daba {
  template <class Op>
  using Algorithm = DabaLite<Op, Ring>;
  template <class... Args>
  static void run(bool drain, Args&&... args) {
    drain ? drain_daba_lite(args...) : slide_daba_lite(args...);
  }
};

// Results by row, which must come once each and in order.
template <class Kernel, class Op, class Lift>
auto by_kernel(const Op& op, bool drain, std::size_t rows, std::size_t window, Lift lift) {
  std::vector<typename Op::State> results;
  const auto emit = [&](std::size_t row, const typename Op::State& state) {
    CHECK_EQ(row, results.size());
    results.push_back(state);
  };
  Kernel::run(drain, op, rows, window, lift, emit);
  CHECK_EQ(results.size(), rows);
  return results;
}

template <class Kernel, class Op, class Lift>
auto by_steps(const Op& op, bool drain, std::size_t rows, std::size_t window, Lift lift) {
  std::vector<typename Op::State> results;
  const auto emit = [&](std::size_t, const typename Op::State& state) { results.push_back(state); };
  typename Kernel::template Algorithm<Op> algorithm(op);
  slidefold::slide(algorithm, rows, window, drain, lift, emit);
  return results;
}

template <class Kernel, bool kCheap>
void same_combines() {
  const Tree<kCheap> op;
  for (const bool drain : {false, true}) {
    for (std::size_t window = 1; window <= 67; ++window) {
      for (std::size_t rows = 0; rows <= 3 * window + 7; ++rows) {
        CHECK(by_kernel<Kernel>(op, drain, rows, window, op.lift) ==
              by_steps<Kernel>(op, drain, rows, window, op.lift));
      }
    }
    const std::size_t huge = std::numeric_limits<std::size_t>::max();
    CHECK(by_kernel<Kernel>(op, drain, 9, huge, op.lift) ==
          by_steps<Kernel>(op, drain, 9, huge, op.lift));
  }
}

// A kernel may be ahead of the algorithm or behind it, but by no more than a cycle, and may spare
// the fold that each flip of Two-Stacks Lite makes for a row that leaves in the same step.
template <class Kernel, bool kCheap>
void as_many_combines() {
  const Tree<kCheap> op;
  for (const bool drain : {false, true}) {
    for (const std::size_t window : {2, 3, 16, 23, 24, 32, 33, 64, 100}) {
      const std::size_t blocks = 50, rows = blocks * window + 1;
      calls = 0;
      by_steps<Kernel>(op, drain, rows, window, op.lift);
      const std::uint64_t due = calls;
      calls = lifts = 0;
      by_kernel<Kernel>(op, drain, rows, window, op.lift);
      if (drain) {
        CHECK_EQ(calls, due);
      } else {
        CHECK(calls <= due + window && calls + blocks + window >= due);
      }
      if (!kCheap) CHECK(lifts <= rows + window);
    }
  }
}

// What float operators may get wrong: rounding, signs of zero, infinities, NaN of either sign.
std::vector<double> specials(std::size_t rows) {
  using Limits = std::numeric_limits<double>;
  const double rare[] = {0.0,
                         -0.0,
                         Limits::infinity(),
                         -Limits::infinity(),
                         1e308,
                         Limits::max(),
                         Limits::quiet_NaN(),
                         -Limits::quiet_NaN(),
                         -1e-9,
                         Limits::min(),
                         Limits::lowest(),
                         Limits::denorm_min(),
                         1e16,
                         -Limits::min(),
                         0.1,
                         -Limits::denorm_min()};
  std::vector<double> values;
  std::uint64_t random = 1;
  for (std::size_t row = 0; row < rows; ++row) {
    random = random * 6364136223846793005 + 1442695040888963407;
    const std::uint64_t draw = random >> 33;
    values.push_back(row > rows / 3 && draw % 5 == 0 ? rare[draw / 5 % 16]
                                                     : double(draw % 2000) / 7 - 140);
  }
  for (std::size_t row = rows / 2; row < rows / 2 + 20; ++row) values[row] = -0.0;
  return values;
}

// Of two NaN that are added, compilers choose which one comes out: NaN is one value here.
template <class T>
std::uint64_t bits_of(T value) {
  return std::bit_cast<std::uint64_t>(value != value ? std::numeric_limits<T>::quiet_NaN() : value);
}

template <class Kernel, class Op, class T>
void same_bits(const Op& op, const std::vector<T>& values) {
  const auto lift = [&](std::size_t row) { return op.lift(values[row]); };
  for (const bool drain : {false, true}) {
    for (const std::size_t window : {1, 2, 3, 4, 7, 8, 16, 17, 100, 255, 256, 257, 1000}) {
      const auto found = by_kernel<Kernel>(op, drain, values.size(), window, lift);
      const auto due = by_steps<Kernel>(op, drain, values.size(), window, lift);
      for (std::size_t row = 0; row < values.size(); ++row) {
        CHECK_EQ(bits_of(op.lower(found[row])), bits_of(op.lower(due[row])));
      }
    }
  }
}

template <class Kernel>
void same_bits_of_all() {
  const auto floats = specials(700);
  same_bits<Kernel>(Sum<double>{}, floats);
  same_bits<Kernel>(Mean<double>{}, floats);
  same_bits<Kernel>(Var<double>{}, floats);
  same_bits<Kernel>(Geomean<double>{}, floats);
  same_bits<Kernel>(MinMax<Extreme::kMax, double>{}, floats);
  same_bits<Kernel>(MinMax<Extreme::kMin, double>{}, floats);
  using Limits = std::numeric_limits<std::int64_t>;
  std::vector<std::int64_t> integers;
  for (const double value : floats) {
    const auto bits = std::bit_cast<std::int64_t>(value);
    integers.push_back(value == 0 ? Limits::max() : bits % 3 == 0 ? Limits::min() : bits);
  }
  same_bits<Kernel>(MinMax<Extreme::kMax, std::int64_t>{}, integers);
  same_bits<Kernel>(MinMax<Extreme::kMin, std::int64_t>{}, integers);
  same_bits<Kernel>(Mean<std::int64_t>{}, integers);
}

}  // namespace

TEST(two_stacks_lite_combines_the_same) {
  same_combines<Lite, false>();
  same_combines<Lite, true>();
}
TEST(daba_lite_combines_the_same) {
  same_combines<Daba, false>();
  same_combines<Daba, true>();
}
TEST(two_stacks_lite_combines_as_often) {
  as_many_combines<Lite, false>();
  as_many_combines<Lite, true>();
}
TEST(daba_lite_combines_as_often) {
  as_many_combines<Daba, false>();
  as_many_combines<Daba, true>();
}
TEST(two_stacks_lite_gives_the_same_bits) { same_bits_of_all<Lite>(); }
TEST(daba_lite_gives_the_same_bits) { same_bits_of_all<Daba>(); }

TEST(floats_are_ordered_and_nan_is_one_value_above_all) {
  using Limits = std::numeric_limits<double>;
  const double inf = Limits::infinity();
  const double rising[] = {-inf, Limits::lowest(), -1.0, -Limits::denorm_min(), -0.0,
                           0.0,  Limits::min(),    1.0,  Limits::max(),         inf};
  for (std::size_t i = 1; i < std::size(rising); ++i) {
    CHECK(ordered(rising[i - 1]) < ordered(rising[i]));
  }
  for (const double value : rising) {
    CHECK_EQ(std::bit_cast<std::uint64_t>(value_of<double>(ordered(value))),
             std::bit_cast<std::uint64_t>(value));
  }
  const auto nan = ordered(Limits::quiet_NaN());
  CHECK(nan > ordered(inf));
  constexpr auto kInfinity = std::bit_cast<std::uint64_t>(Limits::infinity());
  for (const std::uint64_t payload : {std::uint64_t{1}, std::uint64_t{1} << 51, ~kInfinity >> 1}) {
    for (const std::uint64_t sign : {std::uint64_t{0}, std::uint64_t{1} << 63}) {
      const std::uint64_t bits = sign | kInfinity | (payload & ((std::uint64_t{1} << 52) - 1));
      CHECK_EQ(ordered(std::bit_cast<double>(bits)), nan);
    }
  }
}
