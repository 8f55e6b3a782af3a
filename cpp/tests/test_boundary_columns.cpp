// The boundary kernels over whole columns against recomputation.
#include <atomic>
#include <stdexcept>

#include "boundary_ops.hpp"
#include "check.hpp"
#include "slidefold/columns/boundary.hpp"
#include "slidefold/columns/parallel_boundary.hpp"

using namespace slidefold;
using namespace slidefold::check;

std::string lift_letter(std::size_t row) { return letter(row * row + row / 3); }

template <class Op, class Lift>
std::vector<typename Op::State> recomputed(const Op& op, std::size_t rows, std::size_t range,
                                           std::size_t slide, bool partial, Lift lift) {
  std::vector<typename Op::State> results;
  for (std::size_t end = slide; end <= rows; end += slide) {
    if (end < range && !partial) continue;
    auto fold = op.identity();
    for (std::size_t i = end < range ? 0 : end - range; i < end; ++i)
      fold = op.combine(fold, lift(i));
    results.push_back(fold);
  }
  return results;
}

// Collects results; each position exactly once.
template <class State>
struct Results {
  std::vector<State> states;
  std::vector<bool> seen;
  explicit Results(std::size_t count) : states(count), seen(count) {}
  void operator()(std::size_t j, const State& state) {
    CHECK(j < seen.size() && !seen[j]);
    states[j] = state;
    seen[j] = true;
  }
  bool are(const std::vector<State>& expected) const {
    return states == expected && std::find(seen.begin(), seen.end(), false) == seen.end();
  }
};

template <class Op, class Lift>
void all_shapes(const Op& op, Lift lift) {
  using State = typename Op::State;
  for (std::size_t range = 1; range <= 24; ++range) {
    for (std::size_t slide = 1; slide <= range; ++slide) {
      for (std::size_t chunk = 0; chunk <= range / slide; ++chunk) {
        const std::size_t more = (range * 7 + slide * 5 + chunk * 3) % 29;
        for (const std::size_t rows :
             {std::size_t{0}, range - 1, range, range + 1, 2 * range + more}) {
          for (const bool partial : {false, true}) {
            const auto expected = recomputed(op, rows, range, slide, partial, lift);
            CHECK_EQ(boundary_results(rows, range, slide, partial), expected.size());
            Results<State> sba(expected.size()), pba(expected.size());
            slide_sba(op, rows, range, slide, chunk, lift, std::ref(sba), partial);
            slide_pba(op, rows, range, slide, chunk, lift, std::ref(pba), partial);
            CHECK(sba.are(expected));
            CHECK(pba.are(expected));
          }
        }
      }
    }
  }
}

TEST(strings_of_all_shapes) { all_shapes(Concat{}, lift_letter); }
TEST(numbers_of_all_shapes) { all_shapes(Hash{}, Hash::lift); }

TEST(a_window_longer_than_any_column_costs_no_memory) {
  const std::size_t huge = ~std::size_t{0} / 4;
  for (const bool partial : {false, true}) {
    const auto expected = recomputed(Concat{}, 50, huge, 1, partial, lift_letter);
    Results<std::string> sba(expected.size()), pba(expected.size());
    slide_sba(Concat{}, 50, huge, 1, 0, lift_letter, std::ref(sba), partial);
    slide_pba(Concat{}, 50, huge, 1, 0, lift_letter, std::ref(pba), partial);
    CHECK(sba.are(expected));
    CHECK(pba.are(expected));
  }
}

// The ways for large windows, with small blocks: all lengths of blocks, lanes and rests.
TEST(blocks_of_all_shapes) {
  const Hash op;
  auto lift = Hash::lift;
  for (std::size_t block_rows = 5; block_rows <= 14; ++block_rows) {
    for (std::size_t window = block_rows; window <= 50; window += 1 + window / 20) {
      for (std::size_t rows = window; rows <= 4 * window; rows += 1 + rows / 9) {
        const auto expected = recomputed(op, rows, window, 1, true, lift);
        Results<Hash::State> blocks(rows), pipeline(rows), chains(rows);
        slide_first_chunk(op, rows, window, true, lift, blocks);
        slide_blocks(op, rows, window, block_rows, lift, blocks);
        CHECK(blocks.are(expected));
        slide_first_chunk(op, rows, window, true, lift, chains);
        slide_two_chains(op, rows, window, lift, chains);
        CHECK(chains.are(expected));
        if (rows % 4 > 0) continue;  // a thread each
        slide_pipeline(op, rows, window, true, block_rows, lift, pipeline);
        CHECK(pipeline.are(expected));
      }
    }
  }
}

