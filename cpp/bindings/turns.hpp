// One call at a time on what Python holds: calls of other threads wait, one from within is an
// error.
//
// Layout: a few flags, the thread whose turn it is, and those that wait, first come first served.
// Invariants: I1 all of it is read and written under the GIL. A call that gives the GIL away keeps
// its
//   turn, so that nobody finds a window half way through a step.
// Cost: a turn that nobody else wants is three stores (under 2 ns). Who waits sleeps without the
// GIL.
#pragma once

#include <cstdint>
#include <thread>

#include "python.hpp"

namespace slidefold::bindings {

class Turns {
 public:
  Turns() = default;
  Turns(const Turns&) {}  // a copy starts idle
  Turns& operator=(const Turns&) { return *this; }

  bool taken() const { return (flags_ & kTaken) != 0; }
  // The contents are gone: every call from now on is an error.
  void close() { flags_ |= kClosed; }

 private:
  friend class Turn;
  struct Waiting {
    Waiting* next = nullptr;
  };
  static constexpr std::uint8_t kTaken = 1, kAwaited = 2, kClosed = 4;

  void wait();
  static void wake();

  std::uint8_t flags_ = 0;
  std::uint32_t process_ = 0;  // how often this process had been forked
  std::thread::id owner_;
  Waiting* first_ = nullptr;

  static std::uint32_t forks_;
};

class Turn {
 public:
  explicit Turn(Turns& turns) : turns_(turns) {
    if (turns.flags_ != 0) [[unlikely]]
      turns.wait();
    turns.flags_ |= Turns::kTaken;
    turns.process_ = Turns::forks_;
    turns.owner_ = std::this_thread::get_id();
  }
  Turn(const Turn&) = delete;
  ~Turn() {
    turns_.flags_ &= static_cast<std::uint8_t>(~Turns::kTaken);
    if (turns_.flags_ != 0) [[unlikely]]
      Turns::wake();
  }

 private:
  Turns& turns_;
};

// Says at the end of the process nothing about objects that threads still hold which it ends.
void quiet_about_daemons();

}  // namespace slidefold::bindings
