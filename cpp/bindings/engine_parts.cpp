// The parts and windows of a program for the engine of arrival order.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "engine_core.hpp"
#include "family.hpp"
#include "order.hpp"
#include "text_keys.hpp"

namespace slidefold::bindings {
namespace {

// What lift needs of an operator whose values are Python objects: how to make them.
struct ObjectRow {
  struct Field {
    engine::Type type;
    std::string format;
    char code;
    std::uint8_t bytes;
    nb::object convert;  // makes an object of a column of one value; null if native code does
  };
  std::vector<Field> fields;
  const PortTable* port;

  nb::object value(const Field& field, Word word) const {
    if (field.convert.is_valid()) {
      return field.convert(exported(engine::column_of(field.format, field.type, {word}, {1})));
    }
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

}  // namespace

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
    Algebra algebra = *erased.op.algebra;
    // A class in Python may leave it out; the table of all such classes has it.
    if (!traits(spec).selective) algebra.newer_wins = nullptr;
    part.own_kernel = engine::ErasedKernel::of(algebra);
    part.kernel = part.own_kernel.get();
  }
  const PortTable& port = ports(erased.op);
  part.lift = port.lift_words;
  if (part.lift == nullptr) {
    auto row = std::make_shared<ObjectRow>();
    row->port = &port;
    const nb::object converts = nb::bool_(given.attr("__contains__")("converts"))
                                    ? nb::object(given["converts"])
                                    : nb::none();
    for (const std::uint32_t c : columns) {
      const Stored& stored = core.inputs.stored[c];
      const Input& input = core.inputs.inputs[stored.input];
      const bool latin = stored.reading == Reading::kLatin;
      ObjectRow::Field field{
          input.type, latin ? std::string(1, 'u') : input.format, stored.code, stored.bytes, {}};
      field.type.dictionary = false;
      if (field.type.layout == 'f' && field.type.width == 2) field.type.width = 8;
      if (stored.reading == Reading::kReal) field.code = 'f';
      if (stored.reading == Reading::kShifted) field.code = 'i';
      if (!converts.is_none() && !converts[row->fields.size()].is_none()) {
        field.convert = nb::object(converts[row->fields.size()]);
      }
      row->fields.push_back(std::move(field));
    }
    part.reads = row;
    part.lift = ObjectRow::lift;
    part.bound = true;  // saved states hold rows of it, not its Python objects
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
  if (kind != "delta") fail("WindowError", "the engine has no windows of kind '" + kind + "'");
  const auto column = at<std::uint32_t>(given, "column");
  const bool start = at<bool>(given, "keeps_start"), end = at<bool>(given, "keeps_end");
  if (at<bool>(given, "real")) {
    return engine::DeltaRule<double>{column, at<double>(given, "range"), start, end};
  }
  return engine::DeltaRule<std::int64_t>{column, at<std::int64_t>(given, "range"), start, end};
}

}  // namespace slidefold::bindings
