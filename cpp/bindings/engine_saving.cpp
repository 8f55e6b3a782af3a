// The rows and states of the engine of arrival order as columns, and back.
#include <nanobind/stl/string.h>

#include "engine_core.hpp"

namespace slidefold::bindings {
namespace {

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

}  // namespace

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
          some = inputs.has_key(engine.key(slot).data(), key[in]);
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
    if (store.past == nullptr && !Engine::has_slices(store)) return;
    const auto key = engine.key(slot);
    for (std::size_t k = 0; k < keys; ++k) add(k, key[k], inputs.has_key(key.data(), k));
    const auto last_end = engine.last_end(slot);
    add(keys, store.past == nullptr ? 0 : store.past->rows, true);
    add(keys + 1, static_cast<Word>(last_end.value_or(0)), last_end.has_value());
    Saver saver;
    for (std::size_t i = 0; i < engine.past_parts().size(); ++i) {
      const Part& part = engine.nodes().part(engine.past_parts()[i]);
      if (part.algebra().save == nullptr) {
        fail("StateError", "the state of a lifetime window cannot be saved");
      }
      part.algebra().save(part.context.get(), store.past->states[i].get(), saver);
    }
    if (Engine::has_slices(store)) engine.save_slices(store, saver);
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
    fail("StateError", "the states of older rows cannot be read");
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
  if (count > 0) see_holes(core, true);  // the rows that have gone may have had nulls
  std::vector<Word> key(inputs.key_words());
  for (std::size_t i = 0; i < count; ++i) {
    std::fill(key.begin(), key.end(), Word{0});
    for (std::size_t k = 0; k < keys; ++k) {
      key[k] = valid[k][i] != 0 ? words[k][i] : 0;
      if (valid[k][i] == 0) key[keys + k / 64] |= Word{1} << (k % 64);
    }
    if (valid[keys + 2][i] == 0) fail("StateError", "the states of a key are missing");
    Loader loader(engine::text_of(words[keys + 2][i]));
    if (core.keeps_past()) {
      engine::Past& past = engine.past_of(key.data());
      past.rows = words[keys][i];
      if (valid[keys + 1][i] != 0) past.last_end = static_cast<Time>(words[keys + 1][i]);
      for (std::size_t p = 0; p < engine.past_parts().size(); ++p) {
        const Part& part = engine.nodes().part(engine.past_parts()[p]);
        past.states[p].fill(
            [&](void* out) { part.algebra().load(part.context.get(), out, loader); });
      }
    }
    if (loader.left() > 0) engine.load_slices(key.data(), loader);
    loader.finish();
  }
}

std::vector<std::int64_t> fill(EngineCore& core, nb::handle capsule,
                               std::optional<Time> watermark) {
  const Turn turn(core.turns);
  read_batch(core, capsule);
  Engine& engine = *core.engine;
  const Engine::Given given = core.inputs.given(core.pool, core.seen);
  const Input& clock = core.inputs.inputs[core.inputs.time];
  for (std::size_t i = 0; i < given.count; ++i) {
    if (clock.valid[i] == 0) fail_at("DataError", "the column '" + clock.name + "' is null", i);
  }
  see_holes(core);
  std::vector<std::int64_t> passed;
  try {
    engine.insert(given, nullptr);
    if (!core.waits) {
      engine.pass_inserted();
    } else {
      engine.wait(given, core.seen);
      if (watermark && core.slide == EngineCore::Slide::kWindow) {
        close_all(core, *watermark);
      } else if (watermark) {
        for (const engine::Waiting& row : engine.pass(*watermark)) {
          passed.push_back(static_cast<std::int64_t>(row.number));
        }
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
  evict(core, false);
  return passed;
}

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
      valid[i] = inputs.has_key(key.data(), k) ? 1 : 0;
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

}  // namespace slidefold::bindings
