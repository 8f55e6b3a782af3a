// Rows that no window needs go; final rows become slices.
//
// Layout: that of Holdings.
// Invariants: those of Holdings.
// Cost: a row leaves in O(1) amortised, and is folded once per part of which its key keeps
//   something. A key whose final rows are not worth slices is looked at again when they have
//   doubled.
// Paper: none.
#pragma once

#include "slidefold/engine/holdings.hpp"

namespace slidefold::engine {

class Eviction : public Holdings {
 public:
  explicit Eviction(Program program) : Holdings(std::move(program)) {
    for (const Window& window : program_.windows) {
      grows_ = grows_ || std::holds_alternative<SessionRule>(window.rule) ||
               std::holds_alternative<MarkRule>(window.rule);
    }
  }

  // Rows leave only so many at a time.
  void set_multiple(std::uint64_t multiple) { multiple_ = multiple; }
  // Forgets a key with all that it holds.
  void drop(Slot slot) {
    KeyStore& store = by_slot_[slot];
    rows_ -= store.size;
    blocks_ -= store.block != nullptr ? 1 : 0;
    stores_.clear(store);
    store.past = nullptr;
    if (store.slices != nullptr) slices_->clear(*store.slices);
    free_if_empty(slot);
  }
  // Drops from all keys what no window after a watermark needs.
  void evict_all(Time watermark) {
    for (Slot slot = 0; slot < keys_.slots(); ++slot) {
      if (keys_.live(slot)) evict(slot, watermark, true);
    }
  }

 protected:
  // Drops from a key what no window after a watermark needs.
  void evict(Slot slot, Time watermark, bool always = false) {
    KeyStore& store = by_slot_[slot];
    if (has_slices(store)) drop_slices(store, watermark);
    // Where only a search can tell, it waits until the store has doubled.
    const bool waits = !always && grows_ && store.size <= 2 * pruned(slot) + 16;
    if (store.size > 0 && !waits) {
      if (!is_needed(store, watermark, always)) {
        const std::uint64_t count = unneeded(slot, watermark, false);
        if (count > 0 && fold_past(slot, count)) drop_front(store, count);
      }
      if (slices_ != nullptr && store.size >= kSliced) fold_slices(slot, watermark);
      if (grows_) pruned(slot) = store.size;
    }
    free_if_empty(slot);
  }
  void free_if_empty(Slot slot) {
    if (!keys_.live(slot) || !nothing_left(by_slot_[slot])) return;
    by_slot_[slot] = KeyStore{};
    keys_.remove(slot);
    if (grows_) pruned(slot) = 0;
  }
  // Drops what is kept by slot behind the last one.
  void trim_slots() {
    by_slot_.resize(keys_.slots());
    if (pruned_.size() <= keys_.slots()) return;
    pruned_.resize(keys_.slots());
    pruned_.shrink_to_fit();
  }

 private:
  // Final rows of a key become slices from so many on: a leaf of them.
  static constexpr std::uint64_t kSliced = kLeafFull;

  // Whether some window still holds the oldest row; or, so that rows leave leaf by leaf, the newest
  // one of the oldest leaf. That is most often so, and takes no search.
  bool is_needed(const KeyStore& store, Time watermark, bool always) const {
    const Leaf* const leaf = Trees::oldest_leaf(store.root, store.height);
    const std::int32_t at = always || store.height == 0 ? leaf->first : leaf->end() - 1;
    return std::any_of(program_.windows.begin(), program_.windows.end(), [&](const Window& window) {
      return std::visit(
          [&](const auto& rule) { return ends_.needs(store, rule, leaf, at, watermark); },
          window.rule);
    });
  }
  // How many of the oldest rows no window needs any more, or none that is not answered from slices.
  std::uint64_t unneeded(Slot slot, Time watermark, bool sliced) {
    KeyStore& store = by_slot_[slot];
    // Ends without rows behind the last one may still be filled in. Their time windows are empty;
    // other windows look back from there.
    const Time back = std::min(watermark, last_end(slot).value_or(watermark));
    const std::uint64_t m = stores_.trees().rank(store, ends_.behind(store, watermark));
    const std::uint64_t seen =
        back == watermark ? m : stores_.trees().rank(store, ends_.behind(store, back));
    std::uint64_t count = m;
    for (std::size_t w = 0; w < program_.windows.size() && count > 0; ++w) {
      if (sliced && is_sliced(w)) continue;
      const Rule& window = program_.windows[w].rule;
      const bool in_time = std::holds_alternative<TimeRule>(window);
      count =
          std::min(count, std::visit(
                              [&](auto rule) {
                                return ends_.needed_from(store, rule, in_time ? watermark : back,
                                                         in_time ? m : seen);
                              },
                              window));
    }
    count = std::min(count, store.answered);
    return count - count % multiple_;
  }
  void drop_front(KeyStore& store, std::uint64_t count) {
    const bool had_block = store.block != nullptr;
    rows_ -= std::min(count, store.size);
    stores_.drop_front(store, count);
    blocks_ -= had_block && store.block == nullptr ? 1 : 0;
  }
  std::uint64_t& pruned(Slot slot) {
    if (pruned_.size() <= slot) pruned_.resize(slot + 1);
    return pruned_[slot];
  }

