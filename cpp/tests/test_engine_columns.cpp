// What surrounds the stores of the engine: keys, groups, the pool, Arrow columns, rows that wait.
#include <map>
#include <random>
#include <set>

#include "check.hpp"
#include "slidefold/engine/arrow.hpp"
#include "slidefold/engine/keys.hpp"
#include "slidefold/engine/pending.hpp"

using namespace slidefold;
using namespace slidefold::engine;

TEST(keys_come_and_go) {
  std::mt19937_64 random(1);
  Keys keys(2);
  std::map<std::pair<Word, Word>, Slot> truth;
  for (int step = 0; step < 20000; ++step) {
    const Word key[2] = {random() % 50, random() % 8};
    const auto known = truth.find({key[0], key[1]});
    CHECK_EQ(keys.find(key), known == truth.end() ? kNoSlot : known->second);
    if (known != truth.end() && random() % 2 == 0) {
      keys.remove(known->second);
      truth.erase(known);
    } else {
      const Slot slot = keys.add(key);
      CHECK(known == truth.end() || known->second == slot);
      truth[{key[0], key[1]}] = slot;
    }
    CHECK_EQ(keys.size(), truth.size());
    if (step % 500 == 0) keys.check();
  }
}

TEST(keys_that_have_gone_give_their_memory_back) {
  std::mt19937_64 random(3);
  Keys keys(1);
  std::map<Word, Slot> truth;
  std::size_t trims = 0;
  for (int wave = 0; wave < 12; ++wave) {
    const std::size_t most = wave % 2 == 0 ? 3000 : wave % 4 == 1 ? 0 : 5;
    while (truth.size() < most) {
      const Word key = random() % 100000;
      const Slot slot = keys.add(&key);
      const auto [known, fresh] = truth.emplace(key, slot);
      CHECK_EQ(known->second, slot);
    }
    while (truth.size() > most) {
      auto gone = truth.begin();
      std::advance(gone,
                   static_cast<std::ptrdiff_t>(random() % std::min<std::size_t>(truth.size(), 9)));
      keys.remove(gone->second);
      truth.erase(gone);
      if (random() % 40 == 0) trims += keys.trim(random() % 2 == 0) ? 1 : 0;
    }
    trims += keys.trim(true) ? 1 : 0;
    keys.check();
    for (const auto& [key, slot] : truth) CHECK_EQ(keys.find(&key), slot);
    CHECK(most > 0 || keys.bytes() < 1000);
  }
  CHECK(trims >= 3);
}

TEST(groups_keep_the_order_of_their_rows) {
  Groups groups;
  const std::vector<Slot> slots = {3, 0, 3, kNoSlot, 7, 0, 3};
  for (int again = 0; again < 2; ++again) {
    groups.group(slots);
    CHECK_EQ(groups.size(), 3);
    const std::vector<std::vector<std::uint32_t>> rows = {{0, 2, 6}, {1, 5}, {4}};
    for (std::size_t g = 0; g < 3; ++g) {
      CHECK_EQ(groups.slot(g), slots[rows[g][0]]);
      const auto found = groups.rows(g);
      CHECK(std::vector<std::uint32_t>(found.begin(), found.end()) == rows[g]);
    }
  }
}

TEST(the_pool_keeps_what_is_marked) {
  std::mt19937_64 random(2);
  Pool pool;
  std::map<std::string, Word> truth;
  for (int step = 0; step < 5000; ++step) {
    const std::string value(random() % 6, static_cast<char>('a' + random() % 20));
    const Word word = pool.add(value);
    CHECK(text_of(word) == value);
    const auto [known, fresh] = truth.emplace(value, word);
    CHECK_EQ(known->second, word);
    if (step % 700 != 0) continue;
    for (auto each = truth.begin(); each != truth.end();) {
      if (random() % 2 == 0) {
        pool.mark(each->second);
        ++each;
      } else {
        each = truth.erase(each);
      }
    }
    pool.sweep();
    pool.check();
    CHECK_EQ(pool.size(), truth.size());
    for (const auto& [text, number] : truth) CHECK(text_of(number) == text);
  }
}

TEST(rows_wait_in_order_of_time) {
  std::mt19937_64 random(3);
  Pending pending;
  std::multiset<std::pair<Time, std::uint64_t>> truth;
  std::uint64_t number = 0;
  for (int step = 0; step < 2000; ++step) {
    std::vector<Waiting> rows;
    for (std::size_t n = random() % 30; n > 0; --n) {
      rows.push_back({step * 5 + static_cast<Time>(random() % 400), number++, 0});
      truth.emplace(rows.back().time, rows.back().number);
    }
    pending.add(rows);
    CHECK_EQ(pending.size(), truth.size());
    if (!truth.empty()) CHECK_EQ(pending.oldest(), truth.begin()->first);
    const Time watermark = step * 5 + static_cast<Time>(random() % 20);
    for (const Waiting& row : pending.due(watermark)) {
      CHECK(truth.begin()->first == row.time && truth.begin()->second == row.number);
      truth.erase(truth.begin());
    }
    CHECK(truth.empty() || truth.begin()->first > watermark);
    pending.check();
  }
}

