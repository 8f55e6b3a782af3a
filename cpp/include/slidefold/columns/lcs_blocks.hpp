// Boundary aggregation of a whole column (slide 1, chunk = window n) in blocks of rows.
//
// Layout: chunk c is rows [c n, c n + n). It is cut into blocks, a block into kLanes lanes of equal
//   length and a rest of 1..kLanes rows that belongs to the last lane. A block of chunk c is first
//   made: its lanes are folded (totals), and the lcs at the same place of chunk c-1 are written,
//   moved by one: after[i] folds what follows row i there. Then it is used: csa runs over it, and
//   after[i] * csa is the window that ends in row i. The totals say where the lcs and the csa of
//   each lane start, so lanes are independent chains, which a processor overlaps.
// Invariants: I1 blocks are made in order and used in order, each one made before it is used.
//   I2 starts_[j] folds the rows of the chunk before from lane j to the chunk's end.
// Cost: making 2 a row and using 2 a row, one in all more than with an array of n lcs; one block of
//   states and kLanes totals a block.
// Paper: pba-parallel-boundary, section 4.1; the blocks are ours.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "slidefold/operator.hpp"

namespace slidefold {

// Shorter blocks pay for their edges (SBA, max of doubles: 340 M rows/s with 256 rows, 380 with
// 1024, 480 with 4096 and more), and two threads hand them over more often.
inline constexpr std::size_t kBlockRows = 8192;

template <Monoid Op, class Lift>
class LcsBlocks {
 public:
  using State = typename Op::State;
  static constexpr std::size_t kLanes = 4;

  struct Block {
    std::vector<State> after;
    std::array<State, kLanes> totals{};
  };

  // window >= block_rows > kLanes.
  LcsBlocks(const Op& op, std::size_t rows, std::size_t window, std::size_t block_rows, Lift lift)
      : op_(op),
        lift_(std::move(lift)),
        rows_(rows),
        window_(window),
        blocks_(window / block_rows),
        starts_(blocks_ * kLanes),
        totals_(blocks_ * kLanes) {}

  Block block() const { return {std::vector<State>(window_ / blocks_ + 1), {}}; }

  // Blocks from the second chunk on; the first chunk has no lcs before it.
  std::size_t count() const {
    if (rows_ <= window_) return 0;
    std::size_t count = (rows_ / window_ - 1) * blocks_;
    for (std::size_t q = 0; begin_of(q) < rows_ % window_; ++q) ++count;
    return count;
  }

  void make(std::size_t index, Block& block) {
    if (index == 0) {
      for (std::size_t q = 0; q < blocks_; ++q) fold_lanes(0, q, block);
      finish_chunk();
    }
    const std::size_t chunk = index / blocks_ + 1, q = index % blocks_;
    fold_after(chunk - 1, q, block);
    if (!whole(chunk, q)) return;
    fold_lanes(chunk, q, block);
    if (q + 1 == blocks_) finish_chunk();
  }

  template <class Emit>
  void use(std::size_t index, const Block& block, Emit& emit) {
    const std::size_t chunk = index / blocks_ + 1, q = index % blocks_;
    const std::size_t row = chunk * window_ + begin_of(q);
    const State* after = block.after.data();
    std::size_t i = 0;
    if (whole(chunk, q)) {
      const std::size_t lane = lane_rows(q);
      std::array<State, kLanes> fold;
      fold[0] = csa_;
      for (std::size_t w = 1; w < kLanes; ++w) {
        fold[w] =
            q == 0 && w == 1 ? block.totals[0] : op_.combine(fold[w - 1], block.totals[w - 1]);
      }
      for (std::size_t w = 0; w < kLanes; ++w) {
        const std::size_t at = w * lane;
        fold[w] = q == 0 && w == 0 ? lift_(row) : op_.combine(fold[w], lift_(row + at));
        emit(row + at, op_.combine(after[at], fold[w]));
      }
      for (i = 1; i < lane; ++i) {
        for (std::size_t w = 0; w < kLanes; ++w) {
          const std::size_t at = w * lane + i;
          fold[w] = op_.combine(fold[w], lift_(row + at));
          emit(row + at, op_.combine(after[at], fold[w]));
        }
      }
      csa_ = fold[kLanes - 1];
      i = kLanes * lane;
    }
    for (; i < length_of(q) && row + i < rows_; ++i) {
      csa_ = q == 0 && i == 0 ? lift_(row) : op_.combine(csa_, lift_(row + i));
      const bool last = begin_of(q) + i + 1 == window_;
      emit(row + i, last ? csa_ : op_.combine(after[i], csa_));
    }
  }

