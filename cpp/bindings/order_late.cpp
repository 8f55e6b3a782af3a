// The order statistics of a window that takes late events.
//
// Layout: the rows by time, in one array from `first_` on; a counted tree of the rows in
//   [from_, to_), the window that was asked for last.
// Invariants: T1 times never go down. T2 the tree holds the values of rows [from_, to_). T3
// `times_`
//   is the number of different times.
// Cost: an event that is d rows late moves d rows in memory. A window is answered by moving the
// ends
//   of the last one: O(log n) for each row between them, so O(log n) in order and O(d log n) for a
//   late event; never more than building it anew.
#include "order.hpp"

namespace slidefold::bindings {

namespace {

template <class Key, class Set>
class OrderTree final : public TreeFace {
 public:
  OrderTree(const QuantileSpec& spec, Set empty) : spec_(spec), tree_(std::move(empty)) {}

  TreePtr clone() const override { return std::make_unique<OrderTree>(*this); }
  std::size_t size() const override { return times_; }
  std::size_t bytes() const override { return rows_.capacity() * sizeof(Row) + tree_.bytes(); }
  Tick oldest() const override { return rows_[first_].time; }
  Tick youngest() const override { return rows_.back().time; }

  void check() const override {
    tree_.check();
    std::size_t times = 0;
    for (std::size_t i = first_; i < rows_.size(); ++i) {
      require(i == first_ || rows_[i - 1].time <= rows_[i].time, "T1: rows are in time order");
      times += i == first_ || rows_[i - 1].time != rows_[i].time ? 1 : 0;
    }
    require(times == times_, "T3: the number of times");
    require(first_ <= from_ && from_ <= to_ && to_ <= rows_.size(), "T2: a range of rows");
    Set left = tree_;
    for (std::size_t i = from_; i < to_; ++i) {
      if (!rows_[i].row.null) require(left.erase(rows_[i].row.key), "T2: every value");
    }
    require(left.empty(), "T2: nothing else");
  }

  void save(Saver& a) override {
    a.length(rows_.size() - first_);
    for (std::size_t i = first_; i < rows_.size(); ++i) a(rows_[i].time, rows_[i].row);
  }
  void load(Loader& a) override {
    const std::size_t count = a.length();
    rows_.clear();
    tree_.clear();
    first_ = from_ = to_ = times_ = 0;
    for (std::size_t i = 0; i < count; ++i) {
      Row row;
      a(row.time, row.row);
      expect_ordered(row.row, spec_);
      expect(i == 0 || rows_.back().time <= row.time, "the rows are not in time order");
      times_ += i == 0 || rows_.back().time != row.time ? 1 : 0;
      rows_.push_back(row);
    }
  }

  PyObject* query() override {
    move(first_, rows_.size());
    return lower_ordered(tree_, spec_);
  }
  PyObject* query(Tick since, Tick until) override {
    const std::size_t from = since <= until ? not_before(since) : first_;
    move(from, since <= until ? std::max(from, behind(until)) : from);
    return lower_ordered(tree_, spec_);
  }

  void insert(Tick time, PyObject* value) override { hold(time, read_ordered<Key>(value, spec_)); }
  PyObject* push(Tick time, PyObject* value, Tick first, Tick since, Tick until) override {
    insert(time, value);
    if (oldest() < first) bulk_evict(first - 1);
    return query(since, until);
  }

  bool evict(Tick time) override {
    const std::size_t from = not_before(time), to = behind(time);
    if (from == to) return false;
    for (std::size_t i = std::max(from, from_); i < std::min(to, to_); ++i) drop(i);
    rows_.erase(at(from), at(to));
    for (std::size_t* end : {&from_, &to_})
      *end = *end >= to ? *end - (to - from) : std::min(*end, from);
    --times_;
    return true;
  }
  void bulk_evict(Tick until) override {
    const std::size_t end = behind(until);
    for (std::size_t i = first_; i < end; ++i) {
      if (i + 1 == rows_.size() || rows_[i].time != rows_[i + 1].time) --times_;
    }
    move(std::max(from_, end), std::max(to_, end));
    first_ = end;
    if (first_ * 2 < rows_.size()) return;
    rows_.erase(rows_.begin(), at(first_));
    if (rows_.capacity() > 8 * rows_.size() + 64) rows_.shrink_to_fit();
    from_ -= first_;
    to_ -= first_;
    first_ = 0;
  }

