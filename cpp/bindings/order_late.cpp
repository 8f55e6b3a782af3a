// The order statistics of a window that takes late events.
//
// Layout: the rows in the tree of the engine's stores (engine/tree.hpp), as keys; one multiset, of
//   the window that was asked for last in order. Texts lie in a pool.
// Invariants: those of tree.hpp and orders.hpp. T1 `times_` is the number of different times.
// Cost: an event in order O(log n). An event that is d rows late: O(log n) to insert it, and the
//   runs of O(log d) nodes to answer (engine/orders.hpp, engine/counts.hpp); the multiset stays
//   where it is.
#include "order.hpp"
#include "slidefold/engine/checks.hpp"
#include "text_keys.hpp"

namespace slidefold::bindings {

namespace {

using engine::Leaf;
using engine::Place;
using engine::Word;

// A key as a word of the store, and back.
Word word_of(std::int64_t key, engine::Pool&) { return static_cast<Word>(key); }
Word word_of(const TextKey& key, engine::Pool& pool) { return pool.add(*key.text); }
template <class Key>
Key key_in(Word word) {
  if constexpr (std::is_same_v<Key, TextKey>) {
    return {std::make_shared<const std::string>(engine::text_of(word))};
  } else {
    return static_cast<Key>(word);
  }
}

template <class Key>
class OrderTree final : public TreeFace, engine::LeafWatch {
 public:
  explicit OrderTree(const QuantileSpec& spec)
      : spec_(spec),
        nodes_(shape_of(spec)),
        trees_(nodes_, *this),
        folds_(nodes_),
        orders_(nodes_, trees_) {}
  OrderTree(const OrderTree&) = delete;
  ~OrderTree() override {
    forget_window();
    trees_.clear(tree_);
  }

  TreePtr clone() const override {
    auto copy = std::make_unique<OrderTree>(spec_);
    each_row([&](Tick time, const Row& row) { copy->hold(time, row); });
    return copy;
  }
  std::size_t size() const override { return times_; }
  std::size_t bytes() const override {
    const std::size_t set = window_.set == nullptr ? 0 : order().bytes(window_.set);
    return nodes_.bytes() + pool_.bytes() + set;
  }
  Tick oldest() const override {
    return engine::Trees::oldest_leaf(tree_.root, tree_.height)->oldest();
  }
  Tick youngest() const override { return tree_.tail->newest(); }

  void check() const override {
    if (tree_.size == 0) return require(times_ == 0, "T1: the number of times");
    auto& self = const_cast<OrderTree&>(*this);
    engine::TreeCheck(self.nodes_, tree_).run();
    std::size_t times = 0, rank = 0;
    std::optional<Tick> last;
    std::vector<Word> held;
    for (const Leaf* leaf = engine::Trees::oldest_leaf(tree_.root, tree_.height); leaf != nullptr;
         leaf = leaf->next) {
      for (std::int32_t i = leaf->first; i < leaf->end(); ++i, ++rank) {
        times += last == leaf->times()[i] ? 0 : 1;
        last = leaf->times()[i];
        const bool inside = window_.lower <= rank && rank < window_.upper;
        if (inside && nodes_.present(leaf, i, 0)) held.push_back(leaf->column(0)[i]);
      }
    }
    require(times == times_, "T1: the number of times");
    require(window_.upper <= tree_.size, "orders I1: the window is in the tree");
    if (window_.set == nullptr) return;
    SizeOf counted(spec_);
    order().put(window_.set, 0, counted);
    require(counted.size == held.size(), "orders I1: the multiset has as many values");
    const void* columns[] = {held.data()};
    const auto count = static_cast<std::int32_t>(held.size());
    order().leave(window_.set, columns, 0, count);
    order().put(window_.set, 0, counted);
    order().enter(window_.set, columns, 0, count);
    require(counted.size == 0, "orders I1: the multiset holds the values of its rows");
  }

  void save(Saver& a) override {
    a.length(tree_.size);
    each_row([&](Tick time, Row row) { a(time, row); });
  }
  void load(Loader& a) override {
    const std::size_t count = a.length();
    reset();
    for (std::size_t i = 0; i < count; ++i) {
      Tick time = 0;
      Row row;
      a(time, row);
      expect_ordered(row, spec_);
      expect(i == 0 || youngest() <= time, "the rows are not in time order");
      hold(time, row);
    }
  }

  PyObject* query() override { return answer(0, tree_.size); }
  PyObject* query(Tick since, Tick until) override {
    if (since > until) return answer(0, 0);
    const std::uint64_t from = not_before(since);
    return answer(from, std::max(from, behind(until)));
  }

  void insert(Tick time, PyObject* value) override { hold(time, read_ordered<Key>(value, spec_)); }
  PyObject* push(Tick time, PyObject* value, Tick first, Tick since, Tick until) override {
    insert(time, value);
    if (oldest() < first) bulk_evict(first - 1);
    return query(since, until);
  }

