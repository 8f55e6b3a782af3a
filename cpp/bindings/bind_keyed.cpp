// KeyedCore: time windows of many keys, as Python holds them.
#include <nanobind/stl/string.h>

#include <optional>

#include "calls.hpp"
#include "keyed_face.hpp"
#include "saved.hpp"
#include "window.hpp"

namespace slidefold::bindings {
namespace {

struct HashWhole {
  std::uint64_t operator()(std::int64_t key) const { return hash_value(key); }
};
struct HashText {
  std::uint64_t operator()(std::string_view key) const { return hash_bytes(key); }
};

using Whole = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Real = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct KeyedCore {
  PyRef kept;  // what the operator holds: goes after it
  KeyedPtr held;
  Rule rule;
  bool bounded;  // lateness was given: the watermark follows the newest time
  TimeAxis axis{};
  KeyTable<std::int64_t, std::int64_t, HashWhole> whole{};
  KeyTable<std::string, std::string_view, HashText> text{};
  Tick newest = kFirstTick;
  Tick bound = kFirstTick;  // the first time that is not late
  std::int64_t late = 0;
  mutable Turns turns{};

  KeyedFace& face() const { return *held; }
  std::size_t keys() const { return whole.size() + text.size(); }

  Tick first_kept() const {
    return bound == kFirstTick ? kFirstTick
                               : axis.first_inside(bound, rule.range, rule.keeps_start);
  }
  void remove(Slot slot) { text.size() > 0 ? text.remove(slot) : whole.remove(slot); }
  void remove_all(const std::vector<Slot>& emptied) {
    for (const Slot slot : emptied) {
      if (held->empty(slot)) remove(slot);
    }
    if (whole.sparse()) held->renumber(whole.compact());
    if (text.sparse()) held->renumber(text.compact());
  }
};

// A batch of keys: integers, or codes into texts that lie end to end.
struct Keys {
  std::optional<Whole> whole;
  std::optional<Whole> codes, offsets;
  std::optional<Bytes> letters;

  explicit Keys(nb::handle keys) {
    if (!PyTuple_Check(keys.ptr())) {
      whole = nb::cast<Whole>(keys);
      return;
    }
    codes = nb::cast<Whole>(keys[0]);
    offsets = nb::cast<Whole>(keys[1]);
    letters = nb::cast<Bytes>(keys[2]);
  }
  std::size_t size() const { return whole ? whole->shape(0) : codes->shape(0); }
};

// The slots of a batch; new keys are listed, so that they can be taken back.
class Slots {
 public:
  Slots(KeyedCore& core, const Keys& keys, const std::vector<Tick>& times)
      : core_(core), slots_(keys.size(), kNoSlot) {
    if (keys.size() > 0 && core.keys() > 0 && keys.whole.has_value() != (core.text.size() == 0)) {
      fail("ValueTypeError",
           std::string("this set has ") +
               (keys.whole ? "texts as keys, got integers" : "integers as keys, got texts"));
    }
    try {
      const Signals signals;
      keys.whole ? add_whole(*keys.whole, times) : add_text(keys, times);
    } catch (...) {
      take_back();
      throw;
    }
  }
  const std::vector<Slot>& get() const { return slots_; }
  void take_back() {
    for (const Slot slot : made_) core_.remove(slot);
    made_.clear();
  }

 private:
  void add_whole(const Whole& keys, const std::vector<Tick>& times) {
    Pacer pace;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      pace();
      if (times[i] >= core_.bound) slots_[i] = noted(core_.whole.add(keys.data()[i]));
    }
  }
  void add_text(const Keys& keys, const std::vector<Tick>& times) {
    std::vector<Slot> known(keys.offsets->shape(0), kNoSlot);  // by code
    Pacer pace;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      pace();
      if (times[i] < core_.bound) continue;
      const auto code = static_cast<std::size_t>(keys.codes->data()[i]);
      if (known[code] == kNoSlot) {
        const std::int64_t* const at = keys.offsets->data() + code;
        const auto* const letters = reinterpret_cast<const char*>(keys.letters->data());
        known[code] = noted(core_.text.add(
            std::string_view(letters + at[0], static_cast<std::size_t>(at[1] - at[0]))));
      }
      slots_[i] = known[code];
    }
  }
  Slot noted(std::pair<Slot, bool> added) {
    if (added.second) made_.push_back(added.first);
    return added.first;
  }

