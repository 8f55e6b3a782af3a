// Naive Bayes: a classifier that is nothing but counts.
//
// Layout: how often each label, and each value of each feature beside each label, occurred; entries
//   sorted by label, feature and value. A label's own count has feature -1.
// Invariants: I1 entries are sorted, without repetitions. I2 counts are positive, so that taking a
//   part away is exact.
// Cost: combine O(entries of the smaller part * log of the other's) where one is much smaller, else
//   O(all entries).
// Paper: pba-parallel-boundary, section 2 (algebraic classifiers). Commutes and is invertible.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "slidefold/operator.hpp"
#include "slidefold/storage/archive.hpp"

namespace slidefold {

template <class Label, class Feature>
struct Labelled {
  Label label{};
  std::vector<Feature> features;
};

template <class Label, class Feature>
struct NaiveBayes {
  static constexpr bool commutative = true;
  using In = Labelled<Label, Feature>;
  struct Entry {
    Label label{};
    std::int64_t feature = -1;
    Feature value{};
    std::int64_t n = 0;
    auto key() const { return std::tie(label, feature, value); }
    template <class Archive>
    void archive(Archive& a) {
      a(label, feature, value);
      a.count(n);
      if constexpr (!Archive::kLoading) return;
      expect(n > 0 && feature >= -1, "a value was counted that never came");
    }
    bool operator==(const Entry& other) const { return key() == other.key() && n == other.n; }
  };
  struct State {
    std::vector<Entry> entries;
  };
  using Out = State;

  template <class Archive>
  void archive(Archive& a, State& state) const {
    a(state.entries);
    const auto wrong = [](const Entry& x, const Entry& y) { return !before(x, y); };
    const auto& entries = state.entries;
    expect(std::adjacent_find(entries.begin(), entries.end(), wrong) == entries.end(),
           "the counts are not in order");
  }

  State identity() const { return {}; }
  State lift(const In& row) const {
    State one;
    one.entries.push_back({row.label, -1, {}, 1});
    for (std::size_t i = 0; i < row.features.size(); ++i) {
      one.entries.push_back({row.label, static_cast<std::int64_t>(i), row.features[i], 1});
    }
    return one;
  }
  State combine(const State& older, const State& newer) const {
    const bool swap = older.entries.size() < newer.entries.size();  // it commutes
    State both = swap ? newer : older;
    absorb(both, swap ? older : newer);
    return both;
  }
  void absorb(State& older, const State& newer) const { add(older, newer, 1); }
  State remove(const State& whole, const State& older) const {
    State rest = whole;
    add(rest, older, -1);
    return rest;
  }
  Out lower(const State& state) const { return state; }
  bool same(const State& a, const State& b) const { return a.entries == b.entries; }

 private:
  static bool before(const Entry& a, const Entry& b) { return a.key() < b.key(); }

  static void add(State& whole, const State& part, std::int64_t sign) {
    std::vector<Entry>& entries = whole.entries;
    if (part.entries.size() * 8 <= entries.size()) {
      for (const Entry& entry : part.entries) {
        const auto at = std::lower_bound(entries.begin(), entries.end(), entry, before);
        if (at == entries.end() || at->key() != entry.key()) {
          entries.insert(at, entry)->n *= sign;
        } else if ((at->n += sign * entry.n) == 0) {
          entries.erase(at);
        }
      }
      return;
    }
    std::vector<Entry> both;
    both.reserve(entries.size() + part.entries.size());
    auto a = entries.begin();
    for (const Entry& entry : part.entries) {
      while (a != entries.end() && before(*a, entry)) both.push_back(std::move(*a++));
      const bool known = a != entries.end() && a->key() == entry.key();
      Entry sum = known ? std::move(*a++) : entry;
      sum.n = known ? sum.n + sign * entry.n : sign * entry.n;
      if (sum.n != 0) both.push_back(std::move(sum));
    }
    both.insert(both.end(), std::make_move_iterator(a), std::make_move_iterator(entries.end()));
    entries = std::move(both);
  }
};

// The counts of a window, made for asking.
template <class Label, class Feature>
class BayesModel {
 public:
  using Counts = typename NaiveBayes<Label, Feature>::State;
  explicit BayesModel(const Counts& counts) {
    for (const auto& entry : counts.entries) {
      if (entry.feature < 0) {
        labels_[entry.label] = entry.n;
      } else {
        counts_[{entry.feature, entry.value, entry.label}] = entry.n;
        seen_[entry.feature].insert(entry.value);
      }
    }
  }
  const std::map<Label, std::int64_t>& labels() const { return labels_; }
  // By feature, value and label.
  using Counted = std::map<std::tuple<std::int64_t, Feature, Label>, std::int64_t>;
  const Counted& counts() const { return counts_; }
  bool operator==(const BayesModel&) const = default;

  // The logarithm of each label's share, up to a common constant; one more of each value than was
  // counted (Laplace), so that what never came is unlikely, not impossible.
  std::vector<std::pair<Label, double>> scores(const std::vector<Feature>& features) const {
    std::vector<std::pair<Label, double>> result;
    for (const auto& [label, n] : labels_) {
      double score = std::log(static_cast<double>(n));
      for (std::size_t i = 0; i < features.size(); ++i) {
        const auto feature = static_cast<std::int64_t>(i);
        const auto found = counts_.find({feature, features[i], label});
        const auto seen = seen_.find(feature);
        std::size_t kinds = seen == seen_.end() ? 0 : seen->second.size();
        if (seen == seen_.end() || !seen->second.contains(features[i])) ++kinds;
        const auto times = static_cast<double>(found == counts_.end() ? 0 : found->second);
        score += std::log((times + 1) / static_cast<double>(n + static_cast<std::int64_t>(kinds)));
      }
      result.emplace_back(label, score);
    }
    return result;
  }

  // The likeliest label; of equal ones the smallest. None without labels.
  std::optional<Label> predict(const std::vector<Feature>& features) const {
    const auto all = scores(features);
    if (all.empty()) return std::nullopt;
    return std::max_element(all.begin(), all.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

 private:
  std::map<Label, std::int64_t> labels_;
  Counted counts_;
  std::map<std::int64_t, std::set<Feature>> seen_;
};

}  // namespace slidefold
