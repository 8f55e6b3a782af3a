// What the engine of arrival order writes: the results of one column, as words until they are asked
// for as an Arrow column or as Python objects.
#pragma once

#include "engine_inputs.hpp"
#include "registry.hpp"
#include "slidefold/engine/arrow_out.hpp"
#include "slidefold/engine/counts.hpp"
#include "slidefold/engine/per.hpp"
#include "slidefold/operators/quantile.hpp"

namespace slidefold::bindings {

// How many values the window of each row holds, where rows may have nulls.
struct Counts final : engine::Sink {
  std::vector<std::uint64_t> found;
  void put(std::size_t row, const void* state, std::uint64_t) override {
    found[row] =
        state == nullptr ? 0 : static_cast<std::uint64_t>(*static_cast<const std::int64_t*>(state));
  }
};

// Results that do not fit in their type, while they are counted instead of thrown.
struct Overflows {
  bool counts = false;
  std::string column, sentence;  // of the first
  std::vector<std::int64_t> rows;

  void clear() {
    counts = false;
    rows.clear();
  }
};

class Output final : public engine::Sink {
 public:
  enum class Source : std::uint8_t {
    kCount,
    kFold,
    kQuantile,
    kRank,
    kUnique,
    kEntropy,
    kMode,
    kFrequent,
    kFrequencies,
    kCategories,
    kPerCategory,
    kCollect,
    kDistinct,
    kConcat
  };

  Source source = Source::kFold;
  std::string name;
  Overflows* overflows = nullptr;
  // The column's type: its format, and for lists that of the items.
  std::string format, item_format;
  engine::Type type, item_type;
  bool list = false;
  bool objects = false;  // results are Python objects
  bool records = false;  // results are the bytes of declared fields

  ErasedOp op;
  const Counts* counts = nullptr;  // null: all rows of a window count
  const bool* counted = nullptr;   // whether `counts` is kept at the moment
  std::uint64_t least = 0;         // fewer values give null
  bool when_empty = false;
  double scale = 1;        // results are divided by it
  std::int64_t times = 1;  // whole results are multiplied by it
  bool shifted = false;    // words are those of a uint64 less 2^63
  bool ordered = false;    // texts are those of decimals in their order
  bool latin = false;      // texts are bytes as characters

  // Of quantiles.
  Quantile quantile;
  bool real_keys = false;  // the words are floats
  bool between_reals = false, between_whole = false;
  std::int32_t decimals = 0;

  // Of ranks: the own values of the rows that are answered.
  enum class Ties : std::uint8_t { kLeast, kMost, kMean } ties = Ties::kMean;
  bool share = false;  // of all values
  std::uint32_t own_input = 0, own_stored = 0, own_presence = 0;
  std::vector<Word> own;
  std::vector<std::uint8_t> has_own;

  std::size_t k = 1;  // how many of the most frequent values

  // Of results per category: how categories are ordered, and how many there may be.
  engine::Compare by = engine::Compare::kWhole;
  std::size_t limit = 0;
  std::string category;  // the column, for errors

  // Of what walks the rows of a window.
  const engine::Nodes* nodes = nullptr;
  std::uint32_t presence = engine::kAlways, walked = 0, flags = engine::kNoColumn;

  void reset(std::size_t rows);
  void put(std::size_t row, const void* state, std::uint64_t held) override;

  engine::Column column(const std::string& name);
  // The results as (values, valid) where Python makes the column: objects in a list, or bytes.
  nb::object raw() const;
  nb::object object(std::size_t row) const;  // of a row
  // How many items a list has at a row, and whether there is a result, for checks.
  bool has(std::size_t row) const { return valid_[row] != 0; }

 private:
  void put_result(std::size_t row, const void* state, std::uint64_t held);
  void fold(std::size_t row, const void* state);
  void order(std::size_t row, engine::Ordered& values);
  void rank(std::size_t row, engine::Ordered& values);
  void tally(std::size_t row, const engine::Counted& values);
  void per_category(std::size_t row, const engine::Categories& categories);
  void walk(std::size_t row, const engine::Walk& rows);
  void set(std::size_t row, Word word) {
    words_[row] = word;
    valid_[row] = 1;
  }
  void add_item(Word word, bool some) {
    items_.push_back(word);
    some_.push_back(some ? 1 : 0);
  }
  void set_list(std::size_t row, std::size_t first) {
    spans_[row] = {first, items_.size()};
    valid_[row] = 1;
  }
  Word restored(Word word) {
    if (ordered || latin) return add_text(engine::text_of(word));
    return shifted ? word ^ (Word{1} << 63) : word;
  }
  Word add_text(std::string_view text) {
    if (ordered) return texts_.add(decimal_bytes(text));
    return texts_.add(latin ? latin_bytes(text) : text);
  }

  std::vector<Word> words_;
  std::vector<std::uint8_t> valid_;
  std::vector<std::pair<std::size_t, std::size_t>> spans_;  // of lists, in items_
  std::vector<Word> items_;
  std::vector<std::uint8_t> some_;
  std::vector<PyRef> objects_;
  engine::Pool texts_;
  Lowered lowered_;
  LowerWords plain_ = nullptr;  // where a word of a state is a result as it is
};

}  // namespace slidefold::bindings
