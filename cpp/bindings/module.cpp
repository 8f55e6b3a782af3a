// The module _native_ext: aggregators, windows, and what the registry knows.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include "boundary_face.hpp"
#include "calls.hpp"
#include "registry.hpp"
#include "rounds_in.hpp"
#include "saved.hpp"
#include "turns.hpp"

namespace slidefold::bindings {

void bind_checked_function(nb::module_& m);
void bind_columns(nb::module_& m);
void bind_states(nb::module_& m);
void bind_frames(nb::module_& m);
void bind_fold_windows(nb::module_& m);
void bind_order(nb::module_& m);
void bind_keyed(nb::module_& m);
void bind_engine(nb::module_& m);
void bind_expressions(nb::module_& m);
void bind_algebra(nb::module_& m);
void bind_sketches(nb::module_& m);
void bind_tally(nb::module_& m);
void bind_trees(nb::module_& m);
void bind_windows(nb::module_& m);

namespace {

// What Python subclasses hold.
struct Aggregator {
  PyRef kept;                  // what the operator holds: goes after it
  std::shared_ptr<Face> held;  // shared with slides, which do not touch the window
  mutable Turns turns;
  Aggregator(const std::string& name, nb::handle op, nb::dict options) {
    const Keeper keeper;
    held = make_face(name, op, options_from(options));
    kept = keeper.objects();
  }
  Face& face() const { return *held; }
};

// A loaded window, in place of the own.
template <class Core>
void load_held(Core& core, const nb::bytes& bytes) {
  const Turn turn(core.turns);
  auto face = loaded(core.face(), bytes);
  if constexpr (requires { face->waiting(); }) {
    expect(face->waiting() == 0, "rows wait that only a window lets wait");
  }
  core.held = std::move(face);
}

std::size_t window_size(nb::handle window) {
  const bool whole = PyIndex_Check(window.ptr()) != 0 && !PyBool_Check(window.ptr());
  if (!whole) {
    fail("WindowError", "a window is a whole number of rows, got " + shown(window.ptr()));
  }
  const std::int64_t rows = to_int64(window.ptr());
  if (rows < 1) fail("WindowError", "a window needs at least 1 row, got " + std::to_string(rows));
  return static_cast<std::size_t>(rows);
}

PyObject* aggregator_insert(Aggregator& a, PyObject* const* args, Py_ssize_t count) {
  if (count != 1) wrong_count("insert takes a value", count);
  a.face().insert(args[0]);
  Py_RETURN_NONE;
}

PyObject* aggregator_evict(Aggregator& a, PyObject* const*, Py_ssize_t count) {
  if (count != 0) wrong_count("evict takes nothing", count);
  a.face().evict(1);
  Py_RETURN_NONE;
}

PyObject* aggregator_query(Aggregator& a, PyObject* const*, Py_ssize_t count) {
  if (count != 0) wrong_count("query takes nothing", count);
  return a.face().query();
}

void bind_aggregator(nb::module_& m) {
  static PyMethodDef methods[] = {
      fast_method<Aggregator, aggregator_insert>("insert", "Add a value at the young end."),
      fast_method<Aggregator, aggregator_evict>("evict", "Remove the oldest value."),
      fast_method<Aggregator, aggregator_query>("query", "The fold of the window; None if empty."),
      {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_methods, methods}, traversing<Aggregator>(), clearing<Aggregator>(), {0, nullptr}};
  nb::class_<Aggregator>(m, "Aggregator", nb::type_slots(slots))
      .def(nb::init<const std::string&, nb::handle, nb::dict>())
      .def("check", [](Aggregator& a) { in_turn(a, [](Face& face) { face.check(); }); })
      .def("__len__",
           [](const Aggregator& a) { return in_turn(a, [](Face& face) { return face.size(); }); })
      .def("_copy_from", copy_held<Aggregator>)
      .def("_save",
           [](Aggregator& a) { return in_turn(a, [](Face& face) { return saved(face); }); })
      .def("_load", load_held<Aggregator>)
      .def_prop_ro(
          "nbytes",
          [](const Aggregator& a) { return in_turn(a, [](Face& face) { return face.bytes(); }); })
      .def_prop_ro("combines", combines_of<Aggregator>)
      .def(
          "slide",
          [](const Aggregator& a, nb::handle values, nb::handle window, bool drain) {
            const std::size_t rows = window_size(window);
            return ForSlide(a)->slide(values, rows, drain);
          },
          nb::arg("values").none(), nb::arg("window").none(), nb::kw_only(),
          nb::arg("drain") = false)
      .def(
          "latencies",
          [](const Aggregator& a, nb::handle values, nb::handle window) {
            const std::size_t rows = window_size(window);
            return ForSlide(a)->latencies(values, rows);
          },
          nb::arg("values").none(), nb::arg("window").none())
      .def(
          "_rounds",
          [](const Aggregator& a, nb::handle values, nb::dict plan,
             const std::optional<Int64Array>& leaving) {
            const Rounds rounds = rounds_from(plan);
            require_rows(leaving, rounds.count, "leaving");
            return in_turn(a, [&](Face& face) {
              require_empty(face.size());
              return face.rounds(values, rounds, leaving ? leaving->data() : nullptr);
            });
          },
          nb::arg("values").none(), nb::arg("plan"), nb::arg("leaving").none() = nb::none())
      .def(
          "_insert_at",
          [](Aggregator& a, nb::handle v) {
            return in_turn(a, [&](Face& face) { return face.insert_at(v.ptr()); });
          },
          nb::arg("value").none())
      .def("_evict_at", [](Aggregator& a,
                           std::uint64_t p) { in_turn(a, [&](Face& face) { face.evict_at(p); }); })
      .def("_update",
           [](Aggregator& a, const std::vector<std::uint64_t>& positions, nb::list values) {
             in_turn(a, [&](Face& face) { face.update(positions, values); });
           })
      .def("_trigger", [](Aggregator& a) { in_turn(a, [](Face& face) { face.trigger(); }); })
      .def("_prefix",
           [](Aggregator& a, std::uint64_t p) {
             return in_turn(a, [&](Face& face) { return nb::steal(face.prefix(p)); });
           })
      .def("_suffix",
           [](Aggregator& a, std::uint64_t p) {
             return in_turn(a, [&](Face& face) { return nb::steal(face.suffix(p)); });
           })
      .def("_capacity",
           [](const Aggregator& a) {
             return in_turn(a, [](Face& face) { return face.capacity(); });
           })
      .def("_bulk_evict", [](Aggregator& a, std::size_t count) {
        in_turn(a, [&](Face& face) { face.bulk_evict(count); });
      });
}

struct BoundaryCore {
  PyRef kept;
  std::shared_ptr<BoundaryFace> held;
  mutable Turns turns{};
  BoundaryFace& face() const { return *held; }
};

BoundaryOptions boundary_options(nb::dict options) {
  BoundaryOptions result;
  for (auto [key, value] : options) {
    const std::string name = nb::cast<std::string>(key);
    if (name == "range") result.range = nb::cast<std::int64_t>(value);
    if (name == "slide") result.slide = nb::cast<std::int64_t>(value);
    if (name == "chunk") result.chunk = nb::cast<std::size_t>(value);
    if (name == "timed") result.timed = nb::cast<bool>(value);
    if (name == "combine_time") result.combine_time = nb::cast<double>(value);
    if (name == "checked") result.checked = nb::cast<bool>(value);
    if (name == "counted") result.counted = nb::cast<bool>(value);
  }
  return result;
}

PyObject* boundary_push(BoundaryCore& b, PyObject* const* args, Py_ssize_t count) {
  if (count == 1) return b.face().push(args[0]);
  if (count == 2) return b.face().push(args[0], args[1]);
  wrong_count("push takes a value, or a time and a value", count);
}

PyObject* boundary_insert(BoundaryCore& b, PyObject* const* args, Py_ssize_t count) {
  Py_DECREF(boundary_push(b, args, count));
  Py_RETURN_NONE;
}

void bind_boundary(nb::module_& m) {
  static PyMethodDef methods[] = {
      fast_method<BoundaryCore, boundary_push>("push", "Add a value; results at slide boundaries."),
      fast_method<BoundaryCore, boundary_insert>("insert", "Push, without the result."),
      {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_methods, methods}, traversing<BoundaryCore>(), clearing<BoundaryCore>(), {0, nullptr}};
  nb::class_<BoundaryCore>(m, "BoundaryCore", nb::type_slots(slots))
      .def("__init__",
           [](BoundaryCore* self, bool parallel, nb::handle op, nb::dict options) {
             const auto make = parallel ? make_pba : make_sba;
             const Keeper keeper;
             const Spec spec = spec_from(op);
             BoundaryOptions chosen = boundary_options(options);
             chosen.skips_nulls = !spec.keeps_nulls;
             BoundaryPtr made = make(spec, chosen);
             new (self) BoundaryCore{keeper.objects(), std::move(made)};
           })
      .def("query",
           [](BoundaryCore& b) {
             return in_turn(b, [](BoundaryFace& face) { return nb::steal(face.query()); });
           })
      .def(
          "advance",
          [](BoundaryCore& b, nb::handle time) {
            return in_turn(b,
                           [&](BoundaryFace& face) { return nb::steal(face.advance(time.ptr())); });
          },
          nb::arg("time").none())
      .def("check", [](BoundaryCore& b) { in_turn(b, [](BoundaryFace& face) { face.check(); }); })
      .def("__len__",
           [](const BoundaryCore& b) {
             return in_turn(b, [](BoundaryFace& face) { return face.size(); });
           })
      .def(
          "slide",
          [](const BoundaryCore& b, nb::handle values) { return ForSlide(b)->slide(values); },
          nb::arg("values").none())
      .def(
          "_rounds",
          [](const BoundaryCore& b, nb::handle values, nb::dict plan) {
            const Rounds rounds = rounds_from(plan);
            return in_turn(b, [&](BoundaryFace& face) { return face.rounds(values, rounds); });
          },
          nb::arg("values").none(), nb::arg("plan"))
      .def("_copy_from", copy_held<BoundaryCore>)
      .def("_save",
           [](BoundaryCore& b) {
             return in_turn(b, [](BoundaryFace& face) { return saved(face); });
           })
      .def("_load", load_held<BoundaryCore>)
      .def_prop_ro("chunk",
                   [](const BoundaryCore& b) {
                     return in_turn(b, [](BoundaryFace& face) { return face.chunk(); });
                   })
      .def_prop_ro("nbytes",
                   [](const BoundaryCore& b) {
                     return in_turn(b, [](BoundaryFace& face) { return face.bytes(); });
                   })
      .def_prop_ro("combines", combines_of<BoundaryCore>);
  m.def("optimal_chunk_rows",
        [](std::size_t range, std::size_t slide) { return optimal_chunk_rows(range, slide); });
  m.def("optimal_chunk_time", [](double range, double slide, double combine_time) {
    return optimal_chunk_time(range, slide, combine_time);
  });
}

template <class Error>
void translate(const std::exception_ptr& exception, void* kind) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    nb::object type = nb::module_::import_("slidefold.errors").attr(static_cast<const char*>(kind));
    if constexpr (requires { error.row; }) {
      if (error.row.has_value()) {
        const nb::object made = type(error.what());
        PyErr_SetObject(type.ptr(), made.attr("at")(*error.row).ptr());
        return;
      }
    }
    PyErr_SetString(type.ptr(), error.what());
  }
}

}  // namespace

