// How a long computation is stopped from outside: its loops call poll(), which may throw.
//
// Layout: one hook per thread. Whoever starts a computation that may be stopped sets it (Polled)
// and
//   takes it away again; without a hook poll() does nothing, so that code which must not be stopped
//   half way needs no care.
// Invariants: I1 a hook is called on the thread that it was set for. I2 what is being changed when
//   poll() throws is taken back, or thrown away, by whoever set the hook.
// Cost: a load and a branch; loops over rows poll once for kPollRows rows (in_blocks), or pace
//   themselves by the clock where a step may cost anything (Pacer).
// Paper: none.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace slidefold {

// Thrown on a thread whose work nobody needs any more, because another one failed.
struct Stopped {};

struct PollHook {
  void (*call)(void* context) = nullptr;
  void* context = nullptr;
};

inline constinit thread_local PollHook poll_hook{};

[[gnu::noinline, gnu::cold]] inline void poll() {
  if (const PollHook hook = poll_hook; hook.call != nullptr) hook.call(hook.context);
}

// Sets the hook of this thread for a while.
class Polled {
 public:
  explicit Polled(PollHook hook) : before_(std::exchange(poll_hook, hook)) {}
  Polled(const Polled&) = delete;
  ~Polled() { poll_hook = before_; }

 private:
  PollHook before_;
};

// Rows between two polls: a millisecond where a row takes 100 ns, and nothing to be measured where
// it takes one.
inline constexpr std::size_t kPollRows = std::size_t{1} << 13;

// Calls body(i) for i from first to last, last excluded; polls between blocks of them.
template <class Body>
[[gnu::always_inline]] inline void in_blocks(std::size_t first, std::size_t last, Body&& body) {
  while (last - first > kPollRows) [[unlikely]] {
    const std::size_t stop = first + kPollRows;
    for (; first < stop; ++first) body(first);
    poll();
  }
  for (; first < last; ++first) body(first);  // apart: most loops are short, and vectorised as such
}

// For loops whose rounds take a known number of rows each, however few: polls once for kPollRows.
class RowPoll {
 public:
  void operator()(std::size_t rows) {
    if (rows < left_) {
      left_ -= rows;
      return;
    }
    left_ = kPollRows;
    poll();
  }

 private:
  std::size_t left_ = kPollRows;
};

// For steps that take anything from nanoseconds to tens of milliseconds: polls about every 5 ms.
class Pacer {
 public:
  void operator()() {
    if (--left_ == 0) [[unlikely]]
      again();
  }

 private:
  using Clock = std::chrono::steady_clock;

  [[gnu::noinline]] void again() {
    left_ = kMost;
    if (poll_hook.call == nullptr) return;
    poll();
    const Clock::time_point now = Clock::now();
    const bool known = last_ != Clock::time_point{};
    const auto passed = now - std::exchange(last_, now);
    if (known && passed < std::chrono::milliseconds(5) && every_ < kMost) every_ *= 2;
    if (known && passed > std::chrono::milliseconds(10)) every_ = every_ < 8 ? 1 : every_ / 8;
    left_ = every_;
  }

  static constexpr std::uint32_t kMost = std::uint32_t{1} << 16;
  std::uint32_t left_ = 8, every_ = 8;  // short loops never ask for the time
  Clock::time_point last_{};
};

}  // namespace slidefold
