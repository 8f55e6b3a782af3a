// The store of the engine against folding everything again, with rows in any order, ties, holes,
// dropped and erased rows, and operators that do not commute.
#include <map>
#include <random>
#include <set>
#include <string>

#include "check.hpp"
#include "monoids.hpp"
#include "slidefold/engine/kernels.hpp"
#include "slidefold/engine/key_store.hpp"
#include "slidefold/operators/positional.hpp"

using namespace slidefold;
using namespace slidefold::engine;
using test::below;
using test::Random;

namespace {

// The characters of words, one after the other: the free monoid.
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
  std::int64_t tie;  // the order among rows of equal time, and the value
  double real;
  bool present;
  bool marked;
  std::int64_t walked;
};

struct Answer {
  std::string letters;
  std::int64_t sum = 0;
  std::int64_t count = 0;
  std::uint64_t held = 0;
  std::vector<std::int64_t> order;  // the smallest, the median, the largest
  bool operator==(const Answer&) const = default;
};

std::string shown(const Answer& a) {
  return a.letters + " sum " + std::to_string(a.sum) + " count " + std::to_string(a.count) +
         " held " + std::to_string(a.held) + " order " +
         std::to_string(a.order.size() > 1 ? a.order[1] : -1);
}

template <class Take>
struct Into final : Sink {
  std::map<std::uint32_t, Answer>& answers;
  Take take;
  Into(std::map<std::uint32_t, Answer>& a, Take t) : answers(a), take(t) {}
  void put(std::size_t row, const void* state, std::uint64_t held) override {
    take(answers[static_cast<std::uint32_t>(row)], state, held);
  }
};
template <class Take>
Into<Take> into(std::map<std::uint32_t, Answer>& answers, Take take) {
  return {answers, take};
}

// Columns: 0 the tie and value, 1 marks, 2 what a delta window walks.
class Subject {
 public:
  Subject()
      : stores_(shape(), {{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}},
                {{true}, {true}, {false}, {false}, {false}}) {}
  ~Subject() { stores_.clear(store_); }

  static Shape shape() {
    Shape shape;
    shape.columns = 3;
    shape.presences = 1;
    shape.parts.push_back(part_of(Letters{}, {0}, 0));
    shape.parts.push_back(part_of(Sum<std::int64_t>{}, {0}));
    shape.parts.push_back(part_of(Count{}, {}, 0));
    shape.parts.push_back(order_part<WholeKeys>(0, 0));
    shape.parts.push_back(gaps_part());
    shape.parts.push_back(marks_part(1));
    return shape;
  }

  void insert(const Row& row) {
    const Word words[3] = {static_cast<Word>(row.tie), row.marked, static_cast<Word>(row.walked)};
    const void* columns[3] = {&words[0], &words[1], &words[2]};
    const std::uint8_t mask = row.present ? 1 : 0;
    const Rows rows{&row.time, columns, &mask};
    stores_.insert(store_, rows, 0, [&](const Leaf* leaf, std::int32_t i) {
      return static_cast<std::int64_t>(leaf->column(0)[i]) > row.tie;
    });
  }
  void erase(std::size_t rank) { stores_.erase(store_, stores_.trees().at_rank(store_, rank)); }
  void drop(std::size_t count) { stores_.drop_front(store_, count); }
  void forget() { stores_.forget(store_); }
  void check() { stores_.check(store_); }
  std::size_t size() const { return store_.size; }

  template <class Rule>
  std::map<std::uint32_t, Answer> in_order(std::size_t w, Rule rule, std::size_t first,
                                           std::size_t count) {
    std::vector<std::uint32_t> rows;
    for (std::size_t i = 0; i < count; ++i) rows.push_back(static_cast<std::uint32_t>(first + i));
    return asked([&](const std::vector<Ask>& asks) {
      stores_.answers().in_order(store_, store_.block, w, rule,
                                 stores_.trees().at_rank(store_, first), rows.data(), count, asks);
    });
  }
  template <class Rule>
  std::map<std::uint32_t, Answer> anywhere(std::size_t w, Rule rule, std::size_t rank) {
    return asked([&](const std::vector<Ask>& asks) {
      const Place place = stores_.trees().at_rank(store_, rank);
      rule.see(stores_.answers().row_at(store_, place));
      stores_.answers().anywhere(store_, store_.block, w, rule, place,
                                 static_cast<std::uint32_t>(rank), asks);
    });
  }

