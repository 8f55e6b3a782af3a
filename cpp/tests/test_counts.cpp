// The price list: how often each algorithm calls combine, at worst and on average, counted up to
// windows of 2^20 values. DESIGN, section 4.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "lockstep.hpp"

using namespace slidefold;
using namespace slidefold::test;

static std::uint64_t calls = 0;

struct Counted {
  using State = std::uint64_t;
  State identity() const { return 0; }
  State combine(State older, State newer) const { return ++calls, 31 * older + newer; }
  State remove(State whole, State) const { return ++calls, whole; }  // only counted
  static State draw(Random& random) { return random(); }
};

// Counts comparisons: an insert into a SlickDeque makes no other calls.
struct CountedMax {
  using State = std::uint64_t;
  State identity() const { return 0; }
  bool newer_wins(State older, State newer) const { return ++calls, older < newer; }
  State combine(State older, State newer) const { return newer_wins(older, newer) ? newer : older; }
  static State draw(Random& random) { return random() | 1; }
};

struct Price {
  std::uint64_t steps = 0, total = 0, worst = 0;
  double average() const { return steps == 0 ? 0.0 : double(total) / double(steps); }
  void add(std::uint64_t cost) {
    ++steps;
    total += cost;
    worst = std::max(worst, cost);
  }
};

// The bill of a run, by kind of step.
template <class Algorithm>
struct Bill {
  Algorithm algorithm;
  Random random{51};
  Price insert{}, evict{}, query{};

  void inserted(std::uint64_t value) {
    calls = 0;
    static_cast<void>(algorithm.insert(value));
    insert.add(calls);
  }
  void inserted() { inserted(OpOf<Algorithm>::draw(random)); }
  void evicted() {
    calls = 0;
    algorithm.evict();
    evict.add(calls);
  }
  void queried() {
    calls = 0;
    static_cast<void>(algorithm.query());
    query.add(calls);
  }
  void slide() { evicted(), inserted(), queried(); }
  void clear() { insert = evict = query = Price{}; }
  double per_slide() const { return double(total()) / double(insert.steps); }
  std::uint64_t total() const { return insert.total + evict.total + query.total; }
};

template <class Algorithm>
static Bill<Algorithm> filled(Algorithm algorithm, std::size_t n) {
  Bill<Algorithm> bill{std::move(algorithm)};
  for (std::size_t i = 0; i < n; ++i) bill.inserted();
  bill.queried();
  return bill;
}

// Small windows, windows beside a power of two, large ones. steps(8) is 1 when in a hurry.
static std::vector<std::size_t> sizes() {
  std::vector<std::size_t> result = {1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 1000, 1024, 1025};
  if (steps(8) == 8) result.insert(result.end(), {(1 << 16) + 1, 1 << 20});
  return result;
}

// A full window slides once around and a half; then it is drained and filled again, then walks.
template <class Algorithm>
static Bill<Algorithm> around(const Algorithm& empty, std::size_t n) {
  auto bill = filled(empty, n);
  for (std::size_t i = 0; i < 3 * n / 2; ++i) bill.slide();
  for (std::size_t i = 0; i < n; ++i) bill.evicted();
  for (std::size_t i = 0; i < n; ++i) bill.inserted();
  for (std::size_t i = 0; i < n; ++i) {
    if (bill.algorithm.size() == 0 || below(bill.random, 2) == 0) {
      if (bill.algorithm.size() == n) bill.evicted();
      bill.inserted();
    } else {
      bill.evicted();
    }
    if (below(bill.random, 2) == 0) bill.queried();
  }
  return bill;
}

static std::uint64_t log2_ceil(std::size_t n) {
  return static_cast<std::uint64_t>(std::bit_width(n - 1));
}
static std::uint64_t log2_floor(std::size_t n) {
  return static_cast<std::uint64_t>(std::bit_width(n) - 1);
}

TEST(recalc_folds_everything_again) {
  for (const std::size_t n : {1, 2, 100, 1000}) {
    const auto bill = around(Recalc<Counted>(Counted{}), n);
    CHECK_EQ(bill.insert.worst, 0);
    CHECK_EQ(bill.evict.worst, 0);
    CHECK_EQ(bill.query.worst, n - 1);
  }
}

TEST(subtract_on_evict_calls_once) {
  for (const std::size_t n : sizes()) {
    const auto bill = around(SubtractOnEvict<Counted>(Counted{}), n);
    CHECK(bill.insert.worst <= 1);
    CHECK(bill.evict.worst <= 1);
    CHECK_EQ(bill.query.worst, 0);
  }
}

