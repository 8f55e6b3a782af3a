// The engine against folding all rows of a key again: batches of many keys in any order, batches
// that are taken back, rows that leave; and the combines per row.
#include <algorithm>
#include <map>
#include <string>

#include "check.hpp"
#include "monoids.hpp"
#include "slidefold/engine/engine.hpp"
#include "slidefold/engine/kernels.hpp"

using namespace slidefold;
using namespace slidefold::engine;
using test::below;
using test::Random;

namespace {

// Words, one after the other: the free monoid. It counts what it is asked to do.
template <bool kCommutes>
struct Counting {
  static inline std::uint64_t combines = 0;
  static constexpr bool commutative = kCommutes;
  using In = std::int64_t;
  using State = std::conditional_t<kCommutes, std::int64_t, std::string>;
  using Out = State;
  State identity() const { return {}; }
  State lift(In value) const {
    if constexpr (kCommutes) {
      return value;
    } else {
      return std::string(1, static_cast<char>('a' + value % 26));
    }
  }
  State combine(const State& older, const State& newer) const {
    ++combines;
    return older + newer;
  }
  Out lower(const State& state) const { return state; }
  bool same(const State& a, const State& b) const { return a == b; }
};
using Letters = Counting<false>;
using Total = Counting<true>;

// The value with the largest remainder, the first of several: it picks one of two, and does not
// commute.
struct Best {
  static inline std::uint64_t combines = 0;
  static constexpr bool commutative = false;
  using In = std::int64_t;
  struct State {
    std::int64_t value = 0;
    bool some = false;
    template <class Archive>
    void archive(Archive& a) {
      a(value, some);
    }
  };
  using Out = std::int64_t;
  State identity() const { return {}; }
  State lift(In value) const { return {value, true}; }
  State combine(const State& older, const State& newer) const {
    ++combines;
    return newer_wins(older, newer) ? newer : older;
  }
  bool newer_wins(const State& older, const State& newer) const {
    return newer.some && (!older.some || older.value % 50 < newer.value % 50);
  }
  Out lower(const State& state) const { return state.value; }
  bool same(const State& a, const State& b) const { return a.some == b.some && a.value == b.value; }
};
static_assert(Selective<Best>);

struct Event {
  Time time;
  Word key;
  std::int64_t value;
};

// What one window answers.
struct Answer {
  std::string letters;
  std::int64_t total = 0;
  Word middle = 0;
  std::int64_t best = 0;
  std::uint64_t held = 0;
};
std::string shown(const Answer& a) {
  return a.letters + ", total " + std::to_string(a.total) + ", middle " + std::to_string(a.middle) +
         ", best " + std::to_string(a.best) + ", held " + std::to_string(a.held);
}
struct Answers : std::map<std::size_t, Answer> {};

template <class Take>
struct Into final : Sink {
  Answers& answers;
  Take take;
  Into(Answers& a, Take t) : answers(a), take(t) {}
  void put(std::size_t row, const void* state, std::uint64_t held) override {
    answers[row].held = held;
    if (state != nullptr) take(answers[row], state);
  }
};

constexpr Time kRange = 400;
constexpr std::size_t kRows = 150;

class Subject {
 public:
  Subject() : engine_(program()) {
    for (std::size_t w = 0; w < 2; ++w) {
      add(w, 0, [](Answer& a, const void* s) { a.letters = *static_cast<const std::string*>(s); });
      add(w, 1, [](Answer& a, const void* s) { a.total = *static_cast<const std::int64_t*>(s); });
      add(w, 2, [](Answer& a, const void* s) {
        auto& values = *static_cast<Ordered*>(const_cast<void*>(s));
        if (values.size() > 0) a.middle = values.select(values.size() / 2);
      });
      add(w, 3,
          [](Answer& a, const void* s) { a.best = static_cast<const Best::State*>(s)->value; });
    }
  }
  static Program program() {
    Program program;
    program.shape.columns = 1;
    program.shape.parts.push_back(part_of(Letters{}, {0}));
    program.shape.parts.push_back(part_of(Total{}, {0}));
    program.shape.parts.push_back(order_part<WholeKeys>(0));
    program.shape.parts.push_back(part_of(Best{}, {0}));
    program.windows.push_back({TimeRule{kRange, 0}, {0, 1, 2, 3}});
    program.windows.push_back({RowsRule{kRows, true}, {0, 1, 2, 3}});
    program.ties.push_back({0, kAlways, Compare::kWhole});
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
    engine_.insert({events.size(), times.data(), columns, nullptr, keys.data()}, nullptr);
  }
  // Answers the last batch; rows that are asked for only do not stay.
  void answer(bool stay, std::size_t count) {
    for (Answers& answers : answers_) answers.clear();
    std::vector<std::uint32_t> out(count);
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::uint32_t>(i);
    if (stay) {
      engine_.answer_inserted(out.data());
    } else {
      engine_.answer_each_inserted(out.data());
    }
  }
  const Answers& answers(std::size_t w) const { return answers_[w]; }
  Engine& engine() { return engine_; }

