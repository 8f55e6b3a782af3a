// The order of rows by group and time against std::stable_sort, from rows in order to random ones;
// and the order of rows of equal time.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "check.hpp"
#include "slidefold/columns/sort.hpp"
#include "slidefold/columns/ties.hpp"

using namespace slidefold;

namespace {

using Times = std::vector<std::int64_t>;

// Rows in order of time, with peers, of which a share is then put anywhere.
Times some_times(std::mt19937_64& random, std::size_t rows, std::uint64_t moved_of_100) {
  Times times(rows);
  std::int64_t time = -5000;
  for (std::int64_t& own : times) own = time += static_cast<std::int64_t>(random() % 3);
  for (std::size_t i = 0; i < rows; ++i) {
    if (random() % 100 >= moved_of_100) continue;
    const std::int64_t moved = times[i];
    const std::size_t to = random() % rows;
    times.erase(times.begin() + static_cast<std::ptrdiff_t>(i));
    times.insert(times.begin() + static_cast<std::ptrdiff_t>(to), moved);
  }
  if (random() % 4 == 0 && rows > 0)
    times[random() % rows] = std::numeric_limits<std::int64_t>::max();
  if (random() % 4 == 0 && rows > 0)
    times[random() % rows] = std::numeric_limits<std::int64_t>::min();
  return times;
}

std::vector<std::uint32_t> stable_order(const Times& times) {
  std::vector<std::uint32_t> order(times.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return times[a] < times[b]; });
  return order;
}

TEST(times_come_in_their_stable_order) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 400; ++round) {
    const std::size_t rows = std::vector<std::size_t>{1, 2, 3, 10, 100, 3000, 9000}[random() % 7];
    const Times times =
        some_times(random, rows, std::vector<std::uint64_t>{0, 1, 5, 15, 50}[random() % 5]);
    std::vector<std::uint32_t> order(rows);
    Times in_order(rows);
    sort_times(times.data(), rows, order.data(), in_order.data());
    const std::vector<std::uint32_t> due = stable_order(times);
    CHECK(order == due);
    for (std::size_t i = 0; i < rows; ++i) CHECK_EQ(in_order[i], times[due[i]]);
  }
}

TEST(few_rows_out_of_place_are_taken_out) {
  std::mt19937_64 random(4);
  const std::size_t rows = 100'000;
  const Times times = some_times(random, rows, 5);
  RowSet out(rows);
  CHECK(take_out(times.data(), rows, out));
  CHECK(out.size() < rows / 8);
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  std::vector<std::uint32_t> taken;
  for (std::uint32_t row = 0; row < rows; ++row) {
    if (out.has(row)) {
      taken.push_back(row);
      continue;
    }
    CHECK(last <= times[row]);
    last = times[row];
  }
  CHECK(out.rows() == taken);
  CHECK_EQ(out.size(), taken.size());
  // Rows in any order are given up soon.
  Times shuffled = times;
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  RowSet many(rows);
  CHECK(!take_out(shuffled.data(), rows, many));
  CHECK(many.size() < 5000);
}

TEST(groups_come_one_after_the_other) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 100; ++round) {
    const std::size_t rows = std::vector<std::size_t>{1, 2, 50, 2000}[random() % 4];
    const Times times = some_times(random, rows, random() % 2 == 0 ? 0 : 10);
    std::vector<std::int32_t> groups(rows);
    for (std::int32_t& group : groups) group = static_cast<std::int32_t>(random() % 3);
    const GroupedTimes given{rows, times.data(), groups.data(), 4};  // the last one is empty
    std::vector<std::int64_t> starts(5);
    given.count_groups(starts.data());
    std::vector<std::uint32_t> order(rows), places(rows);
    Times in_order(rows);
    CHECK(sort_rows(given, starts.data(), order.data(), places.data(), in_order.data()));
    std::vector<std::uint32_t> due = stable_order(times);
    std::stable_sort(due.begin(), due.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return groups[a] < groups[b]; });
    CHECK(order == due);
    for (std::size_t i = 0; i < rows; ++i) {
      CHECK_EQ(places[order[i]], i);
      CHECK_EQ(in_order[i], times[order[i]]);
    }
  }
}

TEST(ties_are_ordered_within_their_runs) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint32_t> runs{0};
    for (std::uint64_t r = random() % 5; r > 0; --r) {
      runs.push_back(runs.back() + 2 + static_cast<std::uint32_t>(random() % 6));
    }
    std::vector<std::int64_t> keys(runs.back());
    for (std::int64_t& key : keys) key = static_cast<std::int64_t>(random() % 4);
    const OrderedTies found = order_ties(keys.data(), runs.data(), runs.size() - 1);
    std::vector<std::uint32_t> due(keys.size()), equal;
    std::iota(due.begin(), due.end(), 0u);
    for (std::size_t r = 0; r + 1 < runs.size(); ++r) {
      std::stable_sort(due.begin() + runs[r], due.begin() + runs[r + 1],
                       [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
      for (std::uint32_t i = runs[r]; i < runs[r + 1]; ++i) {
        const bool before = i > runs[r] && keys[due[i - 1]] == keys[due[i]];
        const bool after = i + 1 < runs[r + 1] && keys[due[i + 1]] == keys[due[i]];
        if (before || after) equal.push_back(i);
      }
    }
    CHECK(found.order == due);
    CHECK(found.equal.rows == equal);
    CHECK_EQ(found.moved, !std::is_sorted(due.begin(), due.end()));
    for (std::size_t r = 0; r + 1 < found.equal.runs.size(); ++r) {
      CHECK(found.equal.runs[r + 1] - found.equal.runs[r] >= 2);
    }
    CHECK_EQ(found.equal.runs.back(), equal.size());
  }
}

}  // namespace
