// Where windows break: the gap before a session, and the mark that ends a punctuated window.
//
// Layout: two operators whose states in inner nodes tell what lies below a child: Gaps over the
//   times of rows, Marks over a column of marks. A search goes from row to row only in leaves that
//   hold what it looks for, and in the one that it starts in.
// Invariants: those of nodes.hpp; these states are made and forgotten as those of all parts.
// Cost: a search O(log n) states and the rows of two leaves. A state is made once after its child
//   changed. Programs without such windows have none.
// Paper: fiba-out-of-order, section 3: aggregates in inner nodes, here of what a search asks for.
#pragma once

#include "slidefold/engine/folds.hpp"
#include "slidefold/engine/kernels.hpp"

namespace slidefold::engine {

// The largest difference between two times in a row. Times ascend, so that it fits when unsigned.
struct Gaps {
  static constexpr bool commutative = false;
  using In = Time;
  struct State {
    Time oldest = kNewest, newest = kOldest;
    std::uint64_t widest = 0;
    bool empty() const { return newest < oldest; }
    bool operator==(const State&) const = default;
  };
  using Out = std::uint64_t;
  State identity() const { return {}; }
  State lift(Time t) const { return {t, t, 0}; }
  State combine(const State& older, const State& newer) const {
    if (older.empty()) return newer;
    if (newer.empty()) return older;
    return {older.oldest, newer.newest,
            std::max({older.widest, newer.widest, apart(older.newest, newer.oldest)})};
  }
  Out lower(const State& state) const { return state.widest; }
  bool same(const State& a, const State& b) const { return a == b; }

  static std::uint64_t apart(Time older, Time newer) {
    return static_cast<std::uint64_t>(newer) - static_cast<std::uint64_t>(older);
  }
};

// Whether there is a mark.
struct Marks {
  static constexpr bool commutative = true;
  using In = bool;
  using State = bool;
  using Out = bool;
  State identity() const { return false; }
  State lift(bool marked) const { return marked; }
  State combine(State older, State newer) const { return older || newer; }
  Out lower(State state) const { return state; }
  bool same(State a, State b) const { return a == b; }
};

inline Part gaps_part() { return part_of(Gaps{}, {kTimes}); }
inline Part marks_part(std::uint32_t column) { return part_of(Marks{}, {column}); }

// Goes from the row before a place to older ones, and returns the place behind the first one for
// which found(leaf, row) is true; the start if there is none. skips(node, height, child) tells that
// no row of a child is one.
template <class Skips, class Found>
Place walk_back(const Trees& trees, const Tree& tree, Place place, Skips&& skips, Found&& found) {
  for (;;) {
    for (; place.at > place.leaf->first; --place.at) {
      if (found(place.leaf, place.at - 1)) return place;
    }
    for (std::int32_t h = 1;;) {
      if (h > tree.height) return trees.begin(tree);
      if (place.slot[h] == place.node[h]->first) {
        ++h;
        continue;
      }
      if (skips(place.node[h], h, --place.slot[h])) continue;
      if (h == 1) break;
      place.node[h - 1] = place.node[h]->inner(place.slot[h]);
      --h;
      place.slot[h] = place.node[h]->end();
    }
    place.leaf = place.node[1]->leaf(place.slot[1]);
    place.at = place.leaf->end();
  }
}
// Goes from the row at a place to newer ones, and returns the place of the first one for which
// found is true; the end if there is none.
template <class Skips, class Found>
Place walk_on(const Trees& trees, const Tree& tree, Place place, Skips&& skips, Found&& found) {
  for (;;) {
    for (; place.at < place.leaf->end(); ++place.at) {
      if (found(place.leaf, place.at)) return place;
    }
    for (std::int32_t h = 1;;) {
      if (h > tree.height) return trees.end(tree);
      if (place.slot[h] + 1 >= place.node[h]->end()) {
        ++h;
        continue;
      }
      if (skips(place.node[h], h, ++place.slot[h])) continue;
      if (h == 1) break;
      place.node[h - 1] = place.node[h]->inner(place.slot[h]);
      --h;
      place.slot[h] = place.node[h]->first - 1;
    }
    place.leaf = place.node[1]->leaf(place.slot[1]);
    place.at = place.leaf->first;
  }
}

}  // namespace slidefold::engine