template <class Algorithm>
static void two_stacks(const Algorithm& empty) {
  for (const std::size_t n : sizes()) {
    const auto bill = around(empty, n);
    CHECK(bill.query.worst <= 1);
    CHECK(bill.insert.worst <= 1);
    CHECK(bill.evict.worst <= n);
    CHECK(bill.evict.total <= bill.insert.steps);
    auto sliding = filled(empty, n);
    sliding.clear();
    for (std::size_t i = 0; i < 2 * n; ++i) sliding.slide();
    if (n > 1) CHECK_EQ(sliding.evict.worst, n - 1);  // the bound is met
    CHECK(sliding.per_slide() <= 3);
    if (n >= 1000) CHECK(sliding.per_slide() >= 2.99);
  }
}
TEST(two_stacks_flip_now_and_then) { two_stacks(TwoStacks<Counted>(Counted{})); }
TEST(two_stacks_lite_flip_now_and_then) { two_stacks(TwoStacksLite<Counted>(Counted{})); }

template <class Algorithm>
static void daba(const Algorithm& empty, std::uint64_t insert, std::uint64_t evict, double both) {
  for (const std::size_t n : sizes()) {
    const auto bill = around(empty, n);
    CHECK(bill.query.worst <= 1);
    CHECK(bill.insert.worst <= insert);
    CHECK(bill.evict.worst <= evict);
    auto sliding = filled(empty, n);
    for (std::size_t i = 0; i < 2 * n; ++i) sliding.slide();
    sliding.clear();
    // A flip comes every n/2 slides or so: many cycles, or for large n two windows of whole ones.
    for (std::size_t i = 0; i < (n < 2000 ? 100 : 2) * n; ++i) sliding.slide();
    const double average = sliding.insert.average() + sliding.evict.average();
    CHECK(average <= both);
    if (n >= 1000) CHECK(average >= 0.99 * both);
  }
}
TEST(daba_is_constant) { daba(Daba<Counted>(Counted{}), 4, 3, 4); }
TEST(daba_is_constant_in_a_ring) { daba(Daba<Counted, Ring>(Counted{}), 4, 3, 4); }
TEST(daba_lite_is_constant) { daba(DabaLite<Counted>(Counted{}), 3, 2, 3); }
TEST(daba_lite_is_constant_in_a_ring) { daba(DabaLite<Counted, Ring>(Counted{}), 3, 2, 3); }

TEST(slick_deque_compares_less_than_twice) {
  for (const std::size_t n : sizes()) {
    const auto bill = around(SlickDeque<CountedMax>(CountedMax{}), n);
    CHECK_EQ(bill.query.worst, 0);
    CHECK_EQ(bill.evict.worst, 0);
    CHECK(bill.insert.worst <= n);
    CHECK(bill.insert.total < 2 * bill.insert.steps);
    // The worst case: falling values, then one above them all.
    Bill<SlickDeque<CountedMax>> falling{SlickDeque<CountedMax>(CountedMax{})};
    for (std::size_t i = 0; i < n; ++i) falling.inserted(2 * n - i);
    CHECK(falling.insert.worst <= 1);
    falling.inserted(3 * n);
    CHECK_EQ(falling.insert.worst, n);
    CHECK(falling.insert.total < 2 * falling.insert.steps);
  }
}

TEST(flat_fit_averages_three) {
  for (const std::size_t n : sizes()) {
    const FlatFit<Counted> empty(Counted{});
    const auto bill = around(empty, n);
    CHECK_EQ(bill.insert.worst, 0);
    CHECK_EQ(bill.evict.worst, 0);
    CHECK(bill.query.worst <= n - 1);
    CHECK(bill.query.total <= 2 * (bill.insert.steps + bill.query.steps));
    auto sliding = filled(empty, n);
    sliding.clear();
    for (std::size_t i = 0; i < 3 * (n + 1); ++i) sliding.slide();
    CHECK(sliding.per_slide() <= 3);
    if (n >= 1000) CHECK(sliding.per_slide() >= 2.99);
    CHECK_EQ(sliding.query.worst, n - 1);  // the bound is met
  }
}

TEST(amta_is_constant_on_average) {
  for (const std::size_t n : sizes()) {
    const auto bill = around(Amta<Counted>(Counted{}), n);
    CHECK(bill.insert.worst <= 1 + log2_floor(n));
    CHECK(bill.insert.total < 2 * bill.insert.steps);
    CHECK_EQ(bill.evict.worst, 0);
    CHECK(bill.query.worst <= 1 + 2 * log2_floor(n));
    CHECK(2 * bill.query.total <= 2 * bill.query.steps + 2 * bill.evict.steps + bill.insert.steps);
    auto sliding = filled(Amta<Counted>(Counted{}), n);
    sliding.clear();
    for (std::size_t i = 0; i < 2 * n; ++i) sliding.slide();
    CHECK(sliding.per_slide() <= 4);
  }
}

