// The engine of arrival order, as Python sees it: a definition that Python has compiled into plain
// values, batches of Arrow columns or single rows in, results out.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <numeric>

#include "engine_outputs.hpp"
#include "expressions_in.hpp"
#include "family.hpp"
#include "order.hpp"
#include "signals.hpp"
#include "turns.hpp"

namespace slidefold::bindings {
namespace {

struct EngineCore;
engine::Column input_column(const Input& input, const std::vector<Word>& words,
                            const std::vector<std::uint8_t>& valid);
void require_whole(EngineCore& core);

using engine::Engine;
using engine::Part;
using engine::Time;
using Int64s = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;

// ---- the program

template <class Value>
Value at(nb::handle given, const char* name) {
  return nb::cast<Value>(nb::object(given[name]));
}

// What lift needs of an operator whose values are Python objects: how to make them.
struct ObjectRow {
  struct Field {
    engine::Type type;
    std::string format;
    char code;
    std::uint8_t bytes;
  };
  std::vector<Field> fields;
  const PortTable* port;

  nb::object value(const Field& field, Word word) const {
    switch (field.code) {
      case 'f': {
        if (field.bytes == 8) return nb::float_(std::bit_cast<double>(word));
        float narrow = 0;
        std::memcpy(&narrow, &word, sizeof narrow);
        return nb::float_(static_cast<double>(narrow));
      }
      case 'b':
        return nb::bool_(word != 0);
      case 'u':
        return nb::steal(PyLong_FromUnsignedLongLong(word));
      case 'i': {  // the lowest bytes, signed
        const int unused = 64 - 8 * field.bytes;
        return nb::steal(PyLong_FromLongLong(static_cast<std::int64_t>(word << unused) >> unused));
      }
      default:
        return nb::steal(object_of(field.type, field.format, word));
    }
  }
  static void lift(const Part& part, const void* const* columns, std::int32_t row, void* out) {
    const auto& self = *static_cast<const ObjectRow*>(part.reads.get());
    const auto word = [&](std::size_t i) { return static_cast<const Word*>(columns[i])[row]; };
    nb::object given;
    if (self.fields.size() == 1) {
      given = self.value(self.fields[0], word(0));
    } else {
      nb::list values;
      for (std::size_t i = 0; i < self.fields.size(); ++i) {
        values.append(self.value(self.fields[i], word(i)));
      }
      given = nb::steal(PyList_AsTuple(values.ptr()));
    }
    self.port->lift(part.context.get(), given.ptr(), out);
  }
};

template <class Op>
const engine::Kernel* static_kernel() {
  return engine::KernelOf<Op>::table();
}

// The kernel of an operator that is common enough for loops of its own.
const engine::Kernel* kernel_of(const Spec& spec) {
  if (const auto* kernel =
          with_hot_operator(spec, [](auto op) { return static_kernel<decltype(op)>(); })) {
    return kernel;
  }
  if (spec.dtype == "int64" && !spec.keeps_nulls) {
    if (spec.name == "first") return static_kernel<AtEnd<End::kFirst, std::int64_t>>();
    if (spec.name == "last") return static_kernel<AtEnd<End::kLast, std::int64_t>>();
  }
  return nullptr;
}

// The keys of texts in order.
struct TextKeys {
  struct Key {
    const engine::Text* text = nullptr;
    bool operator==(const Key& other) const { return text == other.text; }
    bool operator<(const Key& other) const { return text->view() < other.text->view(); }
    bool operator<=(const Key& other) const { return !(other < *this); }
    bool operator>=(const Key& other) const { return !(*this < other); }
  };
  static Key key(Word word) { return {engine::text_at(word)}; }
  static Word word(Key key) { return reinterpret_cast<Word>(key.text); }
};

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
  Turns turns;
  engine::Pool pool;
  Inputs inputs;
  ExpressionProgram derived;  // makes the inputs after the given ones
  std::vector<const Input*> derived_from;
  std::unique_ptr<Engine> engine;
  std::vector<std::unique_ptr<Output>> outputs;
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
  bool waits = false;  // rows wait for the watermark
  bool again = false;  // rows that a batch changes are answered once more
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

// A part as Python describes it, and the operator of a fold.
Part part_in(EngineCore& core, nb::handle given, ErasedOp& op) {
  const auto kind = at<std::string>(given, "kind");
  const auto columns = at<std::vector<std::uint32_t>>(given, "columns");
  const auto presence = nb::cast<std::int64_t>(nb::object(given["presence"]));
  const std::uint32_t bit = presence < 0 ? engine::kAlways : static_cast<std::uint32_t>(presence);
  if (kind == "walk") return engine::walking_part(columns, bit);
  if (kind == "per") {
    const auto inner = at<std::size_t>(given, "inner");
    return engine::per_part(core.parts.at(inner), columns, at<std::size_t>(given, "flags"), bit);
  }
  if (kind == "tally") {
    const auto keys = at<std::string>(given, "keys");
    const bool ordered = at<bool>(given, "ordered");
    const auto part = [&](auto of) {
      using Keys = decltype(of);
      return ordered ? engine::count_part<Keys, true>(columns[0], bit)
                     : engine::count_part<Keys, false>(columns[0], bit);
    };
    if (keys == "real") return part(engine::RealKeys{});
    if (keys == "text") return part(TextKeys{});
    return part(engine::WholeKeys{});
  }
  if (kind == "order") {
    const auto keys = at<std::string>(given, "keys");
    if (keys == "real") return engine::order_part<engine::RealKeys>(columns[0], bit);
    if (keys == "text") return engine::order_part<TextKeys>(columns[0], bit);
    return engine::order_part<engine::WholeKeys>(columns[0], bit);
  }
  const Spec spec = spec_from(given["op"]);
  const ErasedOperator erased = erase(spec, false);
  op = erased.op;
  Part part;
  part.context = erased.op.context;
  part.columns = columns;
  part.presence = bit;
  part.commutative = at<bool>(given, "commutative");
  part.kernel = kernel_of(spec);
  if (part.kernel == nullptr) {
    part.own_kernel = engine::ErasedKernel::of(*erased.op.algebra);
    part.kernel = part.own_kernel.get();
  }
  const PortTable& port = ports(erased.op);
  part.lift = port.lift_words;
  if (part.lift == nullptr) {
    auto row = std::make_shared<ObjectRow>();
    row->port = &port;
    for (const std::uint32_t c : columns) {
      const Stored& stored = core.inputs.stored[c];
      const Input& input = core.inputs.inputs[stored.input];
      ObjectRow::Field field{input.type, input.format, stored.code, stored.bytes};
      if (stored.reading == Reading::kReal) field.code = 'f';
      if (stored.reading == Reading::kShifted) field.code = 'i';
      if (stored.reading == Reading::kLatin) field.format = "u";
      row->fields.push_back(field);
    }
    part.reads = row;
    part.lift = ObjectRow::lift;
    core.needs_gil = true;
  }
  return part;
}

engine::Rule rule_in(const EngineCore& core, nb::handle given) {
  const auto kind = at<std::string>(given, "kind");
  if (kind == "time") {
    engine::TimeRule rule{at<std::int64_t>(given, "oldest"), at<std::int64_t>(given, "newest")};
    if (nb::cast<bool>(given.attr("__contains__")("days"))) {
      rule.days = core.grid.days;
      rule.back = at<std::size_t>(given, "days");
      rule.open = at<bool>(given, "open");
    }
    return rule;
  }
  if (kind == "lifetime") return engine::LifetimeRule{at<std::int64_t>(given, "newest")};
  if (kind == "rows") {
    const bool with_row = at<bool>(given, "with_row");
    const bool asks_with = with_row || nb::cast<bool>(given.attr("__contains__")("asks_with"));
    return engine::RowsRule{at<std::uint64_t>(given, "most"), with_row, asks_with};
  }
  if (kind == "session") return engine::SessionRule{at<std::int64_t>(given, "gap")};
  if (kind == "mark") return engine::MarkRule{at<std::uint32_t>(given, "column")};
  const auto column = at<std::uint32_t>(given, "column");
  const bool start = at<bool>(given, "keeps_start"), end = at<bool>(given, "keeps_end");
  if (at<bool>(given, "real")) {
    return engine::DeltaRule<double>{column, at<double>(given, "range"), start, end};
  }
  return engine::DeltaRule<std::int64_t>{column, at<std::int64_t>(given, "range"), start, end};
}

void read_type(Output& output, nb::handle capsule) {
  const ArrowSchema& schema = schema_in(capsule);
  output.format = schema.format;
  if (output.format == "+l" || output.format == "+L") {
    output.list = true;
    output.item_format = schema.children[0]->format;
    output.item_type = type_in(*schema.children[0]);
  } else {
    output.type = type_in(schema);
  }
}

engine::Compare compare_of(const engine::Type& type) {
  switch (type.kind) {
    case engine::Kind::kUnsigned:
      return engine::Compare::kUnsigned;
    case engine::Kind::kReal:
      return engine::Compare::kReal;
    case engine::Kind::kText:
      return engine::Compare::kText;
    case engine::Kind::kDecimal:
      return engine::Compare::kDecimal;
    default:
      return engine::Compare::kWhole;
  }
}

void add_output(EngineCore& core, nb::handle given, const std::vector<ErasedOp>& ops) {
  auto output = std::make_unique<Output>();
  const auto source = at<std::string>(given, "source");
  using Source = Output::Source;
  output->source = source == "count"         ? Source::kCount
                   : source == "quantile"    ? Source::kQuantile
                   : source == "rank"        ? Source::kRank
                   : source == "unique"      ? Source::kUnique
                   : source == "entropy"     ? Source::kEntropy
                   : source == "mode"        ? Source::kMode
                   : source == "categories"  ? Source::kCategories
                   : source == "per"         ? Source::kPerCategory
                   : source == "frequent"    ? Source::kFrequent
                   : source == "frequencies" ? Source::kFrequencies
                   : source == "collect"     ? Source::kCollect
                   : source == "distinct"    ? Source::kDistinct
                   : source == "concat"      ? Source::kConcat
                                             : Source::kFold;
  output->least = at<std::uint64_t>(given, "least");
  output->scale = at<double>(given, "scale");
  output->times = at<std::int64_t>(given, "times");
  output->shifted = at<bool>(given, "shifted");
  output->objects = at<bool>(given, "objects");
  output->records = at<bool>(given, "records");
  const auto part = at<std::size_t>(given, "part");
  output->op = ops[part];
  if (output->source == Source::kFold) output->when_empty = ports(output->op).when_empty;
  if (output->objects) core.needs_gil = true;
  if (output->records) {
    output->type.kind = engine::Kind::kText;
    output->type.layout = 'o';
    output->format = "z";
  } else if (!output->objects) {
    read_type(*output, given["type"]);
    // Sums of decimals come as their bytes, however few digits the type has.
    if (output->source == Source::kFold && ports(output->op).lowers == Lowers::kText &&
        output->format.starts_with("d:")) {
      output->type.kind = engine::Kind::kDecimal;
    }
  }
  if (output->source == Source::kQuantile) {
    output->quantile = {at<double>(given, "q"), between_from(at<std::string>(given, "between"))};
    output->real_keys = at<bool>(given, "real_keys");
    output->between_whole = at<bool>(given, "between_whole");
    output->between_reals = at<bool>(given, "between_reals");
    output->decimals = at<std::int32_t>(given, "decimals");
  }
  if (output->source == Source::kRank) {
    const auto ties = at<std::string>(given, "ties");
    output->ties = ties == "min"   ? Output::Ties::kLeast
                   : ties == "max" ? Output::Ties::kMost
                                   : Output::Ties::kMean;
    output->share = at<bool>(given, "share");
    output->own_input = at<std::uint32_t>(given, "own_input");
    output->own_stored = at<std::uint32_t>(given, "own_stored");
    output->own_presence = at<std::uint32_t>(given, "own_presence");
    core.ranked.push_back(output.get());
  }
  if (output->source == Source::kCategories || output->source == Source::kPerCategory) {
    output->limit = at<std::size_t>(given, "limit");
    output->category = at<std::string>(given, "category");
    const auto inner = at<std::size_t>(given, "inner");
    output->op = ops[inner];
    const auto by = at<std::uint32_t>(given, "by");
    output->by = compare_of(core.inputs.inputs[core.inputs.stored[by].input].type);
  }
  if (output->source == Source::kFrequent || output->source == Source::kFrequencies) {
    output->k = at<std::size_t>(given, "k");
  }
  core.names.push_back(at<std::string>(given, "name"));
  core.keys.push_back(nb::str(core.names.back().data(), core.names.back().size()));
  core.outputs.push_back(std::move(output));
}

void build(EngineCore& core, nb::dict given) {
  Inputs& inputs = core.inputs;
  for (const nb::handle one : nb::object(given["inputs"])) {
    Input input;
    input.name = at<std::string>(one, "name");
    const auto column = at<std::int64_t>(one, "column");
    input.column = static_cast<std::size_t>(column);
    if (column >= 0) ++inputs.given_inputs;
    const nb::object capsule = one["type"];
    const ArrowSchema& schema = schema_in(capsule);
    input.type = type_in(schema);
    input.format = schema.dictionary != nullptr ? schema.dictionary->format : schema.format;
    inputs.inputs.push_back(std::move(input));
  }
  const nb::object derived = given["derived"];
  if (!derived.is_none()) {
    read_program(core.derived, derived);
    for (const nb::handle from : nb::object(derived["from"])) {
      core.derived_from.push_back(&inputs.inputs.at(nb::cast<std::size_t>(from)));
    }
  }
  for (const nb::handle name : nb::object(given["fields"])) {
    std::int64_t input = -1;
    for (std::size_t i = 0; i < inputs.given_inputs; ++i) {
      if (inputs.inputs[i].name == nb::cast<std::string>(name)) {
        input = static_cast<std::int64_t>(i);
      }
    }
    core.fields.push_back({nb::borrow<nb::str>(name), input});
  }
  inputs.time = at<std::uint32_t>(given, "time");
  inputs.keys = at<std::vector<std::uint32_t>>(given, "keys");
  for (const nb::handle one : nb::object(given["columns"])) {
    const auto reading = at<std::string>(one, "reading");
    Stored stored{at<std::uint32_t>(one, "input"), Reading::kRaw, 0, 8, {}};
    if (reading == "flag") stored.reading = Reading::kFlag;
    if (reading == "real") stored.reading = Reading::kReal;
    if (reading == "shifted") stored.reading = Reading::kShifted;
    if (reading == "latin") stored.reading = Reading::kLatin;
    if (reading == "code") {
      stored.reading = Reading::kCode;
      const auto code = at<std::string>(one, "code");
      stored.code = code[0];
      stored.bytes = static_cast<std::uint8_t>(code[1] - '0');
      stored.complaint = at<std::string>(one, "complaint");
    }
    inputs.stored.push_back(std::move(stored));
  }
  inputs.presences = at<std::vector<std::vector<std::uint32_t>>>(given, "presences");
  const auto slide = at<std::string>(given, "slide");
  using Slide = EngineCore::Slide;
  core.slide = slide == "time"     ? Slide::kTime
               : slide == "rows"   ? Slide::kRows
               : slide == "window" ? Slide::kWindow
                                   : Slide::kNone;
  if (core.slide == Slide::kTime) {
    core.grid.step = at<Time>(given, "step");
    core.grid.shift = at<Time>(given, "shift");
    core.grid.far = at<Time>(given, "far");
    core.grid.near = at<Time>(given, "near");
    core.grid.fill = at<bool>(given, "fill");
    const nb::object days = given["days"];
    if (!days.is_none()) {
      core.grid.days =
          std::make_shared<engine::Days>(engine::Days{nb::cast<std::vector<Time>>(days)});
      core.grid.every_days = at<std::size_t>(given, "every_days");
      core.grid.first_day = at<std::size_t>(given, "first_day");
      core.grid.back = at<std::size_t>(given, "largest_days");
    }
    core.largest = at<Time>(given, "largest");
    core.every_text = at<std::string>(given, "every");
    core.most_results = at<double>(given, "most");
  }
  if (core.slide == Slide::kRows) {
    core.every = at<std::uint64_t>(given, "n");
    core.spans = at<std::vector<std::optional<Time>>>(given, "spans");
  }
  if (core.slide != Slide::kNone) {
    const nb::object capsule = given["bounds"];
    core.bounds = type_in(schema_in(capsule));
    core.bounds_format = schema_in(capsule).format;
  }
  core.waits = at<bool>(given, "waits");
  core.again = at<bool>(given, "again");

  engine::Program program;
  if (core.waits || core.again) {
    inputs.number = static_cast<std::uint32_t>(inputs.stored.size());
    inputs.stored.push_back({0, Reading::kRaw, 0, 8, {}});
    program.number = inputs.number;
  }
  program.shape.columns = static_cast<std::uint32_t>(inputs.stored.size());
  program.shape.presences = static_cast<std::uint32_t>(inputs.presences.size());
  program.key_words = inputs.keys.size() + 1;
  for (std::uint32_t k = 0; k < inputs.keys.size(); ++k) {
    const engine::Kind kind = inputs.inputs[inputs.keys[k]].type.kind;
    if (kind == engine::Kind::kText || kind == engine::Kind::kDecimal) {
      program.text_keys.push_back(k);
    }
  }
  for (std::uint32_t c = 0; c < inputs.stored.size(); ++c) {
    if (c == inputs.number) continue;
    const Stored& stored = inputs.stored[c];
    const engine::Kind kind = inputs.inputs[stored.input].type.kind;
    const bool text = kind == engine::Kind::kText || kind == engine::Kind::kDecimal;
    if (stored.reading == Reading::kLatin || (text && stored.reading == Reading::kRaw)) {
      program.text_columns.push_back(c);
    }
  }
  std::vector<ErasedOp> ops;
  for (const nb::handle one : nb::object(given["parts"])) {
    ErasedOp op;
    Part part = part_in(core, one, op);
    part.idle = at<bool>(one, "counts");
    ops.push_back(op);
    core.parts.push_back(part);
    program.shape.parts.push_back(std::move(part));
  }
  for (std::size_t p = 0; p < inputs.presences.size(); ++p) {
    core.holes.push_back(std::make_unique<EngineCore::Holes>());
  }
  std::size_t number = 0;
  for (const nb::handle one : nb::object(given["parts"])) {
    const auto presence = nb::cast<std::int64_t>(nb::object(one["presence"]));
    if (at<bool>(one, "counts")) {
      core.holes[static_cast<std::size_t>(presence)]->parts.push_back(number);
    }
    ++number;
  }
  for (const nb::handle one : nb::object(given["outputs"])) add_output(core, one, ops);
  struct Wired {
    std::size_t window, k;
    engine::Sink* sink;
  };
  std::vector<Wired> wires;
  std::size_t w = 0;
  for (const nb::handle one : nb::object(given["windows"])) {
    engine::Window window{rule_in(core, one), at<std::vector<std::size_t>>(one, "parts")};
    std::vector<std::unique_ptr<EngineCore::Fan>> sinks;
    std::vector<Counts*> counting(window.parts.size(), nullptr);
    for (std::size_t k = 0; k < window.parts.size(); ++k) {
      auto fan = std::make_unique<EngineCore::Fan>();
      if (program.shape.parts[window.parts[k]].idle) {
        core.counters.push_back(std::make_unique<Counts>());
        counting[k] = core.counters.back().get();
        fan->sinks.push_back(counting[k]);
      }
      sinks.push_back(std::move(fan));
    }
    for (const nb::handle use :
         nb::object(one["uses"])) {  // (output, place of its part, of counts)
      Output& output = *core.outputs[nb::cast<std::size_t>(use[0])];
      const auto k = nb::cast<std::size_t>(use[1]);
      const auto count = nb::cast<std::int64_t>(use[2]);
      sinks[k]->sinks.push_back(&output);
      if (count >= 0) {
        const Part& counts = program.shape.parts[window.parts[static_cast<std::size_t>(count)]];
        output.counts = counting[static_cast<std::size_t>(count)];
        output.counted = &core.holes[counts.presence]->seen;
      }
      const Part& part = program.shape.parts[window.parts[k]];
      output.presence = part.presence;
      if (part.walks) {
        output.walked = part.columns[0];
        if (part.columns.size() > 1) output.flags = part.columns[1];
      }
    }
    for (std::size_t k = 0; k < sinks.size(); ++k) {
      const bool alone = sinks[k]->sinks.size() == 1;
      wires.push_back({w, k, alone ? sinks[k]->sinks[0] : sinks[k].get()});
      core.fans.push_back(std::move(sinks[k]));
    }
    const auto walks = nb::cast<std::int64_t>(nb::object(one["asks"]));
    core.asked_delta.push_back(walks < 0 ? ~std::size_t{0} : static_cast<std::size_t>(walks));
    program.windows.push_back(std::move(window));
    ++w;
  }
  for (const nb::handle one : nb::object(given["ties"])) {
    const auto presence = nb::cast<std::int64_t>(nb::object(one[1]));
    const auto column = nb::cast<std::uint32_t>(nb::object(one[0]));
    const engine::Type& type = inputs.inputs[inputs.stored[column].input].type;
    const engine::Compare how = compare_of(type);
    program.ties.push_back(
        {column, presence < 0 ? engine::kAlways : static_cast<std::uint32_t>(presence), how});
  }
  core.engine = std::make_unique<Engine>(std::move(program));
  core.engine->set_multiple(core.every);
  for (const auto& wire : wires) core.engine->set_sink(wire.window, wire.k, wire.sink);
  for (const auto& output : core.outputs) output->nodes = &core.engine->nodes();
  for (const nb::handle one : nb::object(given["rising"])) {
    const auto column = nb::cast<std::uint32_t>(nb::object(one[0]));
    const auto presence = nb::cast<std::uint32_t>(nb::object(one[1]));
    const engine::Type& type = inputs.inputs[inputs.stored[column].input].type;
    core.engine->require_rising_column(column, presence, type.kind == engine::Kind::kReal);
  }
}

// ---- rows in, results out

void reset(EngineCore& core, std::size_t rows) {
  for (const auto& output : core.outputs) output->reset(rows);
  for (Output* output : core.ranked) {
    output->own.assign(rows, 0);
    output->has_own.assign(rows, 0);
  }
  for (const auto& counts : core.counters) counts->found.assign(rows, 0);
}

// The own value of a row that is answered, from where the row is stored or from the inputs.
void see_own(EngineCore& core, std::size_t out, const engine::Leaf* leaf, std::int32_t i) {
  for (Output* output : core.ranked) {
    output->own[out] = leaf->column(output->own_stored)[i];
    output->has_own[out] = core.engine->nodes().present(leaf, i, output->own_presence) ? 1 : 0;
  }
}
void see_own(EngineCore& core, const Inputs& inputs, std::size_t out, std::size_t row) {
  for (Output* output : core.ranked) {
    const Input& input = inputs.inputs[output->own_input];
    output->own[out] = inputs.stored_word(output->own_stored, row);
    output->has_own[out] = input.valid[row];
  }
}

// From the first null on, the values of windows are counted.
void see_holes(EngineCore& core) {
  for (std::size_t p = 0; p < core.holes.size(); ++p) {
    EngineCore::Holes& holes = *core.holes[p];
    if (holes.seen || !core.inputs.has_holes(p)) continue;
    holes.seen = true;
    for (const std::size_t part : holes.parts) core.engine->set_idle(part, false);
  }
}

// Places of rows in order of time.
void in_time_order(const std::vector<Time>& times, const std::vector<std::uint8_t>& taken,
                   std::vector<std::int64_t>& order, std::vector<std::uint32_t>& out) {
  order.clear();
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (taken[i] != 0) order.push_back(static_cast<std::int64_t>(i));
  }
  const auto before = [&](std::int64_t a, std::int64_t b) {
    return times[static_cast<std::size_t>(a)] < times[static_cast<std::size_t>(b)];
  };
  if (!std::is_sorted(order.begin(), order.end(), before)) {
    std::stable_sort(order.begin(), order.end(), before);
  }
  out.assign(times.size(), 0);
  for (std::size_t place = 0; place < order.size(); ++place) {
    out[static_cast<std::size_t>(order[place])] = static_cast<std::uint32_t>(place);
  }
}

struct Answered {
  std::vector<std::int64_t> rows;  // numbers of the rows that have results, in order
  std::vector<std::int64_t> late;  // of the batch
  std::size_t pushed = 0;          // how many rows of the batch were taken
};

// Answers what has become final. Rows come out by time; those of one time key by key, in the order
// of peers.
void answer_due(EngineCore& core, Time until, Answered& answered) {
  Engine& engine = *core.engine;
  const std::vector<engine::Waiting>& due = engine.due(until);
  reset(core, due.size());
  if (due.empty()) return;
  // How many rows of each key, in order of their first ones.
  core.groups.group(due);
  struct Row {
    Time time;
    std::uint32_t place;
    Word number;
    const engine::Leaf* leaf;
    std::int32_t at;
  };
  std::vector<Row> rows;
  rows.reserve(due.size());
  const std::uint32_t column = engine.program().number;
  for (std::size_t g = 0; g < core.groups.size(); ++g) {
    const engine::Slot slot = core.groups.slot(g);
    engine.each_row(slot, engine.answered(slot), core.groups.rows(g).size(),
                    [&](const engine::Leaf* leaf, std::int32_t i) {
                      rows.push_back({leaf->times()[i], static_cast<std::uint32_t>(rows.size()),
                                      leaf->column(column)[i], leaf, i});
                    });
  }
  std::vector<std::uint32_t> outs(rows.size());
  const auto before = [](const Row& a, const Row& b) { return a.time < b.time; };
  if (!std::is_sorted(rows.begin(), rows.end(), before)) {
    std::stable_sort(rows.begin(), rows.end(), before);
  }
  answered.rows.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    outs[rows[i].place] = static_cast<std::uint32_t>(i);
    answered.rows.push_back(static_cast<std::int64_t>(rows[i].number));
    see_own(core, i, rows[i].leaf, rows[i].at);
  }
  std::size_t first = 0;
  for (std::size_t g = 0; g < core.groups.size(); ++g) {
    const std::size_t count = core.groups.rows(g).size();
    engine.answer_next(core.groups.slot(g), {outs.data() + first, count});
    first += count;
  }
}

