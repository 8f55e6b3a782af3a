// How often values occur in windows that end anywhere, against counting them.
#include <algorithm>
#include <map>
#include <random>

#include "check.hpp"
#include "slidefold/engine/checks.hpp"
#include "slidefold/engine/counts.hpp"

using namespace slidefold;
using namespace slidefold::engine;

namespace {

using Frequent = std::vector<std::pair<std::int64_t, std::uint64_t>>;

struct Found final : Sink {
  std::size_t size = 0, distinct = 0;
  double entropy = 0;
  Frequent frequent;
  void put(std::size_t, const void* state, std::uint64_t) override {
    const auto& values = *static_cast<const Counted*>(state);
    size = values.size();
    distinct = values.distinct();
    entropy = values.entropy();
    frequent.clear();
    const auto add = [](void* to, Word word, std::uint64_t count) {
      static_cast<Frequent*>(to)->push_back({static_cast<std::int64_t>(word), count});
    };
    values.most_frequent(3, add, &frequent);
  }
};

// The rows of a key, and a tally of some of them.
class Subject final : LeafWatch {
 public:
  Subject() : nodes_(shape()), trees_(nodes_, *this), folds_(nodes_), orders_(nodes_, trees_) {}
  ~Subject() {
    if (window.set != nullptr) nodes_.part(0).order->free(window.set);
    trees_.clear(tree_);
  }

  void append(std::int64_t value) {
    trees_.append(tree_, rows(value), 0);
    all_.push_back(value);
  }
  // A late row, which the tally takes too if it is inside.
  void insert(std::size_t rank, std::int64_t value) {
    const Place place = trees_.insert(tree_, trees_.at_rank(tree_, rank), rows(value), 0,
                                      [&](Inner* node, std::int32_t slot, const Leaf* leaf,
                                          std::int32_t at) { folds_.came(node, slot, leaf, at); });
    all_.insert(all_.begin() + static_cast<std::ptrdiff_t>(rank), value);
    if (rank >= window.upper) return;
    if (rank <= window.lower) {
      ++window.lower;
    } else {
      folds_.each_run(0, place.leaf, place.at, place.at + 1, nodes_.part(0).order->enter,
                      window.set);
    }
    ++window.upper;
  }
  void follow(std::uint64_t low, std::uint64_t high) {
    orders_.follow(tree_, 0, window, low, high);
  }
  void expect(std::uint64_t low, std::uint64_t high) {
    Found found;
    orders_.answer(tree_, 0, window, low, high, 0, found);
    Tally<std::int64_t> truth(true);
    for (std::uint64_t i = low; i < high; ++i) truth.insert(all_[i]);
    CHECK_EQ(found.size, truth.size());
    CHECK_EQ(found.distinct, truth.distinct());
    CHECK_EQ(found.entropy, truth.entropy());
    Frequent frequent;
    truth.most_frequent(
        3, [&](std::int64_t value, std::uint64_t count) { frequent.push_back({value, count}); });
    CHECK(found.frequent == frequent);
  }
  void check() { TreeCheck(nodes_, tree_).run(); }
  std::size_t size() const { return all_.size(); }

  OrderWindow window;

 private:
  static Shape shape() {
    Shape shape;
    shape.columns = 1;
    shape.parts.push_back(count_part<WholeKeys, true>(0));
    return shape;
  }
  Rows rows(std::int64_t value) {
    word_ = static_cast<Word>(value);
    return {&time_, &column_, nullptr};
  }
  void moved(Tree&, const Leaf*) override {}
  void replaced(Tree&, const Leaf*, Leaf*, std::int32_t) override {}

  Nodes nodes_;
  Trees trees_;
  Folds folds_;
  Orders orders_;
  Tree tree_;
  Time time_ = 0;
  Word word_ = 0;
  const void* column_ = &word_;
  std::vector<std::int64_t> all_;
};

}  // namespace

TEST(windows_anywhere_hold_the_counts_of_their_rows) {
  std::mt19937_64 random(1);
  for (const std::uint64_t values : {2, 9, 300, 1'000'000}) {
    Subject subject;
    const auto draw = [&] { return static_cast<std::int64_t>(random() % values) - 1; };
    for (int round = 0; round < 120; ++round) {
      for (std::uint64_t n = random() % 60; n > 0; --n) subject.append(draw());
      for (std::uint64_t n = random() % 9; n > 0 && subject.size() > 0; --n) {
        subject.insert(random() % subject.size(), draw());
      }
      const std::uint64_t all = subject.size();
      if (random() % 2 == 0 && all > 0)
        subject.follow(random() % all / 2, all - random() % 9 % all);
      for (int i = 0; i < 4; ++i) {
        const std::uint64_t low = random() % (all + 1);
        subject.expect(low, low + random() % (all + 1 - low));
      }
    }
    subject.check();
  }
}

TEST(late_windows_look_at_few_values_and_move_nothing) {
  Subject subject;
  for (std::int64_t i = 0; i < 20'000; ++i) subject.append(i * i % 7);
  subject.follow(0, 20'000);
  for (const std::uint64_t late : {10, 100, 1'000, 10'000}) {
    const std::uint64_t before = subject.window.looked;
    subject.expect(0, subject.size() - late);
    CHECK(subject.window.looked - before <= 4 * 16 * 4);  // runs of 16 children on four levels
    CHECK_EQ(subject.window.upper, subject.size());
    subject.insert(subject.size() - late, 3);
  }
}

TEST(a_tally_moves_once_looking_costs_more) {
  Subject subject;
  for (std::int64_t i = 0; i < 20'000; ++i) subject.append(i);
  subject.follow(0, 20'000);
  std::uint64_t moves = 0;
  for (std::uint64_t high = 10'000; high < 10'100; ++high) {
    const std::uint64_t upper = subject.window.upper;
    subject.expect(0, high);
    moves += upper != subject.window.upper && upper == subject.size() ? 1 : 0;
  }
  CHECK_EQ(moves, 1U);
  CHECK(subject.window.upper >= 10'090);
}
