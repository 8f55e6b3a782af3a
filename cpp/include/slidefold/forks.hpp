// What a fork must know: objects with a thread of their own. In a child that thread does not exist.
//
// Layout: a list of all such objects of the process, and one set of fork handlers, both
//   there from the start of the program on.
// Invariants: I1 whenever a fork happens, every object on the list is between before_fork() and one
//   of the other two calls: nothing of it is half done, and its locks are the forking thread's.
// Cost: a fork asks each object; everything else costs nothing.
// Paper: none.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#define SLIDEFOLD_FORKS 1
#else
#define SLIDEFOLD_FORKS 0
#endif

namespace slidefold {

class ForkAware {
 public:
  ForkAware(const ForkAware&) = delete;
  ForkAware& operator=(const ForkAware&) = delete;

 protected:
  ForkAware() = default;
  ~ForkAware() = default;

  // To be called when the object is whole, and before it goes.
  void watch_forks() {
    const std::lock_guard lock(all_.mutex);
    all_.objects.push_back(this);
  }
  void ignore_forks() {
    const std::lock_guard lock(all_.mutex);
    std::erase(all_.objects, this);
  }

 private:
  virtual void before_fork() = 0;  // finishes what is under way, and locks
  virtual void after_fork() = 0;   // unlocks, in the parent
  virtual void in_child() = 0;     // unlocks, in the child: there is no other thread

  struct List {
    std::mutex mutex;
    std::vector<ForkAware*> objects;
  };
  // Made when the program is loaded: a fork beside the first use would leave a child with a list
  // that is for ever being made. Never destroyed: a process may fork while it ends.
  static List& make_list() {
#if SLIDEFOLD_FORKS
    pthread_atfork(
        [] {
          all_.mutex.lock();
          for (ForkAware* object : all_.objects) object->before_fork();
        },
        [] {
          for (ForkAware* object : all_.objects) object->after_fork();
          all_.mutex.unlock();
        },
        [] {
          for (ForkAware* object : all_.objects) object->in_child();
          all_.objects.clear();
          all_.mutex.unlock();
        });
#endif
    return *new List;
  }
  static List& all_;
};

inline ForkAware::List& ForkAware::all_ = ForkAware::make_list();

}  // namespace slidefold
