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
    if (this->checked_) this->contents_.push_back(std::move(copy));
    return position;
  }

  void evict_at(std::uint64_t position) override {
    const std::size_t rank = this->checked_ ? this->algorithm_.rank(position) : 0;
    this->guarded([&] { this->algorithm_.evict_at(position); });
    if (!this->checked_) return;
    this->contents_.erase(this->contents_.begin() + static_cast<long>(rank));
  }

  void update(const std::vector<std::uint64_t>& positions, nb::list values) override {
    std::vector<std::pair<std::uint64_t, State>> changes;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      changes.emplace_back(positions[i], Port<Op>::lift(this->op_, values[i].ptr()));
    }
    this->guarded([&] { this->algorithm_.update(changes); });
    if (!this->checked_) return;
    for (auto& [position, state] : changes) {
      this->contents_[this->algorithm_.rank(position)] = std::move(state);
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