TEST(base_intervals_are_logarithmic) {
  for (const std::size_t n : sizes()) {
    const auto bill = around(BInt<Counted>(Counted{}), n);
    CHECK(bill.insert.worst <= log2_floor(n));
    CHECK(bill.insert.total < bill.insert.steps);
    CHECK_EQ(bill.evict.worst, 0);
    CHECK(bill.query.worst <= 2 * log2_floor(n));
  }
}

TEST(amta_evicts_in_bulk) {
  for (const std::size_t n : sizes()) {
    auto bill = filled(Amta<Counted>(Counted{}), n);
    for (std::size_t count = 1; count <= n; count = 2 * count + 1) {
      calls = 0;
      bill.algorithm.bulk_evict(count);
      CHECK_EQ(calls, 0);
      bill.queried();
      while (bill.algorithm.size() < n) bill.inserted();
    }
    CHECK(bill.query.worst <= 1 + 2 * log2_floor(n));
  }
}

TEST(flat_fat_climbs_once) {
  for (const std::size_t n : sizes()) {
    // A fixed capacity: nothing is rebuilt.
    const std::uint64_t height = log2_ceil(n);
    const auto bill = around(FlatFat<Counted>(Counted{}, n), n);
    CHECK(bill.insert.worst <= height);
    CHECK(bill.evict.worst <= height);
    CHECK(bill.query.worst <= (n == 1 ? 0 : 2 * height - 1));
    // A growing one, rebuilt now and then at an amortised cost of O(1).
    const auto growing = around(FlatFat<Counted>(Counted{}), n);
    const std::size_t slots = std::bit_ceil(std::max<std::size_t>(n, 4));
    CHECK(growing.insert.worst <= slots);
    CHECK(growing.evict.worst <= slots);
    CHECK(growing.query.worst <= 2 * log2_ceil(slots) - 1);
    const std::uint64_t events = growing.insert.steps + growing.evict.steps;
    CHECK(growing.insert.total + growing.evict.total <= events * (log2_ceil(slots) + 2));
  }
}

TEST(flat_fat_answers_from_its_root) {
  for (const std::size_t n : sizes()) {
    auto bill = filled(FlatFat<Counted>(Counted{}, n), n);  // not inverted
    CHECK_EQ(bill.query.worst, 0);
    const std::uint64_t height = log2_ceil(n);
    const auto cost = [&](auto&& ask) {
      calls = 0;
      static_cast<void>(ask());
      return calls;
    };
    for (std::size_t slide = 0; slide < 2; ++slide) {
      for (std::size_t i = 0; i < n; i += 1 + n / 100) {
        const std::uint64_t position = bill.algorithm.oldest() + i;
        const std::uint64_t most = slide == 0 || n == 1 ? height : 2 * height - 1;
        CHECK(cost([&] { return bill.algorithm.prefix(position); }) <= most);
        CHECK(cost([&] { return bill.algorithm.suffix(position); }) <= most);
      }
      bill.slide();  // inverted from here on
    }
  }
}

TEST(flat_fat_repairs_a_batch_once) {
  Random random(52);
  for (const std::size_t n : sizes()) {
    const std::size_t slots = std::bit_ceil(n);
    // m(1 + ceil(log2(c/m))); 2^k m >= c iff k >= log2(c/m).
    const auto bound = [&](std::size_t m) {
      std::size_t height = 0;
      while ((m << height) < slots) ++height;
      return m * (1 + height);
    };
    auto window = filled(FlatFat<Counted>(Counted{}, n), n);
    auto batched = filled(FlatFat<Counted>(Counted{}, n, true), n);
    CHECK_EQ(batched.insert.total, 0);
    CHECK(batched.query.worst <= n - 1);
    for (std::size_t m = 1; m <= n; m = m < 5 ? m + 1 : 3 * m) {
      std::vector<std::pair<std::uint64_t, std::uint64_t>> near, far;
      const std::uint64_t first = batched.algorithm.oldest();
      for (std::size_t i = 0; i < m; ++i) near.emplace_back(i, random());
      for (std::size_t i = 0; i < m; ++i) far.emplace_back(i * n / m, random());
      for (const auto& changes : {near, far}) {
        calls = 0;
        window.algorithm.update(changes);
        CHECK(calls <= bound(m));
      }
      calls = 0;
      for (std::size_t i = 0; i < m; ++i) batched.evicted(), batched.inserted();
      CHECK_EQ(batched.insert.total + batched.evict.total, 0);
      calls = 0;
      batched.algorithm.trigger();
      // An evict and an insert write the same slot if the ring is full, else one each.
      CHECK(calls <= bound(n == slots ? m : std::min(2 * m, slots)));
      CHECK_EQ(batched.algorithm.oldest(), first + m);
    }
  }
}