// Ends in order, those of one time key by key.
void answer_ends(EngineCore& core) {
  std::stable_sort(
      core.ends.begin(), core.ends.end(),
      [](const EngineCore::End& a, const EngineCore::End& b) { return a.end < b.end; });
  reset(core, core.ends.size());
  RowPoll polled;
  for (std::size_t i = 0; i < core.ends.size(); ++i) {
    const EngineCore::End& end = core.ends[i];
    const auto out = static_cast<std::uint32_t>(i);
    polled(1);
    if (core.slide == EngineCore::Slide::kTime) {
      core.engine->ask(end.slot, end.end, nullptr, out);
    } else if (core.slide == EngineCore::Slide::kRows) {
      core.engine->answer_row(end.slot, end.low, out);
    } else {
      core.engine->answer_between(end.slot, end.low, end.high, out);
    }
  }
}

// Thrown where there are more results than fit.
struct TooMany {
  double results;
};

// Adds the ends of some keys: fn(visit) calls visit(slot, after, until) for each.
template <class Each>
void add_ends(EngineCore& core, Each&& each) {
  Engine& engine = *core.engine;
  double most = 0;
  each([&](engine::Slot slot, Time after, Time until) {
    most += engine.most_ends(slot, after, until, core.grid);
  });
  if (most > core.most_results) {
    if (core.grid.days != nullptr) throw TooMany{most};
    double exact = 0;
    each([&](engine::Slot slot, Time after, Time until) {
      exact += engine.count_ends(slot, after, until, core.grid);
    });
    if (exact > core.most_results) throw TooMany{exact};
  }
  each([&](engine::Slot slot, Time after, Time until) {
    std::optional<Time> last;
    if (core.grid.fill) last = engine.last_end(slot);
    const auto add = [&](Time end) {
      const Time start =
          core.grid.back > 0 ? core.grid.low(end) : engine::before(end, core.largest);
      core.ends.push_back({slot, start, end, true, 0, 0});
    };
    engine.each_end(slot, after, until, core.grid, [&](Time end) {
      if (last) {  // the ends between have no rows
        for (auto empty = core.grid.from(*last + 1); empty && *empty < end;
             empty = core.grid.from(*empty + 1)) {
          add(*empty);
        }
      }
      add(end);
      if (core.grid.fill) last = end;
    });
    if (core.grid.fill && last) engine.set_last_end(slot, *last);
  });
}

