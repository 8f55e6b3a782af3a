// The engine of arrival order, as Python sees it: a definition that Python has compiled into plain
// values, batches of Arrow columns or single rows in, results out.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "engine_core.hpp"

namespace slidefold::bindings {
namespace {

using Int64s = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;

nb::object numbers_of(const std::vector<std::int64_t>& numbers) {
  auto* data = new std::vector<std::int64_t>(numbers);
  const nb::capsule owner(
      data, [](void* p) noexcept { delete static_cast<std::vector<std::int64_t>*>(p); });
  return nb::cast(Int64s(data->data(), {data->size()}, owner));
}

// The inputs that are made of the given ones.
void derive(EngineCore& core) {
  Inputs& inputs = core.inputs;
  if (core.derived.made.empty()) return;
  try {
    run_program(core.derived, core.derived_from, inputs.count(), core.pool);
  } catch (const engine::ExpressionError& error) {
    fail_at("ResultOverflowError", error.sentence, error.row);
  }
  for (std::size_t k = 0; k < core.derived.made.size(); ++k) {
    Input& input = inputs.inputs[inputs.given_inputs + k];
    input.words.swap(core.derived.made[k].words);
    input.valid.swap(core.derived.made[k].valid);
    input.holes = std::find(input.valid.begin(), input.valid.end(), 0) != input.valid.end();
  }
}

void read_row(EngineCore& core) {
  core.inputs.read_row(core.pool, core.values);
  derive(core);
}

void read_values(EngineCore& core, const nb::tuple& values) {
  require_whole(core);
  core.values.clear();
  for (const nb::handle value : values) core.values.push_back(value.ptr());
  if (core.values.size() != core.inputs.given_inputs) {
    fail("ValueTypeError", "expected " + std::to_string(core.inputs.given_inputs) +
                               " values, got " + std::to_string(core.values.size()));
  }
  read_row(core);
}

nb::object feed(EngineCore& core, nb::handle capsule, std::optional<Time> watermark,
                std::optional<Time> lateness) {
  const Turn turn(core.turns);
  read_batch(core, capsule);
  const Answered answered = take(core, watermark, lateness);
  nb::object late = nb::none();
  if (!answered.late.empty()) late = numbers_of(answered.late);
  if (core.slide != EngineCore::Slide::kNone) {
    return nb::make_tuple(late, ends_of(core), results_of(core, core.ends.size()));
  }
  return nb::make_tuple(late, numbers_of(answered.rows), results_of(core, answered.rows.size()));
}

// Takes a batch whose results nobody wants. Returns the places of late rows.
nb::object accept(EngineCore& core, nb::handle capsule, Time lateness) {
  const Turn turn(core.turns);
  read_batch(core, capsule);
  const Answered answered = take(core, std::nullopt, lateness, false);
  if (core.needs_gil) {
    commit(core);
  } else {
    const nb::gil_scoped_release without_gil;
    commit(core);
  }
  return answered.late.empty() ? nb::none() : numbers_of(answered.late);
}

// One row: its values by input. Returns (late, numbers of rows with results).
nb::object push(EngineCore& core, const nb::tuple& values, std::optional<Time> lateness) {
  const Turn turn(core.turns);
  read_values(core, values);
  const Answered answered = take(core, std::nullopt, lateness);
  nb::list numbers;
  for (const std::int64_t number : answered.rows) numbers.append(number);
  return nb::make_tuple(!answered.late.empty(), numbers);
}

// The results of a row of the last call, by name.
nb::dict row_of(EngineCore& core, std::size_t row) {
  nb::dict found;
  for (std::size_t i = 0; i < core.outputs.size(); ++i) {
    found[core.keys[i]] = core.outputs[i]->object(row);
  }
  return found;
}

// The values of an event by input; false if it has not just the fields that rows have.
bool values_of(EngineCore& core, nb::handle event, std::vector<PyObject*>& values) {
  if (PyDict_GET_SIZE(event.ptr()) != static_cast<Py_ssize_t>(core.fields.size())) return false;
  values.assign(core.inputs.given_inputs, nullptr);
  for (const EngineCore::Field& field : core.fields) {
    PyObject* const value = PyDict_GetItemWithError(event.ptr(), field.name.ptr());
    if (value == nullptr) {
      if (PyErr_Occurred() != nullptr) throw nb::python_error();
      return false;
    }
    if (field.input >= 0) values[static_cast<std::size_t>(field.input)] = value;
  }
  return values[core.inputs.time] != Py_None;
}

// One event whose results come at once: a dict, False if it is late, None if its fields are wrong.
nb::object push_event(EngineCore& core, const nb::dict& event, Time lateness) {
  const Turn turn(core.turns);
  require_whole(core);
  if (!values_of(core, event, core.values)) return nb::none();
  read_row(core);
  const Answered answered = take(core, std::nullopt, lateness);
  if (!answered.late.empty()) {
    commit(core);
    return nb::bool_(false);
  }
  nb::dict found;
  try {
    found = row_of(core, 0);
  } catch (...) {
    undo(core);
    throw;
  }
  commit(core);
  return found;
}

// One question: the fields that it has; the newest time if it has none.
nb::object ask_event(EngineCore& core, const nb::dict& question) {
  const Turn turn(core.turns);
  require_whole(core);
  core.values.assign(core.inputs.given_inputs, Py_None);
  for (const EngineCore::Field& field : core.fields) {
    if (field.input < 0) continue;
    PyObject* const value = PyDict_GetItemWithError(question.ptr(), field.name.ptr());
    if (value != nullptr) {
      core.values[static_cast<std::size_t>(field.input)] = value;
    } else if (PyErr_Occurred() != nullptr) {
      throw nb::python_error();
    }
  }
  std::optional<Time> now = core.newest;
  if (core.watermark && (!now || *now < *core.watermark)) now = core.watermark;
  read_row(core);
  ask_rows(core, now);
  return row_of(core, 0);
}

}  // namespace

nb::object results_of(EngineCore& core, std::size_t rows) {
  engine::Column batch;
  batch.format = "+s";
  batch.length = static_cast<std::int64_t>(rows);
  nb::dict others;
  for (std::size_t i = 0; i < core.outputs.size(); ++i) {
    Output& output = *core.outputs[i];
    if (output.objects || output.records) {
      others[core.keys[i]] = output.raw();
    } else {
      batch.children.push_back(output.column(core.names[i]));
    }
  }
  return nb::make_tuple(exported(std::move(batch)), others);
}

void require_whole(EngineCore& core) {
  if (core.engine == nullptr) fail("StateError", "this engine is not whole");
  undo(core);  // of a call whose results never became columns
  core.engine->sweep(core.pool);
}

void read_array(EngineCore& core, nb::handle capsule) {
  auto* array = static_cast<ArrowArray*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array"));
  if (array == nullptr) throw nb::python_error();
  core.inputs.read(core.pool, *array);
  derive(core);
}

void read_batch(EngineCore& core, nb::handle capsule) {
  require_whole(core);
  read_array(core, capsule);
}

// Functions of operators in Python see the globals of their module, and so often the run itself.
int traverse_engine(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<EngineCore>(self)->kept.get());
  return 0;
}
int clear_engine(PyObject* self) {
  if (!nb::inst_ready(self)) return 0;
  EngineCore& core = *nb::inst_ptr<EngineCore>(self);
  core.turns.close();  // nothing calls the operators from now on
  const PyRef operators = std::move(core.kept);
  return 0;
}

