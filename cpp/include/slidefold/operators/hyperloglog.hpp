// HyperLogLog: how many distinct values there are, about.
//
// Layout: m = 2^precision registers, each the largest rank (leading zeros plus one) of the hashes
// that
//   fall to it. One value is one number (index and rank); few are a sorted list of them; from m/16
//   registers on they are m bytes. Lists and bytes are shared between states and copied before they
//   change.
// Invariants: I1 a list is sorted by index, without repetitions. I2 bytes exactly when more than
// m/16
//   registers are set: equal sets have equal states. I3 shared tables never change.
// Cost: O(m) a combine of two large states, O(1) where one is a single value that changes nothing,
//   which is most of them: a window of n values holds about m(1 + ln(n/m)) different tables, not n.
// Paper: daba-in-order, Table 1 (sketches). Commutes; not invertible. The estimate is Ertl's for
//   registers without saturation: no bias at small counts; standard error 1.04/sqrt(m).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numbers>
#include <utility>
#include <vector>

#include "slidefold/operator.hpp"
#include "slidefold/operators/hash.hpp"
#include "slidefold/storage/archive.hpp"

namespace slidefold {

struct HyperLogLog {
  static constexpr bool commutative = true;
  unsigned precision = 12;

  using Entry = std::uint32_t;  // index << 8 | rank, never 0
  struct Table {
    std::vector<Entry> few;
    std::vector<std::uint8_t> ranks;  // of all registers, or empty
    bool operator==(const Table&) const = default;
  };
  struct State {
    std::shared_ptr<Table> table;
    Entry one = 0;
  };

  template <class Archive>
  void archive(Archive& a, State& state) const {
    if constexpr (Archive::kLoading) {
      Table table;
      a(state.one, table.few, table.ranks);
      expect(sound(state.one, table), "the registers are not those of this precision");
      const bool nothing = table.few.empty() && table.ranks.empty();
      state.table = nothing ? nullptr : std::make_shared<Table>(std::move(table));
    } else {
      const Table none;
      const Table& table = state.table ? *state.table : none;
      a(state.one, table.few, table.ranks);
    }
  }

  State identity() const { return {}; }
  State lift(std::uint64_t hash) const {
    const std::uint64_t index = hash >> (64 - precision);
    const std::uint64_t rest = hash << precision;
    const int rank = rest == 0 ? static_cast<int>(65 - precision) : std::countl_zero(rest) + 1;
    return {nullptr, static_cast<Entry>(index << 8) | static_cast<Entry>(rank)};
  }
  State combine(const State& older, const State& newer) const {
    const bool copy_newer = older.table == nullptr && newer.table != nullptr;  // it commutes
    State both = copy_newer ? newer : older;
    absorb(both, copy_newer ? older : newer);
    return both;
  }
  void absorb(State& whole, const State& part) const {
    if (part.one != 0) return add(whole, part.one);
    if (part.table == nullptr || part.table == whole.table) return;
    if (whole.table == nullptr) {
      const Entry one = std::exchange(whole.one, 0);
      whole.table = part.table;
      if (one != 0) add(whole, one);
      return;
    }
    if (whole.table->ranks.empty() && !part.table->ranks.empty()) {
      // It commutes: a few entries go into the large table, which is copied only if one is new.
      const std::shared_ptr<Table> few = std::exchange(whole.table, part.table);
      for (const Entry entry : few->few) add(whole, entry);
      return;
    }
    merge(whole, *part.table);
  }
  bool same(const State& a, const State& b) const {
    if (a.one != b.one || (a.table == nullptr) != (b.table == nullptr)) return false;
    return a.table == b.table || *a.table == *b.table;
  }

