// Sessions and punctuated windows whose ends are found in a high tree: against looking at each row,
// with late rows, batches that are taken back, rows that leave, and questions; and what that costs.
#include <algorithm>
#include <string>

#include "check.hpp"
#include "monoids.hpp"
#include "slidefold/engine/engine.hpp"

using namespace slidefold;
using namespace slidefold::engine;
using test::below;
using test::Random;

namespace {

struct Letters {
  static constexpr bool commutative = false;
  using In = std::int64_t;
  using State = std::string;
  using Out = std::string;
  State identity() const { return ""; }
  State lift(In value) const { return std::string(1, static_cast<char>('a' + value % 26)); }
  State combine(const State& older, const State& newer) const { return older + newer; }
  Out lower(const State& state) const { return state; }
  bool same(const State& a, const State& b) const { return a == b; }
};

struct Row {
  Time time;
  std::int64_t number;  // the order among rows of equal time, and the value
  bool marked;
};
using Rows = std::vector<Row>;

struct Into final : Sink {
  std::vector<std::string> answers;
  void put(std::size_t row, const void* state, std::uint64_t held) override {
    answers[row] = state == nullptr ? "" : *static_cast<const std::string*>(state);
    if (state != nullptr) CHECK_EQ(answers[row].size(), held);
  }
};

constexpr Time kGaps[] = {10, 60};
constexpr std::size_t kWindows = 3;  // two sessions, and marks

// Columns: 0 the number, 1 marks.
struct Subject {
  Subject() : engine(program()) {
    for (std::size_t w = 0; w < kWindows; ++w) engine.set_sink(w, 0, &sinks[w]);
  }
  static Program program() {
    Program program;
    program.shape.columns = 2;
    program.shape.parts.push_back(part_of(Letters{}, {0}));
    for (const Time gap : kGaps) program.windows.push_back({SessionRule{gap}, {0}});
    program.windows.push_back({MarkRule{1}, {0}});
    program.ties.push_back({0, kAlways, Compare::kWhole});
    return program;
  }
  void expect(std::size_t count) {
    for (Into& sink : sinks) sink.answers.assign(count, "?");
  }
  void insert(const Rows& rows) {
    std::vector<Time> times;
    std::vector<Word> numbers, marks;
    for (const Row& row : rows) {
      times.push_back(row.time);
      numbers.push_back(static_cast<Word>(row.number));
      marks.push_back(row.marked);
    }
    const std::vector<Word> keys(rows.size(), 0);
    const void* columns[] = {numbers.data(), marks.data()};
    engine.insert({rows.size(), times.data(), columns, nullptr, keys.data()}, nullptr);
  }
  Engine engine;
  Into sinks[kWindows];
};

// The letters from the start of the window that holds row `last` to `end`.
std::string read(const Rows& rows, std::size_t w, std::size_t last, std::size_t end) {
  std::size_t first = last;
  while (first > 0 &&
         (w == 2 ? !rows[first - 1].marked : rows[first].time - rows[first - 1].time <= kGaps[w])) {
    --first;
  }
  std::string letters;
  for (std::size_t i = first; i < end; ++i) letters += Letters{}.lift(rows[i].number);
  return letters;
}
std::string at_row(const Rows& rows, std::size_t w, std::size_t i) {
  std::size_t end = i + 1;
  while (end < rows.size() && rows[end].time == rows[i].time && !(w == 2 && rows[end - 1].marked)) {
    ++end;
  }
  return read(rows, w, i, end);
}
std::string at_time(const Rows& rows, std::size_t w, Time t) {
  std::size_t end = rows.size();
  while (end > 0 && rows[end - 1].time > t) --end;
  if (end == 0) return "";
  const Row& last = rows[end - 1];
  if (w == 2 ? last.marked : t - last.time > kGaps[w]) return "";
  return read(rows, w, end - 1, end);
}

// One row in `rare` ends a session, and one is marked; `peers` rows share a time.
void lockstep(std::uint64_t seed, int steps, std::size_t rare, std::size_t peers) {
  Random random(seed);
  Subject subject;
  Rows kept;
  Time now = 0, watermark = -1;
  std::int64_t number = 0;
  std::size_t most = 0;
  for (int step = 0; step < steps; ++step) {
    Rows rows = kept, fresh;
    const std::size_t count =
        below(random, 3) == 0 ? 100 + below(random, 200) : 1 + below(random, 4);
    for (std::size_t i = 0; i < count; ++i) {
      now += below(random, peers) == 0 ? static_cast<Time>(below(random, 4)) : 0;
      if (below(random, rare) == 0) now += below(random, 3) == 0 ? 100 : 30;
      const Time behind = below(random, 4) == 0 ? static_cast<Time>(below(random, 600)) : 0;
      fresh.push_back({std::max(now - behind, watermark + 1), number++, below(random, rare) == 0});
    }
    for (const Row& row : fresh) {
      rows.insert(std::upper_bound(rows.begin(), rows.end(), row,
                                   [](const Row& a, const Row& b) { return a.time < b.time; }),
                  row);
    }
    subject.insert(fresh);
    subject.expect(count);
    std::vector<std::uint32_t> outs(count);
    for (std::size_t i = 0; i < count; ++i) outs[i] = static_cast<std::uint32_t>(i);
    const bool stay = below(random, 4) > 0;
    if (stay) {
      subject.engine.answer_inserted(outs.data());
    } else {
      subject.engine.answer_each_inserted(outs.data());
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto place = static_cast<std::size_t>(
          std::find_if(rows.begin(), rows.end(),
                       [&](const Row& row) { return row.number == fresh[i].number; }) -
          rows.begin());
      for (std::size_t w = 0; w < kWindows; ++w) {
        CHECK_EQ(subject.sinks[w].answers[i], at_row(rows, w, place));
      }
    }
    if (step % 4 == 0) subject.engine.check();
    if (stay) {
      kept = std::move(rows);
      watermark = std::max(watermark, now - 600);
      subject.engine.commit(&watermark);
    } else {
      subject.engine.undo();
    }
    if (step % 4 == 0) subject.engine.check();
    const Word key = 0;
    const Slot slot = subject.engine.find(&key);
    if (slot == kNoSlot) continue;
    most = std::max(most, subject.engine.size(slot));
    for (int k = 0; k < 3; ++k) {
      const Time t = watermark + 1 + static_cast<Time>(below(random, 700));
      subject.expect(1);
      subject.engine.ask(slot, t, nullptr, 0);
      for (std::size_t w = 0; w < kWindows; ++w) {
        CHECK_EQ(subject.sinks[w].answers[0], at_time(kept, w, t));
      }
    }
  }
  CHECK(most > 1'100);  // more than one level of inner nodes
  if (rare < 400) CHECK(subject.engine.rows() < kept.size());
}

TEST(long_windows) {
  lockstep(1, 120, 2'000, 2);
  lockstep(2, 120, 1'000, 1);
}
TEST(windows_that_end_now_and_then) {
  lockstep(3, 120, 200, 2);
  lockstep(4, 120, 60, 3);
}
TEST(rows_of_few_times) { lockstep(5, 100, 400, 150); }

// ---- costs

// Counts the rows and states that gaps are made of.
struct Counted : Gaps {
  static inline std::uint64_t steps = 0;
  State lift(Time t) const { return ++steps, Gaps::lift(t); }
  State combine(const State& older, const State& newer) const {
    return ++steps, Gaps::combine(older, newer);
  }
};

// One session, and one window up to a mark, of so many rows behind a row of others.
class Long {
 public:
  explicit Long(Time count) : stores_(shape(), {}, {}), count_(count) {
    insert(-1'000'000, true);
    for (Time t = 0; t < count; ++t) insert(2 * t, false);
  }
  ~Long() { stores_.clear(store_); }

  // Where the session and the marked window of the newest row start.
  void search() {
    const Place last = stores_.trees().at_rank(store_, store_.size - 1);
    SessionRule session{10, 0};
    MarkRule marks{0, 1};
    const RowAt row = stores_.answers().row_at(store_, last);
    session.see(row);
    marks.see(row);
    CHECK_EQ(stores_.trees().rank(store_, session.low(stores_.trees(), store_, last)), 1);
    CHECK_EQ(stores_.trees().rank(store_, marks.low(stores_.trees(), store_, last)), 1);
  }
  void late(Time back) { insert(2 * (count_ - back) + 1, false); }
  void newer() { insert(2 * count_++, false); }
  // Spoils the rows of all leaves but those at both ends, without telling the tree.
  void spoil() {
    Leaf* leaf = Trees::oldest_leaf(store_.root, store_.height)->next;
    for (; leaf != store_.tail; leaf = leaf->next) {
      for (std::int32_t i = leaf->first; i < leaf->end(); ++i) {
        leaf->times()[i] = kOldest;
        leaf->column(0)[i] = 1;
      }
    }
  }

 private:
  static Shape shape() {
    Shape shape;
    shape.columns = 1;
    shape.parts.push_back(part_of(Counted{}, {kTimes}));
    shape.parts.push_back(marks_part(0));
    return shape;
  }
  void insert(Time t, Word mark) {
    const void* columns[] = {&mark};
    stores_.insert(store_, {&t, columns}, 0, [](const Leaf*, std::int32_t) { return false; });
  }
  KeyStores stores_;
  KeyStore store_;
  Time count_;
};

TEST(a_search_does_not_look_at_the_rows_between) {
  Long rows(30'000);
  rows.search();
  const std::uint64_t before = Counted::steps;
  rows.spoil();
  rows.search();
  CHECK_EQ(Counted::steps, before);
}

TEST(a_search_costs_as_much_in_any_window) {
  for (const Time count : {1'000, 30'000, 200'000}) {
    Long rows(count);
    rows.search();
    const std::uint64_t before = Counted::steps;
    for (int i = 0; i < 100; ++i) {
      rows.late(20 + 7 * i);
      rows.search();
      rows.newer();
      rows.search();
    }
    // Two leaves at most are read again, and the children of the nodes above them.
    CHECK(Counted::steps - before < 200 * (2 * 2 * kLeafMost + 2 * 4 * kFan));
  }
}

}  // namespace
