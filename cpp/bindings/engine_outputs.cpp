#include "engine_outputs.hpp"

#include <nanobind/stl/string.h>

#include <unordered_set>

namespace slidefold::bindings {

void Output::reset(std::size_t rows) {
  words_.assign(rows, 0);
  valid_.assign(rows, 0);
  if (list) spans_.assign(rows, {0, 0});
  items_.clear();
  some_.clear();
  if (objects) objects_.assign(rows, PyRef());
  if (texts_.size() > 0) texts_.sweep();  // nobody marks them
  const bool words = source == Source::kFold && !objects && scale == 1 && times == 1 && !shifted;
  const Lowers lowers = words ? ports(op).lowers : Lowers::kObject;
  plain_ = lowers == Lowers::kReal || lowers == Lowers::kWhole ? ports(op).lower_words : nullptr;
}

void Output::put(std::size_t row, const void* state, std::uint64_t held) {
  try {
    put_result(row, state, held);
  } catch (const ResultOverflow& error) {
    if (overflows == nullptr || !overflows->counts) throw;
    valid_[row] = 0;
    if (overflows->rows.empty()) {
      overflows->column = name;
      overflows->sentence = error.what();
    }
    overflows->rows.push_back(static_cast<std::int64_t>(row));
  }
}

void Output::put_result(std::size_t row, const void* state, std::uint64_t held) {
  if (plain_ != nullptr && (counts == nullptr || !*counted)) {  // most results
    const bool some = state != nullptr && held >= least && (held > 0 || when_empty);
    valid_[row] = some && plain_(op.context.get(), state, lowered_) ? 1 : 0;
    words_[row] = lowered_.word;
    return;
  }
  const std::uint64_t n =
      counts != nullptr && *counted ? counts->found[row] : (state == nullptr ? 0 : held);
  valid_[row] = 0;
  if (n < least) return;
  if (source == Source::kCount) return set(row, n);
  if (state == nullptr || (n == 0 && !when_empty)) return;
  switch (source) {
    case Source::kFold:
      return fold(row, state);
    case Source::kQuantile:
      return order(row, *static_cast<engine::Ordered*>(const_cast<void*>(state)));
    case Source::kRank:
      return rank(row, *static_cast<engine::Ordered*>(const_cast<void*>(state)));
    case Source::kUnique:
    case Source::kEntropy:
    case Source::kMode:
    case Source::kFrequent:
    case Source::kFrequencies:
      return tally(row, *static_cast<const engine::Counted*>(state));
    case Source::kCategories:
    case Source::kPerCategory:
      return per_category(row, *static_cast<const engine::Categories*>(state));
    default:
      return walk(row, *static_cast<const engine::Walk*>(state));
  }
}

void Output::fold(std::size_t row, const void* state) {
  const PortTable& port = ports(op);
  if (objects) {
    objects_[row] = PyRef::steal(port.lower(op.context.get(), state, false));
    valid_[row] = objects_[row].get() != Py_None ? 1 : 0;
    return;
  }
  lowered_.words.clear();
  lowered_.texts.clear();
  if (!port.lower_words(op.context.get(), state, lowered_)) return;
  switch (port.lowers) {
    case Lowers::kReal:
      if (scale != 1) {
        return set(row, std::bit_cast<Word>(std::bit_cast<double>(lowered_.word) / scale));
      }
      return set(row, lowered_.word);
    case Lowers::kText:
      return set(row, add_text(lowered_.text));
    case Lowers::kReals:
    case Lowers::kWholes: {
      const std::size_t first = items_.size();
      for (const Word word : lowered_.words) add_item(restored(word), true);
      return set_list(row, first);
    }
    case Lowers::kTexts: {
      const std::size_t first = items_.size();
      for (const std::string& text : lowered_.texts) add_item(add_text(text), true);
      return set_list(row, first);
    }
    default: {
      std::int64_t whole = static_cast<std::int64_t>(restored(lowered_.word));
      if (times != 1 && __builtin_mul_overflow(whole, times, &whole)) {
        throw ResultOverflow("the result needs more than 64 bits");
      }
      return set(row, static_cast<Word>(whole));
    }
  }
}

void Output::order(std::size_t row, engine::Ordered& values) {
  if (values.size() == 0) return;
  const auto [k, share] = quantile.place(values.size());
  const auto [low, after] = share == 0 ? std::pair(values.select(k), Word{}) : values.select_two(k);
  const Word high = share == 0 ? low : after;
  if (quantile.picks()) return set(row, restored(low));
  if (between_whole) {
    return set(row, static_cast<Word>(lerp_whole(static_cast<std::int64_t>(low),
                                                 static_cast<std::int64_t>(high), share)));
  }
  double real = 0;
  if (real_keys) {
    real = lerp(std::bit_cast<double>(low), std::bit_cast<double>(high), share);
  } else if (between_reals) {
    // Their order is exact; what lies between two of them is a float.
    const auto as_real = [&](Word word) {
      if (shifted) return static_cast<double>(restored(word));
      return ratio(static_cast<std::int64_t>(word), power_of_ten(decimals));
    };
    const double from = as_real(low), to = as_real(high), apart = to - from;
    real = share < 0.5 ? from + apart * share : to - apart * (1 - share);
  } else {
    real = lerp(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high), share);
  }
  set(row, std::bit_cast<Word>(real));
}