  std::int64_t estimate(const State& state) const {
    double zeros = static_cast<double>(registers()), sum = 0;
    const auto set = [&](Entry entry) {
      --zeros;
      sum += weight(entry & 0xff);
    };
    if (state.one != 0) set(state.one);
    if (state.table != nullptr) {
      std::for_each(state.table->few.begin(), state.table->few.end(), set);
      if (!state.table->ranks.empty()) sum_ranks(state.table->ranks, zeros, sum);
    }
    return estimate(unset_share(zeros), sum);
  }

  // The estimate from what empty registers tell and the weights of the others. Sums of weights are
  // exact, in any order: ranks beyond a double's digits, one value in 2^34 or fewer, weigh the
  // same.
  std::int64_t estimate(double unset, double weights) const {
    const auto m = static_cast<double>(registers());
    return std::llround(m * m / (2 * std::numbers::ln2) / (m * unset + weights));
  }
  double weight(unsigned rank) const {
    return std::ldexp(1.0, -static_cast<int>(std::min(rank, 52 - precision)));
  }
  // Ertl's sigma: what so many empty registers tell. Infinite if all are empty.
  double unset_share(double zeros) const {
    double x = zeros / static_cast<double>(registers());
    if (x == 1) return std::numeric_limits<double>::infinity();
    double weight = 1, sum = x, before = -1;
    while (sum != before) {
      x *= x;
      before = sum;
      sum += x * weight;
      weight += weight;
    }
    return sum;
  }
  std::size_t registers() const { return std::size_t{1} << precision; }

 private:
  bool sound(Entry one, const Table& table) const {
    const auto valid = [&](Entry entry) {
      const Entry rank = entry & 0xff;
      return entry >> 8 < registers() && 1 <= rank && rank <= 65 - precision;
    };
    const bool few = std::all_of(table.few.begin(), table.few.end(), valid) &&
                     std::adjacent_find(table.few.begin(), table.few.end(), [](Entry a, Entry b) {
                       return a >> 8 >= b >> 8;
                     }) == table.few.end();
    const bool ranks = std::all_of(table.ranks.begin(), table.ranks.end(),
                                   [&](std::uint8_t rank) { return rank <= 65 - precision; });
    const bool size =
        table.ranks.empty() || (table.ranks.size() == registers() && table.few.empty());
    const bool alone = one == 0 || (valid(one) && table.few.empty() && table.ranks.empty());
    return few && ranks && size && alone;
  }

