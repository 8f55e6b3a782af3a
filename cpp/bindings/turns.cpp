#include "turns.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace slidefold::bindings {
namespace {

// For all that wait, whatever they wait for. Never destroyed: threads may wait while a process
// ends.
struct Bell {
  std::mutex mutex;
  std::condition_variable rung;
  std::uint64_t rings = 0;
};
Bell* bell = new Bell;

}  // namespace

// A child has none of the threads that had a turn or waited for one.
std::uint32_t Turns::forks_ = [] {
#if defined(__unix__) || defined(__APPLE__)
  pthread_atfork(nullptr, nullptr, [] {
    ++forks_;
    bell = new Bell;               // somebody may have held the lock of the old one
    nb::set_leak_warnings(false);  // what those threads held is never given back
  });
#endif
  return std::uint32_t{0};
}();

void Turns::wake() {
  const std::lock_guard lock(bell->mutex);
  ++bell->rings;
  bell->rung.notify_all();
}

void Turns::wait() {
  if (taken() && owner_ == std::this_thread::get_id()) {
    fail("BusyError",
         "this window is at work: its operator, or a value that it reads, must not use it");
  }
  struct Place {
    Turns& turns;
    Waiting self;
    explicit Place(Turns& t) : turns(t) {
      if (turns.process_ != forks_) turns.first_ = nullptr;  // those who waited stayed behind
      Waiting** end = &turns.first_;
      while (*end != nullptr) end = &(*end)->next;
      *end = &self;
      turns.flags_ |= kAwaited;
    }
    Place(const Place&) = delete;
    ~Place() {
      Waiting** at = &turns.first_;
      while (*at != &self) at = &(*at)->next;
      *at = self.next;
      if (turns.first_ == nullptr) turns.flags_ &= static_cast<std::uint8_t>(~kAwaited);
    }
  } place(*this);
  for (;;) {
    if ((flags_ & kClosed) != 0) {
      fail("BusyError", "this window is gone: the garbage collector has taken it apart");
    }
    if (taken() && process_ != forks_) {
      fail("BusyError",
           "another thread was using this window when the process was forked, so that it may be "
           "half way through a step: make a copy of it before the fork");
    }
    if (!taken() && first_ == &place.self) return;
    const std::uint64_t seen = bell->rings;  // changes under the GIL only
    {
      const nb::gil_scoped_release without_gil;
      std::unique_lock lock(bell->mutex);
      bell->rung.wait_for(lock, std::chrono::milliseconds(100),
                          [&] { return bell->rings != seen; });
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

void quiet_about_daemons() {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    // Threads that go on until here, such as daemons, never give back what they hold.
    PyThreadState* first = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    if (first != nullptr && PyThreadState_Next(first) != nullptr) nb::set_leak_warnings(false);
  }));
}

}  // namespace slidefold::bindings
