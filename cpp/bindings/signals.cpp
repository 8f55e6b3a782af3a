#include "signals.hpp"

namespace slidefold::bindings {

void Signals::check(void* self) {
  auto& signals = *static_cast<Signals*>(self);
  const auto now = std::chrono::steady_clock::now();
  if (now < signals.next_) return;
  const nb::gil_scoped_acquire gil;
  signals.next_ = now + kEvery;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace slidefold::bindings