  KeyedCore& core_;
  std::vector<Slot> slots_;
  std::vector<Slot> made_;
};

std::vector<Tick> ticks_of(const KeyedCore& core, nb::handle times) {
  std::vector<Tick> ticks;
  Whole whole;
  if (nb::try_cast(times, whole, false)) {
    ticks.assign(whole.data(), whole.data() + whole.shape(0));
    if (!core.axis.real()) return ticks;
    for (Tick& tick : ticks) {  // another thread brought the first floats
      if (!exact_in_double(tick)) {
        fail("ValueTypeError", "integer times beyond 2**53 do not mix with floats");
      }
      tick = tick_of(static_cast<double>(tick));
    }
    return ticks;
  }
  if (!core.axis.real()) {
    fail("ValueTypeError", "this set counts in integers, got float times");
  }
  const auto real = nb::cast<Real>(times);
  ticks.reserve(real.shape(0));
  for (std::size_t i = 0; i < real.shape(0); ++i) {
    if (!std::isfinite(real.data()[i])) {
      fail("ValueTypeError", "expected a finite time, got " +
                                 shown(nb::float_(real.data()[i]).ptr()) + " at row " +
                                 std::to_string(i));
    }
    ticks.push_back(tick_of(real.data()[i]));
  }
  return ticks;
}

// The first tick after a watermark.
Tick after(const KeyedCore& core, nb::handle watermark) {
  const Tick tick = core.axis.read_bound(watermark.ptr(), false);
  return tick == kLastTick ? tick : tick + 1;
}

// (results, valid): as if the whole batch were inserted first, then what no window needs leaves.
nb::object keyed_push(KeyedCore& core, nb::handle given_keys, nb::handle given_times,
                      nb::handle values, nb::handle watermark, bool raises, nb::handle inserted) {
  const Turn turn(core.turns);
  const Keys keys(given_keys);
  const std::vector<Tick> times = ticks_of(core, given_times);
  if (keys.size() != times.size()) {
    fail("ValueTypeError", "keys and times differ in length: " + std::to_string(keys.size()) +
                               " and " + std::to_string(times.size()));
  }
  if (times.size() >= kNoSlot) fail("ValueTypeError", "a batch has fewer than 2**32 rows");
  Flags flags{};
  if (!inserted.is_none()) {
    flags = nb::cast<Flags>(inserted);
    if (flags.shape(0) != times.size()) {
      fail("ValueTypeError", "times and flags differ in length: " + std::to_string(times.size()) +
                                 " and " + std::to_string(flags.shape(0)));
    }
  }
  std::int64_t late = 0;
  Tick newest = core.newest;
  for (std::size_t i = 0; i < times.size(); ++i) {
    newest = std::max(newest, times[i]);
    if (times[i] >= core.bound) continue;
    if (raises) {
      fail("TimeOrderError", "row " + std::to_string(i) + " at " + core.axis.shown(times[i]) +
                                 " is late: this set takes " + core.axis.shown(core.bound) +
                                 " and later");
    }
    ++late;
  }
  Tick bound = core.bound;
  if (core.bounded && newest != kFirstTick) {
    bound = std::max(bound, core.axis.first_inside(newest, core.rule.lateness, true));
  }
  if (!watermark.is_none()) bound = std::max(bound, after(core, watermark));
  Slots slots(core, keys, times);
  const Bounds bounds{
      [&](Tick end) { return core.axis.first_inside(end, core.rule.range, core.rule.keeps_start); },
      [&](Tick end) { return last_inside(end, core.rule.keeps_end); }};
  const Tick first = bound == kFirstTick
                         ? kFirstTick
                         : core.axis.first_inside(bound, core.rule.range, core.rule.keeps_start);
  std::vector<Slot> emptied;
  try {
    nb::object results =
        core.held->push(slots.get(), times, values, inserted.is_none() ? nullptr : flags.data(),
                        bounds, first, emptied);
    core.remove_all(emptied);
    core.newest = newest;
    core.bound = bound;
    core.late += late;
    return results;
  } catch (...) {
    slots.take_back();
    throw;
  }
}

