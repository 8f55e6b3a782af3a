// PBA over a whole column: a second thread makes the lcs.
//
// Layout: LcsBlocks in a ring of kRing blocks. The second thread makes blocks, the calling thread
//   uses them: csa, merge, emit. Both do two combines a row.
// Invariants: I1 used <= made <= used + kRing. I2 at most one thread is making, and it makes block
//   number `made`. I3 nobody writes a block from made to used.
// Cost: the hand-over of a block is two short locks, and a wake-up if somebody sleeps. The second
//   thread sleeps when the ring is full and wakes when half of it is used. The calling thread, if
//   it finds nothing ready and nobody making, makes a block itself; so a busy machine costs little
//   more than SBA. It waits only for a block in the making: it looks a few times, then sleeps.
// Paper: pba-parallel-boundary, section 4.2; blocks in place of whole chunks are ours.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "slidefold/algorithms/parallel_boundary.hpp"
#include "slidefold/columns/boundary.hpp"
#include "slidefold/columns/lcs_blocks.hpp"
#include "slidefold/interrupt.hpp"

namespace slidefold {

template <class Blocks>
class LcsPipeline {
 public:
  using Block = typename Blocks::Block;

  explicit LcsPipeline(Blocks& blocks)
      : blocks_(blocks), count_(blocks.count()), ring_(kRing, blocks.block()) {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {  // no thread to be had: the caller makes all blocks
    }
  }
  ~LcsPipeline() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    space_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  std::size_t count() const { return count_; }

  // The block of that number, made. Asked for in order; done() before the next one.
  const Block& get(std::size_t index) {
    Block& block = ring_[index % kRing];
    for (int look = 0; look < kLooks; ++look) {
      if (made_.load(std::memory_order_acquire) > index) return block;
      pause();
    }
    std::unique_lock lock(mutex_);
    while (made_.load(std::memory_order_relaxed) <= index) {
      if (making_) {
        ready_.wait(lock);
      } else {
        make(lock);
      }
    }
    return block;
  }

  void done() {
    bool half;
    {
      std::lock_guard lock(mutex_);
      ++used_;
      half = made_.load(std::memory_order_relaxed) - used_ <= kRing / 2;
    }
    if (half) space_.notify_one();
  }

 private:
  static constexpr std::size_t kRing = 8;
  static constexpr int kLooks = 200;  // about 8 us, half the time of a block

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  // Makes the next block, unlocked meanwhile.
  void make(std::unique_lock<std::mutex>& lock) {
    const std::size_t index = made_.load(std::memory_order_relaxed);
    making_ = true;
    lock.unlock();
    struct Finally {
      LcsPipeline& pipeline;
      std::unique_lock<std::mutex>& lock;
      ~Finally() {
        lock.lock();
        pipeline.making_ = false;
      }
    };
    {
      Finally finally{*this, lock};
      blocks_.make(index, ring_[index % kRing]);
    }
    made_.store(index + 1, std::memory_order_release);
  }

  void run() {
    std::unique_lock lock(mutex_);
    try {
      for (;;) {
        const auto ahead = [&] { return made_.load(std::memory_order_relaxed) - used_; };
        if (ahead() == kRing || making_) {
          space_.wait(lock, [&] { return stop_ || (!making_ && ahead() <= kRing / 2); });
        }
        if (stop_ || made_.load(std::memory_order_relaxed) == count_) return;
        make(lock);
        ready_.notify_one();
      }
    } catch (...) {  // a lift that threw: the caller makes the block again and meets it
      ready_.notify_one();
    }
  }

  Blocks& blocks_;
  const std::size_t count_;
  std::vector<Block> ring_;
  std::mutex mutex_;
  std::condition_variable ready_;  // for the caller: a block was made
  std::condition_variable space_;  // for the thread: half of the ring is used, or stop
  std::atomic<std::size_t> made_{0};
  std::size_t used_ = 0;
  bool making_ = false;
  bool stop_ = false;
  std::thread thread_;
};

template <Monoid Op, class Lift, class Emit>
void slide_pipeline(const Op& op, std::size_t rows, std::size_t window, bool partial,
                    std::size_t block_rows, Lift& lift, Emit& emit) {
  LcsBlocks<Op, Lift> blocks(op, rows, window, block_rows, lift);
  LcsPipeline pipeline(blocks);
  slide_first_chunk(op, rows, window, partial, lift, emit);
  for (std::size_t index = 0; index < pipeline.count(); ++index) {
    poll();
    blocks.use(index, pipeline.get(index), emit);
    pipeline.done();
  }
}

// Windows of less than a block run as SBA. From there on two idle cores win. Over 2^23 doubles SBA
// and PBA do, in M rows/s: max 343 and 455 at 2^13, 333 and 422 at 2^15, 308 and 406 at 2^18, 290
// and 398 at 2^22; sum 464 and 600 at 2^15, 406 and 563 at 2^22.
inline constexpr std::size_t kPipelineFrom = kBlockRows;

// As slide_sba, with two threads. lift is called by both of them, emit by the calling one only.
template <Monoid Op, class Lift, class Emit>
void slide_pba(const Op& op, std::size_t rows, std::size_t range, std::size_t slide,
               std::size_t chunk, Lift lift, Emit emit, bool partial = false) {
  if (boundary_results(rows, range, slide, partial) == 0) return;
  range = std::min(range, rows);
  if constexpr (overlaps_v<Op>) {
    if (slide == 1 && (chunk == 0 || chunk >= range)) {
      if constexpr (!fallible_v<Op>) {
        if (range >= kPipelineFrom && range < rows) {
          const std::size_t skipped = partial ? 0 : range - 1;
          auto emit_row = [&](std::size_t row, const auto& state) { emit(row - skipped, state); };
          return slide_pipeline(op, rows, range, partial, kBlockRows, lift, emit_row);
        }
      }
      return slide_sba(op, rows, range, slide, chunk, std::move(lift), std::move(emit), partial);
    }
  }
  if (chunk == 0) chunk = optimal_chunk_rows(range, slide);
  slide_slices(Pba<Op>(op, range / slide, range % slide != 0, chunk), rows, range, slide, partial,
               lift, emit);
}

}  // namespace slidefold
