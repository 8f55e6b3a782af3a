// Keyed windows in lockstep with a map of maps, strings that do not commute, and failures.
#include <limits>
#include <map>
#include <random>
#include <string>

#include "check.hpp"
#include "monoids.hpp"
#include "slidefold/algorithms/keyed_windows.hpp"

using namespace slidefold;

namespace {

struct Concat {
  static constexpr bool fallible = true;
  using State = std::string;
  int* fuse = nullptr;  // throws when it has burnt down
  State identity() const { return {}; }
  State combine(const State& older, const State& newer) const {
    if (fuse != nullptr && *fuse > 0 && --*fuse == 0) throw std::runtime_error("fuse");
    return older + newer;
  }
  bool same(const State& a, const State& b) const { return a == b; }
};

struct Mixed {
  std::uint64_t operator()(std::int64_t key) const {
    return static_cast<std::uint64_t>(key) * 0x9E3779B97F4A7C15;
  }
};

using Truth = std::map<Slot, std::map<std::int64_t, std::string>>;

void lockstep(unsigned seed, int keys, int spread, std::size_t most_rows, bool failing,
              int longest = 40) {
  std::mt19937 random(seed);
  const auto draw = [&](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  int fuse = 0;
  KeyedWindows<Concat> windows(Concat{&fuse});
  Truth truth;
  // Without a watermark nothing may ever leave.
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
  std::int64_t now = 0, watermark = kNever;
  const std::int64_t range = 1 + draw(longest);
  for (int batch = 0; batch < 120; ++batch) {
    const std::size_t rows = static_cast<std::size_t>(draw(static_cast<int>(most_rows)));
    std::vector<Slot> slots;
    std::vector<std::int64_t> times;
    std::vector<std::string> values;
    std::vector<char> inserted;
    for (std::size_t i = 0; i < rows; ++i) {
      inserted.push_back(draw(4) > 0);
      now += draw(3) == 0;
      const std::int64_t time = now - draw(spread);
      const bool late = time <= watermark;
      slots.push_back(late ? kNoSlot : static_cast<Slot>(draw(keys)));
      times.push_back(time);
      values.push_back(std::string(1, static_cast<char>('a' + draw(26))));
    }
    std::vector<std::string> results(rows, "?");
    const auto run = [&] {
      windows.push(
          slots, times, [&](std::size_t i) { return inserted[i] != 0; },
          [&](std::size_t i) { return values[i]; }, [&](std::int64_t t) { return t - range + 1; },
          [](std::int64_t t) { return t; },
          [&](std::size_t i, const std::string& state, bool empty) {
            CHECK(empty ? state.empty() && inserted[i] == 0 : !state.empty());
            results[i] = state;
          });
      if (draw(2) == 0 && batch > 40) watermark = std::max(watermark, now - spread / 2);
      std::vector<Slot> emptied;
      const std::int64_t kept = watermark == kNever ? kNever : watermark - range + 1;
      windows.evict(kept, 8, [&](Slot slot) { emptied.push_back(slot); });
      for (const Slot slot : emptied) CHECK(windows.empty(slot));
    };
    const std::int64_t old = watermark;
    windows.begin();
    fuse = failing && draw(2) == 0 ? 1 + draw(60) : 0;
    try {
      run();
      windows.commit();
    } catch (const std::runtime_error&) {
      windows.rollback();
      watermark = old;
      fuse = 0;
      windows.check();
      for (auto& [slot, entries] : truth) {
        auto entry = entries.begin();
        windows.for_each(slot, [&](std::int64_t t, const std::string& state) {
          while (entry != entries.end() && entry->first < t) ++entry;  // those were evicted
          CHECK(entry != entries.end() && entry->first == t && entry->second == state);
        });
      }
      continue;
    }
    fuse = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      if (slots[i] != kNoSlot && inserted[i]) truth[slots[i]][times[i]] += values[i];
    }
    for (std::size_t i = 0; i < rows; ++i) {
      if (slots[i] == kNoSlot) continue;
      std::string due;
      for (const auto& [t, v] : truth[slots[i]]) {
        if (times[i] - range < t && t <= times[i]) due += v;
      }
      CHECK(results[i] == due);
    }
    windows.check();
  }
  KeyedWindows<Concat> twin(windows);
  windows.evict(1'000'000'000, windows.stores(), [](Slot) {});
  CHECK(windows.entries() == 0);
  twin.check();
}

// Runs and trees of one key, trees, a few keys, mostly one entry a key.
void lockstep_all(bool failing) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    lockstep(seed, 1, 30, 60, failing);
    lockstep(seed, 1, 600, 300, failing);
    lockstep(seed, 5, 40, 40, failing);
    lockstep(seed, 300, 20, 100, failing);
    lockstep(seed, 2, 20, 60, failing, 900);  // rows of a batch share most of their windows
  }
}

}  // namespace