 private:
  std::size_t begin_of(std::size_t q) const {
    return window_ / blocks_ * q + std::min(q, window_ % blocks_);
  }
  std::size_t length_of(std::size_t q) const { return begin_of(q + 1) - begin_of(q); }
  std::size_t lane_rows(std::size_t q) const { return (length_of(q) - 1) / kLanes; }
  bool whole(std::size_t chunk, std::size_t q) const {
    return chunk * window_ + begin_of(q + 1) <= rows_;
  }

  void fold_lanes(std::size_t chunk, std::size_t q, Block& block) {
    const std::size_t row = chunk * window_ + begin_of(q), lane = lane_rows(q);
    std::array<State, kLanes> fold;
    for (std::size_t w = 0; w < kLanes; ++w) fold[w] = lift_(row + w * lane);
    for (std::size_t i = 1; i < lane; ++i) {
      for (std::size_t w = 0; w < kLanes; ++w) {
        fold[w] = op_.combine(fold[w], lift_(row + w * lane + i));
      }
    }
    for (std::size_t i = kLanes * lane; i < length_of(q); ++i) {
      fold[kLanes - 1] = op_.combine(fold[kLanes - 1], lift_(row + i));
    }
    block.totals = fold;
    for (std::size_t w = 0; w < kLanes; ++w) totals_[q * kLanes + w] = fold[w];
  }

  void fold_after(std::size_t chunk, std::size_t q, Block& block) {
    const std::size_t row = chunk * window_ + begin_of(q), lane = lane_rows(q);
    State* after = block.after.data();
    std::array<State, kLanes> fold;
    for (std::size_t w = 0; w + 1 < kLanes; ++w) fold[w] = starts_[q * kLanes + w + 1];
    State& rest = fold[kLanes - 1];
    std::size_t i = length_of(q) - 1;
    if (q + 1 < blocks_) {
      after[i] = starts_[(q + 1) * kLanes];
      rest = op_.combine(lift_(row + i), after[i]);
    } else {
      rest = lift_(row + i);  // nothing follows the chunk's last row
    }
    while (i > kLanes * lane) {
      after[--i] = rest;
      rest = op_.combine(lift_(row + i), rest);
    }
    for (i = lane; i-- > 1;) {
      for (std::size_t w = 0; w < kLanes; ++w) {
        after[w * lane + i] = fold[w];
        fold[w] = op_.combine(lift_(row + w * lane + i), fold[w]);
      }
    }
    for (std::size_t w = 0; w < kLanes; ++w) after[w * lane] = fold[w];
  }

  void finish_chunk() {
    for (std::size_t j = totals_.size() - 1; j-- > 0;) {
      totals_[j] = op_.combine(totals_[j], totals_[j + 1]);
    }
    starts_.swap(totals_);
  }

  const Op& op_;
  Lift lift_;
  std::size_t rows_;
  std::size_t window_;
  std::size_t blocks_;         // in a chunk
  std::vector<State> starts_;  // of the chunk before
  std::vector<State> totals_;  // of this chunk, so far
  State csa_{};                // of this chunk, so far: belongs to use
};

}  // namespace slidefold
