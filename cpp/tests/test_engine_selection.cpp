// The k-th smallest of a multiset with some keys added and some taken away.
#include <random>

#include "check.hpp"
#include "slidefold/engine/selection.hpp"

using namespace slidefold;
using namespace slidefold::engine;

TEST(selects_as_sorting_does) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 400; ++round) {
    const auto draw = [&] { return static_cast<std::int64_t>(random() % (1 + random() % 300)); };
    std::vector<std::int64_t> all;
    CountedTree base;
    for (std::size_t n = random() % 400; n > 0; --n) {
      all.push_back(draw());
      base.insert(all.back());
    }
    Selection<std::int64_t> selection(base);
    std::vector<std::vector<std::int64_t>> spans;
    spans.reserve(16);
    for (std::size_t s = random() % 6; s > 0; --s) {
      auto& span = spans.emplace_back();
      for (std::size_t n = random() % 60; n > 0; --n) span.push_back(draw());
      std::sort(span.begin(), span.end());
      all.insert(all.end(), span.begin(), span.end());
      selection.add(span);
    }
    for (std::size_t s = random() % 4; s > 0 && !all.empty(); --s) {
      auto& span = spans.emplace_back();
      for (std::size_t n = random() % 40; n > 0 && !all.empty(); --n) {
        const std::size_t at = random() % all.size();
        span.push_back(all[at]);
        all.erase(all.begin() + static_cast<long>(at));
      }
      std::sort(span.begin(), span.end());
      selection.remove(span);
    }
    std::sort(all.begin(), all.end());
    CHECK_EQ(selection.size(), all.size());
    for (std::size_t k = 0; k < all.size(); k += 1 + all.size() / 20) {
      CHECK_EQ(selection.select(k), all[k]);
      const auto smaller = std::lower_bound(all.begin(), all.end(), all[k]) - all.begin();
      CHECK_EQ(selection.rank(all[k], false), static_cast<std::size_t>(smaller));
    }
    base.check();
  }
}