  bool evict(Tick time) override {
    const std::uint64_t from = not_before(time), to = behind(time);
    if (from == to) return false;
    for (std::uint64_t i = from; i < to; ++i) {
      const Place place = trees_.at_rank(tree_, from);
      if (from < window_.lower) {
        --window_.lower;
        --window_.upper;
      } else if (from < window_.upper) {
        folds_.each_run(0, place.leaf, place.at, place.at + 1, order().leave, window_.set);
        --window_.upper;
      }
      trees_.erase(tree_, place);
    }
    --times_;
    return true;
  }
  void bulk_evict(Tick until) override {
    const std::uint64_t end = behind(until);
    if (end == 0) return;
    std::uint64_t left = end;
    std::optional<Tick> last;
    for (const Leaf* leaf = engine::Trees::oldest_leaf(tree_.root, tree_.height); left > 0;
         leaf = leaf->next) {
      for (std::int32_t i = leaf->first; i < leaf->end() && left > 0; ++i, --left) {
        times_ -= last == leaf->times()[i] ? 0 : 1;
        last = leaf->times()[i];
      }
    }
    if (end >= window_.upper) {
      forget_window();
    } else {
      orders_.follow(tree_, 0, window_, std::max(window_.lower, end), window_.upper);
      window_.lower -= end;
      window_.upper -= end;
    }
    trees_.drop_front(tree_, end);
    if (!pool_.wants_sweep()) return;
    for (const Leaf* leaf = tree_.size == 0 ? nullptr
                                            : engine::Trees::oldest_leaf(tree_.root, tree_.height);
         leaf != nullptr; leaf = leaf->next) {
      for (std::int32_t i = leaf->first; i < leaf->end(); ++i) {
        if (nodes_.present(leaf, i, 0)) engine::Pool::mark(leaf->column(0)[i]);
      }
    }
    pool_.sweep();
  }

  void retime(const std::function<Tick(Tick)>& to) override {
    std::vector<std::pair<Tick, Row>> moved;
    each_row([&](Tick time, const Row& row) { moved.push_back({to(time), row}); });  // may throw
    reset();
    for (const auto& [time, row] : moved) hold(time, row);
  }

  void bulk_insert(const std::vector<Tick>&, nb::handle) override { only_windows(); }
  nb::object slide(const std::vector<Tick>&, nb::handle, std::uint64_t,
                   std::size_t) const override {
    only_windows();
  }
  nb::object rounds(nb::handle, const Rounds&) const override { only_windows(); }
  nb::object rounds(const std::vector<Tick>&, nb::handle, std::int64_t,
                    const Rounds&) const override {
    only_windows();
  }
  void for_each(const std::function<void(Tick, nb::object)>&) override { only_windows(); }

 private:
  using Row = OrderedRow<Key>;

  // What the set of a window is asked for: how many values it holds, and its result.
  struct SizeOf : engine::Sink {
    explicit SizeOf(const QuantileSpec& s) : spec(s) {}
    void put(std::size_t, const void* state, std::uint64_t) override {
      size = counts() ? static_cast<const engine::Counted*>(state)->size()
                      : static_cast<const engine::Ordered*>(state)->size();
    }
    bool counts() const { return spec.what != QuantileSpec::What::kQuantile; }
    const QuantileSpec& spec;
    std::size_t size = 0;
  };
  struct Result final : SizeOf {
    using SizeOf::SizeOf;
    void put(std::size_t row, const void* state, std::uint64_t held) override {
      SizeOf::put(row, state, held);
      if (this->size == 0) {
        result = Py_NewRef(Py_None);
      } else if (this->counts()) {
        result = counted(*static_cast<const engine::Counted*>(state));
      } else {
        auto& values = *static_cast<engine::Ordered*>(const_cast<void*>(state));
        const auto [k, share] = this->spec.quantile.place(this->size);
        const auto [low, high] =
            share == 0 ? std::pair(values.select(k), Word{}) : values.select_two(k);
        const Key key = key_in<Key>(low);
        result = lower_between(key, share == 0 ? key : key_in<Key>(high), share, this->spec);
      }
    }
    PyObject* counted(const engine::Counted& values) const {
      Occurrences<Key> found{this->size, 0, 0, {}};
      if (this->spec.what == QuantileSpec::What::kDistinct) {
        found.distinct = values.distinct();
      } else if (this->spec.what == QuantileSpec::What::kEntropy) {
        found.entropy = values.entropy();
      } else {
        const auto put = [](void* to, Word word, std::uint64_t count) {
          static_cast<Occurrences<Key>*>(to)->most_frequent.push_back({key_in<Key>(word), count});
        };
        values.most_frequent(this->spec.k, put, &found);
      }
      return lower_counts(found, this->spec);
    }
    PyObject* result = nullptr;
  };

