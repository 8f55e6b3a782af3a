// The trees by time, saved and loaded in the middle of their history. The operators tell how their
// combines were nested, so a tree that was built again from its entries would be found out.
#include <random>
#include <string>

#include "archive_round.hpp"
#include "check.hpp"
#include "slidefold/algorithms/btree.hpp"
#include "slidefold/algorithms/fiba.hpp"
#include "slidefold/operators/dyn.hpp"

using namespace slidefold;
using namespace slidefold::test;

// Associative but for the brackets.
struct Nested {
  using State = std::string;
  static State lift(std::uint32_t value) {
    return std::string(1, static_cast<char>('a' + value % 26));
  }
  State identity() const { return ""; }
  State combine(const State& older, const State& newer) const { return "(" + older + newer + ")"; }
  static std::string letters(const State& state) {
    std::string result;
    for (const char c : state) {
      if (c != '(' && c != ')') result += c;
    }
    return result;
  }
  bool same(const State& a, const State& b) const { return letters(a) == letters(b); }
};

// The same in a state so small that nodes are folded in four chains.
struct Shape {
  struct State {
    std::uint64_t hash = 0, shift = 1, nesting = 0;
    template <class Archive>
    void archive(Archive& a) {
      a(hash, shift, nesting);
    }
  };
  static State lift(std::uint32_t value) { return {value + 1u, 0xBF58476D1CE4E5B9u, value}; }
  State identity() const { return {}; }
  State combine(const State& older, const State& newer) const {
    return {older.hash * newer.shift + newer.hash, older.shift * newer.shift,
            older.nesting * 0x9E3779B97F4A7C15u + (newer.nesting ^ 0x94D049BB133111EBu) * 31};
  }
  bool same(const State& a, const State& b) const { return a.hash == b.hash; }
};

struct AnyNested : AnyOp {
  AnyNested() : AnyOp{{AlgebraOf<Nested>::table(), std::make_shared<const Nested>()}} {}
  static State lift(std::uint32_t value) {
    return AnyNested().made([&](void* out) { ::new (out) std::string(Nested::lift(value)); });
  }
};

static bool quick() {
#ifdef __SANITIZE_ADDRESS__
  return true;
#else
  return false;
#endif
}

// One random step, the same for every tree that is given the same random numbers. Late entries
// come one after the other for a while: they set the late finger.
template <class Op, class Tree>
static void step(Tree& tree, std::mt19937 random, std::int64_t now) {
  const auto value = [&] { return Op::lift(static_cast<std::uint32_t>(random())); };
  switch (random() % 16) {
    case 0:
    case 1:
      if (!tree.empty()) tree.evict(tree.oldest());
      return;
    case 2:
      if (!tree.empty()) tree.evict(tree.youngest());
      return;
    case 3:
      tree.evict(now - static_cast<std::int64_t>(random() % 400));
      return;
    case 4: {
      std::int64_t times[8];
      typename Op::State values[8];
      const std::size_t count = 1 + random() % 8;
      for (std::size_t i = 0; i < count; ++i) {
        times[i] = now - static_cast<std::int64_t>(random() % 300);
        values[i] = value();
      }
      std::sort(times, times + count);
      return tree.bulk_insert(times, values, count);
    }
    case 5:
      if (random() % 4 == 0) tree.bulk_evict(now - 300);
      return;
    case 6:
    case 7:
      tree.insert(now - static_cast<std::int64_t>(random() % 500), value());
      return;
    case 8:
    case 9:
    case 10:
    case 11:
    case 12:
      tree.insert(now - 200 + static_cast<std::int64_t>(random() % 2), value());
      return;
    default:
      tree.insert(now, value());
  }
}

template <class Op, class Tree>
static void goes_on(const Tree& empty, unsigned seed, std::size_t steps) {
  std::mt19937 random(seed);
  Tree tree = empty;
  std::int64_t now = 0;
  for (std::size_t number = 0; number < steps; ++number) {
    step<Op>(tree, random, now);
    random.discard(40);
    ++now;
    if (number % 5 != 0) continue;
    Tree original = tree, twin = empty;
    load(twin, saved(tree));
    CHECK_EQ(saved(twin), saved(tree));
    std::mt19937 ahead = random;
    for (std::int64_t more = 0; more < 12; ++more) {
      step<Op>(original, ahead, now + more);
      step<Op>(twin, ahead, now + more);
      ahead.discard(40);
      CHECK_EQ(saved(twin), saved(original));
    }
    twin.check();
  }
}

TEST(a_loaded_fiba_goes_on_as_the_saved_one) {
  const std::size_t steps = quick() ? 150 : 800;
  for (const auto& [least, most] : {std::pair{2, 4}, std::pair{3, 7}, std::pair{4, 16}}) {
    goes_on<Nested>(Fiba<Nested>(Nested{}, least, most), 1, steps);
    goes_on<Shape>(Fiba<Shape>(Shape{}, least, most), 2, steps);
    goes_on<AnyNested>(Fiba<AnyNested>(AnyNested{}, least, most), 3, steps);
  }
}

TEST(a_loaded_b_tree_goes_on_as_the_saved_one) {
  const std::size_t steps = quick() ? 150 : 800;
  goes_on<Nested>(BTree<Nested>(Nested{}, 2), 4, steps);
  goes_on<AnyNested>(BTree<AnyNested>(AnyNested{}, 3), 5, steps);
}

template <class Op, class Tree>
static void damaged(const Tree& empty, std::size_t size) {
  std::mt19937 random(7);
  Tree tree = empty;
  for (std::size_t i = 0; i < size; ++i) {
    step<Op>(tree, random, static_cast<std::int64_t>(i));
    random.discard(40);
  }
  const std::string bytes = saved(tree);
  std::size_t survived = 0;
  const auto survive = [&](const std::string& damaged_bytes) {
    Tree twin = empty;
    if (!loads(twin, damaged_bytes)) return;
    ++survived;
    std::mt19937 ahead = random;
    for (std::int64_t more = 0; more < 10; ++more) {
      step<Op>(twin, ahead, static_cast<std::int64_t>(size) + more);
      twin.query(0, more);
      ahead.discard(40);
    }
  };
  each_flip(bytes, survive);
  for (std::size_t round = 0; round < (quick() ? 200u : 2000u); ++round) {
    std::string changed = bytes;
    for (std::size_t change = 0; change <= round % 4; ++change) {
      changed[random() % changed.size()] = static_cast<char>(random() % 256);
    }
    survive(changed);
  }
  CHECK(survived > 0);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    Tree twin = empty;
    CHECK_THROWS(load(twin, bytes.substr(0, cut)), BadState);
  }
}

TEST(damaged_trees_do_no_harm) {
  for (const std::size_t size : {1u, 4u, 40u, 90u}) {
    damaged<Nested>(Fiba<Nested>(Nested{}, 2, 5), size);
    damaged<Shape>(Fiba<Shape>(Shape{}, 2, 4), size);
    damaged<AnyNested>(Fiba<AnyNested>(AnyNested{}, 2, 4), size);
    damaged<AnyNested>(BTree<AnyNested>(AnyNested{}, 2), size);
  }
}
