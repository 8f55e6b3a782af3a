#include <algorithm>

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

  std::uint64_t insert_at(PyObject* value) override {
    State state = Port<Op>::lift(this->op_, value);
    State copy = this->checked_ ? state : State{};
    const std::uint64_t position =
        this->guarded([&] { return this->algorithm_.insert(std::move(state)); });
    if (this->checked_) {
      this->contents_.push_back(std::move(copy));
      positions_.push_back(position);
    }
    return position;
  }

  void evict(std::size_t count) override {
    Base::evict(count);
    // A live window inserts past us and never asks for positions.
    while (positions_.size() > this->contents_.size()) positions_.pop_front();
  }

  void evict_at(std::uint64_t position) override {
    this->guarded([&] { this->algorithm_.evict_at(position); });
    if (!this->checked_) return;
    const auto rank = rank_of(position);
    this->contents_.erase(this->contents_.begin() + rank);
    positions_.erase(positions_.begin() + rank);
  }

  void update(const std::vector<std::uint64_t>& positions, nb::list values) override {
    std::vector<std::pair<std::uint64_t, State>> changes;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      changes.emplace_back(positions[i], Port<Op>::lift(this->op_, values[i].ptr()));
    }
    this->guarded([&] { this->algorithm_.update(changes); });
    if (!this->checked_) return;
    for (auto& [position, state] : changes) {
      this->contents_[static_cast<std::size_t>(rank_of(position))] = std::move(state);
    }
  }

  void trigger() override {
    this->guarded([&] { this->algorithm_.trigger(); });
  }

  PyObject* prefix(std::uint64_t position) override {
    return this->guarded([&] { return lowered(this->algorithm_.prefix(position)); });
  }
  PyObject* suffix(std::uint64_t position) override {
    return this->guarded([&] { return lowered(this->algorithm_.suffix(position)); });
  }

 private:
  PyObject* lowered(const State& state) const { return Port<Op>::lower(this->op_, state, false); }
  long rank_of(std::uint64_t position) const {
    return std::lower_bound(positions_.begin(), positions_.end(), position) - positions_.begin();
  }

  std::deque<std::uint64_t> positions_;  // of the contents, only when checked
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
  return make<Build, Static::kFew>(spec, options);
}

}  // namespace slidefold::bindings