  void retime(const std::function<Tick(Tick)>& to) override {
    std::vector<Tick> moved;
    for (const Row& row : rows_) moved.push_back(to(row.time));  // may throw
    for (std::size_t i = 0; i < moved.size(); ++i) rows_[i].time = moved[i];
  }

  void bulk_insert(const std::vector<Tick>&, nb::handle) override { only_windows(); }
  nb::object slide(const std::vector<Tick>&, nb::handle, std::uint64_t,
                   std::size_t) const override {
    only_windows();
  }
  void for_each(const std::function<void(Tick, nb::object)>&) override { only_windows(); }

 private:
  struct Row {
    Tick time = 0;
    OrderedRow<Key> row;
  };

  [[noreturn]] static void only_windows() {
    fail("PairError", "order statistics by time are run by slidefold.Window");
  }

  typename std::vector<Row>::iterator at(std::size_t i) {
    return rows_.begin() + static_cast<std::ptrdiff_t>(i);
  }
  std::size_t not_before(Tick time) const {
    const auto first = rows_.begin() + static_cast<std::ptrdiff_t>(first_);
    const auto found = std::lower_bound(first, rows_.end(), time,
                                        [](const Row& row, Tick t) { return row.time < t; });
    return static_cast<std::size_t>(found - rows_.begin());
  }
  std::size_t behind(Tick time) const {
    const auto first = rows_.begin() + static_cast<std::ptrdiff_t>(first_);
    const auto found = std::upper_bound(first, rows_.end(), time,
                                        [](Tick t, const Row& row) { return t < row.time; });
    return static_cast<std::size_t>(found - rows_.begin());
  }

  void hold(Tick time, const OrderedRow<Key>& row) {
    const std::size_t place = behind(time);
    const bool known = place > first_ && rows_[place - 1].time == time;
    const bool inside = from_ < place && place < to_;
    if (rows_.size() == rows_.capacity()) rows_.reserve(rows_.size() * 2 + 8);
    if (inside && !row.null) tree_.insert(row.key);
    rows_.insert(at(place), {time, row});
    times_ += known ? 0 : 1;
    if (place <= from_) {
      ++from_;
      ++to_;
    } else if (place < to_) {
      ++to_;
    }
  }

  void add(std::size_t i) {
    if (!rows_[i].row.null) tree_.insert(rows_[i].row.key);
  }
  void drop(std::size_t i) {
    if (!rows_[i].row.null) tree_.erase(rows_[i].row.key);
  }
  // Makes the tree that of rows [from, to).
  void move(std::size_t from, std::size_t to) {
    const auto apart = [](std::size_t a, std::size_t b) { return a < b ? b - a : a - b; };
    const bool anew = to <= from_ || to_ <= from || apart(from, from_) + apart(to, to_) > to - from;
    if (anew) {
      tree_.clear();
      from_ = to_ = from;
    }
    for (; to_ < to; ++to_) add(to_);
    for (; from < from_; --from_) add(from_ - 1);
    for (; to < to_; --to_) drop(to_ - 1);
    for (; from_ < from; ++from_) drop(from_);
  }

  QuantileSpec spec_;
  std::vector<Row> rows_;
  std::size_t first_ = 0, from_ = 0, to_ = 0, times_ = 0;
  Set tree_;
};

}  // namespace

TreePtr make_order_tree(const Spec& spec) {
  const QuantileSpec made = quantile_from(spec);
  return with_set(made, [&](auto key, auto set) -> TreePtr {
    return std::make_unique<OrderTree<decltype(key), decltype(set)>>(made, std::move(set));
  });
}

}  // namespace slidefold::bindings
