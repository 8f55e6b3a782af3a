// A user's operator in plain Python: states are Python objects, every function is called.
//
// An operator with declared fields brings two more functions, for whole columns: `open` turns the
// columns into one object a row, `close` the list of results into an array.
#pragma once

#include "python.hpp"

namespace slidefold::bindings {

struct ObjectOp {
  static constexpr bool fallible = true, commutative = false;  // a class may declare otherwise
  using In = PyRef;
  using State = PyRef;
  using Out = PyRef;

  // `functions` has lift, combine, lower, and where the class has them identity, remove,
  // newer_wins, dump and load; and what the class declares of itself.
  explicit ObjectOp(nb::dict functions) {
    const auto take = [&](const char* name) {
      return PyRef::borrow(PyDict_GetItemString(functions.ptr(), name));
    };
    name_ = take("name");
    open_ = take("open");
    close_ = take("close");
    commutes_ = take("commutative").get() == Py_True;
    lift_ = take("lift");
    combine_ = take("combine");
    lower_ = take("lower");
    remove_ = take("remove");
    newer_wins_ = take("newer_wins");
    dump_ = take("dump");
    load_ = take("load");
    const PyRef identity = take("identity");
    if (!identity) neutral_ = PyRef::steal(PyObject_CallNoArgs((PyObject*)&PyBaseObject_Type));
    identity_ = identity ? HeldRef(call("identity", HeldRef(identity))) : neutral_;
  }

  State identity() const { return PyRef::borrow(identity_.get()); }
  State lift(const In& value) const { return call("lift", lift_, value); }
  State combine(const State& older, const State& newer) const {
    if (is_neutral(older)) return newer;
    if (is_neutral(newer)) return older;
    return call("combine", combine_, older, newer);
  }
  bool defined(const State& state) const { return !is_neutral(state); }
  Out lower(const State& state) const { return call("lower", lower_, state); }
  State remove(const State& whole, const State& older) const {
    return is_neutral(older) ? whole : call("remove", remove_, whole, older);
  }
  bool newer_wins(const State& older, const State& newer) const {
    if (is_neutral(newer)) return false;
    if (is_neutral(older)) return true;
    const PyRef result = call("newer_wins", newer_wins_, older, newer);
    const int truth = PyObject_IsTrue(result.get());
    if (truth < 0) throw nb::python_error();
    return truth == 1;
  }
  bool same(const State& a, const State& b) const { return a == b; }

  // By the class's own dump and load, or as a plain value.
  template <class Archive>
  void archive(Archive& a, State& state) const {
    if constexpr (std::is_same_v<Archive, ObjectVisitor>) {
      a(state);
    } else {
      archive_bytes(a, state);
    }
  }

  bool has_remove() const { return static_cast<bool>(remove_); }
  bool has_newer_wins() const { return static_cast<bool>(newer_wins_); }
  bool commutes() const { return commutes_; }

  nb::object open(nb::handle values) const {
    return open_ ? nb::handle(open_.get())(values) : nb::borrow(values);
  }
  nb::object close(nb::object results) const {
    return close_ ? nb::handle(close_.get())(results) : results;
  }

 private:
  template <class Archive>
  void archive_bytes(Archive& a, State& state) const {
    bool neutral = is_neutral(state);
    a(neutral);
    if (neutral) {
      expect(static_cast<bool>(neutral_), "a state is neutral, but the operator has an identity");
      state = PyRef::borrow(neutral_.get());
    } else if (!dump_) {
      a(state);
    } else if constexpr (Archive::kLoading) {
      std::string bytes;
      a.blob(bytes);
      state =
          call("load", load_, PyRef::steal(nb::bytes(bytes.data(), bytes.size()).release().ptr()));
    } else {
      const PyRef bytes = call("dump", dump_, state);
      if (!PyBytes_Check(bytes.get())) {
        fail("StateError", "dump of an operator must return bytes, got " + shown(bytes.get()));
      }
      a.blob(std::string(PyBytes_AS_STRING(bytes.get()),
                         static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.get()))));
    }
  }

  bool is_neutral(const State& state) const { return neutral_ && state.get() == neutral_.get(); }

  template <class... Args>
  PyRef call(const char* what, const HeldRef& function, const Args&... args) const {
    PyObject* arguments[] = {nullptr, args.get()...};
    PyObject* result = PyObject_Vectorcall(
        function.get(), arguments + 1, sizeof...(args) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
    if (result == nullptr) raise_from(what);
    return PyRef::steal(result);
  }

  // The exception comes out as it is, with a note that says where it was raised.
  [[noreturn]] void raise_from(const char* what) const {
    nb::python_error error;
    if (name_ && nb::isinstance<nb::str>(nb::handle(name_.get()))) {
      const nb::str note((std::string("raised by ") + what + " of operator " +
                          nb::cast<nb::str>(nb::handle(name_.get())).c_str())
                             .c_str());
      // A class may refuse notes; its exception is not lost over that.
      PyObject* noted = PyObject_CallMethod(error.value().ptr(), "add_note", "O", note.ptr());
      if (noted == nullptr) PyErr_Clear();
      Py_XDECREF(noted);
    }
    throw std::move(error);
  }

  HeldRef neutral_;  // stands for the identity of a class that has none
  HeldRef identity_, lift_, combine_, lower_, remove_, newer_wins_, dump_, load_;
  HeldRef name_, open_, close_;
  bool commutes_ = false;
};

}  // namespace slidefold::bindings
