// Final rows of a key, folded: one entry per slice of time instead of the rows.
//
// Layout: windows that end at the multiples of a step begin and end at few times; these are the
//   cuts, and a slice is what lies between two of them. A key's slices are a tree (tree.hpp) with
//   one row per slice: the time of its oldest row, how many rows it holds, and the states of the
//   parts, as words if they are plain and small, else as addresses.
// Invariants: I1 slices ascend, and a cut lies between any two. I2 no cut lies between the rows of
//   a slice, so that a window holds all of them or none. I3 the rows that a key still has are not
//   before its slices.
// Cost: a row is folded once. A window takes O(log slices) combines per part. States follow
//   range / step, rows those after the watermark.
// Paper: none of ours; slices are what stream processors call panes.
#pragma once

#include "slidefold/engine/checks.hpp"
#include "slidefold/engine/grid.hpp"
#include "slidefold/engine/kernels.hpp"

namespace slidefold::engine {

// The times at which windows begin, and those behind their ends.
class Cuts {
 public:
  explicit Cuts(Grid grid) : grid_(std::move(grid)) {}

  void add(const TimeRule& rule) {
    if (rule.back > 0) {
      add_cut({rule.back, rule.open ? 1 : 0});
    } else {
      add_cut({0, -static_cast<int128>(rule.oldest)});
    }
    add_cut({0, 1 - static_cast<int128>(rule.newest)});
  }
  // The first cut after a time; the newest time if there is none.
  Time after(Time t) const {
    int128 first = kNewest;
    for (const Cut& cut : cuts_) {
      if (const auto next = after(t, cut); next && *next < first) first = *next;
    }
    return static_cast<Time>(first);
  }

 private:
  // So far behind each end, or behind the day that is so many days before it.
  struct Cut {
    std::size_t back;
    int128 shift;
  };
  void add_cut(const Cut& cut) {
    for (const Cut& other : cuts_) {
      if (other.back == cut.back && other.shift == cut.shift) return;
    }
    cuts_.push_back(cut);
  }
  std::optional<int128> after(Time t, const Cut& cut) const {
    const int128 from = static_cast<int128>(t) + 1 - cut.shift;
    if (grid_.days == nullptr) {
      const int128 ahead = from - grid_.shift;
      int128 steps = ahead / grid_.step;
      if (steps * grid_.step < ahead) ++steps;
      return steps * grid_.step + grid_.shift + cut.shift;
    }
    if (from > kNewest) return std::nullopt;
    const std::vector<Time>& starts = grid_.days->starts;
    const std::size_t day = grid_.days->from(static_cast<Time>(std::max<int128>(from, kOldest)));
    const std::size_t begin = grid_.end_day(day + cut.back) - cut.back;
    if (begin >= starts.size()) return std::nullopt;
    return starts[begin] + cut.shift;
  }

  Grid grid_;
  std::vector<Cut> cuts_;
};

class Slices final : LeafWatch {
 public:
  // A slice outside of its tree.
  struct Entry {
    Time time = 0;
    std::uint64_t rows = 0;
    std::vector<StateOf> states;
  };

  // `parts` are those of the rows that slices hold states of.
  Slices(const Shape& rows, std::vector<std::size_t> parts, Cuts cuts)
      : parts_(std::move(parts)),
        cuts_(std::move(cuts)),
        nodes_(shape_of(rows, parts_)),
        trees_(nodes_, *this),
        folds_(nodes_) {
    for (std::size_t k = 0; k < parts_.size(); ++k) rooms_.emplace_back(part(k));
    std::size_t own = (1 + nodes_.shape().columns) * sizeof(Word);
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      own += part(k).inside() ? 0 : part(k).algebra().size;
    }
    const std::size_t row = (1 + rows.columns) * sizeof(Word) + rows.mask_bytes();
    worth_ = std::max<std::size_t>(2, (own + row - 1) / row);
  }
  Slices(const Slices&) = delete;

  // The parts of the rows that slices have states of.
  const std::vector<std::size_t>& parts() const { return parts_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return nodes_.bytes() + outside_; }
  // A slice takes less room than so many rows.
  std::size_t worth() const { return worth_; }
  Time cut_after(Time t) const { return cuts_.after(t); }