namespace {

struct Column {
  ArrowSchema schema{};
  ArrowArray array{};
  std::vector<const void*> buffers;
  Column(const char* format, std::int64_t length, std::vector<const void*> given, int offset = 0)
      : buffers(std::move(given)) {
    schema.format = format;
    array.length = length;
    array.offset = offset;
    array.null_count = buffers[0] == nullptr ? 0 : -1;
    array.n_buffers = static_cast<std::int64_t>(buffers.size());
    array.buffers = buffers.data();
  }
  void read(Pool& pool, std::vector<Word>& words, std::vector<std::uint8_t>& valid) const {
    ArrowColumn(*type_of(schema), array).read(pool, words, valid);
  }
};

}  // namespace

TEST(arrow_numbers) {
  Pool pool;
  std::vector<Word> words;
  std::vector<std::uint8_t> valid;
  const std::int16_t shorts[] = {9, -1, 2, -3};
  const std::uint8_t bits[] = {0b1010};
  Column("s", 3, {bits, shorts}, 1).read(pool, words, valid);
  CHECK(words == (std::vector<Word>{~Word{0}, 0, static_cast<Word>(-3)}));
  CHECK(valid == (std::vector<std::uint8_t>{1, 0, 1}));
  const float reals[] = {0.5F, -2};
  Column("f", 2, {nullptr, reals}).read(pool, words, valid);
  CHECK_EQ(std::bit_cast<double>(words[1]), -2.0);
  const std::uint16_t halves[] = {0x3C00, 0xC000, 0x0001};
  Column("e", 3, {nullptr, halves}).read(pool, words, valid);
  CHECK_EQ(std::bit_cast<double>(words[0]), 1.0);
  CHECK_EQ(std::bit_cast<double>(words[1]), -2.0);
  CHECK_EQ(std::bit_cast<double>(words[2]), 0x1p-24);
  Column("b", 4, {nullptr, bits}).read(pool, words, valid);
  CHECK(words == (std::vector<Word>{0, 1, 0, 1}));
  const std::int64_t decimal[] = {-5, -1, 7, 0};
  Column("d:10,2", 2, {nullptr, decimal}).read(pool, words, valid);
  CHECK(words == (std::vector<Word>{static_cast<Word>(-5), 7}));
  Column("d:30,2", 2, {nullptr, decimal}).read(pool, words, valid);
  CHECK_EQ(text_of(words[1]).size(), 16);
  Column("n", 2, {nullptr}).read(pool, words, valid);
  CHECK(valid == (std::vector<std::uint8_t>{0, 0}));
}

TEST(arrow_texts_and_dictionaries) {
  Pool pool;
  std::vector<Word> words;
  std::vector<std::uint8_t> valid;
  const std::int32_t offsets[] = {0, 2, 2, 5};
  Column texts("u", 3, {nullptr, offsets, "abcde"});
  texts.read(pool, words, valid);
  CHECK(text_of(words[0]) == "ab" && text_of(words[1]).empty() && text_of(words[2]) == "cde");
  const std::int8_t indices[] = {2, 0, 2};
  Column coded("c", 3, {nullptr, indices});
  coded.schema.dictionary = &texts.schema;
  coded.array.dictionary = &texts.array;
  std::vector<Word> again;
  coded.read(pool, again, valid);
  CHECK(again == (std::vector<Word>{words[2], words[0], words[2]}));
  const std::int8_t beyond[] = {3};
  Column wrong("c", 1, {nullptr, beyond});
  wrong.schema.dictionary = &texts.schema;
  wrong.array.dictionary = &texts.array;
  CHECK_THROWS(wrong.read(pool, again, valid), std::out_of_range);
  alignas(8) char views[32] = {};
  const std::int32_t lengths[] = {3, 14};
  std::memcpy(views, &lengths[0], 4);
  std::memcpy(views + 4, "xyz", 3);
  std::memcpy(views + 16, &lengths[1], 4);
  const std::int32_t place[] = {0, 1};
  std::memcpy(views + 24, place, 8);
  Column("vu", 2, {nullptr, views, "-a long text ..-"}).read(pool, words, valid);
  CHECK(text_of(words[0]) == "xyz" && text_of(words[1]) == "a long text ..");
  ArrowSchema nested{}, child{};
  ArrowSchema* children[] = {&child};
  child.format = "l";
  nested.format = "+l";
  CHECK(!type_of(nested).has_value());  // a list of nothing
  nested.n_children = 1;
  nested.children = children;
  CHECK(type_of(nested)->layout == 'N');
  nested.format = "+ud:0";  // a union
  CHECK(!type_of(nested).has_value());
}
