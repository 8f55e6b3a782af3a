// What FlatFat has beyond a queue: positions, holes, batches, a fixed capacity, prefix and suffix.
#include <cstdint>
#include <map>

#include "lockstep.hpp"

using namespace slidefold;
using namespace slidefold::test;

// Letters one by one, then what the window folds to.
static std::string after(FlatFat<Concat<>>& window, const std::string& letters) {
  for (const char letter : letters) window.insert(std::string(1, letter));
  return window.query();
}

TEST(the_ring_of_four_from_the_paper) {
  FlatFat<Concat<>> window(Concat<>{}, 4);
  CHECK_EQ(after(window, "473"), "473");
  CHECK_EQ(after(window, "2"), "4732");
  window.evict();
  CHECK_EQ(window.query(), "732");
  CHECK_EQ(after(window, "9"), "7329");  // the ring is inverted now
  CHECK_EQ(window.prefix(2), "73");
  CHECK_EQ(window.prefix(4), "7329");
  CHECK_EQ(window.suffix(3), "29");
  CHECK_EQ(window.suffix(4), "9");
  window.check(nullptr);
}

TEST(positions_count_the_inserts) {
  FlatFat<Concat<>> window(Concat<>{});
  for (std::uint64_t i = 0; i < 50; ++i) {
    CHECK_EQ(window.insert("x"), i);
    if (i % 2 == 1) window.evict();
    CHECK_EQ(window.oldest(), (i + 1) / 2);
  }
}

TEST(a_full_ring_is_compacted_or_doubled) {
  FlatFat<Concat<>> window(Concat<>{});
  CHECK_EQ(window.capacity(), 4);
  CHECK_EQ(after(window, "abcd"), "abcd");
  CHECK_EQ(window.capacity(), 4);
  CHECK_EQ(after(window, "e"), "abcde");  // four of four: doubled
  CHECK_EQ(window.capacity(), 8);
  CHECK_EQ(after(window, "fgh"), "abcdefgh");
  window.evict_at(3);
  CHECK_EQ(after(window, "i"), "abcefghi");  // seven of eight: doubled
  CHECK_EQ(window.capacity(), 16);
  for (std::uint64_t position = 1; position < 9; position += 2) {
    if (position != 3) window.evict_at(position);
  }
  CHECK_EQ(after(window, "jklmnop"), "acegijklmnop");
  window.evict_at(10);
  CHECK_EQ(after(window, "q"), "acegijlmnopq");
  CHECK_EQ(window.capacity(), 16);  // 11 of 16: compacted
  window.check(nullptr);
}

TEST(a_ring_less_than_a_quarter_full_is_halved) {
  FlatFat<Concat<>> window(Concat<>{});
  const std::string letters = "abcdefghijklmnopqrstuvwxyz";
  CHECK_EQ(after(window, letters), letters);
  std::size_t capacity = 32;
  for (std::size_t gone = 1; gone <= letters.size(); ++gone) {
    window.evict();
    if (4 * (letters.size() - gone) < capacity && capacity > 4) capacity /= 2;
    CHECK_EQ(window.capacity(), capacity);
    CHECK_EQ(window.query(), letters.substr(gone));
  }
  CHECK_EQ(capacity, 4);
}

TEST(a_fixed_capacity_is_kept) {
  const std::string letters = "abcdefghijklmnop";
  for (const std::size_t capacity : {1, 2, 3, 4, 5, 9, 16}) {
    FlatFat<Concat<>> window(Concat<>{}, capacity);
    std::string expected = letters.substr(0, capacity);
    CHECK_EQ(after(window, expected), expected);
    for (std::uint64_t position = 0; position < 100; ++position) {
      CHECK_THROWS(window.insert("!"), CapacityFull);
      window.evict_at(position);  // the oldest, so that this leaves no hole
      expected.erase(0, 1);
      if (capacity > 2 && position % 5 == 0) {  // the third oldest: this one is compacted away
        window.evict_at(position + 2);
        window.check(nullptr);
        expected.erase(1, 1);
        CHECK_EQ(after(window, "x"), expected + "x");
        CHECK_EQ(window.size(), capacity - 1);
        while (window.size() > 0) window.evict();
        position += capacity;
        expected = letters.substr(0, capacity - 1);
        CHECK_EQ(after(window, expected), expected);
      }
      CHECK_EQ(after(window, "y"), expected + "y");
      expected += "y";
      CHECK_EQ(window.capacity(), capacity);
      window.check(nullptr);
    }
  }
}

