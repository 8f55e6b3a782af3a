// WindowCore: a live window, in order or late, as Python holds it.
#include <nanobind/stl/string.h>

#include "calls.hpp"
#include "late_window.hpp"
#include "order.hpp"
#include "saved.hpp"

namespace slidefold::bindings {

Rule rule_from(nb::dict description) {
  Rule rule;
  for (auto [key, value] : description) {
    const std::string name = nb::cast<std::string>(key);
    if (name == "timed") rule.timed = nb::cast<bool>(value);
    if (name == "rows") rule.rows = nb::cast<std::size_t>(value);
    if (name == "datetimes") rule.datetimes = nb::cast<bool>(value);
    if (name == "keeps_start") rule.keeps_start = nb::cast<bool>(value);
    if (name == "keeps_end") rule.keeps_end = nb::cast<bool>(value);
    if (name == "range") rule.range = Span::from(value.ptr());
    if (name == "lateness") rule.lateness = Span::from(value.ptr());
    if (name == "raises") rule.raises = nb::cast<bool>(value);
  }
  return rule;
}

namespace {

struct WindowCore {
  PyRef kept;  // what the operator holds: goes after it
  std::unique_ptr<LiveWindow> held;
  mutable Turns turns{};
  LiveWindow& face() const { return *held; }
};

std::unique_ptr<LiveWindow> make_window(const std::string& name, nb::handle op, nb::dict rule,
                                        nb::dict options) {
  if (name == kOrderStatistics) {
    const Spec spec = spec_from(op);
    if (!rule.contains("lateness")) {
      return std::make_unique<Window>(make_order_face(spec), rule_from(rule));
    }
    return std::make_unique<LateWindow>(make_order_tree(spec), rule_from(rule));
  }
  if (name != "fiba")
    return std::make_unique<Window>(make_face(name, op, options_from(options)), rule_from(rule));
  return std::make_unique<LateWindow>(make_fiba(spec_from(op), tree_options(op, options)),
                                      rule_from(rule));
}

PyObject* window_push(WindowCore& w, PyObject* const* args, Py_ssize_t count) {
  if (count == 1) return w.held->push(args[0]);
  if (count == 2) return w.held->push(args[0], args[1]);
  wrong_count("push takes a value, or a time and a value", count);
}

PyObject* window_insert(WindowCore& w, PyObject* const* args, Py_ssize_t count) {
  Py_DECREF(window_push(w, args, count));
  Py_RETURN_NONE;
}

// query(), query(since, until), query(last=), with since and until also by name.
PyObject* window_query(WindowCore& w, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  if (names == nullptr) {
    if (count == 0) return w.held->query();
    if (count == 2) return w.held->query_range(args[0], args[1]);
    wrong_count("query takes nothing, or since and until, or last=", count);
  }
  PyObject* since = count > 0 ? args[0] : nullptr;
  PyObject* until = count > 1 ? args[1] : nullptr;
  PyObject* last = nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names, i);
    PyObject** place = nullptr;
    if (PyUnicode_CompareWithASCIIString(name, "since") == 0) place = &since;
    if (PyUnicode_CompareWithASCIIString(name, "until") == 0) place = &until;
    if (PyUnicode_CompareWithASCIIString(name, "last") == 0) place = &last;
    if (place == nullptr || *place != nullptr) {
      fail("ValueTypeError", "query takes since, until and last once each, got " + shown(name));
    }
    *place = args[count + i];
  }
  if (last != nullptr && since == nullptr && until == nullptr) return w.held->query_last(last);
  if (last == nullptr && since != nullptr && until != nullptr) {
    return w.held->query_range(since, until);
  }
  fail("ValueTypeError", "query takes either since and until, or last=");
}

PyObject* window_advance(WindowCore& w, PyObject* const* args, Py_ssize_t count) {
  if (count != 1) wrong_count("advance takes a time", count);
  w.held->advance(args[0]);
  Py_RETURN_NONE;
}

PyObject* window_evict(WindowCore& w, PyObject* const* args, Py_ssize_t count) {
  if (count != 1) wrong_count("evict takes a time", count);
  return PyBool_FromLong(w.held->evict(args[0]));
}

}  // namespace

void bind_windows(nb::module_& m) {
  static PyMethodDef methods[] = {
      fast_method<WindowCore, window_push>("push", "Insert, evict, and return the result."),
      fast_method<WindowCore, window_insert>("insert", "Push, without the result."),
      named_method<WindowCore, window_query>("query", "The result; None if empty."),
      fast_method<WindowCore, window_advance>("advance", "Move the window's end to a later time."),
      fast_method<WindowCore, window_evict>("evict", "Retract all events of a time."),
      {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_methods, methods}, traversing<WindowCore>(), clearing<WindowCore>(), {0, nullptr}};
  nb::class_<WindowCore>(m, "WindowCore", nb::type_slots(slots))
      .def("__init__",
           [](WindowCore* self, const std::string& name, nb::handle op, nb::dict rule,
              nb::dict options) {
             const Keeper keeper;
             std::unique_ptr<LiveWindow> made = make_window(name, op, rule, options);
             new (self) WindowCore{keeper.objects(), std::move(made)};
           })
      .def("check", [](WindowCore& w) { in_turn(w, [](LiveWindow& held) { held.check(); }); })
      .def("__len__",
           [](const WindowCore& w) {
             return in_turn(w, [](LiveWindow& held) { return held.size(); });
           })
      .def("_copy_from", copy_held<WindowCore>)
      .def("_save",
           [](WindowCore& w) {
             const Turn turn(w.turns);
             Saver saver;
             w.held->save(saver);
             return as_bytes(saver);
           })
      .def("_load",
           [](WindowCore& w, nb::bytes bytes) {
             const Turn turn(w.turns);
             std::unique_ptr<LiveWindow> twin = w.held->clone();
             Loader loader(view_of(bytes));
             twin->load(loader);
             loader.finish();
             w.held = std::move(twin);
           })
      .def_prop_ro("late",
                   [](const WindowCore& w) {
                     return in_turn(w, [](LiveWindow& held) { return held.late(); });
                   })
      .def_prop_ro("nbytes", [](const WindowCore& w) {
        return in_turn(w, [](LiveWindow& held) { return held.bytes(); });
      });
}

}  // namespace slidefold::bindings