 private:
  template <class Run>
  std::map<std::uint32_t, Answer> asked(Run&& run) {
    std::map<std::uint32_t, Answer> answers;
    auto letters = into(answers, [](Answer& a, const void* s, std::uint64_t) {
      if (s != nullptr) a.letters = *static_cast<const std::string*>(s);
    });
    auto sum = into(answers, [](Answer& a, const void* s, std::uint64_t held) {
      a.held = held;
      if (s != nullptr) a.sum = static_cast<std::int64_t>(*static_cast<const int128*>(s));
    });
    auto count = into(answers, [](Answer& a, const void* s, std::uint64_t) {
      if (s != nullptr) a.count = *static_cast<const std::int64_t*>(s);
    });
    auto order = into(answers, [](Answer& a, const void* s, std::uint64_t) {
      if (s == nullptr) return;
      Ordered& values = *static_cast<Ordered*>(const_cast<void*>(s));
      const std::size_t n = values.size();
      if (n == 0) return;
      for (const std::size_t k : {std::size_t{0}, n / 2, n - 1}) {
        a.order.push_back(static_cast<std::int64_t>(values.select(k)));
      }
    });
    run({{0, &letters}, {1, &sum}, {2, &count}, {3, &order}});
    return answers;
  }

  KeyStores stores_;
  KeyStore store_;
};

using Frame = std::pair<std::size_t, std::size_t>;

Answer fold(const std::vector<Row>& rows, Frame frame) {
  Answer answer;
  if (frame.first >= frame.second) return answer;
  answer.held = frame.second - frame.first;
  std::vector<std::int64_t> values;
  for (std::size_t i = frame.first; i < frame.second; ++i) {
    answer.sum += rows[i].tie;
    if (!rows[i].present) continue;
    ++answer.count;
    answer.letters += static_cast<char>('a' + rows[i].tie % 26);
    values.push_back(rows[i].tie);
  }
  std::sort(values.begin(), values.end());
  if (!values.empty()) answer.order = {values[0], values[values.size() / 2], values.back()};
  return answer;
}

Frame time_frame(const std::vector<Row>& rows, std::size_t i, Time oldest, Time newest) {
  std::size_t lo = 0, hi = 0;
  for (const Row& row : rows) {
    lo += row.time < rows[i].time - oldest;
    hi += row.time <= rows[i].time - newest;
  }
  return {lo, hi};
}
std::size_t peers_end(const std::vector<Row>& rows, std::size_t i) {
  std::size_t end = i;
  while (end < rows.size() && rows[end].time == rows[i].time) ++end;
  return end;
}
Frame session_frame(const std::vector<Row>& rows, std::size_t i, Time gap) {
  std::size_t lo = i;
  while (lo > 0 && rows[lo].time - rows[lo - 1].time <= gap) --lo;
  return {lo, peers_end(rows, i)};
}
Frame mark_frame(const std::vector<Row>& rows, std::size_t i) {
  std::size_t lo = i, hi = i;
  while (lo > 0 && !rows[lo - 1].marked) --lo;
  while (hi < rows.size() && !rows[hi].marked) ++hi;
  return {lo, std::min(peers_end(rows, i), hi + 1)};
}
Frame delta_frame(const std::vector<Row>& rows, std::size_t i, std::int64_t range) {
  std::size_t lo = 0, hi = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    lo += rows[k].walked <= rows[i].walked - range;
    hi += rows[k].walked <= rows[i].walked && rows[k].time <= rows[i].time;
  }
  return {lo, hi};
}

