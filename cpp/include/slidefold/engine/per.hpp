// A fold per category: the states of another part, one for each value of a column.
//
// Layout: a state is a list of categories, each a word with a state of the inner part, in order of
//   the words.
// Invariants: I1 words ascend.
// Cost: combine O(categories of both) combines of the inner part.
// Paper: none. It commutes if the inner part does.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "slidefold/engine/kernels.hpp"

namespace slidefold::engine {

struct Category {
  Category(Word w, const Part& part) : word(w), state(part) {}
  Word word;
  StateOf state;
  bool some = false;  // whether a value was folded
};

class Categories {
 public:
  Categories() = default;
  Categories(Categories&&) noexcept = default;
  Categories(const Categories& other) { *this = other; }
  Categories& operator=(const Categories& other) {
    if (this == &other) return *this;
    clear();
    part_ = other.part_;
    for (const Category& each : other.held_) {
      Category& copy = add(*part_, each.word);
      copy.state.assign(each.state.get());
      copy.some = each.some;
    }
    return *this;
  }
  const std::vector<Category>& held() const { return held_; }
  Category& add(const Part& part, Word word) {
    part_ = &part;
    held_.emplace_back(word, part);
    return held_.back();
  }
  // Takes in newer states; categories that are new get a copy.
  void absorb(const Categories& newer) {
    for (const Category& each : newer.held_) {
      part_ = newer.part_;
      const auto place =
          std::lower_bound(held_.begin(), held_.end(), each.word,
                           [](const Category& have, Word word) { return have.word < word; });
      if (place != held_.end() && place->word == each.word) {
        part_->absorb(place->state.get(), each.state.get());
        place->some = place->some || each.some;
        continue;
      }
      Category fresh(each.word, *part_);
      fresh.state.assign(each.state.get());
      fresh.some = each.some;
      const auto at = static_cast<std::size_t>(place - held_.begin());
      held_.push_back(std::move(fresh));
      rotate(at);
    }
  }

 private:
  void clear() { held_.clear(); }
  // The last one goes to a place before it. States do not move by assignment, so all go over.
  void rotate(std::size_t at) {
    if (at + 1 == held_.size()) return;
    std::vector<Category> sorted;
    sorted.reserve(held_.size());
    for (std::size_t i = 0; i < at; ++i) sorted.push_back(std::move(held_[i]));
    sorted.push_back(std::move(held_.back()));
    for (std::size_t i = at; i + 1 < held_.size(); ++i) sorted.push_back(std::move(held_[i]));
    held_.swap(sorted);
  }

  const Part* part_ = nullptr;
  std::vector<Category> held_;
};

// The operator over states of categories; rows are lifted by `lift_category`.
struct PerCategory {
  static constexpr bool commutative = false;
  Part inner;
  std::size_t flags = 0;  // columns that are 0 where the inner part has nothing to fold

  using In = std::int64_t;
  using State = Categories;
  using Out = std::int64_t;
  State identity() const { return {}; }
  State lift(In) const { return {}; }
  State combine(const State& older, const State& newer) const {
    State both = older;
    both.absorb(newer);
    return both;
  }
  void absorb(State& older, const State& newer) const { older.absorb(newer); }
  Out lower(const State& state) const { return static_cast<Out>(state.held().size()); }

  // Columns: the category, the flags, then those of the inner part.
  static void lift_category(const Part& part, const void* const* columns, std::int32_t row,
                            void* out) {
    const auto& self = *static_cast<const PerCategory*>(part.context.get());
    auto* const state = ::new (out) Categories();
    const auto word = [&](std::size_t c) { return static_cast<const Word*>(columns[c])[row]; };
    bool some = true;
    for (std::size_t f = 1; f <= self.flags; ++f) some = some && word(f) != 0;
    try {
      Category& one = state->add(self.inner, word(0));
      one.some = some;
      if (some) {
        one.state.fill(
            [&](void* room) { self.inner.lift(self.inner, columns + 1 + self.flags, row, room); });
      } else {
        one.state.reset();
      }
    } catch (...) {
      state->~Categories();
      throw;
    }
  }
};

inline Part per_part(const Part& inner, std::vector<std::uint32_t> columns, std::size_t flags,
                     std::uint32_t presence) {
  Part part;
  part.context = std::make_shared<const PerCategory>(PerCategory{inner, flags});
  part.own_kernel = ErasedKernel::of(*AlgebraOf<PerCategory>::table());
  part.kernel = part.own_kernel.get();
  part.commutative = inner.commutative;
  part.columns = std::move(columns);
  part.presence = presence;
  part.lift = PerCategory::lift_category;
  part.bound = true;  // categories may be texts
  return part;
}

}  // namespace slidefold::engine