TEST(keys_that_were_loaded_are_swept_before_any_push) {
  KeyedWindows<Concat> windows(Concat{});
  windows.push(
      {0, 1}, {5, 50}, [](std::size_t) { return true; }, [](std::size_t) { return "x"; },
      [](std::int64_t t) { return t - 9; }, [](std::int64_t t) { return t; },
      [](std::size_t, const std::string&, bool) {});
  Saver saver;
  windows.archive(saver, 0);
  KeyedWindows<Concat> loaded(Concat{});
  Loader loader(saver.bytes());
  loaded.archive(loader, 0);
  loaded.evict(10, 1, [](Slot) {});
  CHECK(loaded.empty(0));
}

// Slots are numbered anew when most are free; slots in use stay, and so do swept ones.
TEST(renumbered_keys_hold_what_they_held) {
  KeyTable<std::int64_t, std::int64_t, Mixed> table;
  KeyedWindows<Concat> windows(Concat{});
  const auto push = [&](std::int64_t from, std::int64_t to, std::int64_t time) {
    std::vector<Slot> slots;
    for (std::int64_t key = from; key < to; ++key) slots.push_back(table.add(key).first);
    windows.push(
        slots, std::vector<std::int64_t>(slots.size(), time), [](std::size_t) { return true; },
        [&](std::size_t i) { return std::to_string(from + static_cast<std::int64_t>(i)); },
        [](std::int64_t t) { return t - 9; }, [](std::int64_t t) { return t; },
        [](std::size_t, const std::string&, bool) {});
  };
  push(0, 4000, 1);
  push(1000, 1010, 50);
  const std::size_t full = windows.bytes() + table.bytes();
  CHECK(!table.sparse());
  windows.evict(20, windows.stores(), [&](Slot slot) { table.remove(slot); });
  CHECK(table.sparse());
  windows.renumber(table.compact());
  table.check();
  windows.check();
  CHECK(!table.sparse());
  CHECK_EQ(table.size(), 10u);
  CHECK_EQ(table.slots(), 10u);
  CHECK(windows.bytes() + table.bytes() < full / 20);
  for (std::int64_t key = 1000; key < 1010; ++key) {
    CHECK_EQ(windows.query(table.find(key), 0, 100).first, std::to_string(key));
  }
  push(0, 100, 60);
  CHECK_EQ(windows.entries(), 110u);
  windows.evict(100, windows.stores(), [&](Slot slot) { table.remove(slot); });
  CHECK_EQ(table.size(), 0u);
  windows.renumber(table.compact());
  table.check();
  CHECK_EQ(table.bytes() + windows.bytes(), 0u);
}

// Entries that a failed batch touched are left alone later.
TEST(keys_of_a_failed_batch_are_forgotten) {
  int fuse = 0;
  KeyedWindows<Concat> windows(Concat{&fuse});
  const auto push = [&] {
    windows.push(
        {0, 0, 1}, {5, 5, 5}, [](std::size_t) { return true; }, [](std::size_t) { return "x"; },
        [](std::int64_t t) { return t - 9; }, [](std::int64_t t) { return t; },
        [](std::size_t, const std::string&, bool) {});
  };
  fuse = 1;
  windows.begin();
  CHECK_THROWS(push(), std::runtime_error);
  windows.rollback();
  std::size_t emptied = 0;
  windows.evict(100, windows.stores(), [&](Slot) { ++emptied; });
  CHECK_EQ(emptied, 0u);
}

TEST(batches_answer_as_recalculation_does) { lockstep_all(false); }
TEST(a_batch_that_fails_leaves_no_trace) { lockstep_all(true); }