// The results between two watermarks, where results are not at rows.
void answer_slide(EngineCore& core, Time since, Time until) {
  Engine& engine = *core.engine;
  using Slide = EngineCore::Slide;
  if (core.slide == Slide::kTime) {
    const std::optional<Time> next =
        since == engine::kNewest ? std::nullopt : core.grid.from(since + 1);
    if (since == engine::kOldest || (next && *next <= until)) {
      add_ends(core, [&](auto&& visit) {
        engine.each_key([&](engine::Slot slot, engine::KeyStore&) { visit(slot, since, until); });
      });
    }
    engine.pass(until);
  } else if (core.slide == Slide::kRows) {
    core.groups.group(engine.due(until));
    for (std::size_t g = 0; g < core.groups.size(); ++g) {
      const engine::Slot slot = core.groups.slot(g);
      const std::uint64_t first = engine.answered(slot), count = core.groups.rows(g).size();
      std::uint64_t rank = first;
      engine.each_row(slot, first, count, [&](const engine::Leaf* leaf, std::int32_t i) {
        if (rank % core.every == core.every - 1) {
          const auto start = engine.start_of(slot, rank, core.spans);
          core.ends.push_back(
              {slot, start.value_or(0), leaf->times()[i], start.has_value(), rank, 0});
        }
        ++rank;
      });
      engine.count_answered(slot, count);
    }
  } else {
    engine.due(until);
    engine.each_key([&](engine::Slot slot, engine::KeyStore&) {
      engine.close_windows(slot, until,
                           [&](std::uint64_t low, std::uint64_t high, Time start, Time end) {
                             core.ends.push_back({slot, start, end, true, low, high});
                           });
    });
  }
  answer_ends(core);
}

