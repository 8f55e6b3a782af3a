// The engine of arrival order behind the Python module: its program, the rows of the last call, and
// the functions that the files engine_*.cpp share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine_outputs.hpp"
#include "expressions_in.hpp"
#include "turns.hpp"

namespace slidefold::bindings {

using engine::Engine;
using engine::Part;
using engine::Time;

// The rows that have become final, by key.
class DueGroups : public engine::Groups {
 public:
  void group(const std::vector<engine::Waiting>& due) {
    slots_.clear();
    for (const engine::Waiting& row : due) slots_.push_back(row.slot);
    Groups::group(slots_);
  }

 private:
  std::vector<engine::Slot> slots_;
};

struct EngineCore {
  PyRef kept;  // what the operators hold: goes after them
  Turns turns;
  engine::Pool pool;
  Inputs inputs;
  ExpressionProgram derived;  // makes the inputs after the given ones
  std::vector<const Input*> derived_from;
  std::unique_ptr<Engine> engine;
  std::vector<std::unique_ptr<Output>> outputs;
  Overflows overflows;             // of rows that were taken earlier and are final now
  bool counts_overflows = false;   // of all rows
  std::vector<Output*> ranked;     // those that need the own values of rows
  std::vector<std::string> names;  // of the outputs
  std::vector<nb::str> keys;       // the same as Python objects
  std::vector<std::unique_ptr<Counts>> counters;
  struct Fan final : engine::Sink {
    std::vector<engine::Sink*> sinks;
    void put(std::size_t row, const void* state, std::uint64_t held) override {
      for (engine::Sink* sink : sinks) sink->put(row, state, held);
    }
  };
  std::vector<std::unique_ptr<Fan>> fans;
  struct Holes {
    bool seen = false;
    std::vector<std::size_t> parts;  // that count
  };
  std::vector<std::unique_ptr<Holes>> holes;  // by presence
  std::vector<std::size_t> asked_delta;       // the inputs of delta windows, by window; ~0 for none
  bool needs_gil = false;
  std::vector<Part> parts;  // while the program is built
  // When there are results: at rows, at multiples of a time, at every n-th row, or per window.
  enum class Slide : std::uint8_t { kNone, kTime, kRows, kWindow } slide = Slide::kNone;
  engine::Grid grid;
  std::uint64_t every = 1;
  std::string every_text;
  double most_results = 0;
  Time largest = 0;
  std::vector<std::optional<Time>> spans;  // of time windows
  engine::Type bounds;
  std::string bounds_format;
  struct End {
    engine::Slot slot;
    Time start, end;
    bool started;
    std::uint64_t low, high;
  };
  std::vector<End> ends;
  // Whether keys keep something of rows that have gone for ever.
  bool keeps_past() const { return grid.fill || !engine->past_parts().empty(); }
  bool waits = false;  // rows wait for the watermark
  bool again = false;  // rows that a batch changes are answered once more
  // Questions at the watermark see only rows before it, which rows windows still need then.
  bool asks_before = false;
  std::optional<Time> watermark, newest;
  std::uint64_t seen = 0;
  std::vector<std::uint32_t> out;
  std::vector<std::uint8_t> taken;
  DueGroups groups;
  // The fields of events, those that nothing reads too.
  struct Field {
    nb::str name;
    std::int64_t input;
  };
  std::vector<Field> fields;
  std::vector<PyObject*> values;
  // What a batch changes besides its rows, once Python has made columns of its results.
  struct Step {
    std::optional<Time> watermark, newest;
    std::uint64_t seen = 0;
  };
  std::optional<Step> open;
};

struct Answered {
  std::vector<std::int64_t> rows;  // numbers of the rows that have results, in order
  std::vector<std::int64_t> late;  // of the batch
  std::size_t pushed = 0;          // how many rows of the batch were taken
};

// ---- engine_parts.cpp, engine_program.cpp: the program

// A field of a program that Python has compiled.
template <class Value>
Value at(nb::handle given, const char* name) {
  return nb::cast<Value>(nb::object(given[name]));
}
// A part as Python describes it, and the operator of a fold.
Part part_in(EngineCore& core, nb::handle given, ErasedOp& op);
engine::Rule rule_in(const EngineCore& core, nb::handle given);
void build(EngineCore& core, nb::dict given);

// ---- engine_run.cpp: rows in, results out

void reset(EngineCore& core, std::size_t rows);
// The own value of a row that is answered, from the inputs.
void see_own(EngineCore& core, const Inputs& inputs, std::size_t out, std::size_t row);
// From the first null on, the values of windows are counted; with `all`, there may have been nulls.
void see_holes(EngineCore& core, bool all = false);
// Windows that a watermark has closed have come out already.
void close_all(EngineCore& core, Time watermark);
// Takes the rows that Inputs has read, and moves the watermark; commit() or undo() follows.
Answered take(EngineCore& core, std::optional<Time> watermark, std::optional<Time> lateness,
              bool wanted = true);
void commit(EngineCore& core);
// Forgets rows that no window after the watermark holds, of the keys of a batch or of all.
void evict(EngineCore& core, bool all);
void undo(EngineCore& core);
// A stored column, for errors.
std::string named(const EngineCore& core, std::uint32_t column);

// ---- engine_questions.cpp

// Answers questions: keys and times, and what delta windows walk, are in the inputs.
void ask_rows(EngineCore& core, std::optional<Time> now);
// Answers questions over the events that came before each of them; the engine is used up by that.
nb::object replay(EngineCore& core, nb::handle events, nb::handle asked,
                  const nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig>& upto);
// The results that a row would have, if it came now.
void peek(EngineCore& core);

// ---- engine_saving.cpp: rows and states as columns

// The rows that are held, all or up to a time, key by key in window order.
nb::object held(EngineCore& core, std::optional<Time> until);
// What keys keep of rows that have gone: keys, how many rows, the last end and the states.
nb::object past(EngineCore& core);
void fill_past(EngineCore& core, nb::handle capsule);
// Takes rows whose results up to the watermark have come out already: nothing is answered. Returns
// the numbers of the rows, old and new, that wait no longer.
std::vector<std::int64_t> fill(EngineCore& core, nb::handle capsule, std::optional<Time> watermark);
// The keys and bounds of results that are not at rows.
nb::object ends_of(EngineCore& core);

// ---- bind_engine.cpp

// Takes back a call whose results never became columns, and frees texts.
void require_whole(EngineCore& core);
void read_array(EngineCore& core, nb::handle capsule);
void read_batch(EngineCore& core, nb::handle capsule);
// The results as capsules of a record batch, and what Python makes columns of.
nb::object results_of(EngineCore& core, std::size_t rows);

}  // namespace slidefold::bindings