// Random rows in and out; answers in runs and one by one.
void lockstep(std::uint64_t seed, std::size_t steps, std::size_t late, std::size_t ties) {
  Random random(seed);
  Subject subject;
  std::vector<Row> rows;
  Time newest = 0;
  std::size_t frontier = 0;
  const Time range = 1 + static_cast<Time>(below(random, 300));
  const std::uint64_t most = 1 + below(random, 150);
  const auto frames = [&](std::size_t w, std::size_t i) {
    switch (w) {
      case 0:
        return time_frame(rows, i, range, seed % 2);
      case 1:
        return Frame{i + 1 > most ? i + 1 - most : 0, i + 1};
      case 2:
        return session_frame(rows, i, 6);
      case 3:
        return mark_frame(rows, i);
      default:
        return delta_frame(rows, i, 40);
    }
  };
  const auto with_rule = [&](std::size_t w, auto&& use) {
    switch (w) {
      case 0:
        return use(TimeRule{range, static_cast<Time>(seed % 2)});
      case 1:
        return use(RowsRule{most, true});
      case 2:
        return use(SessionRule{6, 4});
      case 3:
        return use(MarkRule{1, 5});
      default:
        return use(DeltaRule<std::int64_t>{2, 40, false, true});
    }
  };
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t batch = 1 + below(random, 1 + below(random, 90));
    for (std::size_t k = 0; k < batch; ++k) {
      newest += static_cast<Time>(below(random, ties) == 0 ? below(random, 12) : 0);
      Row row{newest,
              static_cast<std::int64_t>(below(random, 1000)),
              0,
              below(random, 5) != 0,
              below(random, 30) == 0,
              0};
      if (late > 0 && below(random, late) == 0) {
        row.time -= static_cast<Time>(below(random, 200));
      }
      row.walked = row.time / 2;
      const auto at = std::upper_bound(rows.begin(), rows.end(), row, [](auto& a, auto& b) {
        return std::pair(a.time, a.tie) < std::pair(b.time, b.tie);
      });
      frontier += at - rows.begin() < static_cast<long>(frontier);
      rows.insert(at, row);
      subject.insert(row);
    }
    CHECK_EQ(subject.size(), rows.size());
    subject.check();
    // Rows that were answered are behind all cursors; some of the others may wait.
    const std::size_t first = frontier;
    const std::size_t until =
        rows.size() - (below(random, 3) == 0 ? below(random, rows.size() - first + 1) : 0);
    if (below(random, 10) == 0) subject.forget();
    frontier = until;
    for (std::size_t w = 0; w < 5; ++w) {
      const auto answers =
          with_rule(w, [&](auto rule) { return subject.in_order(w, rule, first, until - first); });
      CHECK_EQ(answers.size(), until - first);
      for (const auto& [rank, answer] : answers) {
        const Answer truth = fold(rows, frames(w, rank));
        if (!(answer == truth))
          CHECK_FAIL("window " + std::to_string(w) + ", row " + std::to_string(rank) + " of " +
                     std::to_string(rows.size()) + ": " + shown(answer) + ", not " + shown(truth));
      }
      const std::size_t any = below(random, rows.size());
      const auto one = with_rule(w, [&](auto rule) { return subject.anywhere(w, rule, any); });
      CHECK(one.at(static_cast<std::uint32_t>(any)) == fold(rows, frames(w, any)));
    }
    subject.check();
    if (!rows.empty() && below(random, 5) == 0) {
      const std::size_t erased = below(random, rows.size());
      frontier -= erased < frontier;
      subject.erase(erased);
      rows.erase(rows.begin() + static_cast<long>(erased));
      subject.check();
    }
    if (rows.empty()) continue;
    if (rows.size() > 900 || below(random, 40) == 0) {
      const std::size_t dropped = below(random, rows.size() + 1);
      frontier -= std::min(frontier, dropped);
      subject.drop(dropped);
      rows.erase(rows.begin(), rows.begin() + static_cast<long>(dropped));
      subject.check();
    }
  }
}

}  // namespace

TEST(rows_in_order) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) lockstep(seed, 60, 0, 1);
}
TEST(rows_in_order_with_peers) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) lockstep(100 + seed, 60, 0, 3);
}
TEST(late_rows) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) lockstep(200 + seed, 60, 4, 2);
}
TEST(mostly_late_rows) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) lockstep(300 + seed, 60, 1, 2);
}