 private:
  template <class Take>
  void add(std::size_t w, std::size_t k, Take take) {
    sinks_.push_back(std::make_unique<Into<Take>>(answers_[w], take));
    engine_.set_sink(w, k, sinks_.back().get());
  }
  Engine engine_;
  Answers answers_[2];
  std::vector<std::unique_ptr<Sink>> sinks_;
};

// All rows of a key in window order.
using Model = std::map<Word, std::vector<Event>>;

void put(Model& model, const Event& event) {
  std::vector<Event>& rows = model[event.key];
  const auto before = [](const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.value < b.value;
  };
  rows.insert(std::upper_bound(rows.begin(), rows.end(), event, before), event);
}

Answer folded(const std::vector<Event>& rows) {
  Answer answer;
  std::vector<std::int64_t> values;
  Best::State best;
  for (const Event& row : rows) {
    best = Best{}.combine(best, {row.value, true});
    answer.letters += Letters{}.lift(row.value);
    answer.total += row.value;
    values.push_back(row.value);
  }
  std::sort(values.begin(), values.end());
  if (!values.empty()) answer.middle = static_cast<Word>(values[values.size() / 2]);
  answer.best = best.value;
  answer.held = rows.size();
  return answer;
}
Answer over_time(const Model& model, const Event& event) {
  std::vector<Event> held;
  for (const Event& row : model.at(event.key)) {
    if (event.time - kRange <= row.time && row.time <= event.time) held.push_back(row);
  }
  return folded(held);
}
Answer over_rows(const Model& model, const Event& event, std::size_t place) {
  const std::vector<Event>& rows = model.at(event.key);
  const std::size_t first = place + 1 > kRows ? place + 1 - kRows : 0;
  return folded({rows.begin() + static_cast<std::ptrdiff_t>(first),
                 rows.begin() + static_cast<std::ptrdiff_t>(place) + 1});
}

void lockstep(std::uint64_t seed, std::size_t keys, Time late) {
  Random random(seed);
  Subject subject;
  Model model;
  Time now = 0, watermark = -1;
  std::int64_t number = 0;
  for (int step = 0; step < 250; ++step) {
    std::vector<Event> events;
    const std::size_t count = below(random, 5) == 0 ? 60 + below(random, 60) : 1 + below(random, 8);
    for (std::size_t i = 0; i < count; ++i) {
      now += static_cast<Time>(below(random, 3));
      const Time behind = below(random, 3) == 0 ? static_cast<Time>(below(random, 100)) % late : 0;
      const Time time = std::max(now - behind, watermark + 1);
      events.push_back({time, below(random, keys), ++number * 7919 % 100'003});
    }
    Model grown = model;
    for (const Event& event : events) put(grown, event);
    subject.insert(events);
    subject.engine().check();
    const bool stay = below(random, 5) > 0;
    subject.answer(stay, count);
    for (std::size_t i = 0; i < count; ++i) {
      CHECK_EQ(shown(subject.answers(0).at(i)), shown(over_time(grown, events[i])));
      const std::vector<Event>& rows = grown.at(events[i].key);
      const auto place = std::find_if(
          rows.begin(), rows.end(), [&](const Event& row) { return row.value == events[i].value; });
      const Answer rows_answer =
          over_rows(grown, events[i], static_cast<std::size_t>(place - rows.begin()));
      CHECK_EQ(shown(subject.answers(1).at(i)), shown(rows_answer));
    }
    subject.engine().check();
    if (!stay) {
      subject.engine().undo();
    } else {
      model = std::move(grown);
      watermark = std::max(watermark, now - late);
      subject.engine().commit(&watermark);
    }
    subject.engine().check();
  }
  CHECK(subject.engine().rows() < static_cast<std::size_t>(number));
}

TEST(many_keys) { lockstep(1, 40, 20); }
TEST(one_key) { lockstep(2, 1, 100); }
TEST(few_keys_late) { lockstep(3, 3, 100); }

// ---- costs

// Combines per row, when a window holds `held` rows: pushed one by one, `late` places late.
template <class Op>
double combines(std::uint64_t held, std::uint64_t late, std::size_t batch = 1) {
  Program program;
  program.shape.columns = 1;
  program.shape.parts.push_back(part_of(Op{}, {0}));
  program.windows.push_back({TimeRule{static_cast<Time>(2 * held), 0}, {0}});
  Engine engine(std::move(program));
  struct Nowhere final : Sink {
    void put(std::size_t, const void*, std::uint64_t) override {}
  } nowhere;
  engine.set_sink(0, 0, &nowhere);
  std::vector<Time> times(batch);
  const std::vector<Word> keys(batch, 0);
  std::vector<Word> values(batch);
  std::vector<std::uint32_t> out(batch);
  const void* columns[] = {values.data()};
  std::uint64_t counted = 0, rows = 0;
  Time now = 0;
  for (std::uint64_t i = 0; i < 2 * held + 2'000; i += batch) {
    const bool measured = i >= 2 * held;
    for (std::size_t k = 0; k < batch; ++k) {
      now += 2;
      out[k] = static_cast<std::uint32_t>(k);
      times[k] = now;
      values[k] = (i + k) * 7919 % 100'003;
    }
    // Every other row is late by so many places, where that is asked for.
    if (measured && late > 0 && i % 2 == 1) times[0] = now - 2 * static_cast<Time>(late) + 1;
    const std::uint64_t before = Op::combines;
    engine.insert({batch, times.data(), columns, nullptr, keys.data()}, nullptr);
    engine.answer_inserted(out.data());
    const Time watermark = now - 2 * static_cast<Time>(late) - 4;
    engine.commit(&watermark);
    if (!measured) continue;
    counted += Op::combines - before;
    rows += batch;
  }
  return static_cast<double>(counted) / static_cast<double>(rows);
}

TEST(rows_in_order_cost_as_much_in_any_window) {
  for (const std::uint64_t held : {1'000u, 30'000u}) {
    // One by one, a row folds what is left of one leaf; together, rows share that.
    CHECK(combines<Total>(held, 0) < 1.5 * kLeafFull);
    CHECK(combines<Total>(held, 0, 50) < 8);
  }
  CHECK(combines<Total>(30'000, 0, 50) < combines<Total>(1'000, 0, 50) + 2);
}

TEST(late_rows_cost_the_logarithm) {
  double previous = 0;
  for (const std::uint64_t late : {100u, 1'000u, 10'000u}) {
    const double commutes = combines<Total>(30'000, late);
    CHECK(commutes < 4 * kLeafMost);
    // Ten times as late is at most one more level of the tree, at both ends.
    if (previous > 0) CHECK(commutes < previous + 4 * kFan);
    previous = commutes;
  }
  // Where a combine picks one of two, late rows that lose leave states as they are.
  CHECK(combines<Best>(30'000, 1'000) < combines<Total>(30'000, 1'000) + 2 * kFan);
  // States have to be made again, and cursors with them: two levels more at most.
  const double few = combines<Letters>(500, 100), many = combines<Letters>(8'000, 100);
  CHECK(many < few + 6 * kFan);
}

// Each row has a key of its own; windows hold 100 rows.
TEST(keys_that_never_return_go) {
  Program program;
  program.shape.columns = 1;
  program.shape.parts.push_back(part_of(Total{}, {0}));
  program.windows.push_back({TimeRule{100, 0}, {0}});
  Engine engine(std::move(program));
  const Word value = 1;
  const void* columns[] = {&value};
  for (Time t = 0; t < 10'000; ++t) {
    const auto key = static_cast<Word>(t);
    engine.insert({1, &t, columns, nullptr, &key}, nullptr);
    engine.pass_inserted();
    engine.commit(&t);
  }
  CHECK(engine.keys() < 250);
  engine.check();
}

}  // namespace
