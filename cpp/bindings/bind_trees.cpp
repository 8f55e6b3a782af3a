// TreeCore: FiBA or the classic B-tree, as Python holds it.
#include <nanobind/stl/string.h>

#include "calls.hpp"
#include "rounds_in.hpp"
#include "saved.hpp"
#include "tree_face.hpp"

namespace slidefold::bindings {
namespace {

struct TreeCore {
  PyRef kept;                      // what the operator holds: goes after it
  std::shared_ptr<TreeFace> held;  // shared with slides, which do not touch the tree
  TimeAxis axis;
  mutable Turns turns{};

  TreeFace& face() const { return *held; }
  Tick read(PyObject* time) {
    return axis.read(time, [&](auto&& to) { held->retime(to); });
  }
};

PyObject* tree_insert(TreeCore& t, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) wrong_count("insert takes a time and a value", count);
  t.held->insert(t.read(args[0]), args[1]);
  Py_RETURN_NONE;
}

PyObject* tree_evict(TreeCore& t, PyObject* const* args, Py_ssize_t count) {
  if (count != 1) wrong_count("evict takes a time", count);
  const Tick first = t.axis.read_bound(args[0], true), last = t.axis.read_bound(args[0], false);
  return PyBool_FromLong(first == last && t.held->evict(first));
}

PyObject* tree_bulk_evict(TreeCore& t, PyObject* const* args, Py_ssize_t count) {
  if (count != 1) wrong_count("bulk_evict takes a time", count);
  t.held->bulk_evict(t.axis.read_bound(args[0], false));
  Py_RETURN_NONE;
}

PyObject* tree_query(TreeCore& t, PyObject* const* args, Py_ssize_t count) {
  if (count == 0) return t.held->query();
  if (count != 2) wrong_count("query takes nothing, or since and until", count);
  const Tick since = t.axis.read_bound(args[0], true), until = t.axis.read_bound(args[1], false);
  const int after = PyObject_RichCompareBool(args[0], args[1], Py_GT);
  if (after < 0) throw nb::python_error();
  if (after == 1) {
    fail("WindowError", "since is after until: " + shown(args[0]) + " > " + shown(args[1]));
  }
  return t.held->query(since, until);
}

// Times as an array of int64 or float64, or as a list.
std::vector<Tick> read_times(TreeCore& t, nb::handle times) {
  std::vector<Tick> ticks;
  nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> whole;
  nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu> real;
  if (!t.axis.real() && nb::try_cast(times, whole, false)) {
    ticks.assign(whole.data(), whole.data() + whole.shape(0));
  } else if (t.axis.real() && nb::try_cast(times, real, false)) {
    ticks.reserve(real.shape(0));
    for (std::size_t i = 0; i < real.shape(0); ++i) {
      if (!std::isfinite(real.data()[i])) {
        fail("ValueTypeError", "expected a finite time, got " +
                                   shown(nb::float_(real.data()[i]).ptr()) + " at row " +
                                   std::to_string(i));
      }
      ticks.push_back(tick_of(real.data()[i]));
    }
  } else {  // the first bulk of floats among integers too
    const Sequence items(times);
    TimeAxis axis = t.axis;
    for (std::size_t i = 0; i < items.size(); ++i) {
      ticks.push_back(axis.read(items[i], [&](auto&& to) {
        for (Tick& tick : ticks) tick = to(tick);
        t.held->retime(to);
        t.axis = TimeAxis(false, true);
      }));
    }
  }
  return ticks;
}

nb::list items(TreeCore& t) {
  nb::list result;
  t.held->for_each([&](Tick time, nb::object value) {
    result.append(nb::make_tuple(t.axis.time_of(time), value));
  });
  return result;
}

nb::object end_of(const TreeCore& t, bool young) {
  const Turn turn(t.turns);
  if (t.held->size() == 0) return nb::none();
  return t.axis.time_of(young ? t.held->youngest() : t.held->oldest());
}

}  // namespace

TreeOptions tree_options(nb::handle op, nb::dict options) {
  TreeOptions result;
  result.skips_nulls = !nb::cast<bool>(op.attr("keeps_nulls"));
  for (auto [key, value] : options) {
    const std::string name = nb::cast<std::string>(key);
    if (name == "min_arity") result.min_arity = nb::cast<int>(value);
    if (name == "max_arity") result.max_arity = nb::cast<int>(value);
    if (name == "counted") result.counted = nb::cast<bool>(value);
  }
  return result;
}

