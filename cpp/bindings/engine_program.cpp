// The program of the engine of arrival order: what Python has compiled into plain values.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "engine_core.hpp"
#include "family.hpp"
#include "order.hpp"

namespace slidefold::bindings {
namespace {

// Whether results are lists of words, and not values of a column that may be lists too.
bool gives_lists(const Output& output) {
  using Source = Output::Source;
  switch (output.source) {
    case Source::kFrequent:
    case Source::kFrequencies:
    case Source::kCategories:
    case Source::kPerCategory:
    case Source::kCollect:
    case Source::kDistinct:
      return true;
    case Source::kFold: {
      const Lowers lowers = ports(output.op).lowers;
      return lowers == Lowers::kReals || lowers == Lowers::kWholes || lowers == Lowers::kTexts;
    }
    default:
      return false;
  }
}

void read_type(Output& output, nb::handle capsule) {
  const ArrowSchema& schema = schema_in(capsule);
  output.format = schema.format;
  if (gives_lists(output)) {
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
  output->ordered = at<bool>(given, "ordered");
  output->latin = at<bool>(given, "latin");
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
  output->name = core.names.back();
  output->overflows = &core.overflows;
  core.outputs.push_back(std::move(output));
}

}  // namespace

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
    if (reading == "ordered") stored.reading = Reading::kOrdered;
    if (reading == "digits") stored.reading = Reading::kDigits;
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
  if (core.slide == Slide::kNone && !slide.empty()) {
    fail("WindowError", "the engine has no slides of kind '" + slide + "'");
  }
  if (core.slide == Slide::kTime) {
    core.grid.step = at<Time>(given, "step");
    core.grid.shift = at<Time>(given, "shift");
    core.grid.far = at<Time>(given, "far");
    core.grid.near = at<Time>(given, "near");
    for (const nb::handle one : nb::object(given["reaches"])) {
      const auto [far, near, days, open] = nb::cast<std::tuple<Time, Time, std::size_t, int>>(one);
      if (days > 0 || far >= near) core.grid.largest.push_back({far, near, days, open != 0});
    }
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
  program.key_words = inputs.key_words();
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
    const bool made = stored.reading == Reading::kLatin || stored.reading == Reading::kOrdered ||
                      stored.reading == Reading::kDigits;
    if (made || (text && stored.reading == Reading::kRaw)) {
      program.text_columns.push_back(c);
    }
  }
  std::vector<ErasedOp> ops;
  for (const nb::handle one : nb::object(given["parts"])) {
    ErasedOp op;
    Part part = part_in(core, one, op);
    part.idle = at<bool>(one, "counts");
    // States that hold the address of a text do not keep it.
    const auto holds = [&](std::uint32_t column) {
      return std::find(program.text_columns.begin(), program.text_columns.end(), column) !=
             program.text_columns.end();
    };
    if (at<std::string>(one, "kind") == "fold" && !part.columns.empty() && holds(part.columns[0])) {
      part.bound = part.bound || spec_from(one["op"]).dtype != "str";
    }
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
    if (const auto* rows = std::get_if<engine::RowsRule>(&window.rule)) {
      core.asks_before = core.asks_before || !rows->asks_with;
    }
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
  if (core.slide == Slide::kTime && at<bool>(given, "slices")) program.ends = core.grid;
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

}  // namespace slidefold::bindings