  [[noreturn]] static void only_windows() {
    fail("PairError", "order statistics by time are run by slidefold.Window");
  }

  static engine::Shape shape_of(const QuantileSpec& spec) {
    using Keys = std::conditional_t<std::is_same_v<Key, TextKey>, TextKeys, engine::WholeKeys>;
    using What = QuantileSpec::What;
    engine::Shape shape;
    shape.columns = 1;
    shape.presences = 1;
    shape.parts.push_back(spec.what == What::kQuantile ? engine::order_part<Keys>(0, 0)
                          : spec.what == What::kMode || spec.what == What::kFrequent
                              ? engine::count_part<Keys, true>(0, 0)
                              : engine::count_part<Keys, false>(0, 0));
    return shape;
  }
  const engine::OrderKernel& order() const { return *nodes_.part(0).order; }

  void moved(engine::Tree&, const Leaf*) override {}
  void replaced(engine::Tree&, const Leaf*, Leaf*, std::int32_t) override {}

  // Calls visit(time, row) in order.
  template <class Visit>
  void each_row(Visit&& visit) const {
    if (tree_.size == 0) return;
    for (const Leaf* leaf = engine::Trees::oldest_leaf(tree_.root, tree_.height); leaf != nullptr;
         leaf = leaf->next) {
      for (std::int32_t i = leaf->first; i < leaf->end(); ++i) {
        Row row{Key{}, !nodes_.present(leaf, i, 0)};
        if (!row.null) row.key = key_in<Key>(leaf->column(0)[i]);
        visit(leaf->times()[i], row);
      }
    }
  }

  std::uint64_t not_before(Tick time) const {
    return tree_.size == 0 ? 0 : trees_.rank(tree_, trees_.lower(tree_, time));
  }
  std::uint64_t behind(Tick time) const {
    return time == engine::kNewest ? tree_.size : not_before(time + 1);
  }

  void hold(Tick time, const Row& row) {
    const Word word = row.null ? 0 : word_of(row.key, pool_);
    const void* columns[] = {&word};
    const std::uint8_t mask = row.null ? 0 : 1;
    const engine::Rows rows{&time, columns, &mask};
    if (tree_.size == 0 || youngest() <= time) {
      const bool known = tree_.size > 0 && youngest() == time;
      trees_.append(tree_, rows, 0);
      times_ += known ? 0 : 1;
      return;
    }
    const Place place = trees_.lower(tree_, time + 1);
    const std::uint64_t rank = trees_.rank(tree_, place);
    bool known = false;
    if (rank > 0) {
      const Place previous = trees_.at_rank(tree_, rank - 1);
      known = previous.leaf->times()[previous.at] == time;
    }
    const Place held = trees_.insert(tree_, place, rows, 0,
                                     [&](engine::Inner* node, std::int32_t slot, const Leaf* leaf,
                                         std::int32_t at) { folds_.came(node, slot, leaf, at); });
    times_ += known ? 0 : 1;
    if (rank >= window_.upper) return;
    if (rank <= window_.lower) {
      ++window_.lower;
    } else {
      try {
        folds_.each_run(0, held.leaf, held.at, held.at + 1, order().enter, window_.set);
      } catch (...) {
        forget_window();  // it is made again
        return;
      }
    }
    ++window_.upper;
  }

  // The result of the rows between two ranks.
  PyObject* answer(std::uint64_t low, std::uint64_t high) {
    if (low == high) {
      return Py_NewRef(Py_None);
    }
    Result result(spec_);
    const bool forward = low >= window_.lower && high >= window_.upper;
    if (window_.set == nullptr || forward) {
      try {
        orders_.follow(tree_, 0, window_, low, high);
      } catch (...) {
        forget_window();
        throw;
      }
      order().put(window_.set, 0, result);
    } else {
      orders_.answer(tree_, 0, window_, low, high, 0, result);
    }
    return result.result;
  }

  void forget_window() {
    if (window_.set != nullptr) order().free(window_.set);
    window_ = {};
  }
  void reset() {
    forget_window();
    trees_.clear(tree_);
    times_ = 0;
  }

  QuantileSpec spec_;
  engine::Pool pool_;
  engine::Nodes nodes_;
  engine::Trees trees_;
  engine::Folds folds_;
  engine::Orders orders_;
  engine::Tree tree_;
  engine::OrderWindow window_;
  std::size_t times_ = 0;
};

}  // namespace

TreePtr make_order_tree(const Spec& spec) {
  const QuantileSpec made = quantile_from(spec);
  if (made.texts) return std::make_unique<OrderTree<TextKey>>(made);
  return std::make_unique<OrderTree<std::int64_t>>(made);
}

}  // namespace slidefold::bindings