void bind_trees(nb::module_& m) {
  static PyMethodDef methods[] = {
      fast_method<TreeCore, tree_insert>("insert", "Add a value at a time; equal times combine."),
      fast_method<TreeCore, tree_evict>(
          "evict", "Remove the entry at a time; return False if there is none."),
      fast_method<TreeCore, tree_bulk_evict>("bulk_evict", "Remove all up to a time, included."),
      fast_method<TreeCore, tree_query>("query", "The fold of all, or of since <= time <= until."),
      {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_methods, methods}, traversing<TreeCore>(), clearing<TreeCore>(), {0, nullptr}};
  nb::class_<TreeCore>(m, "TreeCore", nb::type_slots(slots))
      .def("__init__",
           [](TreeCore* self, const std::string& name, nb::handle op, nb::dict options) {
             const auto make = name == "fiba" ? make_fiba : make_btree;
             const Keeper keeper;
             TreePtr made = make(spec_from(op), tree_options(op, options));
             new (self) TreeCore{keeper.objects(), std::move(made), TimeAxis()};
           })
      .def(
          "_bulk_insert",
          [](TreeCore& t, nb::handle times, nb::handle values) {
            const Turn turn(t.turns);
            t.held->bulk_insert(read_times(t, times), values);
          },
          nb::arg("times").none(), nb::arg("values").none())
      .def(
          "_slide",
          [](const TreeCore& t,
             const nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>&
                 times,
             nb::handle values, std::uint64_t range, std::size_t bulk) {
            const std::vector<Tick> ticks(times.data(), times.data() + times.shape(0));
            return ForSlide(t)->slide(ticks, values, range, bulk);
          },
          nb::arg("times"), nb::arg("values").none(), nb::arg("range"), nb::arg("bulk"))
      .def(
          "_rounds",
          [](const TreeCore& t, nb::handle values, nb::dict plan,
             const std::optional<Int64Array>& times, std::int64_t range) {
            const Rounds rounds = rounds_from(plan);
            require_rows(times, rounds.window + rounds.count, "times");
            return in_turn(t, [&](TreeFace& face) {
              require_empty(face.size());
              if (!times) return face.rounds(values, rounds);
              const std::vector<Tick> ticks(times->data(), times->data() + times->shape(0));
              return face.rounds(ticks, values, range, rounds);
            });
          },
          nb::arg("values").none(), nb::arg("plan"), nb::arg("times").none() = nb::none(),
          nb::arg("range") = 0)
      .def("check", [](TreeCore& t) { in_turn(t, [](TreeFace& face) { face.check(); }); })
      .def("__len__",
           [](const TreeCore& t) { return in_turn(t, [](TreeFace& face) { return face.size(); }); })
      .def("_items",
           [](TreeCore& t) {
             const Turn turn(t.turns);
             return items(t);
           })
      .def("_copy_from",
           [](TreeCore& t, TreeCore& other) {
             TreeCore twin;
             {
               const Turn turn(other.turns);
               twin = {other.kept, other.held->clone(), other.axis};
             }
             const Turn turn(t.turns);
             t = std::move(twin);
           })
      .def("_save",
           [](TreeCore& t) {
             const Turn turn(t.turns);
             Saver saver;
             saver(t.axis);
             save_face(saver, t.face());
             return as_bytes(saver);
           })
      .def("_load",
           [](TreeCore& t, nb::bytes bytes) {
             const Turn turn(t.turns);
             TreeCore twin{t.kept, t.held->clone(), t.axis};
             Loader loader(view_of(bytes));
             loader(twin.axis);
             load_face(loader, twin.face());
             loader.finish();
             expect_times(twin.axis, twin.face());
             t = std::move(twin);
           })
      .def_prop_ro("oldest", [](const TreeCore& t) { return end_of(t, false); })
      .def_prop_ro("youngest", [](const TreeCore& t) { return end_of(t, true); })
      .def_prop_ro(
          "nbytes",
          [](const TreeCore& t) { return in_turn(t, [](TreeFace& face) { return face.bytes(); }); })
      .def_prop_ro("combines", combines_of<TreeCore>);
}

}  // namespace slidefold::bindings