  // Sixteen lanes, which compilers turn into vectors. A rank becomes 2^-rank by its exponent bits.
  // A lane adds 64 floats, exactly so up to rank 18; the few larger ones are put right afterwards.
  void sum_ranks(const std::vector<std::uint8_t>& ranks, double& zeros, double& sum) const {
    constexpr std::size_t lanes = 16, block = 1024;  // 64 rounds: a lane's zeros fit a byte
    constexpr std::uint8_t exact = 18;
    const std::uint8_t* rank = ranks.data();
    const std::size_t size = ranks.size();
    std::uint32_t empty = 0;
    double total = 0;
    for (std::size_t at = 0; at < size; at += block) {
      const std::size_t end = std::min(at + block, size);
      std::array<float, lanes> sums{};
      std::array<std::uint8_t, lanes> unset{}, largest{};
      for (std::size_t i = at; i < end; i += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          const std::uint32_t shift = std::min(rank[i + lane], exact);
          sums[lane] += std::bit_cast<float>(0x3f800000u - (shift << 23));
        }
      }
      for (std::size_t i = at; i < end; i += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          unset[lane] = static_cast<std::uint8_t>(unset[lane] + (rank[i + lane] == 0));
          largest[lane] = std::max(largest[lane], rank[i + lane]);
        }
      }
      for (const std::uint8_t lane : unset) empty += lane;
      for (const float lane : sums) total += static_cast<double>(lane);
      if (*std::max_element(largest.begin(), largest.end()) <= exact) continue;
      for (std::size_t i = at; i < end; ++i) {
        if (rank[i] > exact) total += weight(rank[i]) - weight(exact);
      }
    }
    zeros = empty;
    sum = total - zeros;
  }

  // The table of a state, to write to: its own if nobody else has it.
  static Table& writable(State& state) {
    if (state.table.use_count() == 1) {
      std::atomic_thread_fence(std::memory_order_acquire);
    } else {
      state.table = std::make_shared<Table>(*state.table);
    }
    return *state.table;
  }

  static auto place_of(const std::vector<Entry>& few, Entry entry) {
    return std::lower_bound(few.begin(), few.end(), entry & ~Entry{0xff});
  }
  static bool same_index(Entry a, Entry b) { return a >> 8 == b >> 8; }

  void add(State& state, Entry entry) const {
    if (state.table == nullptr) {
      if (state.one == 0 || same_index(state.one, entry)) {
        state.one = std::max(state.one, entry);
        return;
      }
      const Entry one = std::exchange(state.one, 0);
      state.table =
          std::make_shared<Table>(Table{{std::min(one, entry), std::max(one, entry)}, {}});
      if (registers() / 16 < 2) spread(writable(state));
      return;
    }
    const Table& table = *state.table;
    if (!table.ranks.empty()) {
      if (table.ranks[entry >> 8] < (entry & 0xff)) {
        writable(state).ranks[entry >> 8] = static_cast<std::uint8_t>(entry & 0xff);
      }
      return;
    }
    const auto found = place_of(table.few, entry) - table.few.begin();
    const bool known = static_cast<std::size_t>(found) < table.few.size() &&
                       same_index(table.few[static_cast<std::size_t>(found)], entry);
    if (known && table.few[static_cast<std::size_t>(found)] >= entry) return;
    Table& own = writable(state);
    if (known) {
      own.few[static_cast<std::size_t>(found)] = entry;
    } else {
      own.few.insert(own.few.begin() + found, entry);
      if (own.few.size() > registers() / 16) spread(own);
    }
  }

  void merge(State& whole, const Table& part) const {
    if (part.ranks.empty() && (part.few.size() < 8 || !whole.table->ranks.empty())) {
      for (const Entry entry : part.few) add(whole, entry);
      return;
    }
    Table& own = writable(whole);
    if (own.ranks.empty() && part.ranks.empty()) {
      std::vector<Entry> both;
      both.reserve(own.few.size() + part.few.size());
      std::merge(own.few.begin(), own.few.end(), part.few.begin(), part.few.end(),
                 std::back_inserter(both));
      // Of two ranks of an index the larger one comes last.
      own.few.clear();
      for (const Entry entry : both) {
        if (!own.few.empty() && same_index(own.few.back(), entry)) {
          own.few.back() = entry;
        } else {
          own.few.push_back(entry);
        }
      }
      if (own.few.size() > registers() / 16) spread(own);
      return;
    }
    if (own.ranks.empty()) spread(own);
    for (const Entry entry : part.few) raise(own, entry);
    // Bytes may alias anything: pointers and size of their own let the loop become vectors.
    std::uint8_t* to = own.ranks.data();
    const std::uint8_t* from = part.ranks.data();
    const std::size_t size = part.ranks.size();
    for (std::size_t i = 0; i < size; ++i) to[i] = std::max(to[i], from[i]);
  }

  void spread(Table& table) const {
    table.ranks.assign(registers(), 0);
    for (const Entry entry : table.few) raise(table, entry);
    table.few = {};
  }
  static void raise(Table& table, Entry entry) {
    std::uint8_t& rank = table.ranks[entry >> 8];
    rank = std::max(rank, static_cast<std::uint8_t>(entry & 0xff));
  }
};

template <class T>
struct ApproxDistinct : HyperLogLog {
  using In = T;
  using Out = std::int64_t;
  State lift(const T& value) const { return HyperLogLog::lift(hash_value(value)); }
  Out lower(const State& state) const { return estimate(state); }
};

}  // namespace slidefold