// Windows that a watermark has closed have come out already.
void close_all(EngineCore& core, Time watermark) {
  core.engine->due(watermark);
  core.engine->each_key([&](engine::Slot slot, engine::KeyStore&) {
    core.engine->close_windows(slot, watermark, [](std::uint64_t, std::uint64_t, Time, Time) {});
  });
}

// New rows: the ends after the watermark that they may have changed.
void answer_changed_ends(EngineCore& core) {
  Engine& engine = *core.engine;
  add_ends(core, [&](auto&& visit) {
    engine.each_changed([&](engine::Slot slot, std::uint64_t rank) {
      Time after = engine.time_of(slot, rank);
      if (after != engine::kOldest) --after;
      if (core.watermark) after = std::max(after, *core.watermark);
      visit(slot, after, engine::kNewest);
    });
  });
  answer_ends(core);
}

// Answers new rows, and those after them that they may have changed.
void answer_changed(EngineCore& core, Answered& answered) {
  Engine& engine = *core.engine;
  struct Again {
    engine::Slot slot;
    std::uint64_t rank;
    std::size_t first;
  };
  std::vector<Again> again;
  std::vector<Time> times;
  std::vector<std::pair<const engine::Leaf*, std::int32_t>> places;
  engine.each_changed([&](engine::Slot slot, std::uint64_t rank) {
    const std::uint64_t from = engine.first_peer(slot, rank);
    again.push_back({slot, from, times.size()});
    engine.each_row(slot, from, engine.size(slot) - from,
                    [&](const engine::Leaf* leaf, std::int32_t i) {
                      times.push_back(leaf->times()[i]);
                      if (!core.ranked.empty()) places.push_back({leaf, i});
                      answered.rows.push_back(
                          static_cast<std::int64_t>(leaf->column(engine.program().number)[i]));
                    });
  });
  // In order of time and arrival.
  std::vector<std::uint32_t> order(times.size()), place(times.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return times[a] != times[b] ? times[a] < times[b] : answered.rows[a] < answered.rows[b];
  });
  std::vector<std::int64_t> numbers(times.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = static_cast<std::uint32_t>(i);
    numbers[i] = answered.rows[order[i]];
  }
  reset(core, times.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    see_own(core, place[i], places[i].first, places[i].second);
  }
  for (std::size_t g = 0; g < again.size(); ++g) {
    const std::size_t end = g + 1 < again.size() ? again[g + 1].first : times.size();
    engine.answer_again(again[g].slot, again[g].rank,
                        {place.data() + again[g].first, place.data() + end});
  }
  answered.rows = std::move(numbers);
}

