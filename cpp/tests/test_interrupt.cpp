// poll(): long computations are stopped, and what they change can be taken back.
#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <thread>

#include "check.hpp"
#include "slidefold/algorithms/fiba.hpp"
#include "slidefold/algorithms/recalc.hpp"
#include "slidefold/columns/daba.hpp"
#include "slidefold/columns/frames.hpp"
#include "slidefold/columns/rank_frames.hpp"
#include "slidefold/columns/slide.hpp"
#include "slidefold/columns/sort.hpp"
#include "slidefold/columns/top_frames.hpp"
#include "slidefold/columns/two_stacks.hpp"
#include "slidefold/operators/arithmetic.hpp"
#include "slidefold/operators/extremes.hpp"

using namespace slidefold;

namespace {

struct Halt {};

// Throws at the n-th poll.
struct Fuse {
  long left;
  long polls = 0;
  static void burn(void* self) {
    auto& fuse = *static_cast<Fuse*>(self);
    ++fuse.polls;
    if (--fuse.left == 0) throw Halt{};
  }
};

template <class Run>
bool stopped(long at, const Run& run) {
  Fuse fuse{at};
  const Polled polled({Fuse::burn, &fuse});
  try {
    run();
  } catch (const Halt&) {
    return true;
  }
  return false;
}

constexpr std::size_t kRows = 200'000;

// Whether a computation polls often, and can be stopped at its first and at later polls.
template <class Run>
void stops(const Run& run) {
  Fuse fuse{-1};
  {
    const Polled polled({Fuse::burn, &fuse});
    run();
  }
  CHECK(fuse.polls >= static_cast<long>(kRows / 4 / kPollRows));
  for (const long at : {1L, 2L, fuse.polls / 2}) CHECK(stopped(at, run));
  run();  // without a hook nothing stops it
}

// Whose changes can be taken back.
struct Total {
  static constexpr bool fallible = true;
  using State = std::int64_t;
  State identity() const { return 0; }
  State combine(State older, State newer) const { return older + newer; }
  bool same(State a, State b) const { return a == b; }
};

struct Column {
  std::vector<double> values;
  std::vector<std::int64_t> lo, hi, keys;
  Column() : values(kRows), lo(kRows), hi(kRows), keys(kRows) {
    std::mt19937_64 random(1);
    for (std::size_t i = 0; i < kRows; ++i) {
      values[i] = static_cast<double>(random() % 1000);
      keys[i] = static_cast<std::int64_t>(random());
      hi[i] = static_cast<std::int64_t>(i) + 1;
      lo[i] = std::max<std::int64_t>(0, hi[i] - 300);
    }
  }
};

}  // namespace

TEST(without_a_hook_nothing_happens) {
  poll();
  Pacer pace;
  for (int i = 0; i < 1000; ++i) pace();
  CHECK(stopped(1, [] { poll(); }));
  CHECK(!stopped(2, [] { poll(); }));
  poll();
}

TEST(a_hook_is_that_of_its_thread) {
  Fuse fuse{1};
  const Polled polled({Fuse::burn, &fuse});
  std::thread([] { poll(); }).join();
  CHECK_EQ(fuse.polls, 0);
}

TEST(blocks_are_all_there) {
  for (const std::size_t rows : {std::size_t{0}, std::size_t{1}, kPollRows, kPollRows + 1,
                                 3 * kPollRows - 1, 3 * kPollRows}) {
    std::vector<int> seen(rows);
    in_blocks(0, rows, [&](std::size_t i) { ++seen[i]; });
    CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
  }
}

TEST(kernels_over_rows_are_stopped) {
  const Column column;
  const Sum<double> sum;
  const MinMax<Extreme::kMax, double> max;
  double out = 0;
  const auto run_with = [&](const auto& op, const auto& kernel) {
    stops([&] {
      kernel(
          op, [&](std::size_t row) { return op.lift(column.values[row]); },
          [&](std::size_t, const auto& state, bool = false) { out += op.lower(state); });
    });
  };
  for (const std::size_t window : {std::size_t{1}, std::size_t{50}, kRows / 3, 2 * kRows}) {
    const auto slides = [&](const auto& op) {
      run_with(op, [&](const auto& o, auto lift, auto emit) {
        slide_two_stacks(o, kRows, window, lift, emit);
      });
      run_with(op, [&](const auto& o, auto lift, auto emit) {
        drain_two_stacks(o, kRows, window, lift, emit);
      });
      // DABA Lite polls between its cycles, of half a window each.
      const std::size_t cycles = std::min(window, kPollRows);
      run_with(op, [&](const auto& o, auto lift, auto emit) {
        slide_daba_lite(o, kRows, cycles, lift, emit);
      });
      run_with(op, [&](const auto& o, auto lift, auto emit) {
        drain_daba_lite(o, kRows, cycles, lift, emit);
      });
    };
    slides(sum);
    slides(max);
  }
  run_with(max, [&](const auto& o, auto lift, auto emit) {
    fold_two_stacks(o, column.lo.data(), column.hi.data(), kRows, lift, emit);
  });
}

TEST(kernels_without_operators_are_stopped) {
  const Column column;
  stops([&] {
    std::vector<std::int64_t> lo(kRows), hi(kRows), times(kRows);
    std::iota(times.begin(), times.end(), 0);
    time_frames(times.data(), 0, kRows, {100, true}, lo.data(), hi.data());
  });
  std::vector<std::uint32_t> order(kRows);
  std::vector<std::int64_t> in_order(kRows);
  stops([&] { sort_times(column.keys.data(), kRows, order.data(), in_order.data()); });
  stops([&] { RankedColumn().rank(column.keys.data(), kRows); });
}

// Where a step costs milliseconds, a few steps pass between polls.
TEST(slow_steps_are_paced_by_the_clock) {
  const Column column;
  const Sum<double> op;
  Recalc<Sum<double>> recalc(op);
  const auto start = std::chrono::steady_clock::now();
  CHECK(stopped(4, [&] {
    slide(
        recalc, kRows, kRows, false, [&](std::size_t row) { return op.lift(column.values[row]); },
        [](std::size_t, double) {});
  }));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}

TEST(a_bulk_that_is_stopped_can_be_taken_back) {
  std::mt19937 random(3);
  std::vector<std::int64_t> times(60'000);
  for (auto& time : times) time = static_cast<std::int64_t>(random() % 1'000'000);
  const std::vector<std::int64_t> values(times.size(), 1);
  int stops_seen = 0;
  for (const long at : {1L, 3L, 5L, 9L, 17L}) {
    Fiba<Total> tree(Total{}, 4);
    for (std::int64_t t = 0; t < 3000; ++t) tree.insert(7 * t, 10);
    const bool halted = stopped(at, [&] {
      transact(tree, [&] { tree.bulk_insert(times.data(), values.data(), times.size()); });
    });
    tree.check();
    if (!halted) continue;
    ++stops_seen;
    CHECK_EQ(tree.size(), 3000u);
    CHECK_EQ(tree.query(), 30'000);
  }
  CHECK(stops_seen > 2);
}