NB_MODULE(_native_ext, m) {
  const auto name_of = [](const char* name) { return const_cast<char*>(name); };
  nb::register_exception_translator(translate<ResultOverflow>, name_of("ResultOverflowError"));
  nb::register_exception_translator(translate<BrokenInvariant>, name_of("InvariantError"));
  nb::register_exception_translator(translate<BadState>, name_of("StateError"));
  nb::register_exception_translator(translate<std::length_error>, name_of("CapacityError"));
  nb::register_exception_translator(translate<std::out_of_range>, name_of("EmptyWindowError"));
  quiet_about_daemons();
  bind_sketches(m);
  bind_aggregator(m);
  bind_boundary(m);
  bind_columns(m);
  bind_states(m);
  bind_frames(m);
  bind_fold_windows(m);
  bind_order(m);
  bind_keyed(m);
  bind_engine(m);
  bind_expressions(m);
  bind_tally(m);
  bind_trees(m);
  bind_windows(m);
  bind_algebra(m);
  bind_checked_function(m);
  m.def("algorithms", [] {
    nb::list result;
    for (const AlgorithmEntry& entry : algorithms()) {
      result.append(nb::make_tuple(entry.name, entry.needs_invertible, entry.needs_selective));
    }
    return result;
  });
  m.def("operator_traits", [](nb::handle op) {
    const Traits t = traits(spec_from(op));
    nb::dict result;
    result["invertible"] = t.invertible;
    result["selective"] = t.selective;
    result["commutative"] = t.commutative;
    result["fallible"] = t.fallible;
    result["state_bytes"] = t.state_bytes;
    return result;
  });
}

}  // namespace slidefold::bindings