void undo(EngineCore& core) {
  if (core.open) core.engine->undo();
  core.open.reset();
}

void commit(EngineCore& core) {
  if (!core.open) return;
  core.watermark = core.open->watermark;
  core.newest = core.open->newest;
  core.seen = core.open->seen;
  core.open.reset();
  core.engine->commit(core.watermark ? &*core.watermark : nullptr);
}

// Takes the rows that Inputs has read, and moves the watermark; commit() or undo() follows.
Answered take(EngineCore& core, std::optional<Time> given_watermark, std::optional<Time> lateness) {
  Answered answered;
  Engine& engine = *core.engine;
  const Engine::Given given = core.inputs.given(core.pool, core.seen);
  const Input& clock = core.inputs.inputs[core.inputs.time];
  core.taken.assign(given.count, 1);
  std::optional<Time> newest;
  for (std::size_t i = 0; i < given.count; ++i) {
    const bool late = clock.valid[i] == 0 || (core.watermark && given.times[i] <= *core.watermark);
    if (late) {
      core.taken[i] = 0;
      answered.late.push_back(static_cast<std::int64_t>(i));
    } else {
      newest = newest ? std::max(*newest, given.times[i]) : given.times[i];
    }
  }
  answered.pushed = given.count - answered.late.size();
  std::optional<Time> moved = given_watermark;
  if (lateness && newest) {
    Time mark = 0;
    if (!__builtin_sub_overflow(*newest, *lateness, &mark)) moved = mark;
  }
  if (!moved || (core.watermark && *moved < *core.watermark)) moved = core.watermark;
  see_holes(core);
  try {
    engine.insert(given, answered.late.empty() ? nullptr : core.taken.data());
    core.ends.clear();
    if (core.slide != EngineCore::Slide::kNone) {
      if (core.again) {
        answer_changed_ends(core);
        engine.pass_all();
      } else {
        engine.wait(given, core.seen);
        if (moved) answer_slide(core, core.watermark.value_or(engine::kOldest), *moved);
      }
      if (!moved && !core.again) reset(core, 0);
    } else if (core.waits) {
      engine.wait(given, core.seen);
      reset(core, 0);
      if (moved) answer_due(core, *moved, answered);
    } else if (core.again) {
      answer_changed(core, answered);
    } else {
      in_time_order(core.inputs.times(), core.taken, answered.rows, core.out);
      reset(core, answered.pushed);
      for (const std::int64_t row : answered.rows) {
        see_own(core, core.inputs, core.out[static_cast<std::size_t>(row)],
                static_cast<std::size_t>(row));
      }
      engine.answer_inserted(core.out.data());
    }
  } catch (...) {
    engine.undo();
    throw;
  }
  if (core.newest && (!newest || *newest < *core.newest)) newest = core.newest;
  core.open = EngineCore::Step{moved, newest, core.seen + given.count};
  return answered;
}

