// Keyed windows as versions without an engine saved them: a state per key and time, in runs and in
// FiBA trees.
#include <nanobind/stl/string.h>

#include <string>
#include <utility>
#include <vector>

#include "registry.hpp"
#include "saved.hpp"
#include "slidefold/algorithms/fiba.hpp"
#include "times.hpp"

namespace slidefold::bindings {
namespace {

// Calls visit(time, state) for the entries of one key, in time order.
template <class Visit>
void each_entry(Loader& a, const AnyOp& op, Visit&& visit) {
  bool planted = false;
  a(planted);
  if (planted) {
    Fiba<AnyOp, Tick> tree(op);
    tree.archive(a);
    tree.check();
    return tree.for_each(visit);
  }
  const std::size_t count = a.length(0, sizeof(Tick) + 1);
  Tick before = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Tick time = 0;
    AnyOp::State state = op.identity();
    a(time);
    archive_state(a, op, state);
    expect(i == 0 || before < time, "the times of a key ascend");
    before = time;
    visit(time, state);
  }
}

// (real times, keys, times, results, the first time that is not late or None, late rows): a result
// for each entry, that of its state.
nb::tuple keyed_entries(nb::handle operator_, const nb::bytes& bytes) {
  Loader a(view_of(bytes));
  bool texts = false;
  TimeAxis axis{};
  Tick newest = 0, bound = 0;
  std::int64_t late = 0;
  a(texts, axis, newest, bound);
  a.count(late);
  const std::size_t keys = a.length(0, 10);
  nb::list names, times, results;
  const Keeper keeper;
  const AnyOp op{erase(spec_from(operator_), false).op};
  for (std::size_t i = 0; i < keys; ++i) {
    std::int64_t number = 0;
    std::string text;
    texts ? a(text) : a(number);
    const nb::object key = texts ? nb::cast(text) : nb::cast(number);
    each_entry(a, op, [&](Tick time, const AnyOp::State& state) {
      expect(time <= newest, "an entry is newer than the newest");
      names.append(key);
      times.append(time);
      results.append(nb::steal(Port<AnyOp>::lower(op, state, false)));
    });
  }
  a.finish();
  return nb::make_tuple(axis.real(), names, times, results,
                        bound == kFirstTick ? nb::none() : nb::object(nb::int_(bound)), late);
}

}  // namespace

void bind_keyed(nb::module_& m) { m.def("keyed_entries", keyed_entries); }

}  // namespace slidefold::bindings
