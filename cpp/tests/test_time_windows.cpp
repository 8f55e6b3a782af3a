// Time windows folded block by block against their frames folded one by one: the same results to
// the bit, for the same combines, and peers that share theirs.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "check.hpp"
#include "monoids.hpp"
#include "slidefold/columns/frames.hpp"
#include "slidefold/columns/ties.hpp"
#include "slidefold/columns/time_windows.hpp"

using namespace slidefold;

namespace {

std::uint64_t calls = 0;

struct Tree {
  using State = std::uint64_t;
  State identity() const { return 0; }
  State combine(State older, State newer) const {
    ++calls;
    return test::mixed(older, newer);
  }
};

struct Whole {  // a sum, which can be taken apart
  using State = std::uint64_t;
  State identity() const { return 0; }
  State combine(State older, State newer) const { return older + newer; }
  State remove(State whole, State older) const { return whole - older; }
};

struct Rows {
  std::vector<std::int64_t> times, starts{0};
};

Rows some_rows(std::mt19937_64& random) {
  Rows rows;
  const std::size_t groups = 1 + random() % 4;
  const std::uint64_t spread = std::vector<std::uint64_t>{2, 40, 4000}[random() % 3];
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t size = std::vector<std::size_t>{0, 1, 7, 300, 2500}[random() % 5];
    const auto first = static_cast<std::ptrdiff_t>(rows.times.size());
    for (std::size_t i = 0; i < size; ++i) {
      rows.times.push_back(static_cast<std::int64_t>(random() % spread));
    }
    std::sort(rows.times.begin() + first, rows.times.end());
    rows.starts.push_back(static_cast<std::int64_t>(rows.times.size()));
  }
  return rows;
}

std::vector<TimeReach> some_windows(std::mt19937_64& random) {
  std::vector<TimeReach> windows;
  for (std::uint64_t w = 0; w < 1 + random() % 3; ++w) {
    windows.push_back({static_cast<std::int64_t>(random() % 50), random() % 2 == 0});
  }
  return windows;
}

using Folds = std::vector<std::uint64_t>;

struct Frames {
  std::vector<std::int64_t> lo, hi;
};

Frames frames_of(const SortedTimes& sorted, TimeReach window) {
  Frames frames{std::vector<std::int64_t>(sorted.rows()), std::vector<std::int64_t>(sorted.rows())};
  for (std::size_t g = 0; g < sorted.groups; ++g) {
    time_frames(sorted.times, sorted.start(g), sorted.start(g + 1), window, frames.lo.data(),
                frames.hi.data());
  }
  return frames;
}

// The folds of rows that see no peers but themselves, or the older ones.
Folds one_by_one(const SortedTimes& sorted, TimeReach window) {
  Frames frames = frames_of(sorted, window);
  for (std::size_t row = 0; row < sorted.rows(); ++row) {
    frames.hi[row] = static_cast<std::int64_t>(row) + (window.keeps_end ? 1 : 0);
  }
  Folds found(sorted.rows());
  fold_two_stacks(
      Tree{}, frames.lo.data(), frames.hi.data(), sorted.rows(),
      [](std::size_t row) { return row + 1; },
      [&](std::size_t row, std::uint64_t state, bool empty) { found[row] = empty ? 0 : state; });
  return found;
}

struct Emit {
  Folds* found;
  void operator()(std::size_t row, std::uint64_t state) const { (*found)[row] = state; }
  void none(std::size_t row) const { (*found)[row] = 0; }
};

// All windows, block by block, by kernels such as TwoStacksBlocks; if asked for, peers are settled.
template <template <class, class, class> class Blocks, class Op>
std::vector<Folds> by_blocks(const Op& op, const SortedTimes& sorted,
                             const std::vector<TimeReach>& windows, bool settled = false) {
  WindowFrames frames(sorted, windows, 0, sorted.rows(), settled);
  const auto lift = [](std::size_t row) { return std::uint64_t{row} + 1; };
  std::vector<Folds> found(windows.size(), Folds(sorted.rows(), 99));
  std::vector<Blocks<Op, decltype(lift), Emit>> kernels;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    kernels.emplace_back(op, sorted, windows[w], 0, sorted.rows(), lift, Emit{&found[w]});
  }
  while (frames.next()) {
    for (std::size_t w = 0; w < windows.size(); ++w) {
      kernels[w].fold(frames.block(w));
      for (const PeerRun& run : frames.peers()) {
        const std::size_t from = windows[w].keeps_end ? run.last - 1 : run.first;
        for (std::size_t row = run.first; row < run.last; ++row) found[w][row] = found[w][from];
      }
    }
  }
  return found;
}

TEST(blocks_combine_what_frames_combine) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    const Rows rows = some_rows(random);
    const SortedTimes sorted{rows.times.data(), rows.starts.data(), rows.starts.size() - 1};
    const std::vector<TimeReach> windows = some_windows(random);
    std::vector<Folds> due;
    calls = 0;
    for (const TimeReach& window : windows) due.push_back(one_by_one(sorted, window));
    const std::uint64_t before = calls;
    calls = 0;
    CHECK(by_blocks<TwoStacksBlocks>(Tree{}, sorted, windows) == due);
    CHECK_EQ(calls, before);
  }
}