// Large windows: a window of hashes is told from the hash of all rows before its end and its start.
TEST(large_windows) {
  const Hash op;
  auto lift = Hash::lift;
  const std::size_t rows = 700'000;
  std::vector<Hash::State> prefix(rows + 1);
  for (std::size_t i = 0; i < rows; ++i) prefix[i + 1] = op.combine(prefix[i], lift(i));
  for (const std::size_t window : {4096u, 8192u, 10'007u, 65'536u, 131'073u, 300'001u, 699'999u}) {
    std::vector<std::uint64_t> shifts(window + 1, 1);
    for (std::size_t i = 0; i < window; ++i) shifts[i + 1] = shifts[i] * lift(i).shift;
    const auto expect = [&](std::size_t j, const Hash::State& state) {
      CHECK_EQ(state.hash, prefix[j + window].hash - prefix[j].hash * shifts[window]);
      CHECK_EQ(state.shift, shifts[window]);
    };
    std::size_t sba = 0, pba = 0;
    slide_sba(op, rows, window, 1, 0, lift,
              [&](std::size_t j, const auto& s) { expect(j, s), ++sba; });
    slide_pba(op, rows, window, 1, 0, lift,
              [&](std::size_t j, const auto& s) { expect(j, s), ++pba; });
    CHECK_EQ(sba, rows - window + 1);
    CHECK_EQ(pba, rows - window + 1);
  }
}

TEST(long_slides) {
  for (const std::size_t range : {1000u, 1024u, 1999u}) {
    for (const std::size_t slide : {17u, 100u, 999u}) {
      const auto expected = recomputed(Hash{}, 20'000, range, slide, false, Hash::lift);
      Results<Hash::State> sba(expected.size()), pba(expected.size());
      slide_sba(Hash{}, 20'000, range, slide, 0, Hash::lift, std::ref(sba));
      slide_pba(Hash{}, 20'000, range, slide, 0, Hash::lift, std::ref(pba));
      CHECK(sba.are(expected));
      CHECK(pba.are(expected));
    }
  }
}

TEST(combines_are_bounded) {
  Counted::Counts counts;
  const Counted op{&counts};
  double sink = 0;
  const auto lift = [](std::size_t row) { return static_cast<double>(row * 7919 % 1013); };
  const auto emit = [&](std::size_t, double state) { sink += state; };
  for (const std::size_t window : {1u, 2u, 3u, 16u, 100u, 4096u}) {
    counts.own = 0;
    slide_sba(op, 10 * window, window, 1, 0, lift, emit, true);
    CHECK(counts.own <= 3 * 10 * window);
  }
  for (const std::size_t window : {std::size_t{1} << 14, std::size_t{1} << 19}) {
    counts.own = counts.others = 0;
    slide_sba(op, 4 * window, window, 1, 0, lift, emit);
    CHECK(counts.own <= (4 * 4 + 1) * window);
    counts.own = counts.others = 0;
    slide_pba(op, 4 * window, window, 1, 0, lift, emit);
    CHECK(counts.own + counts.others <= (4 * 4 + 1) * window);
  }
}

// What is thrown comes out, from whichever thread, and nobody waits for ever.
TEST(errors_come_out) {
  const std::size_t rows = 60'000, window = 8192;
  for (std::size_t bad = 0; bad < rows; bad += 1777) {
    const auto lift = [&](std::size_t row) {
      return row == bad ? throw std::runtime_error("lift") : Hash::lift(row);
    };
    const auto ignore = [](std::size_t, const Hash::State&) {};
    CHECK_THROWS(slide_pba(Hash{}, rows, window, 1, 0, lift, ignore), std::runtime_error);
    const auto emit = [&](std::size_t row, const Hash::State&) {
      if (row == bad) throw std::out_of_range("emit");
    };
    CHECK_THROWS(slide_pba(Hash{}, rows, window, 1, 0, Hash::lift, emit, true), std::out_of_range);
    CHECK_THROWS(slide_sba(Hash{}, rows, window, 1, 0, Hash::lift, emit, true), std::out_of_range);
  }
}

template <class Op, class Lift>
void runs_as_sba(const Op& op, bool& armed, std::size_t rows, std::size_t range, std::size_t slide,
                 Lift lift) {
  using State = typename Op::State;
  const std::size_t count = boundary_results(rows, range, slide);
  Results<State> sba(count), pba(count);
  armed = false;
  slide_sba(op, rows, range, slide, 0, lift, std::ref(sba));
  slide_pba(op, rows, range, slide, 0, lift, std::ref(pba));
  CHECK(pba.are(sba.states));
  armed = true;
  const auto ignore = [](std::size_t, const State&) {};
  CHECK_THROWS(slide_sba(op, rows, range, slide, 0, lift, ignore), std::runtime_error);
  CHECK_THROWS(slide_pba(op, rows, range, slide, 0, lift, ignore), std::runtime_error);
}

TEST(a_failing_operator_runs_as_sba) {
  bool armed = false;
  std::mt19937 random(5);
  runs_as_sba(Failing{{}, &armed, &random}, armed, 100, 9, 2, lift_letter);
  const auto mine = std::this_thread::get_id();
  for (const std::size_t range : {9u, 10'000u, 300'000u}) {
    runs_as_sba(FailingHash{{}, &mine, &armed}, armed, 4 * range, range, 1, Hash::lift);
    runs_as_sba(FailingHash{{}, &mine, &armed}, armed, 4 * range, range, 2, Hash::lift);
  }
}
