// Order statistics: the counted tree beside a std::multiset, ranks of frames beside sorting.
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>

#include "check.hpp"
#include "monoids.hpp"
#include "slidefold/columns/rank_frames.hpp"
#include "slidefold/operators/quantile.hpp"
#include "slidefold/storage/counted_tree.hpp"

using namespace slidefold;
using namespace slidefold::test;

static void same(const CountedTree& tree, const std::multiset<std::int64_t>& truth) {
  tree.check();
  CHECK_EQ(tree.size(), truth.size());
  std::size_t k = 0;
  for (auto at = truth.begin(); at != truth.end(); ++at, ++k) {
    const auto [found, after] = tree.select(k);
    CHECK_EQ(found, *at);
    CHECK_EQ(after, std::next(at) == truth.end() ? *at : *std::next(at));
  }
}

TEST(a_tree_in_lockstep_with_a_multiset) {
  Random random(1);
  for (const std::size_t different : {std::size_t{3}, std::size_t{500}, std::size_t{1} << 40}) {
    for (const std::size_t size : {std::size_t{5}, std::size_t{90}, std::size_t{4000}}) {
      CountedTree tree;
      std::multiset<std::int64_t> truth;
      std::deque<std::int64_t> window;
      for (int step = 0; step < 20'000; ++step) {
        if (window.empty() || below(random, 10) < (window.size() < size ? 8u : 3u)) {
          const auto key = static_cast<std::int64_t>(below(random, different)) - 1;
          tree.insert(key);
          truth.insert(key);
          window.push_back(key);
        } else {
          CHECK(tree.erase(window.front()));
          truth.erase(truth.find(window.front()));
          window.pop_front();
        }
        if (step % 997 == 0) same(tree, truth);
      }
      CHECK(!tree.erase(-7));
      const CountedTree copy = tree;
      for (; !window.empty(); window.pop_front()) CHECK(tree.erase(window.front()));
      CHECK(tree.empty());
      tree.check();
      same(copy, truth);
    }
  }
}

TEST(a_tree_gives_memory_back) {
  CountedTree tree;
  for (std::int64_t i = 0; i < 100'000; ++i) tree.insert(i * 7919 % 100'003);
  const std::size_t full = tree.bytes();
  std::multiset<std::int64_t> truth;
  for (std::int64_t i = 0; i < 100'000; ++i) {
    const std::int64_t key = i * 7919 % 100'003;
    if (i % 10'000 == 0) {
      truth.insert(key);
    } else {
      CHECK(tree.erase(key));
    }
  }
  CHECK(tree.bytes() < full / 50);
  same(tree, truth);
  while (!truth.empty()) {
    CHECK(tree.erase(*truth.begin()));
    truth.erase(truth.begin());
  }
  tree.check();
}

TEST(ends_of_a_tree_that_only_grows_at_one_side) {
  for (const int sign : {1, -1}) {
    CountedTree tree;
    std::multiset<std::int64_t> truth;
    for (std::int64_t i = 0; i < 5000; ++i) {
      tree.insert(sign * i);
      truth.insert(sign * i);
      if (i >= 3000) {
        CHECK(tree.erase(sign * (i - 3000)));
        truth.erase(sign * (i - 3000));
      }
    }
    same(tree, truth);
  }
}

static void frames_beside_sorting(std::size_t step) {
  Random random(2);
  for (const std::size_t rows :
       {std::size_t{1}, std::size_t{64}, std::size_t{65}, std::size_t{20'000}}) {
    std::vector<std::int64_t> values(rows);
    for (auto& value : values) value = static_cast<std::int64_t>(below(random, rows));
    std::vector<std::int64_t> lo, hi;  // frames that grow, shrink, jump and are empty
    for (std::int64_t from = 0, to = 0; to < static_cast<std::int64_t>(rows);) {
      to = std::min(to + static_cast<std::int64_t>(below(random, step)),
                    static_cast<std::int64_t>(rows));
      from = std::min(from + static_cast<std::int64_t>(below(random, step + 2)), to);
      lo.push_back(from);
      hi.push_back(to);
    }
    std::size_t seen = 0;
    const auto middle = [](std::size_t, std::size_t n) { return n / 3; };
    rank_frames(values.data(), lo.data(), hi.data(), lo.size(), middle,
                [&](std::size_t frame, std::int64_t key, std::int64_t next) {
                  std::vector<std::int64_t> sorted(values.begin() + lo[frame],
                                                   values.begin() + hi[frame]);
                  std::sort(sorted.begin(), sorted.end());
                  const std::size_t k = sorted.size() / 3;
                  CHECK_EQ(key, sorted[k]);
                  CHECK_EQ(next, sorted[std::min(k + 1, sorted.size() - 1)]);
                  ++seen;
                });
    std::size_t held = 0;
    for (std::size_t i = 0; i < lo.size(); ++i) held += lo[i] < hi[i] ? 1 : 0;
    CHECK_EQ(seen, held);
  }
}

TEST(frames_of_a_few_rows_beside_sorting) { frames_beside_sorting(8); }
TEST(frames_of_many_rows_beside_sorting) { frames_beside_sorting(900); }

TEST(ranks_of_columns_beside_sorting) {
  Random random(3);
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  // All bits differ; only low ones do, beside one that is far away; few values; already in order.
  const std::vector<std::function<std::int64_t(std::size_t)>> draws = {
      [&](std::size_t) { return static_cast<std::int64_t>(random()); },
      [&](std::size_t i) { return i == 7 ? most : static_cast<std::int64_t>(below(random, 5000)); },
      [&](std::size_t i) { return i % 2 == 0 ? least : most - static_cast<std::int64_t>(i % 3); },
      [](std::size_t i) { return static_cast<std::int64_t>(i) - 100; },
      [](std::size_t) { return std::int64_t{-4}; },
  };
  RankedColumn found;  // of column after column
  for (const auto& draw : draws) {
    for (const std::size_t rows : {std::size_t{0}, std::size_t{1}, std::size_t{3000}}) {
      std::vector<std::int64_t> keys;
      for (std::size_t i = 0; i < rows; ++i) keys.push_back(draw(i));
      std::vector<std::uint32_t> order(rows);
      std::iota(order.begin(), order.end(), 0u);
      std::stable_sort(order.begin(), order.end(),
                       [&](auto a, auto b) { return keys[a] < keys[b]; });
      found.rank(keys.data(), rows);
      for (std::size_t i = 0; i < rows; ++i) {
        CHECK_EQ(found.key(i), keys[order[i]]);
        CHECK_EQ(found.rank_of(order[i]), i);
      }
    }
  }
}

TEST(between_two_values) {
  CHECK_EQ(lerp(1.0, 2.0, 0.25), 1.25);
  CHECK_EQ(lerp(-1.7e308, 1.7e308, 0.5), 0.0);
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  CHECK_EQ(lerp_whole(least, most, 0.5), -1);
  CHECK_EQ(lerp_whole(least, most, 0.75), (std::int64_t{1} << 62) - 1);
  CHECK_EQ(lerp_whole(-3, -2, 0.5), -3);
  CHECK_EQ(lerp_whole(most - 1, most, 0.999), most - 1);
}
