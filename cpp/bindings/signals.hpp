// Long native calls: without the GIL where they can be, and stopped by Ctrl-C.
#pragma once

#include <chrono>

#include "python.hpp"
#include "slidefold/interrupt.hpp"

namespace slidefold::bindings {

// While it exists, poll() on this thread runs the handlers of signals that have come, with the GIL,
// and throws what they raise (nb::python_error). Only the main thread has signals; on others it
// finds none.
class Signals {
 public:
  Signals() : polled_({check, this}) {}

 private:
  static void check(void* self);

  // Looked at so often, without asking for the GIL more than that: a thread of pure Python gives it
  // away after 5 ms.
  static constexpr std::chrono::milliseconds kEvery{100};

  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + kEvery;
  Polled polled_;
};

// Runs a computation whose results are dropped if it is stopped.
template <class Run>
void run_long(bool needs_gil, Run&& run) {
  const Signals signals;
  if (needs_gil) return run();
  const nb::gil_scoped_release without_gil;
  run();
}

// Changes `held` by a step that may be stopped half way, and then takes it back as a whole. A step
// of few rows is not stopped; nor is one beside which the copy of `held` would cost too much.
inline constexpr std::size_t kLongRows = std::size_t{1} << 18;

template <class Held, class Step>
auto change_or_restore(Held& held, Step&& step) {
  Held before = held;
  try {
    return step();
  } catch (...) {
    held = std::move(before);
    throw;
  }
}

}  // namespace slidefold::bindings