void bind_engine(nb::module_& m) {
  static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_engine)},
                                {Py_tp_clear, reinterpret_cast<void*>(clear_engine)},
                                {0, nullptr}};
  nb::class_<EngineCore>(m, "EngineCore", nb::type_slots(slots))
      .def("__init__",
           [](EngineCore* self, nb::dict program) {
             new (self) EngineCore{};
             const Keeper keeper;
             build(*self, program);
             self->kept = keeper.objects();
           })
      .def("feed", feed, nb::arg("batch"), nb::arg("watermark").none(), nb::arg("lateness").none())
      .def("accept", accept, nb::arg("batch"), nb::arg("lateness"))
      .def("push_event", push_event, nb::arg("event"), nb::arg("lateness"))
      .def("ask_event", ask_event, nb::arg("question"))
      .def_prop_ro("calls_python", [](const EngineCore& core) { return core.needs_gil; })
      .def("push", push, nb::arg("values"), nb::arg("lateness").none())
      .def("commit",
           [](EngineCore& core) {
             const Turn turn(core.turns);
             commit(core);
           })
      .def("undo",
           [](EngineCore& core) {
             const Turn turn(core.turns);
             undo(core);
           })
      .def("row", row_of, nb::arg("row"))
      .def("rows_of",
           [](EngineCore& core, std::size_t rows) {
             const Turn turn(core.turns);
             return results_of(core, rows);
           })
      .def(
          "fill",
          [](EngineCore& core, nb::handle batch, std::optional<Time> watermark) {
            return numbers_of(fill(core, batch, watermark));
          },
          nb::arg("batch"), nb::arg("watermark").none())
      // The windows of keys at times: rows of keys, times and what delta windows walk.
      .def(
          "ask",
          [](EngineCore& core, nb::handle batch, std::optional<Time> now) {
            const Turn turn(core.turns);
            read_batch(core, batch);
            ask_rows(core, now);
            return results_of(core, core.inputs.count());
          },
          nb::arg("batch"), nb::arg("now").none())
      .def(
          "ask_row",
          [](EngineCore& core, const nb::tuple& values, std::optional<Time> now) {
            const Turn turn(core.turns);
            read_values(core, values);
            ask_rows(core, now);
            return row_of(core, 0);
          },
          nb::arg("values"), nb::arg("now").none())
      // The results that one row would have, if it came now.
      .def(
          "peek_row",
          [](EngineCore& core, const nb::tuple& values) {
            const Turn turn(core.turns);
            read_values(core, values);
            peek(core);
            return row_of(core, 0);
          },
          nb::arg("values"))
      .def(
          "peek",
          [](EngineCore& core, nb::handle batch) {
            const Turn turn(core.turns);
            read_batch(core, batch);
            peek(core);
          },
          nb::arg("batch"))
      .def("held", held, nb::arg("until").none())
      .def("past", past)
      .def("replay", replay, nb::arg("events"), nb::arg("questions"), nb::arg("upto"))
      .def("fill_past", fill_past, nb::arg("batch"))
      .def_prop_ro("overflows",
                   [](const EngineCore& core) -> nb::object {
                     const Overflows& found = core.overflows;
                     if (found.rows.empty()) return nb::none();
                     const nb::str column(found.column.data(), found.column.size());
                     return nb::make_tuple(column, found.sentence, numbers_of(found.rows));
                   })
      // Results that do not fit are null and in `overflows`, also those of new rows.
      .def_rw("counts_overflows", &EngineCore::counts_overflows)
      .def_prop_ro("keeps_past", [](const EngineCore& core) { return core.keeps_past(); })
      .def("prune",
           [](EngineCore& core) {
             const Turn turn(core.turns);
             evict(core, true);
           })
      .def("check",
           [](EngineCore& core) {
             const Turn turn(core.turns);
             core.engine->check();
             core.pool.check();
           })
      .def_prop_ro("watermark", [](const EngineCore& core) { return core.watermark; })
      .def_prop_ro("newest", [](const EngineCore& core) { return core.newest; })
      .def_prop_ro("rows", [](const EngineCore& core) { return core.engine->rows(); })
      .def_prop_ro("slices", [](const EngineCore& core) { return core.engine->slices(); })
      .def_prop_ro("keys", [](const EngineCore& core) { return core.engine->keys(); })
      .def_prop_ro("waiting", [](const EngineCore& core) { return core.engine->waiting(); })
      .def_prop_ro("seen", [](const EngineCore& core) { return core.seen; })
      .def_prop_ro("oldest_waiting",
                   [](const EngineCore& core) -> std::optional<Time> {
                     if (core.engine->waiting() == 0) return std::nullopt;
                     return core.engine->oldest_waiting();
                   })
      .def_prop_ro("oldest",
                   [](EngineCore& core) -> std::optional<Time> {
                     if (core.engine->rows() + core.engine->slices() == 0) return std::nullopt;
                     return core.engine->oldest_row();
                   })
      .def_prop_ro("nbytes",
                   [](const EngineCore& core) { return core.engine->bytes() + core.pool.bytes(); });
}

}  // namespace slidefold::bindings