std::string named(const EngineCore& core, std::uint32_t column) {
  return "the column '" + core.inputs.inputs[core.inputs.stored[column].input].name + "'";
}

Answered took(EngineCore& core, std::optional<Time> watermark, std::optional<Time> lateness) {
  const Signals signals;  // Ctrl-C takes the batch back
  try {
    if (core.needs_gil) {
      return take(core, watermark, lateness);
    }
    const nb::gil_scoped_release without_gil;
    return take(core, watermark, lateness);
  } catch (const engine::Falls& falls) {
    fail_at("TimeOrderError",
            named(core, falls.column) +
                " of a delta window must not decrease in time order, but it does",
            falls.row);
  } catch (const engine::Missing& missing) {
    fail_at("DataError", named(core, missing.column) + (missing.null ? " is null" : " is NaN"),
            missing.row);
  } catch (const TooMany& many) {
    nb::module_::import_("slidefold.definition.windows.results")
        .attr("require_results")(nb::int_(nb::float_(many.results)), core.every_text,
                                 core.engine->rows() + core.inputs.count(),
                                 core.engine->program().windows.size());
    fail("DataError", core.every_text + " gives too many results");
  } catch (const std::domain_error& error) {
    fail("ValueTypeError", error.what());
  } catch (const std::length_error& error) {
    fail("DataError", error.what());
  }
}

nb::object numbers_of(const std::vector<std::int64_t>& numbers) {
  auto* data = new std::vector<std::int64_t>(numbers);
  const nb::capsule owner(
      data, [](void* p) noexcept { delete static_cast<std::vector<std::int64_t>*>(p); });
  return nb::cast(Int64s(data->data(), {data->size()}, owner));
}

// The results as capsules of a record batch, and what Python makes columns of.
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

// Thrown for a question about a time whose rows may be gone.
struct TooOld {
  std::size_t row;
};

// Answers questions: keys and times, and what delta windows walk, are in the inputs.
void ask_rows(EngineCore& core, std::optional<Time> now) {
  const auto answer = [&] {
    const Engine::Given given = core.inputs.given(core.pool, 0);
    const Input& clock = core.inputs.inputs[core.inputs.time];
    reset(core, given.count);
    if (core.watermark) {
      for (std::size_t i = 0; i < given.count; ++i) {
        if (clock.valid[i] != 0 && given.times[i] < *core.watermark) throw TooOld{i};
      }
    }
    std::vector<Word> walked(core.asked_delta.size());
    for (std::size_t i = 0; i < given.count; ++i) {
      const bool own = clock.valid[i] != 0;
      see_own(core, core.inputs, i, i);
      if (!own && !now) continue;  // nothing has come yet
      for (std::size_t w = 0; w < walked.size(); ++w) {
        if (core.asked_delta[w] != ~std::size_t{0}) {
          walked[w] = core.inputs.inputs[core.asked_delta[w]].words[i];
        }
      }
      const engine::Slot slot =
          core.engine->find(given.keys + i * core.engine->program().key_words);
      core.engine->ask(slot, own ? given.times[i] : *now, walked.data(),
                       static_cast<std::uint32_t>(i));
    }
  };
  try {
    if (core.needs_gil) return answer();
    const nb::gil_scoped_release without_gil;
    answer();
  } catch (const TooOld& old) {
    fail_at("DataError", "a question must not ask for a time before the watermark, but it does",
            old.row);
  } catch (const std::domain_error& error) {
    fail("ValueTypeError", error.what());
  } catch (const std::length_error& error) {
    fail("DataError", error.what());
  }
}

// Inserts events in their order, and answers each question when upto[i] of them are there.
void replay_rows(EngineCore& core, Inputs& questions, const std::int64_t* upto) {
  Engine& engine = *core.engine;
  const Engine::Given asked = questions.given(core.pool, 0);
  const Engine::Given given = core.inputs.given(core.pool, core.seen);
  const std::size_t columns = core.inputs.stored.size();
  const std::size_t bytes = engine.program().shape.mask_bytes();
  std::vector<const void*> moved(columns);
  std::vector<Word> walked(core.asked_delta.size());
  std::size_t done = 0;
  RowPoll polled;
  for (std::size_t i = 0; i < asked.count; ++i) {
    const auto until = static_cast<std::size_t>(upto[i]);
    if (until > done) {
      for (std::size_t c = 0; c < columns; ++c) {
        moved[c] = static_cast<const Word*>(given.columns[c]) + done;
      }
      const Engine::Given part{until - done, given.times + done, moved.data(),
                               given.present == nullptr ? nullptr : given.present + done * bytes,
                               given.keys + done * engine.program().key_words};
      engine.insert(part, nullptr);
      engine.commit(nullptr);
      done = until;
    }
    polled(1);
    see_own(core, questions, i, i);
    for (std::size_t w = 0; w < walked.size(); ++w) {
      if (core.asked_delta[w] != ~std::size_t{0}) {
        walked[w] = questions.inputs[core.asked_delta[w]].words[i];
      }
    }
    const engine::Slot slot = engine.find(asked.keys + i * engine.program().key_words);
    engine.ask(slot, asked.times[i], walked.data(), static_cast<std::uint32_t>(i));
  }
}

// The results that a row would have, if it came now.
void peek(EngineCore& core) {
  Engine& engine = *core.engine;
  const Engine::Given given = core.inputs.given(core.pool, core.seen);
  see_holes(core);
  reset(core, given.count);
  const std::vector<std::uint32_t> out(given.count, 0);
  for (std::size_t i = 0; i < given.count; ++i) see_own(core, core.inputs, 0, i);
  try {
    engine.insert(given, nullptr);
    engine.answer_each_inserted(out.data());
  } catch (...) {
    engine.undo();
    throw;
  }
  engine.undo();
}

