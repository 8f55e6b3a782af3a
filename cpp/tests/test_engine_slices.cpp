// Slices of the engine against folding all rows again: windows of any length that end at multiples
// of a step or at local days, in random batches; and what is held and combined.
#include <algorithm>
#include <map>
#include <string>

#include "check.hpp"
#include "monoids.hpp"
#include "slidefold/engine/engine.hpp"

using namespace slidefold;
using namespace slidefold::engine;
using test::below;
using test::Random;

namespace {

// Words, one after the other: the free monoid. It counts its combines.
struct Letters {
  static inline std::uint64_t combines = 0;
  static constexpr bool commutative = false;
  using In = std::int64_t;
  using State = std::string;
  using Out = std::string;
  State identity() const { return {}; }
  State lift(In value) const { return std::string(1, static_cast<char>('a' + value % 26)); }
  State combine(const State& older, const State& newer) const {
    ++combines;
    return older + newer;
  }
  Out lower(const State& state) const { return state; }
  bool same(const State& a, const State& b) const { return a == b; }
};
// A sum, which is plain; it counts too.
struct Total {
  static inline std::uint64_t combines = 0;
  static constexpr bool commutative = true;
  using In = std::int64_t;
  using State = std::int64_t;
  using Out = std::int64_t;
  State identity() const { return 0; }
  State lift(In value) const { return value; }
  State combine(State older, State newer) const {
    ++combines;
    return older + newer;
  }
  Out lower(State state) const { return state; }
  bool same(State a, State b) const { return a == b; }
};

struct Event {
  Time time;
  Word key;
  std::int64_t value;
};
struct Answer {
  std::string letters;
  std::int64_t total = 0;
  std::uint64_t held = 0;
};
std::string shown(const Answer& a) {
  return a.letters + ", total " + std::to_string(a.total) + ", held " + std::to_string(a.held);
}

template <class Take>
struct Into final : Sink {
  Answer& answer;
  Take take;
  Into(Answer& a, Take t) : answer(a), take(t) {}
  void put(std::size_t, const void* state, std::uint64_t held) override {
    answer.held = held;
    if (state != nullptr) take(answer, state);
  }
};

struct Case {
  Grid grid;
  std::vector<TimeRule> rules;
  std::size_t keys = 3;
  Time late = 30;
  bool letters = true;
};

class Subject {
 public:
  explicit Subject(const Case& given) : answers_(given.rules.size()), engine_(program(given)) {
    for (std::size_t w = 0; w < given.rules.size(); ++w) {
      add(w, 0, [](Answer& a, const void* s) { a.total = *static_cast<const std::int64_t*>(s); });
      if (!given.letters) continue;
      add(w, 1, [](Answer& a, const void* s) { a.letters = *static_cast<const std::string*>(s); });
    }
  }
  static Program program(const Case& given) {
    Program program;
    program.shape.columns = 1;
    program.shape.parts.push_back(part_of(Total{}, {0}));
    if (given.letters) program.shape.parts.push_back(part_of(Letters{}, {0}));
    for (const TimeRule& rule : given.rules) {
      program.windows.push_back({rule, {0}});
      if (given.letters) program.windows.back().parts.push_back(1);
    }
    program.ties.push_back({0, kAlways, Compare::kWhole});
    program.ends = given.grid;
    return program;
  }
  void insert(const std::vector<Event>& events) {
    std::vector<Time> times;
    std::vector<Word> keys, values;
    for (const Event& event : events) {
      times.push_back(event.time);
      keys.push_back(event.key);
      values.push_back(static_cast<Word>(event.value));
    }
    const void* columns[] = {values.data()};
    const Engine::Given given{events.size(), times.data(), columns, nullptr, keys.data()};
    engine_.insert(given, nullptr);
    engine_.wait(given, seen_);
    seen_ += events.size();
  }
  const Answer& ask(Slot slot, Time end, std::size_t w) {
    for (Answer& answer : answers_) answer = {};
    engine_.ask(slot, end, nullptr, 0);
    return answers_[w];
  }
  Engine& engine() { return engine_; }

