// Rows for the boundary aggregators: cuts them into slices of the slide.
//
// Layout: the engine (Sba, Pba) and the number of rows in the open slice; the last r mod s rows of
//   a slice are its tail.
// Invariants: I1 a full slice is closed. I2..I6 the engine's. I7 the result is the fold of the last
//   r rows up to the last slide boundary.
// Cost: a row 1, but for the first of a piece; at a slide boundary the engine's.
// Paper: pba-parallel-boundary, section 2.2.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "slidefold/algorithms/boundary.hpp"

namespace slidefold {

// Count-based: cuts rows into slices by itself. chunk = 0 takes the optimum.
template <class Engine>
class BoundaryRows : public Engine {
 public:
  using Op = typename Engine::Operation;
  using State = typename Engine::State;

  // range >= slide >= 1.
  template <class... PassArguments>
  explicit BoundaryRows(Op op, std::size_t range, std::size_t slide = 1, std::size_t chunk = 0,
                        PassArguments... arguments)
      : Engine(std::move(op), range / slide, range % slide != 0,
               chunk == 0 ? optimal_chunk_rows(range, slide) : chunk, arguments...),
        range_(range),
        slide_(slide) {}

  // True at each slide boundary from the first complete window on: query() has its result.
  bool insert(State value) {
    if (slide_ == 1) return Engine::push_slice(std::move(value));
    const std::size_t row = row_;
    Engine::add(std::move(value), row >= slide_ - range_ % slide_);
    if (row + 1 < slide_) {
      ++row_;
      return false;
    }
    row_ = 0;
    return Engine::close_slice();
  }

  // Values so far of the window that the next boundary closes; at a boundary, of the one just
  // closed.
  std::size_t size() const {
    const std::uint64_t seen = this->marks_.closed * slide_ + row_;
    const std::size_t most = row_ == 0 ? range_ : range_ - slide_ + row_;
    return static_cast<std::size_t>(std::min<std::uint64_t>(seen, most));
  }

  // Values in the open slice.
  std::size_t open_rows() const { return row_; }

  // contents: all values of the last closed window and those after it, oldest first.
  void check(const std::vector<State>* contents) const;

  template <class Archive>
  void archive(Archive& a) {
    Engine::archive(a);
    a(row_);
    if constexpr (Archive::kLoading) {
      expect(row_ < slide_, "the open slice has more rows than a slice");
      expect(this->marks_.closed <= (std::uint64_t{1} << 62) / slide_, "a position is too large");
      const std::size_t tail = range_ % slide_;
      const bool in_tail = tail != 0 && row_ > slide_ - tail;
      const bool open = row_ != 0 || (tail != 0 && this->marks_.closed != 0);
      expect(this->marks_.in_tail == in_tail && this->marks_.open == open,
             "the open slice has another number of rows than the state says");
    }
  }

  void begin() {
    Engine::begin();
    if constexpr (fallible_v<Op>) saved_row_ = row_;
  }
  void rollback() {
    Engine::rollback();
    if constexpr (fallible_v<Op>) row_ = saved_row_;
  }

 private:
  std::size_t range_;
  std::size_t slide_;
  std::size_t row_ = 0;  // values in the open slice
  std::size_t saved_row_ = 0;
};

template <class Engine>
void BoundaryRows<Engine>::check(const std::vector<State>* contents) const {
  require(row_ < slide_, "I1: a full slice is closed");
  if (contents == nullptr) return Engine::check(nullptr);
  const auto& values = *contents;
  const std::uint64_t seen = this->marks_.closed * slide_ + row_;
  require(values.size() == std::min<std::uint64_t>(seen, range_ + row_),
          "I1: the last closed window and the open slice");
  // Pieces start at row 0 and, from then on, at multiples of the slide less the tail.
  std::vector<std::vector<State>> pieces;
  const std::size_t tail = range_ % slide_;
  const std::uint64_t from = seen - values.size();
  for (std::uint64_t row = from; row < seen; ++row) {
    if (row == from || (row + tail) % slide_ == 0) pieces.emplace_back();
    pieces.back().push_back(values[static_cast<std::size_t>(row - from)]);
  }
  const std::size_t held = Engine::size();
  if (!this->marks_.open) pieces.emplace_back();
  while (pieces.size() > held + 1) pieces.erase(pieces.begin());
  Engine::check(&pieces);
  State fold = this->op().identity();
  for (std::size_t i = 0; i + row_ < values.size(); ++i) {
    fold = this->op().combine(fold, values[i]);
  }
  require_same(this->op(), this->query(), fold, "I7: the result is the last closed window's");
}

template <Monoid Op>
using RowsSba = BoundaryRows<Sba<Op>>;

}  // namespace slidefold