template <class Error, class Step>
static std::string message(const Step& step) {
  try {
    step();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(mistakes_are_told_and_change_nothing) {
  FlatFat<Concat<>> window(Concat<>{}, 4);
  CHECK_EQ(after(window, "abcd"), "abcd");
  CHECK_EQ(message<CapacityFull>([&] { window.insert("e"); }),
           "FlatFat holds at most 4 values (capacity=4); evict first");
  CHECK_EQ(message<CapacityFull>([] {
             FlatFat<Concat<>> one(Concat<>{}, 1);
             one.insert("a");
             one.insert("b");
           }),
           "FlatFat holds at most 1 value (capacity=1); evict first");
  const auto refused = [&](std::uint64_t position) {
    const std::string expected = "no value at position " + std::to_string(position);
    using Error = std::out_of_range;
    CHECK_EQ(message<Error>([&] { window.evict_at(position); }), expected);
    CHECK_EQ(message<Error>([&] { window.prefix(position); }), expected);
    CHECK_EQ(message<Error>([&] { window.suffix(position); }), expected);
    CHECK_EQ(message<Error>([&] { window.update({{1, "x"}, {position, "y"}}); }), expected);
  };
  refused(4);
  refused(std::uint64_t(-1));
  window.evict_at(2);
  refused(2);
  window.evict();
  refused(0);
  CHECK_EQ(message<std::invalid_argument>([&] { window.update({{1, "x"}, {3, "y"}, {1, "z"}}); }),
           "position 1 is given twice");
  CHECK_EQ(window.query(), "bd");
  window.check(nullptr);
  CHECK_THROWS(FlatFat<Concat<>>(Concat<>{}, std::size_t(-1)), std::exception);
}

// A FlatFat beside a map from positions to letters.
template <bool kFallible>
struct Positions {
  using Window = FlatFat<Concat<kFallible>>;
  using Map = std::map<std::uint64_t, std::string>;
  Window window;
  Map map{};
  std::uint64_t next = 0;

  std::uint64_t any(Random& random) const {
    return std::next(map.begin(), std::ptrdiff_t(below(random, map.size())))->first;
  }
  static std::string joined(auto first, auto last) {
    std::string result;
    for (; first != last; ++first) result += first->second;
    return result;
  }

  // One random step; the map changes only if the window did.
  void step(Random& random, std::size_t chance, std::size_t most) {
    const auto run = [&](auto&& change) { transact(window, change); };
    const std::size_t kind = below(random, 10);
    if (map.empty() || (kind < 7 && map.size() < most && below(random, 100) < chance)) {
      const std::string letter = Concat<>::draw(random);
      run([&] { CHECK_EQ(window.insert(letter), next); });
      map[next++] = letter;
    } else if (kind < 4) {
      run([&] { window.evict(); });
      map.erase(map.begin());
    } else if (kind < 6) {
      // The youngest, the oldest, or any: the front and the back skip holes.
      const std::uint64_t youngest = std::prev(map.end())->first;
      const std::uint64_t position = kind == 4 ? any(random) : youngest;
      run([&] { window.evict_at(position); });
      map.erase(position);
    } else {
      Map changes;
      for (std::size_t i = below(random, 6); i > 0; --i) {
        changes[any(random)] = Concat<>::draw(random);
      }
      run([&] { window.update({changes.rbegin(), changes.rend()}); });
      for (const auto& [position, letter] : changes) map[position] = letter;
    }
  }

  void agree(Random& random) {
    std::vector<std::string> contents;
    for (const auto& [position, letter] : map) contents.push_back(letter);
    window.check(&contents);
    if (below(random, 3) != 0) return;
    CHECK_EQ(window.query(), joined(map.begin(), map.end()));
    if (map.empty()) return;
    CHECK_EQ(window.oldest(), map.begin()->first);
    const std::uint64_t position = any(random);
    const auto at = map.find(position);
    CHECK_EQ(window.prefix(position), joined(map.begin(), std::next(at)));
    CHECK_EQ(window.suffix(position), joined(at, map.end()));
    window.check(&contents);
  }
};

// (capacity, batched)
static const std::pair<std::size_t, bool> kKinds[] = {{0, false}, {0, true},   {16, false},
                                                      {16, true}, {11, false}, {1, true}};

TEST(holes_and_batches_agree_with_a_map) {
  for (const auto& [capacity, batch] : kKinds) {
    Random random(21);
    Positions<false> pair{FlatFat<Concat<>>(Concat<>{}, capacity, batch)};
    for (std::size_t step = 0; step < steps(20000); ++step) {
      pair.step(random, insert_chance(step) + 10, capacity == 0 ? 90 : capacity);
      pair.agree(random);
      if (batch && below(random, 50) == 0) pair.window.trigger();
      if (step % 100 == 0) pair = Positions<false>(pair);
    }
  }
}

TEST(failures_leave_holes_and_batches_as_they_were) {
  for (const auto& [capacity, batch] : kKinds) {
    Random random(22);
    Positions<true> pair{FlatFat<Concat<true>>(Concat<true>{}, capacity, batch)};
    for (std::size_t step = 0; step < steps(10000); ++step) {
      for (int calls = 0; calls < 3; ++calls) {
        fuse = calls;
        try {
          pair.step(random, insert_chance(step) + 10, capacity == 0 ? 60 : capacity);
          if (below(random, 4) == 0) transact(pair.window, [&] { pair.window.trigger(); });
        } catch (const Failure&) {
        }
        fuse = -1;
        pair.agree(random);
      }
    }
  }
}