Slot slot_of(const KeyedCore& core, nb::handle key) {
  if (PyUnicode_Check(key.ptr())) return core.text.find(to_string(key.ptr()));
  return core.whole.find(to_int64(key.ptr()));
}

nb::object keyed_query(KeyedCore& core, nb::handle key, nb::handle at) {
  const Turn turn(core.turns);
  Tick end = std::max(core.newest, core.bound == kFirstTick ? kFirstTick : core.bound - 1);
  if (!at.is_none()) {
    end = core.axis.read_bound(at.ptr(), false);
    if (end < core.bound) {
      fail("WindowError", "rows before " + core.axis.shown(core.bound) +
                              " may have left, so no window can end at " + shown(at.ptr()));
    }
  }
  const Tick since = core.axis.first_inside(end, core.rule.range, core.rule.keeps_start);
  return nb::steal(
      core.held->query(slot_of(core, key), since, last_inside(end, core.rule.keeps_end)));
}

void keyed_advance(KeyedCore& core, nb::handle watermark) {
  const Turn turn(core.turns);
  const Tick bound = after(core, watermark);
  if (bound <= core.bound) return;
  std::vector<Slot> emptied;
  const Tick first = core.axis.first_inside(bound, core.rule.range, core.rule.keeps_start);
  core.held->sweep(first, emptied);
  core.remove_all(emptied);
  core.bound = bound;
}

nb::list keyed_keys(const KeyedCore& core) {
  const Turn turn(core.turns);
  nb::list result;
  for (Slot slot = 0; slot < core.text.slots(); ++slot) {
    if (core.text.live(slot)) result.append(nb::cast(core.text.key(slot)));
  }
  for (Slot slot = 0; slot < core.whole.slots(); ++slot) {
    if (core.whole.live(slot)) result.append(core.whole.key(slot));
  }
  return result;
}

void keyed_check(const KeyedCore& core) {
  core.held->check();
  core.whole.check();
  core.text.check();
  require(core.whole.size() == 0 || core.text.size() == 0, "K1: keys are of one kind");
  std::size_t filled = 0;
  for (Slot slot = 0; slot < core.held->stores(); ++slot) filled += !core.held->empty(slot);
  require(filled == core.keys(), "K2: a key is known as long as it holds something");
}

// Keys in the order of their slots: which slot a key has is not kept.
nb::bytes keyed_save(KeyedCore& core) {
  const Turn turn(core.turns);
  Saver a;
  bool texts = core.text.size() > 0;
  a(texts, core.axis, core.newest, core.bound, core.late);
  a.length(core.keys());
  const auto save_keys = [&](const auto& table) {
    for (Slot slot = 0; slot < table.slots(); ++slot) {
      if (!table.live(slot)) continue;
      a(table.key(slot));
      core.held->save(a, slot);
    }
  };
  texts ? save_keys(core.text) : save_keys(core.whole);
  return as_bytes(a);
}

// A question, in turn.
template <class Ask>
auto asked(Ask ask) {
  return [ask](KeyedCore& core) {
    const Turn turn(core.turns);
    return ask(core);
  };
}