// A window may reach beyond the last time that there is.
TEST(the_end_of_a_window_may_lie_beyond_the_clock) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> times;
  for (std::int64_t i = 200; i-- > 0;) times.push_back(most - i);
  const std::vector<std::int64_t> starts{0, 200};
  const SortedTimes sorted{times.data(), starts.data(), 1};
  const std::vector<TimeReach> windows{{30, true},   {30, false},  {199, true},
                                       {1000, true}, {most, true}, {most, false}};
  const std::vector<Folds> found = by_blocks<TwoStacksBlocks>(Tree{}, sorted, windows);
  for (std::size_t w = 0; w < windows.size(); ++w) {
    CHECK(found[w] == one_by_one(sorted, windows[w]));
  }
}

// Each row that leaves is taken away, in every group and across the ends of blocks; peers see each
// other, or none of them.
TEST(settled_blocks_hold_the_rows_of_their_frame) {
  std::mt19937_64 random(13);
  for (int round = 0; round < 200; ++round) {
    const Rows rows = some_rows(random);
    const SortedTimes sorted{rows.times.data(), rows.starts.data(), rows.starts.size() - 1};
    const std::vector<TimeReach> windows = some_windows(random);
    const bool taken = round % 2 == 0;
    const std::vector<Folds> found =
        taken ? by_blocks<InvertibleBlocks>(Whole{}, sorted, windows, true)
              : by_blocks<TwoStacksBlocks>(Whole{}, sorted, windows, true);
    for (std::size_t w = 0; w < windows.size(); ++w) {
      const Frames frames = frames_of(sorted, windows[w]);
      for (std::size_t row = 0; row < sorted.rows(); ++row) {
        std::uint64_t sum = 0;
        for (std::int64_t i = frames.lo[row]; i < frames.hi[row]; ++i) {
          sum += static_cast<std::uint64_t>(i) + 1;
        }
        CHECK_EQ(found[w][row], sum);
      }
    }
  }
}

TEST(each_run_of_peers_is_told_once) {
  std::mt19937_64 random(14);
  for (int round = 0; round < 200; ++round) {
    const Rows rows = some_rows(random);
    const SortedTimes sorted{rows.times.data(), rows.starts.data(), rows.starts.size() - 1};
    const std::vector<TimeReach> windows{{5, true}};
    WindowFrames frames(sorted, windows, 0, sorted.rows(), true);
    std::vector<std::pair<std::size_t, std::size_t>> told, due;
    while (frames.next()) {
      for (const PeerRun& run : frames.peers()) told.emplace_back(run.first, run.last);
    }
    for (std::size_t g = 0; g < sorted.groups; ++g) {
      for (std::size_t first = sorted.start(g), last; first < sorted.start(g + 1); first = last) {
        last = first + 1;
        while (last < sorted.start(g + 1) && rows.times[last] == rows.times[first]) ++last;
        if (last - first > 1) due.emplace_back(first, last);
      }
    }
    CHECK(told == due);
    for (const bool wide : {false, wide_times()}) {
      bool peers = false;
      TiedRows ties;
      CHECK(scan_times(sorted, peers, &ties, wide));
      CHECK_EQ(peers, !due.empty());
      CHECK_EQ(ties.runs.size(), due.size() + 1);
      for (std::size_t r = 0; r < due.size(); ++r) {
        CHECK_EQ(ties.rows[ties.runs[r]], due[r].first);
        CHECK_EQ(ties.runs[r + 1] - ties.runs[r], due[r].second - due[r].first);
        CHECK_EQ(ties.rows[ties.runs[r + 1] - 1] + 1, due[r].second);
      }
    }
  }
}

TEST(a_time_below_the_one_before_is_seen_wherever_it_is) {
  constexpr std::int64_t kRows = 200;
  std::vector<std::int64_t> times(kRows);
  for (std::int64_t i = 0; i < kRows; ++i) times[static_cast<std::size_t>(i)] = 10 * i;
  const std::vector<std::int64_t> starts{0, 3, 3, 150, kRows};
  const SortedTimes sorted{times.data(), starts.data(), starts.size() - 1};
  for (std::size_t row = 0; row < times.size(); ++row) {
    const bool opens = row == 0 || row == 3 || row == 150;
    times[row] -= 15;
    for (const bool wide : {false, wide_times()}) {
      bool peers = true;
      CHECK_EQ(scan_times(sorted, peers, nullptr, wide), opens);
      CHECK(!peers);
    }
    times[row] += 15;
  }
}

// A share starts in the middle: its first window holds the rows before it.
TEST(a_share_of_the_rows_starts_with_its_own_window) {
  std::mt19937_64 random(12);
  for (int round = 0; round < 200; ++round) {
    const Rows rows = some_rows(random);
    if (rows.times.empty()) continue;
    const SortedTimes sorted{rows.times.data(), rows.starts.data(), rows.starts.size() - 1};
    const std::vector<TimeReach> windows{
        {static_cast<std::int64_t>(random() % 50), random() % 2 == 0}};
    const std::size_t first = random() % sorted.rows();
    const Frames due = frames_of(sorted, windows[0]);
    WindowFrames frames(sorted, windows, first, sorted.rows(), false,
                        wide_times() && round % 2 == 0);
    while (frames.next()) {
      const FrameBlock block = frames.block(0);
      for (std::size_t row = block.begin; row < block.end; ++row) {
        CHECK_EQ(block.lo[row - block.begin], due.lo[row]);
      }
    }
  }
}

}  // namespace