// Words as a column like that of an input.
engine::Column input_column(const Input& input, const std::vector<Word>& words,
                            const std::vector<std::uint8_t>& valid) {
  engine::Type type = input.type;
  type.dictionary = false;
  std::string format = input.format;
  if (type.layout == 'v') {  // views come back as large strings
    type.layout = 'O';
    format = format == "vu" ? "U" : "Z";
  }
  if (type.layout == 'f' && type.width == 2) {  // halves as floats
    type.width = 4;
    format = "f";
  }
  engine::Column column = engine::column_of(format, type, words, valid);
  column.name = input.name;
  return column;
}

// The rows that are held, all or up to a time, key by key in window order.
nb::object held(EngineCore& core, std::optional<Time> until) {
  const Turn turn(core.turns);
  Engine& engine = *core.engine;
  const Inputs& inputs = core.inputs;
  const std::size_t n = inputs.given_inputs;
  std::vector<std::vector<Word>> words(n);
  std::vector<std::vector<std::uint8_t>> valid(n);
  std::vector<std::size_t> stored(n, ~std::size_t{0}), presence(n, ~std::size_t{0});
  for (std::size_t c = 0; c < inputs.stored.size(); ++c) {
    if (c != inputs.number && inputs.stored[c].reading == Reading::kRaw &&
        inputs.stored[c].input < n) {
      stored[inputs.stored[c].input] = c;
    }
  }
  for (std::size_t p = 0; p < inputs.presences.size(); ++p) {
    if (inputs.presences[p].size() == 1 && inputs.presences[p][0] < n) {
      presence[inputs.presences[p][0]] = p;
    }
  }
  std::vector<std::size_t> key(n, ~std::size_t{0});
  for (std::size_t k = 0; k < inputs.keys.size(); ++k) key[inputs.keys[k]] = k;
  engine.each_key([&](engine::Slot slot, engine::KeyStore& store) {
    engine.each_row(slot, 0, store.size, [&](const engine::Leaf* leaf, std::int32_t i) {
      if (until && leaf->times()[i] > *until) return;
      for (std::size_t in = 0; in < n; ++in) {
        bool some = true;
        Word word = 0;
        if (in == inputs.time) {
          word = static_cast<Word>(leaf->times()[i]);
        } else if (key[in] != ~std::size_t{0}) {
          word = engine.key(slot)[key[in]];
          some = (engine.key(slot)[inputs.keys.size()] >> key[in] & 1) == 0;
        } else {
          word = leaf->column(static_cast<std::uint32_t>(stored[in]))[i];
          some = engine.nodes().present(leaf, i, static_cast<std::uint32_t>(presence[in]));
        }
        words[in].push_back(word);
        valid[in].push_back(some ? 1 : 0);
      }
    });
  });
  engine::Column batch;
  batch.format = "+s";
  batch.length = static_cast<std::int64_t>(words[inputs.time].size());
  for (std::size_t in = 0; in < n; ++in) {
    batch.children.push_back(input_column(inputs.inputs[in], words[in], valid[in]));
  }
  return exported(std::move(batch));
}

// What keys keep of rows that have gone: keys, how many rows, the last end and the states.
nb::object past(EngineCore& core) {
  const Turn turn(core.turns);
  Engine& engine = *core.engine;
  const Inputs& inputs = core.inputs;
  const std::size_t keys = inputs.keys.size();
  std::vector<std::vector<Word>> words(keys + 3);
  std::vector<std::vector<std::uint8_t>> valid(keys + 3);
  const auto add = [&](std::size_t column, Word word, bool some) {
    words[column].push_back(word);
    valid[column].push_back(some ? 1 : 0);
  };
  engine::Pool texts;
  engine.each_key([&](engine::Slot slot, engine::KeyStore& store) {
    if (store.past == nullptr) return;
    const auto key = engine.key(slot);
    for (std::size_t k = 0; k < keys; ++k) add(k, key[k], (key[keys] >> k & 1) == 0);
    add(keys, store.past->rows, true);
    add(keys + 1, static_cast<Word>(store.past->last_end.value_or(0)),
        store.past->last_end.has_value());
    Saver saver;
    for (std::size_t i = 0; i < engine.past_parts().size(); ++i) {
      const Part& part = engine.nodes().part(engine.past_parts()[i]);
      if (part.algebra().save == nullptr) {
        fail("StateError", "the state of a lifetime window cannot be saved");
      }
      part.algebra().save(part.context.get(), store.past->states[i].get(), saver);
    }
    add(keys + 2, texts.add(saver.bytes()), true);
  });
  engine::Column batch;
  batch.format = "+s";
  batch.length = static_cast<std::int64_t>(words[keys].size());
  for (std::size_t k = 0; k < keys; ++k) {
    batch.children.push_back(input_column(inputs.inputs[inputs.keys[k]], words[k], valid[k]));
  }
  engine::Type whole, bytes;
  whole.layout = 'i';
  bytes.kind = engine::Kind::kText;
  bytes.layout = 'O';
  const char* const names[] = {"rows", "last_end", "states"};
  for (std::size_t i = 0; i < 3; ++i) {
    batch.children.push_back(engine::column_of(i < 2 ? "l" : "Z", i < 2 ? whole : bytes,
                                               words[keys + i], valid[keys + i]));
    batch.children.back().name = names[i];
  }
  return exported(std::move(batch));
}

// Sets what keys keep of rows that have gone.
void fill_past(EngineCore& core, nb::handle capsule) {
  const Turn turn(core.turns);
  require_whole(core);
  auto* array = static_cast<ArrowArray*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array"));
  if (array == nullptr) throw nb::python_error();
  Inputs& inputs = core.inputs;
  const std::size_t keys = inputs.keys.size();
  const auto count = static_cast<std::size_t>(array->length);
  if (array->n_children != static_cast<std::int64_t>(keys + 3)) {
    fail("StateError", "the states of lifetime windows cannot be read");
  }
  std::vector<std::vector<Word>> words(keys + 3);
  std::vector<std::vector<std::uint8_t>> valid(keys + 3);
  engine::Type whole, bytes;
  whole.layout = 'i';
  bytes.kind = engine::Kind::kText;
  bytes.layout = 'O';
  for (std::size_t c = 0; c < keys + 3; ++c) {
    engine::Type type = c < keys       ? inputs.inputs[inputs.keys[c]].type
                        : c < keys + 2 ? whole
                                       : bytes;
    engine::ArrowColumn(type, *array->children[c]).read(core.pool, words[c], valid[c]);
  }
  Engine& engine = *core.engine;
  std::vector<Word> key(keys + 1);
  for (std::size_t i = 0; i < count; ++i) {
    key[keys] = 0;
    for (std::size_t k = 0; k < keys; ++k) {
      key[k] = valid[k][i] != 0 ? words[k][i] : 0;
      if (valid[k][i] == 0) key[keys] |= Word{1} << k;
    }
    engine::Past& past = engine.past_of(key.data());
    past.rows = words[keys][i];
    if (valid[keys + 1][i] != 0) past.last_end = static_cast<Time>(words[keys + 1][i]);
    if (valid[keys + 2][i] == 0) fail("StateError", "the state of a lifetime window is missing");
    Loader loader(engine::text_of(words[keys + 2][i]));
    for (std::size_t p = 0; p < engine.past_parts().size(); ++p) {
      const Part& part = engine.nodes().part(engine.past_parts()[p]);
      past.states[p].fill([&](void* out) { part.algebra().load(part.context.get(), out, loader); });
    }
    loader.finish();
  }
}