void Output::rank(std::size_t row, engine::Ordered& values) {
  if (values.size() == 0 || has_own[row] == 0) return;
  const auto [smaller, not_larger] = values.ranks(own[row]);
  const auto least = static_cast<double>(smaller) + 1;
  const double most = std::max(least, static_cast<double>(not_larger));
  double rank = ties == Ties::kLeast ? least : ties == Ties::kMost ? most : (least + most) / 2;
  if (share) rank /= static_cast<double>(values.size());
  set(row, std::bit_cast<Word>(rank));
}

void Output::tally(std::size_t row, const engine::Counted& values) {
  if (values.size() == 0) return;
  if (source == Source::kUnique) return set(row, values.distinct());
  if (source == Source::kEntropy) return set(row, std::bit_cast<Word>(values.entropy()));
  if (source == Source::kMode) {
    Word mode = 0;
    values.most_frequent(
        1, [](void* to, Word word, std::uint64_t) { *static_cast<Word*>(to) = word; }, &mode);
    return set(row, restored(mode));
  }
  const std::size_t first = items_.size();
  values.most_frequent(
      k,
      [](void* to, Word word, std::uint64_t count) {
        Output& self = *static_cast<Output*>(to);
        self.add_item(self.source == Source::kFrequent ? self.restored(word) : count, true);
      },
      this);
  set_list(row, first);
}

void Output::per_category(std::size_t row, const engine::Categories& categories) {
  const auto& held = categories.held();
  if (held.empty()) return;
  if (held.size() > limit) {
    throw std::length_error("a window has more than " + std::to_string(limit) + " categories of '" +
                            category + "': raise limit= of per");
  }
  std::vector<const engine::Category*> sorted;
  for (const engine::Category& each : held) sorted.push_back(&each);
  std::sort(sorted.begin(), sorted.end(),
            [&](const engine::Category* a, const engine::Category* b) {
              return engine::compare_words(by, a->word, b->word) < 0;
            });
  const std::size_t first = items_.size();
  const PortTable* const port = source == Source::kPerCategory ? &ports(op) : nullptr;
  for (const engine::Category* each : sorted) {
    if (port == nullptr) {
      add_item(each->word, true);
      continue;
    }
    lowered_.words.clear();
    lowered_.texts.clear();
    const bool none = !each->some && !port->when_empty;
    if (none || !port->lower_words(op.context.get(), each->state.get(), lowered_)) {
      add_item(0, false);
    } else if (port->lowers == Lowers::kText) {
      add_item(add_text(lowered_.text), true);
    } else if (port->lowers == Lowers::kReal) {
      const auto real = std::bit_cast<double>(lowered_.word);
      add_item(std::bit_cast<Word>(scale != 1 ? real / scale : real), true);
    } else {
      add_item(restored(lowered_.word), true);
    }
  }
  set_list(row, first);
}

