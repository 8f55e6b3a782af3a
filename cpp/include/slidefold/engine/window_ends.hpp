// Where windows are at a time without a row, and the oldest row that they still need.
//
// Layout: one overload per rule. ends_at finds both ends of the window that ends at a time, and is
//   false if it holds nothing; needed_from gives the rank of the oldest row that some window ending
//   after a watermark holds, where `m` rows are not after the watermark; needs tells without a
//   search that such a window holds a row of the oldest leaf, and is false if it does not know.
// Invariants: none; stores do not change.
// Cost: those of the rules (rules.hpp).
// Paper: none.
#pragma once

#include "slidefold/engine/program.hpp"

namespace slidefold::engine {

class WindowEnds {
 public:
  explicit WindowEnds(KeyStores& stores) : stores_(stores) {}

  Place behind(const KeyStore& store, Time t) const {
    return t == kNewest ? stores_.trees().end(store) : stores_.trees().lower(store, t + 1);
  }
  bool ends_at(KeyStore& store, TimeRule& rule, Time t, Word, Place& low, Place& high) {
    if (rule.empty()) return false;
    rule.at(t);
    low = rule.low(stores_.trees(), store, low);
    high = rule.high(stores_.trees(), store, high);
    return true;
  }
  bool ends_at(KeyStore& store, LifetimeRule& rule, Time t, Word, Place& low, Place& high) {
    rule.at(t);
    low = rule.low(stores_.trees(), store, low);
    high = rule.high(stores_.trees(), store, high);
    return true;
  }
  bool ends_at(KeyStore& store, RowsRule& rule, Time t, Word, Place& low, Place& high) {
    high = rule.asks_with ? behind(store, t) : stores_.trees().lower(store, t);
    const std::uint64_t rank = stores_.trees().rank(store, high);
    low = stores_.trees().at_rank(store, rank > rule.most ? rank - rule.most : 0);
    return rank > 0;
  }
  // The row before a time; false if there is none.
  bool last_before(KeyStore& store, const Place& high, Place& last) {
    const std::uint64_t rank = stores_.trees().rank(store, high);
    if (rank == 0) return false;
    last = stores_.trees().at_rank(store, rank - 1);
    return true;
  }
  bool ends_at(KeyStore& store, SessionRule& rule, Time t, Word, Place& low, Place& high) {
    high = behind(store, t);
    Place last;
    if (!last_before(store, high, last)) return false;
    if (SessionRule::apart(last.leaf->times()[last.at], t, rule.gap)) return false;
    rule.see(stores_.answers().row_at(store, last));
    low = rule.low(stores_.trees(), store, last);
    return true;
  }
  bool ends_at(KeyStore& store, MarkRule& rule, Time t, Word, Place& low, Place& high) {
    high = behind(store, t);
    Place last;
    if (!last_before(store, high, last) || rule.marked(last.leaf, last.at)) return false;
    low = rule.low(stores_.trees(), store, last);
    return true;
  }
  template <class Value>
  bool ends_at(KeyStore& store, DeltaRule<Value>& rule, Time t, Word walked, Place& low,
               Place& high) {
    rule.now = t;
    rule.value = std::bit_cast<Value>(walked);
    low = rule.low(stores_.trees(), store, low);
    high = rule.high(stores_.trees(), store, high);
    return stores_.trees().rank(store, low) <= stores_.trees().rank(store, high);
  }

  bool needs(const KeyStore&, const TimeRule& rule, const Leaf* leaf, std::int32_t at,
             Time watermark) const {
    return !rule.empty() && leaf->times()[at] >= before(watermark, rule.oldest);
  }
  bool needs(const KeyStore& store, const RowsRule& rule, const Leaf* leaf, std::int32_t at,
             Time) const {
    return store.size <= rule.most + static_cast<std::uint64_t>(at - leaf->first);
  }
  template <class Value>
  bool needs(const KeyStore& store, DeltaRule<Value> rule, const Leaf* leaf, std::int32_t at,
             Time) const {
    rule.value = rule.of(store.tail, store.tail->end() - 1);  // it is the largest
    return !rule.outside(leaf, at, 0);
  }
  template <class Rule>
  bool needs(const KeyStore&, const Rule&, const Leaf*, std::int32_t, Time) const {
    return false;
  }

  std::uint64_t needed_from(KeyStore& store, TimeRule& rule, Time watermark, std::uint64_t m) {
    if (rule.empty()) return m;
    const Time since = before(watermark, rule.oldest);
    return stores_.trees().rank(store, stores_.trees().lower(store, since));
  }
  std::uint64_t needed_from(KeyStore&, LifetimeRule&, Time, std::uint64_t m) { return m; }
  std::uint64_t needed_from(KeyStore&, RowsRule& rule, Time, std::uint64_t m) {
    return m > rule.most ? m - rule.most : 0;
  }
  std::uint64_t needed_from(KeyStore& store, SessionRule& rule, Time watermark, std::uint64_t m) {
    if (m == 0) return 0;
    const Place last = stores_.trees().at_rank(store, m - 1);
    const Time t = last.leaf->times()[last.at];
    if (SessionRule::apart(t, watermark, rule.gap)) return m;
    rule.see(stores_.answers().row_at(store, last));
    return stores_.trees().rank(store, rule.low(stores_.trees(), store, last));
  }
  std::uint64_t needed_from(KeyStore& store, MarkRule& rule, Time, std::uint64_t m) {
    if (m == 0) return 0;
    const Place last = stores_.trees().at_rank(store, m - 1);
    if (rule.marked(last.leaf, last.at)) return m;
    return stores_.trees().rank(store, rule.low(stores_.trees(), store, last));
  }
  template <class Value>
  std::uint64_t needed_from(KeyStore& store, DeltaRule<Value>& rule, Time, std::uint64_t m) {
    if (m == 0) return 0;
    const Place last = stores_.trees().at_rank(store, m - 1);
    rule.see(stores_.answers().row_at(store, last));
    return std::min(m - 1, stores_.trees().rank(store, rule.low(stores_.trees(), store, last)));
  }

 private:
  KeyStores& stores_;
};

}  // namespace slidefold::engine