// The keys and bounds of results that are not at rows.
nb::object ends_of(EngineCore& core) {
  const Inputs& inputs = core.inputs;
  const std::size_t n = core.ends.size();
  engine::Column batch;
  batch.format = "+s";
  batch.length = static_cast<std::int64_t>(n);
  std::vector<Word> words(n);
  std::vector<std::uint8_t> valid(n);
  for (std::size_t k = 0; k < inputs.keys.size(); ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      const auto key = core.engine->key(core.ends[i].slot);
      words[i] = key[k];
      valid[i] = (key[inputs.keys.size()] >> k & 1) == 0 ? 1 : 0;
    }
    batch.children.push_back(input_column(inputs.inputs[inputs.keys[k]], words, valid));
  }
  for (const bool start : {true, false}) {
    for (std::size_t i = 0; i < n; ++i) {
      words[i] = static_cast<Word>(start ? core.ends[i].start : core.ends[i].end);
      valid[i] = !start || core.ends[i].started ? 1 : 0;
    }
    batch.children.push_back(engine::column_of(core.bounds_format, core.bounds, words, valid));
    batch.children.back().name = start ? "window_start" : "window_end";
  }
  return exported(std::move(batch));
}

void require_whole(EngineCore& core) {
  if (core.engine == nullptr) fail("StateError", "this engine is not whole");
  undo(core);  // of a call whose results never became columns
  core.engine->sweep(core.pool);
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

// Rows that are there already: what has become final up to the watermark has come out.
void fill(EngineCore& core, nb::handle capsule, std::optional<Time> watermark) {
  const Turn turn(core.turns);
  read_batch(core, capsule);
  Engine& engine = *core.engine;
  const Engine::Given given = core.inputs.given(core.pool, core.seen);
  const Input& clock = core.inputs.inputs[core.inputs.time];
  for (std::size_t i = 0; i < given.count; ++i) {
    if (clock.valid[i] == 0) fail_at("DataError", "the column '" + clock.name + "' is null", i);
  }
  see_holes(core);
  try {
    engine.insert(given, nullptr);
    if (!core.waits) {
      engine.pass_all();
    } else {
      engine.wait(given, core.seen);
      if (watermark && core.slide == EngineCore::Slide::kWindow) {
        close_all(core, *watermark);
      } else if (watermark) {
        engine.pass(*watermark);
      }
    }
  } catch (...) {
    engine.undo();
    throw;
  }
  core.watermark = watermark;
  for (std::size_t i = 0; i < given.count; ++i) {
    if (!core.newest || *core.newest < given.times[i]) core.newest = given.times[i];
  }
  core.seen += given.count;
  engine.commit(watermark ? &*watermark : nullptr);
}

// Answers questions over the events that came before each of them; the engine is used up by that.
nb::object replay(EngineCore& core, nb::handle events, nb::handle asked,
                  const nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig>& upto) {
  const Turn turn(core.turns);
  read_batch(core, asked);
  Inputs questions = core.inputs;
  read_array(core, events);  // a sweep would take the texts of the questions
  if (upto.shape(0) != questions.count()) fail("ValueTypeError", "expected a place per question");
  for (std::size_t i = 0; i < upto.shape(0); ++i) {
    const auto count = static_cast<std::int64_t>(core.inputs.count());
    if (upto.data()[i] < 0 || upto.data()[i] > count) fail("ValueTypeError", "expected places");
  }
  see_holes(core);
  reset(core, questions.count());
  const Signals signals;
  try {
    if (core.needs_gil) {
      replay_rows(core, questions, upto.data());
    } else {
      const nb::gil_scoped_release without_gil;
      replay_rows(core, questions, upto.data());
    }
  } catch (const engine::Falls& falls) {
    fail_at("TimeOrderError",
            named(core, falls.column) +
                " of a delta window must not decrease in time order, but it does",
            falls.row);
  } catch (const engine::Missing& missing) {
    fail_at("DataError", named(core, missing.column) + (missing.null ? " is null" : " is NaN"),
            missing.row);
  } catch (const std::domain_error& error) {
    fail("ValueTypeError", error.what());
  } catch (const std::length_error& error) {
    fail("DataError", error.what());
  }
  return results_of(core, questions.count());
}

nb::object feed(EngineCore& core, nb::handle capsule, std::optional<Time> watermark,
                std::optional<Time> lateness) {
  const Turn turn(core.turns);
  read_batch(core, capsule);
  const Answered answered = took(core, watermark, lateness);
  nb::object late = nb::none();
  if (!answered.late.empty()) late = numbers_of(answered.late);
  if (core.slide != EngineCore::Slide::kNone) {
    return nb::make_tuple(late, ends_of(core), results_of(core, core.ends.size()));
  }
  return nb::make_tuple(late, numbers_of(answered.rows), results_of(core, answered.rows.size()));
}

// One row: its values by input. Returns (late, numbers of rows with results).
nb::object push(EngineCore& core, const nb::tuple& values, std::optional<Time> lateness) {
  const Turn turn(core.turns);
  read_values(core, values);
  const Answered answered = took(core, std::nullopt, lateness);
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
  const Answered answered = took(core, std::nullopt, lateness);
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

void bind_engine(nb::module_& m) {
  nb::class_<EngineCore>(m, "EngineCore")
      .def("__init__",
           [](EngineCore* self, nb::dict program) {
             new (self) EngineCore{};
             build(*self, program);
           })
      .def("feed", feed, nb::arg("batch"), nb::arg("watermark").none(), nb::arg("lateness").none())
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
      .def("fill", fill, nb::arg("batch"), nb::arg("watermark").none())
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
      .def_prop_ro("keeps_past",
                   [](const EngineCore& core) {
                     return core.grid.fill || !core.engine->past_parts().empty();
                   })
      .def("prune",
           [](EngineCore& core) {
             const Turn turn(core.turns);
             if (core.watermark) core.engine->evict_all(*core.watermark);
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
                     if (core.engine->rows() == 0) return std::nullopt;
                     return core.engine->oldest_row();
                   })
      .def_prop_ro("nbytes",
                   [](const EngineCore& core) { return core.engine->bytes() + core.pool.bytes(); });
}

}  // namespace slidefold::bindings