void Output::walk(std::size_t row, const engine::Walk& rows) {
  if (source == Source::kConcat) {
    std::string text;
    rows.each(*nodes, presence, [&](const engine::Leaf* leaf, std::int32_t i) {
      text += engine::text_of(leaf->column(walked)[i]);
    });
    return set(row, texts_.add(text));
  }
  const std::size_t first = items_.size();
  std::unordered_set<Word> seen;
  const bool real = item_type.kind == engine::Kind::kReal;
  rows.each(*nodes, presence, [&](const engine::Leaf* leaf, std::int32_t i) {
    const Word word = leaf->column(walked)[i];
    if (source == Source::kDistinct) {
      Word key = word;
      if (real) {  // -0.0 is 0.0, and NaN is one value
        const auto value = std::bit_cast<double>(word);
        if (value == 0) key = 0;
        if (value != value) key = ~Word{0};
      }
      if (!seen.insert(key).second) return;
    }
    add_item(word, flags == engine::kNoColumn || leaf->column(flags)[i] != 0);
  });
  set_list(row, first);
}

engine::Column Output::column(const std::string& name) {
  if (!list) {
    engine::Column column = engine::column_of(format, type, words_, valid_);
    column.name = name;
    return column;
  }
  engine::Column column;
  column.format = format;
  column.name = name;
  column.length = static_cast<std::int64_t>(valid_.size());
  std::vector<Word> items;
  std::vector<std::uint8_t> some;
  items.reserve(items_.size());
  const auto offsets = [&](auto offset) {
    using Offset = decltype(offset);
    engine::Bytes ends((valid_.size() + 1) * sizeof(Offset), std::uint8_t{0});
    for (std::size_t row = 0; row < valid_.size(); ++row) {
      if (valid_[row] != 0) {
        for (std::size_t i = spans_[row].first; i < spans_[row].second; ++i) {
          items.push_back(items_[i]);
          some.push_back(some_[i]);
        }
      } else {
        column.set_null(row);
      }
      const auto end = static_cast<Offset>(items.size());
      std::memcpy(ends.data() + (row + 1) * sizeof(Offset), &end, sizeof(Offset));
    }
    return ends;
  };
  column.buffers.push_back(format == "+L" ? offsets(std::int64_t{}) : offsets(std::int32_t{}));
  if (format != "+L" && items.size() > 0x7FFFFFFF) {
    throw std::length_error("a column of lists holds more than 2^31 items");
  }
  column.children.push_back(engine::column_of(item_format, item_type, items, some));
  column.children.back().name = "item";
  return column;
}

nb::object Output::raw() const {
  nb::list valid;
  for (const std::uint8_t some : valid_) valid.append(some != 0);
  if (records) {
    std::string bytes;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (valid_[i] != 0) bytes += engine::text_of(words_[i]);
    }
    return nb::make_tuple(nb::bytes(bytes.data(), bytes.size()), valid);
  }
  nb::list values;
  for (const PyRef& object : objects_) {
    values.append(object.get() == nullptr ? nb::none() : nb::borrow(object.get()));
  }
  return nb::make_tuple(values, valid);
}

nb::object Output::object(std::size_t row) const {
  if (valid_[row] == 0) return nb::none();
  if (objects) return nb::borrow(objects_[row].get());
  if (!list) return nb::steal(object_of(type, format, words_[row]));
  nb::list items;
  for (std::size_t i = spans_[row].first; i < spans_[row].second; ++i) {
    if (some_[i] == 0) {
      items.append(nb::none());
    } else {
      items.append(nb::steal(object_of(item_type, item_format, items_[i])));
    }
  }
  return items;
}

}  // namespace slidefold::bindings