  // Folds the oldest rows of a key into a state.
  void fold_front(const KeyStore& store, std::size_t part, std::uint64_t count, void* state) {
    const Folds folds(stores_.nodes());
    for (const Leaf* leaf = Trees::oldest_leaf(store.root, store.height); count > 0;
         leaf = leaf->next) {
      const auto rows = static_cast<std::int32_t>(std::min<std::uint64_t>(count, leaf->count));
      folds.fold_rows(part, state, leaf, leaf->first, leaf->first + rows);
      count -= static_cast<std::uint64_t>(rows);
    }
  }
  // Folds the oldest rows of a key into what it keeps for ever; false if an operator fails, and
  // then nothing has changed.
  bool fold_past(Slot slot, std::uint64_t count) {
    if (past_parts_.empty()) return true;
    Past& past = past_of(slot);
    std::vector<StateOf> folded;
    try {
      for (std::size_t i = 0; i < past_parts_.size(); ++i) {
        folded.emplace_back(nodes().part(past_parts_[i]));
        folded.back().assign(past.states[i].get());
        fold_front(by_slot_[slot], past_parts_[i], count, folded.back().get());
      }
    } catch (const std::exception&) {
      return false;  // the rows stay, and answers are as they were
    }
    for (std::size_t i = 0; i < folded.size(); ++i) past.states[i].assign(folded[i].get());
    past.rows += count;
    return true;
  }

  // How many slices the oldest rows of a key would be.
  std::uint64_t slices_in(const KeyStore& store, std::uint64_t count) const {
    std::uint64_t slices = 0;
    for (std::uint64_t rank = 0; rank < count; ++slices) {
      const Place next = stores_.trees().lower(store, slices_->cut_after(time_at(store, rank)));
      rank = std::max(rank + 1, stores_.trees().rank(store, next));
    }
    return slices;
  }
  // Lets slices stand for final rows, where that takes less room.
  void fold_slices(Slot slot, Time watermark) {
    KeyStore& store = by_slot_[slot];
    store.rested = std::min(store.rested, store.size);
    std::uint64_t left = unneeded(slot, watermark, true);
    if (left < std::max(kSliced, 2 * store.rested)) return;
    if (slices_in(store, left) * slices_->worth() > left) {
      store.rested = left;
      return;
    }
    store.rested = 0;
    while (left > 0) {
      const Time oldest = Trees::oldest_leaf(store.root, store.height)->oldest();
      Tree& tree = slices_of(store);
      const bool again = tree.size > 0 && oldest < slices_->cut_after(slices_->newest(tree));
      const Time cut = slices_->cut_after(oldest);
      const std::uint64_t behind = stores_.trees().rank(store, stores_.trees().lower(store, cut));
      const std::uint64_t count = std::min(left, std::max<std::uint64_t>(behind, 1));
      Slices::Entry entry = again ? slices_->last(tree) : slices_->begin(oldest);
      entry.rows += count;
      try {
        for (std::size_t k = 0; k < slices_->parts().size(); ++k) {
          fold_front(store, slices_->parts()[k], count, entry.states[k].get());
        }
      } catch (const std::exception&) {
        return;  // as in fold_past
      }
      if (!fold_past(slot, count)) return;
      slices_->put(tree, entry, again);
      drop_front(store, count);
      left -= count;
    }
  }
  void drop_slices(KeyStore& store, Time watermark) {
    Time needed = watermark;
    for (std::size_t w = 0; w < program_.windows.size(); ++w) {
      if (!is_sliced(w)) continue;
      needed =
          std::min(needed, before(watermark, std::get<TimeRule>(program_.windows[w].rule).oldest));
    }
    slices_->drop_before(*store.slices, needed);
  }

  bool grows_ = false;  // some window's start is searched for
  std::vector<std::uint64_t> pruned_;
  std::uint64_t multiple_ = 1;
};

}  // namespace slidefold::engine
