// PBA, the parallel boundary aggregator: SBA whose lcs are made by a second thread.
//
// Layout: as SBA. A finished chunk is handed to a thread of the object's own, which turns its slots
//   into lcs while the caller goes on with the next chunk's csa; ca stays with the caller. The
//   thread starts with the first chunk handed over and sleeps in between. A process that forks
//   lets the pass end first; a child has no such thread, and starts its own when it needs one.
// Invariants: I1..I7 of SBA once the pass is settled. I8 at most one chunk is handed over, and
//   nobody else touches its slots but the first: the caller settles before a window starts inside
//   that chunk, before the next chunk is handed over, and before a copy. I9 a worker whose thread a
//   fork has taken away is never asked again, nor destroyed: its condition variables still count
//   the thread that waited.
// Cost: the calling thread as SBA without the b-2: <= 3 a slide, 4 with a tail. A hand-over is two
//   locks and a wake-up. If the thread has not begun when lcs are needed, the caller makes them, so
//   a busy machine costs what SBA costs.
// Paper: pba-parallel-boundary, sections 4.2 and 4.3.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "slidefold/algorithms/boundary.hpp"
#include "slidefold/algorithms/boundary_rows.hpp"
#include "slidefold/forks.hpp"

namespace slidefold {

// Below this a chunk's pass is cheaper than its hand-over. The caller's time for a row, sums of
// doubles, without and with hand-over: 8.3 and 8.6 ns in chunks of 1024, 8.4 and 7.7 in chunks of
// 2048, 8.6 and 7.5 in chunks of 16384.
inline constexpr std::size_t kHandOverFrom = 2048;

template <class Pass>
class ThreadedPass {
 public:
  explicit ThreadedPass(std::size_t hand_over_from = kHandOverFrom)
      : hand_over_from_(hand_over_from) {}
  ~ThreadedPass() { leave_lost_worker(); }
  ThreadedPass(const ThreadedPass& other) : hand_over_from_(other.hand_over_from_) {
    other.settle();
  }
  ThreadedPass& operator=(const ThreadedPass& other) {
    settle();
    other.settle();
    hand_over_from_ = other.hand_over_from_;
    return *this;
  }

  // Precondition: settled. Out of line, as settle is: once a chunk, and the loop around stays
  // small.
  [[gnu::noinline]] void start(const Pass& pass) {
    if (pass.chunk < hand_over_from_ || !has_worker()) return pass();
    {
      std::lock_guard lock(worker_->mutex);
      worker_->pass = pass;
      worker_->state = Worker::kPosted;
    }
    worker_->wake.notify_one();
  }

  // The last pass is done, or done here and now if nobody has begun it.
  [[gnu::noinline]] void settle() const {
    if (worker_ == nullptr) return;
    if (worker_->take_back()) worker_->pass();
    leave_lost_worker();
  }

  // Nobody is at work on a pass, done or not.
  void cancel() {
    if (worker_ != nullptr) worker_->take_back();
    leave_lost_worker();
  }

 private:
  struct Worker final : private ForkAware {
    enum { kIdle, kPosted, kRunning, kStop } state = kIdle;
    bool lost = false;  // the thread is in the parent process
    std::mutex mutex;
    std::condition_variable wake;  // for the thread: posted or stop
    std::condition_variable idle;  // for the caller: not running any more
    Pass pass{};
    std::thread thread;

    Worker() : thread([this] { run(); }) { watch_forks(); }
    ~Worker() {
      ignore_forks();
      {
        std::lock_guard lock(mutex);
        state = kStop;
      }
      wake.notify_one();
      thread.join();
    }

    void run() {
      std::unique_lock lock(mutex);
      for (;;) {
        wake.wait(lock, [&] { return state == kPosted || state == kStop; });
        if (state == kStop) return;
        state = kRunning;
        lock.unlock();
        pass();
        lock.lock();
        if (state == kStop) return;
        state = kIdle;
        idle.notify_all();  // a fork may wait beside the caller
      }
    }

    void before_fork() override {
      std::unique_lock lock(mutex);
      idle.wait(lock, [&] { return state != kRunning; });
      lock.release();  // stays locked
    }
    void after_fork() override { mutex.unlock(); }
    void in_child() override {
      lost = true;
      mutex.unlock();
    }

    // Waits while the pass runs; true if it had not begun, it is the caller's then.
    bool take_back() {
      std::unique_lock lock(mutex);
      idle.wait(lock, [&] { return state != kRunning; });
      const bool posted = state == kPosted;
      state = kIdle;
      return posted;
    }
  };

  // A worker without its thread is left where it is.
  void leave_lost_worker() const {
    if (worker_ != nullptr && worker_->lost) worker_.release();
  }

  bool has_worker() {
    leave_lost_worker();
    if (worker_ == nullptr) try {
        worker_ = std::make_unique<Worker>();
      } catch (const std::system_error&) {  // no thread to be had: go on without
        hand_over_from_ = ~std::size_t{0};
      }
    return worker_ != nullptr;
  }

  std::size_t hand_over_from_;
  mutable std::unique_ptr<Worker> worker_;
};

// An operator that may fail may not run on a thread of ours (users' Python): PBA then runs as SBA.
template <Monoid Op>
using PbaPass = std::conditional_t<fallible_v<Op>, InlinePass, ThreadedPass<LcsPass<Op>>>;

template <Monoid Op>
class Pba : public Boundary<Op, PbaPass<Op>> {
 public:
  using Boundary<Op, PbaPass<Op>>::Boundary;
};

template <Monoid Op>
using RowsPba = BoundaryRows<Pba<Op>>;

}  // namespace slidefold
