#include "rounds_in.hpp"

#include <map>

namespace slidefold::bindings {

Rounds rounds_from(nb::dict plan) {
  Rounds rounds;
  const std::map<std::string, std::size_t*> sizes = {
      {"window", &rounds.window}, {"count", &rounds.count},       {"bulk", &rounds.bulk},
      {"slice", &rounds.slice},   {"distance", &rounds.distance}, {"small", &rounds.small},
      {"low", &rounds.low}};
  const std::map<std::string, bool*> flags = {{"twin", &rounds.twin},
                                              {"swing", &rounds.swing},
                                              {"bulk_evict", &rounds.bulk_evict},
                                              {"bulk_insert", &rounds.bulk_insert},
                                              {"eager", &rounds.eager},
                                              {"count_combines", &rounds.count_combines}};
  const std::map<std::string, Timed> parts = {{"run", Timed::kRun},
                                              {"round", Timed::kRound},
                                              {"evict", Timed::kEvict},
                                              {"insert", Timed::kInsert}};
  for (auto [key, value] : plan) {
    const std::string name = nb::cast<std::string>(key);
    if (const auto size = sizes.find(name); size != sizes.end()) {
      *size->second = nb::cast<std::size_t>(value);
    } else if (const auto flag = flags.find(name); flag != flags.end()) {
      *flag->second = nb::cast<bool>(value);
    } else if (const auto part = parts.find(name == "timed" ? nb::cast<std::string>(value) : "");
               part != parts.end()) {
      rounds.timed = part->second;
    } else {
      fail("ValueTypeError", "rounds have no option " + name);
    }
  }
  if (rounds.window == 0 || rounds.bulk == 0 || rounds.slice == 0) {
    fail("WindowError", "window, bulk and slice of rounds must be at least 1");
  }
  if (rounds.low >= rounds.window || rounds.bulk > rounds.window || rounds.small > rounds.window) {
    fail("WindowError", "low must be less than the window of rounds, bulk and small not larger");
  }
  if (rounds.bulk > 1 && rounds.distance + rounds.bulk > rounds.window) {
    fail("WindowError", "distance + bulk must not be larger than the window of rounds");
  }
  return rounds;
}

void require_empty(std::size_t size) {
  if (size != 0) fail("WindowError", "rounds begin with an empty window");
}

void require_rows(const std::optional<Int64Array>& column, std::size_t rows, const char* what) {
  if (!column || column->shape(0) == rows) return;
  fail("ValueTypeError", std::string(what) + " must have " + std::to_string(rows) + " rows, got " +
                             std::to_string(column->shape(0)));
}

}  // namespace slidefold::bindings
