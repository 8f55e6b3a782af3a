// HyperLogLog over frames of a column: how many distinct values each frame holds, about.
//
// Layout: for each register a queue of the rows that may still become its largest: younger ones
// have
//   smaller ranks. The front of a queue is what the register of a whole frame would be. The sum of
//   the fronts' weights and the number of empty queues are kept with every change.
// Invariants: I1 rows go up and ranks go down along a queue. I2 `weights_` is the sum over the
// fronts,
//   `empty_` the number of queues without one.
// Cost: O(1) amortised a row in and out, O(1) a frame, whatever its size: 24 bytes for each row
// that
//   waits in a queue, about registers * (1 + ln(frame / registers)) of them.
// Paper: none of ours; the result is that of operators/hyperloglog.hpp to the last bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "slidefold/interrupt.hpp"
#include "slidefold/operators/hyperloglog.hpp"

namespace slidefold {

class RegisterQueues {
 public:
  using Entry = HyperLogLog::Entry;

  explicit RegisterQueues(const HyperLogLog& op)
      : op_(op),
        queues_(op.registers()),
        shares_(op.registers() + 1, -1.0),
        empty_(op.registers()) {
    for (unsigned rank = 1; rank < ranks_.size(); ++rank) ranks_[rank] = op.weight(rank);
  }

  void insert(std::int64_t row, Entry entry) {
    Queue& queue = queues_[entry >> 8];
    const auto rank = entry & 0xff;
    const double before = front_weight(queue);
    while (queue.last != kNone && nodes_[queue.last].rank <= rank) {
      const Index gone = queue.last;
      queue.last = nodes_[gone].older;
      free_.push_back(gone);
    }
    const Index added = fresh();
    nodes_[added] = {row, queue.last, kNone, rank};
    if (queue.last == kNone) {
      if (queue.first == kNone) --empty_;
      queue.first = added;
    } else {
      nodes_[queue.last].newer = added;
    }
    queue.last = added;
    weights_ += front_weight(queue) - before;
  }

  // The oldest row leaves.
  void evict(std::int64_t row, Entry entry) {
    Queue& queue = queues_[entry >> 8];
    if (queue.first == kNone || nodes_[queue.first].row != row) return;
    const Index gone = queue.first;
    weights_ -= front_weight(queue);
    queue.first = nodes_[gone].newer;
    if (queue.first == kNone) {
      queue.last = kNone;
      ++empty_;
    } else {
      nodes_[queue.first].older = kNone;
      weights_ += front_weight(queue);
    }
    free_.push_back(gone);
  }

  std::int64_t estimate() {
    double& share = shares_[empty_];  // the same few numbers come again and again
    if (share < 0) share = op_.unset_share(static_cast<double>(empty_));
    return op_.estimate(share, weights_);
  }

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = ~Index{0};
  struct Node {
    std::int64_t row;
    Index older, newer;
    Entry rank;
  };
  struct Queue {
    Index first = kNone, last = kNone;  // the oldest row, with the largest rank, and the youngest
  };

  double front_weight(const Queue& queue) const {
    return queue.first == kNone ? 0.0 : ranks_[nodes_[queue.first].rank];
  }
  Index fresh() {
    if (free_.empty()) {
      nodes_.emplace_back();
      return static_cast<Index>(nodes_.size() - 1);
    }
    const Index index = free_.back();
    free_.pop_back();
    return index;
  }

  HyperLogLog op_;
  std::vector<Queue> queues_;
  std::vector<Node> nodes_;
  std::vector<Index> free_;
  std::vector<double> shares_;      // by the number of empty registers
  std::array<double, 66> ranks_{};  // the weight of each rank
  std::size_t empty_;
  double weights_ = 0;
};

// entry(row) is the lifted value; emit(frame, estimate) takes the result of a frame that is not
// empty. Frames never go back.
template <class EntryOf, class Emit>
void distinct_frames(const HyperLogLog& op, const std::int64_t* lo, const std::int64_t* hi,
                     std::size_t frames, EntryOf&& entry, Emit&& emit) {
  RegisterQueues queues(op);
  std::int64_t from = 0, to = 0;
  Pacer pace;
  for (std::size_t i = 0; i < frames; ++i) {
    pace();
    const std::int64_t left = std::min(lo[i], to);
    for (; from < left; ++from) queues.evict(from, entry(static_cast<std::size_t>(from)));
    if (to < lo[i]) from = to = lo[i];
    for (; to < hi[i]; ++to) {
      pace();
      queues.insert(to, entry(static_cast<std::size_t>(to)));
    }
    if (from < to) emit(i, queues.estimate());
  }
}

}  // namespace slidefold
