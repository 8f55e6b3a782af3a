#include <iterator>
#include <set>

#include "registry.hpp"
#include "slidefold/algorithms/flat_fat.hpp"

namespace slidefold::bindings {
namespace {

// FlatFat's own side: positions, batched updates, prefixes and suffixes.
template <class Op>
class FlatFatFace final : public FaceOf<Op, FlatFat<Op>> {
  using Base = FaceOf<Op, FlatFat<Op>>;
  using State = typename Op::State;

 public:
  using Base::Base;

  FacePtr clone() const override { return std::make_unique<FlatFatFace>(*this); }
  std::size_t capacity() const override { return this->algorithm_.capacity(); }
  void insert(PyObject* value) override { insert_at(value); }
  void save(Saver& a) override {
    Base::save(a);
    a(std::vector<std::uint64_t>(nulls_at_.begin(), nulls_at_.end()));
  }
  void load(Loader& a) override {
    Base::load(a);
    std::vector<std::uint64_t> positions;
    a(positions);
    nulls_at_ = std::set<std::uint64_t>(positions.begin(), positions.end());
    for (const std::uint64_t position : nulls_at_) {
      bool held = true;
      try {
        this->algorithm_.rank(position);
      } catch (const std::out_of_range&) {
        held = false;
      }
      expect(held, "a null is at a position that holds no row");
    }
  }

  std::uint64_t insert_at(PyObject* value) override {
    const bool null = this->is_null(value);
    State state = this->lifted(value, null);
    State copy = this->checked_ ? state : State{};
    const std::uint64_t position =
        this->guarded([&] { return this->algorithm_.insert(std::move(state)); });
    if (null) nulls_at_.insert(position);
    if (this->checked_) this->contents_.push_back(std::move(copy));
    return position;
  }

  void evict(std::size_t count) override {
    Base::evict(count);
    while (!nulls_at_.empty() && (this->size() == 0 || *nulls_at_.begin() < oldest())) {
      nulls_at_.erase(nulls_at_.begin());
    }
  }

  void evict_at(std::uint64_t position) override {
    const std::size_t rank = this->checked_ ? this->algorithm_.rank(position) : 0;
    this->guarded([&] { this->algorithm_.evict_at(position); });
    nulls_at_.erase(position);
    if (!this->checked_) return;
    this->contents_.erase(this->contents_.begin() + static_cast<long>(rank));
  }

  void update(const std::vector<std::uint64_t>& positions, nb::list values) override {
    std::vector<std::pair<std::uint64_t, State>> changes;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      PyObject* value = values[i].ptr();
      changes.emplace_back(positions[i], this->lifted(value, this->is_null(value)));
    }
    this->guarded([&] { this->algorithm_.update(changes); });
    for (std::size_t i = 0; i < positions.size(); ++i) {
      if (this->is_null(values[i].ptr())) {
        nulls_at_.insert(positions[i]);
      } else {
        nulls_at_.erase(positions[i]);
      }
    }
    if (!this->checked_) return;
    for (auto& [position, state] : changes) {
      this->contents_[this->algorithm_.rank(position)] = std::move(state);
    }
  }

  void trigger() override {
    this->guarded([&] { this->algorithm_.trigger(); });
  }

  PyObject* prefix(std::uint64_t position) override {
    return this->guarded([&] {
      const State state = this->algorithm_.prefix(position);
      return lowered(state, [&] { return rows_to(position) - nulls_to(position); });
    });
  }
  PyObject* suffix(std::uint64_t position) override {
    return this->guarded([&] {
      const State state = this->algorithm_.suffix(position);
      const std::size_t null = nulls_at_.contains(position) ? 1 : 0;
      return lowered(state, [&] {
        const std::size_t rows = this->size() + 1 - rows_to(position);
        return rows - (nulls_at_.size() + null - nulls_to(position));
      });
    });
  }

 protected:
  // Of a live window, or of one with positions.
  std::size_t null_rows() const override { return Base::null_rows() + nulls_at_.size(); }

 private:
  std::uint64_t oldest() const { return this->algorithm_.oldest(); }
  std::size_t rows_to(std::uint64_t position) const { return this->algorithm_.rank(position) + 1; }
  std::size_t nulls_to(std::uint64_t position) const {
    return static_cast<std::size_t>(
        std::distance(nulls_at_.begin(), nulls_at_.upper_bound(position)));
  }
  template <class Values>
  PyObject* lowered(const State& state, Values&& values) const {
    const bool empty = !nulls_at_.empty() && values() == 0;
    return Port<Op>::lower(this->op_, state, empty);
  }

  std::set<std::uint64_t> nulls_at_;  // positions of nulls
};

template <class Op>
struct Build {
  static FacePtr make(const Op& op, const Options& options) {
    return std::make_unique<FlatFatFace<Op>>(op, FlatFat<Op>(op, options.capacity, options.batch),
                                             options);
  }
};

}  // namespace

FacePtr make_flat_fat(const Spec& spec, const Options& options) {
  return make<Build, Static::kFew, false, false, true>(spec, options);
}

}  // namespace slidefold::bindings
