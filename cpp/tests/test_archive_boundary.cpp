// The boundary aggregators, saved and loaded in the middle of their history.
#include <random>

#include "archive_round.hpp"
#include "boundary_ops.hpp"
#include "check.hpp"
#include "slidefold/algorithms/parallel_boundary.hpp"

using namespace slidefold;
using namespace slidefold::test;

template <class Engine>
static void boundary_goes_on(std::size_t range, std::size_t slide, std::size_t chunk) {
  using Rows = BoundaryRows<Engine>;
  Rows rows(check::Concat{}, range, slide, chunk);
  for (std::size_t i = 0; i < 120; ++i) {
    rows.insert(check::letter(i));
    const std::string bytes = saved(rows);
    Rows twin(check::Concat{}, range, slide, chunk), original = rows;
    load(twin, bytes);
    CHECK_EQ(saved(twin), bytes);
    for (std::size_t more = 0; more < 3 * range; ++more) {
      CHECK_EQ(twin.insert(check::letter(more)), original.insert(check::letter(more)));
      CHECK_EQ(twin.query(), original.query());
      CHECK_EQ(twin.size(), original.size());
    }
    CHECK_EQ(saved(twin), saved(original));
  }
}

TEST(a_loaded_boundary_aggregator_goes_on_as_the_saved_one) {
  for (const auto& [range, slide] :
       std::vector<std::pair<std::size_t, std::size_t>>{{1, 1}, {7, 1}, {8, 2}, {9, 4}, {5, 5}}) {
    for (const std::size_t chunk : {0, 1, 2, 3}) {
      boundary_goes_on<Sba<check::Concat>>(range, slide, chunk);
      boundary_goes_on<Pba<check::Concat>>(range, slide, chunk);
    }
  }
}

TEST(a_pass_under_way_is_settled_first) {
  Pba<check::Hash> engine(check::Hash{}, 64, false, 40, std::size_t{3});
  Pba<check::Hash> twin(check::Hash{}, 64, false, 40, std::size_t{3});
  for (std::size_t row = 0; row < 300; ++row) {
    engine.push_slice(check::Hash::lift(row));
    if (row % 40 != 39) continue;
    load(twin, saved(engine));
    Pba<check::Hash> original = engine;
    for (std::size_t more = 0; more < 100; ++more) {
      twin.push_slice(check::Hash::lift(more));
      original.push_slice(check::Hash::lift(more));
      CHECK(twin.query() == original.query());
    }
  }
}

TEST(slices_without_values_come_back) {
  Sba<check::Concat> engine(check::Concat{}, 5, true, 3);
  std::mt19937 random(8);
  for (std::size_t number = 0; number < 400; ++number) {
    if (random() % 2 == 0) engine.add(check::letter(number), random() % 2 == 0);
    engine.skip_slices(random() % 10 == 0 ? 20 : random() % 3);
    Sba<check::Concat> twin(check::Concat{}, 5, true, 3), original = engine;
    load(twin, saved(engine));
    for (std::size_t more = 0; more < 9; ++more) {
      twin.close_slice();
      original.close_slice();
      CHECK_EQ(twin.query(), original.query());
      if (more % 4 == 0) twin.add("x", false), original.add("x", false);
      CHECK_EQ(saved(twin), saved(original));
    }
  }
}

template <class Engine>
static void damaged_boundary(std::size_t range, std::size_t slide) {
  using Rows = BoundaryRows<Engine>;
  const Rows empty(check::Concat{}, range, slide);
  for (const std::size_t length : {0u, 3u, 11u, 20u}) {
    Rows rows = empty;
    for (std::size_t i = 0; i < length; ++i) rows.insert(check::letter(i));
    const std::string bytes = saved(rows);
    const auto survived = [&](const std::string& damaged) {
      Rows twin = empty;
      if (!loads(twin, damaged)) return false;
      for (std::size_t i = 0; i < 25; ++i) twin.insert(check::letter(i));
      return true;
    };
    each_flip(bytes, survived);
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) CHECK(!survived(bytes.substr(0, cut)));
  }
}

TEST(damaged_boundary_aggregators_do_no_harm) {
  damaged_boundary<Sba<check::Concat>>(7, 1);
  damaged_boundary<Sba<check::Concat>>(9, 4);
  damaged_boundary<Pba<check::Concat>>(8, 2);
}