 private:
  template <class Take>
  void add(std::size_t w, std::size_t k, Take take) {
    sinks_.push_back(std::make_unique<Into<Take>>(answers_[w], take));
    engine_.set_sink(w, k, sinks_.back().get());
  }
  std::vector<Answer> answers_;
  Engine engine_;
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::uint64_t seen_ = 0;
};

Answer folded(const std::vector<Event>& rows, TimeRule rule, Time end, bool letters) {
  rule.at(end);
  Answer answer;
  for (const Event& row : rows) {
    if (row.time < rule.since || row.time > rule.until) continue;
    if (letters) answer.letters += Letters{}.lift(row.value);
    answer.total += row.value;
    ++answer.held;
  }
  return answer;
}

// Returns the most slices that were held.
std::size_t lockstep(std::uint64_t seed, Case given) {
  Random random(seed);
  for (const TimeRule& rule : given.rules) {
    given.grid.far = std::max(given.grid.far, rule.oldest);
    given.grid.near = std::min(given.grid.near, rule.newest);
    given.grid.largest.push_back({rule.oldest, rule.newest, rule.back, rule.open});
  }
  Subject subject(given);
  std::map<Word, std::vector<Event>> model;
  Time now = 0, watermark = -1;
  std::int64_t number = 0;
  std::size_t most = 0;
  for (int step = 0; step < 120; ++step) {
    std::vector<Event> events;
    const std::size_t count = 1 + below(random, step % 3 == 0 ? 400 : 40);
    if (below(random, 30) == 0) now += 3 * given.grid.far;  // a silence
    for (std::size_t i = 0; i < count; ++i) {
      now += below(random, 4) == 0 ? 1 : 0;
      const Time behind = static_cast<Time>(below(random, static_cast<std::size_t>(given.late)));
      const Time time = std::max(now - behind, watermark + 1);
      events.push_back({time, below(random, given.keys), ++number * 7919 % 100'003});
    }
    subject.insert(events);
    for (const Event& event : events) {
      std::vector<Event>& rows = model[event.key];
      const auto before = [](const Event& a, const Event& b) {
        return a.time != b.time ? a.time < b.time : a.value < b.value;
      };
      rows.insert(std::upper_bound(rows.begin(), rows.end(), event, before), event);
    }
    const Time until = now - given.late;
    if (until <= watermark) continue;
    std::map<Word, std::vector<Time>> expected;
    for (const auto& [key, rows] : model) {
      for (auto end = given.grid.from(watermark + 1); end && *end <= until;
           end = given.grid.from(*end + 1)) {
        for (const TimeRule& rule : given.rules) {
          if (folded(rows, rule, *end, false).held == 0) continue;
          expected[key].push_back(*end);
          break;
        }
      }
    }
    std::map<Word, std::vector<Time>> ends;
    subject.engine().each_key([&](Slot slot, KeyStore&) {
      const Word key = subject.engine().key(slot)[0];
      subject.engine().each_end(slot, watermark, until, given.grid, [&](Time end) {
        ends[key].push_back(end);
        for (std::size_t w = 0; w < given.rules.size(); ++w) {
          CHECK_EQ(shown(subject.ask(slot, end, w)),
                   shown(folded(model[key], given.rules[w], end, given.letters)));
        }
      });
      if (given.grid.days == nullptr) {
        CHECK(subject.engine().count_ends(slot, watermark, until, given.grid) >=
              static_cast<double>(ends[key].size()));
      }
    });
    std::erase_if(ends, [](const auto& item) { return item.second.empty(); });
    CHECK(ends == expected);
    subject.engine().pass(until);
    watermark = until;
    subject.engine().commit(&watermark);
    subject.engine().check();
    most = std::max(most, subject.engine().slices());
    for (auto& [key, rows] : model) {
      std::erase_if(rows,
                    [&](const Event& row) { return row.time < watermark - 3 * given.grid.far; });
    }
  }
  return most;
}

TEST(slices_are_those_of_windows_of_any_length) {
  Random random(7);
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Case given;
    given.grid.step = 7 + static_cast<Time>(below(random, 40));
    given.grid.shift = static_cast<Time>(below(random, 50));
    given.grid.near = kNewest;
    for (std::size_t w = 0; w < 1 + seed % 3; ++w) {
      const auto newest = static_cast<Time>(below(random, 3) == 0 ? below(random, 60) : seed % 2);
      given.rules.push_back({newest + static_cast<Time>(below(random, 300)), newest});
    }
    given.keys = 1 + seed % 4;
    CHECK(lockstep(seed, given) > 0);
  }
}

TEST(slices_of_local_days) {
  Random random(11);
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    auto days = std::make_shared<Days>();
    for (Time t = -500; t < 200'000; t += 24 + static_cast<Time>(below(random, 3)) - 1) {
      days->starts.push_back(t);
    }
    Case given;
    given.grid.days = days;
    given.grid.every_days = 1 + seed % 3;
    given.grid.first_day = seed % 3;
    given.grid.near = kNewest;
    for (const std::size_t back : {1u, 5u}) {
      TimeRule rule{static_cast<Time>(back) * 24 + 24, static_cast<Time>(seed % 2)};
      rule.days = days;
      rule.back = back;
      rule.open = seed % 2 == 0;
      given.rules.push_back(rule);
    }
    given.rules.push_back({50, 1});  // and hours
    CHECK(lockstep(100 + seed, given) > 0);
  }
}

// Rows in order, `each` of them per slice: what is held after many, and combines per end.
struct Cost {
  std::size_t rows, slices, bytes;
  double per_row, per_end;
};
Cost cost(Time range, Time step, Time each) {
  Case given;
  given.grid.step = step * each;
  given.grid.far = given.grid.near = 1;
  given.rules.push_back({range * each, 1});
  given.grid.far = range * each;
  given.letters = false;
  given.grid.largest.push_back({range * each, 1, 0, false});
  Subject subject(given);
  Time now = 0, watermark = -1;
  std::uint64_t ends = 0, asked = 0, inserted = 0;
  const std::uint64_t before = Total::combines;
  while (now < 4 * range * each) {
    std::vector<Event> events;
    for (int i = 0; i < 100; ++i) events.push_back({++now, 0, 1});
    subject.insert(events);
    inserted += events.size();
    const std::uint64_t start = Total::combines;
    subject.engine().each_key([&](Slot slot, KeyStore&) {
      subject.engine().each_end(slot, watermark, now, given.grid, [&](Time end) {
        subject.ask(slot, end, 0);
        ++ends;
      });
    });
    asked += Total::combines - start;
    watermark = now;
    subject.engine().pass(watermark);
    subject.engine().commit(&watermark);
  }
  return {subject.engine().rows(), subject.engine().slices(), subject.engine().bytes(),
          static_cast<double>(Total::combines - before - asked) / static_cast<double>(inserted),
          static_cast<double>(asked) / static_cast<double>(ends)};
}

TEST(what_is_held_follows_slices_and_not_rows) {
  const Cost few = cost(64, 1, 10), many = cost(64, 1, 1'000);
  CHECK(few.slices <= 66 && many.slices <= 66);
  CHECK(few.rows < 200 && many.rows < 200);
  CHECK(many.bytes < 2 * few.bytes);
  // A range that the step does not divide has two cuts per step.
  CHECK(cost(65, 2, 1'000).slices <= 68);
}
TEST(a_row_is_combined_once_and_an_end_costs_the_logarithm) {
  for (const Time range : {16, 256, 4'096}) {
    const Cost found = cost(range, 1, 20);
    CHECK(found.per_row < 1.2);
    CHECK(found.per_end < 3 * kLeafFull + 40);
  }
  CHECK(cost(4'096, 1, 20).per_end < cost(256, 1, 20).per_end + 4 * kFan);
}

}  // namespace