  Time oldest(const Tree& tree) const {
    return Trees::oldest_leaf(tree.root, tree.height)->oldest();
  }
  // The time of the newest slice: that of its oldest row.
  Time newest(const Tree& tree) const { return tree.tail->newest(); }
  // The first slice that is not before a time.
  std::optional<Time> first_from(const Tree& tree, Time t) const {
    const Place place = trees_.lower(tree, t);
    if (place.at < place.leaf->end()) return place.leaf->times()[place.at];
    if (place.leaf->next == nullptr) return std::nullopt;
    return place.leaf->next->oldest();
  }

  // A slice that begins at a time and holds nothing yet.
  Entry begin(Time t) const {
    Entry entry;
    entry.time = t;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      entry.states.emplace_back(part(k));
      entry.states.back().reset();
    }
    return entry;
  }
  // The newest slice, which may still take rows.
  Entry last(const Tree& tree) const { return entry_at(tree.tail, tree.tail->end() - 1); }
  // Puts a slice behind the others, or in the place of the newest.
  void put(Tree& tree, const Entry& entry, bool again) {
    std::vector<Word> words(nodes_.shape().columns);
    words[0] = entry.rows;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const std::vector<std::uint32_t>& columns = part(k).columns;
      if (part(k).inside()) {
        std::memcpy(&words[columns[0]], entry.states[k].get(), part(k).algebra().size);
        continue;
      }
      void* const room = part(k).algebra().allocate();
      part(k).algebra().copy(entry.states[k].get(), room);
      words[columns[0]] = reinterpret_cast<Word>(room);
      outside_ += part(k).algebra().size;
    }
    if (again) {
      release(tree.tail, tree.tail->end() - 1);
      for (std::uint32_t c = 0; c < words.size(); ++c) {
        tree.tail->column(c)[tree.tail->end() - 1] = words[c];
      }
      return;  // no state above the newest leaf is made: ranges end in it, or before it
    }
    std::vector<const void*> columns;
    for (const Word& word : words) columns.push_back(&word);
    trees_.append(tree, {&entry.time, columns.data()}, 0);
    ++size_;
  }
  // Drops the slices before a time.
  void drop_before(Tree& tree, Time t) {
    if (tree.size == 0 || oldest(tree) >= t) return;
    drop(tree, trees_.rank(tree, trees_.lower(tree, t)));
  }
  void clear(Tree& tree) { drop(tree, tree.size); }

  // Folds the slices between two times, both included; false if there are none.
  bool fold(const Tree& tree, Time since, Time until) {
    if (tree.size == 0) return false;
    const Place low = trees_.lower(tree, since);
    const Place high = until == kNewest ? trees_.end(tree) : trees_.lower(tree, until + 1);
    const Segments segments = folds_.between(tree, low, high);
    if (segments.count == 0) return false;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      rooms_[k].reset();
      folds_.fold(k, rooms_[k].get(), segments);
    }
    std::int64_t rows = 0;
    folds_.fold(parts_.size(), &rows, segments);
    rows_ = static_cast<std::uint64_t>(rows);
    return true;
  }
  // What fold() has found: the state of a part of the rows, and how many rows it stands for.
  const void* state(std::size_t row_part) const {
    const auto at = std::find(parts_.begin(), parts_.end(), row_part);
    return rooms_[static_cast<std::size_t>(at - parts_.begin())].get();
  }
  std::uint64_t rows() const { return rows_; }

  template <class Visit>
  void each_time(const Tree& tree, Visit&& visit) const {
    trees_.each_time(tree, visit);
  }
  // Calls visit(entry) for each slice, oldest first.
  template <class Visit>
  void each(const Tree& tree, Visit&& visit) const {
    if (tree.size == 0) return;
    for (const Leaf* leaf = Trees::oldest_leaf(tree.root, tree.height); leaf != nullptr;
         leaf = leaf->next) {
      for (std::int32_t at = leaf->first; at < leaf->end(); ++at) visit(entry_at(leaf, at));
    }
  }

  void save(const Tree& tree, Saver& saver) const {
    saver.length(tree.size);
    each(tree, [&](Entry&& entry) {
      saver(entry.time, entry.rows);
      for (std::size_t k = 0; k < parts_.size(); ++k) {
        part(k).algebra().save(part(k).context.get(), entry.states[k].get(), saver);
      }
    });
  }
  void load(Tree& tree, Loader& loader) {
    const std::size_t count = loader.length();
    for (std::size_t i = 0; i < count; ++i) {
      Entry entry;
      loader(entry.time, entry.rows);
      expect(entry.rows > 0 && entry.rows <= std::uint64_t{1} << 48, "a slice has no rows");
      expect(tree.size == 0 || cuts_.after(newest(tree)) <= entry.time, "slices overlap");
      for (std::size_t k = 0; k < parts_.size(); ++k) {
        entry.states.emplace_back(part(k));
        entry.states.back().fill(
            [&](void* out) { part(k).algebra().load(part(k).context.get(), out, loader); });
      }
      put(tree, entry, false);
    }
  }

  void check(const Tree& tree) {
    TreeCheck(nodes_, tree).run();
    std::optional<Time> previous;
    each(tree, [&](Entry&& entry) {
      require(entry.rows > 0, "slices: a slice has rows");
      require(!previous || cuts_.after(*previous) <= entry.time,
              "slices I1: a cut lies between two slices");
      previous = entry.time;
    });
  }

 private:
  // Adds the numbers of rows.
  struct HeldRows {
    static constexpr bool commutative = true;
    using In = std::int64_t;
    using State = std::int64_t;
    using Out = std::int64_t;
    State identity() const { return 0; }
    State lift(In rows) const { return rows; }
    State combine(State older, State newer) const { return older + newer; }
    Out lower(State state) const { return state; }
  };

  // Calls use(state) with the state that lies in the columns of a row.
  template <class Use>
  static void on_state(const Part& part, const void* const* columns, std::int32_t row, Use&& use) {
    const auto word = [&](std::size_t c) { return static_cast<const Word*>(columns[c])[row]; };
    if (!part.inside()) return use(reinterpret_cast<const void*>(word(0)));
    alignas(16) Word words[8];
    for (std::size_t c = 0; c < part.columns.size(); ++c) words[c] = word(c);
    use(words);
  }
  static void fold_states(const Part& part, void* state, const void* const* columns,
                          std::int32_t first, std::int32_t count) {
    for (std::int32_t i = first; i < first + count; ++i) {
      on_state(part, columns, i, [&](const void* newer) { part.absorb(state, newer); });
    }
  }
  static Shape shape_of(const Shape& rows, const std::vector<std::size_t>& parts) {
    Shape shape;
    shape.columns = 1;
    for (const std::size_t p : parts) {
      const Part& from = rows.parts[p];
      Part part;
      part.own_kernel =
          std::make_shared<const Kernel>(Kernel{from.algebra(), fold_states, nullptr});
      part.kernel = part.own_kernel.get();
      part.context = from.context;
      for (std::size_t word = 0; word < from.slot_bytes() / sizeof(Word); ++word) {
        part.columns.push_back(shape.columns++);
      }
      shape.parts.push_back(std::move(part));
    }
    shape.parts.push_back(part_of(HeldRows{}, {0}));
    return shape;
  }

  const Part& part(std::size_t k) const { return nodes_.part(k); }
  Entry entry_at(const Leaf* leaf, std::int32_t at) const {
    Entry entry;
    entry.time = leaf->times()[at];
    entry.rows = leaf->column(0)[at];
    const void* columns[Folds::kColumnsMost];
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      Folds::columns_of(part(k), leaf, columns);
      entry.states.emplace_back(part(k));
      on_state(part(k), columns, at, [&](const void* state) { entry.states.back().assign(state); });
    }
    return entry;
  }
  void release(const Leaf* leaf, std::int32_t at) {
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      if (part(k).inside()) continue;
      const Algebra& algebra = part(k).algebra();
      auto* const room = reinterpret_cast<void*>(leaf->column(part(k).columns[0])[at]);
      if (!algebra.plain) algebra.destroy(room);
      algebra.release(room);
      outside_ -= algebra.size;
    }
  }
  void drop(Tree& tree, std::uint64_t count) {
    if (count == 0) return;
    std::uint64_t left = count;
    for (const Leaf* leaf = Trees::oldest_leaf(tree.root, tree.height); left > 0;
         leaf = leaf->next) {
      for (std::int32_t at = leaf->first; at < leaf->end() && left > 0; ++at, --left) {
        release(leaf, at);
      }
    }
    trees_.drop_front(tree, count);
    size_ -= count;
  }
  void moved(Tree&, const Leaf*) override {}
  void replaced(Tree&, const Leaf*, Leaf*, std::int32_t) override {}

  std::vector<std::size_t> parts_;
  Cuts cuts_;
  Nodes nodes_;
  Trees trees_;
  Folds folds_;
  std::vector<StateOf> rooms_;  // by place in parts_
  std::uint64_t rows_ = 0;
  std::size_t size_ = 0, outside_ = 0, worth_ = 2;
};

}  // namespace slidefold::engine