void keyed_load(KeyedCore& core, const nb::bytes& bytes) {
  Loader a(view_of(bytes));
  const Turn turn(core.turns);
  KeyedCore twin{core.kept, core.held->fresh(), core.rule, core.bounded, core.axis};
  bool texts = false;
  a(texts, twin.axis, twin.newest, twin.bound);
  a.count(twin.late);
  const std::size_t keys = a.length(0, 10);
  const auto load_keys = [&](auto& table, auto key) {
    for (std::size_t i = 0; i < keys; ++i) {
      a(key);
      const auto [slot, fresh] = table.add(key);
      expect(fresh, "a key is there twice");
      twin.held->load(a, slot);
      expect(!twin.held->empty(slot), "a key holds nothing");
      const auto [oldest, youngest] = twin.held->ends(slot);
      expect(twin.axis.holds(oldest) && twin.axis.holds(youngest), "a time is not finite");
      expect(youngest <= twin.newest, "an entry is newer than the newest");
    }
  };
  texts ? load_keys(twin.text, std::string{}) : load_keys(twin.whole, std::int64_t{0});
  a.finish();
  keyed_check(twin);
  core = std::move(twin);
}

}  // namespace

void bind_keyed(nb::module_& m) {
  static PyType_Slot slots[] = {traversing<KeyedCore>(), clearing<KeyedCore>(), {0, nullptr}};
  nb::class_<KeyedCore>(m, "KeyedCore", nb::type_slots(slots))
      .def("__init__",
           [](KeyedCore* self, nb::handle op, nb::dict rule, bool bounded) {
             const Keeper keeper;
             KeyedPtr made = make_keyed(spec_from(op));
             new (self) KeyedCore{keeper.objects(), std::move(made), rule_from(rule), bounded};
             const Rule& held = self->rule;
             self->axis = TimeAxis(held.datetimes, !held.range.integral || !held.lateness.integral);
           })
      .def("_push", keyed_push, nb::arg("keys"), nb::arg("times"), nb::arg("values").none(),
           nb::arg("watermark").none(), nb::arg("raises"), nb::arg("inserted").none() = nb::none())
      .def("_query", keyed_query, nb::arg("key"), nb::arg("at").none())
      .def("_evict",
           [](KeyedCore& core, nb::handle key, nb::handle time) {
             const Turn turn(core.turns);
             const Slot slot = slot_of(core, key);
             const Tick first = core.axis.read_bound(time.ptr(), true);
             const Tick last = core.axis.read_bound(time.ptr(), false);
             if (slot == kNoSlot || first != last || !core.held->evict_at(slot, first)) {
               return false;
             }
             core.remove_all({slot});
             return true;
           })
      .def_prop_ro("_real", asked([](const KeyedCore& core) { return core.axis.real(); }))
      // Before the first row; says whether times are floats now.
      .def("_turn_real", asked([](KeyedCore& core) {
             if (core.keys() == 0 && core.bound == kFirstTick) core.axis = TimeAxis(false, true);
             return core.axis.real();
           }))
      .def("_advance", keyed_advance)
      .def("_keys", keyed_keys)
      .def("_save", keyed_save)
      .def("_load", keyed_load)
      .def("check", asked(keyed_check))
      .def("__len__", asked([](const KeyedCore& core) { return core.keys(); }))
      .def("_copy_from",
           [](KeyedCore& core, KeyedCore& other) {
             const auto copy = [&] {
               const Turn turn(other.turns);
               return KeyedCore{other.kept,  other.held->clone(), other.rule, other.bounded,
                                other.axis,  other.whole,         other.text, other.newest,
                                other.bound, other.late};
             };
             KeyedCore twin = copy();
             const Turn turn(core.turns);
             core = std::move(twin);
           })
      .def_prop_ro("entries", asked([](const KeyedCore& core) { return core.held->entries(); }))
      .def_prop_ro("late", asked([](const KeyedCore& core) { return core.late; }))
      .def_prop_ro("watermark", asked([](const KeyedCore& core) -> nb::object {
                     if (core.bound == kFirstTick) return nb::none();
                     return core.axis.time_of(core.bound - 1);
                   }))
      .def_prop_ro("nbytes", asked([](const KeyedCore& core) {
                     return core.held->bytes() + core.whole.bytes() + core.text.bytes();
                   }));
}

}  // namespace slidefold::bindings
