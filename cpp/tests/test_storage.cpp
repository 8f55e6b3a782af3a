// The stores beside a std::deque or a std::vector, inside and outside of transactions.
#include <deque>
#include <memory>

#include "check.hpp"
#include "monoids.hpp"
#include "slidefold/storage/chunked_queue.hpp"
#include "slidefold/storage/ring.hpp"
#include "slidefold/storage/slots.hpp"

using namespace slidefold;
using namespace slidefold::test;

template <class Queue, class T>
static void same(const Queue& queue, const std::deque<T>& truth) {
  CHECK_EQ(queue.size(), truth.size());
  CHECK_EQ(queue.empty(), truth.empty());
  auto at = queue.first();
  for (std::size_t i = 0; i < truth.size(); ++i, at = queue.next(at)) {
    CHECK(queue[at] == truth[i]);
    if (i % 97 == 0) CHECK(queue.at(i) == at && queue.rank(at) == i);
    if (i > 0) CHECK(queue.next(queue.prev(at)) == at);
  }
  CHECK(at == queue.last());
  if (truth.empty()) return;
  CHECK(queue.front() == truth.front());
  CHECK(queue.back() == truth.back());
}

template <class Queue, class T, class Draw>
static void step(Queue& queue, std::deque<T>& truth, Random& random, std::size_t chance,
                 const Draw& draw) {
  const T value = draw(random);
  if (truth.empty() || below(random, 100) < chance) {
    queue.push_back(value);
    truth.push_back(value);
  } else if (below(random, 3) == 0) {
    const std::size_t i = below(random, truth.size());
    queue.set(queue.at(i), value);
    truth[i] = value;
  } else {
    queue.pop_front();
    truth.pop_front();
  }
  if constexpr (requires { queue.pop_back(); }) {
    if (below(random, 8) == 0) {
      for (std::size_t count = below(random, truth.size() + 1); count > 0; --count) {
        queue.pop_back();
        truth.pop_back();
      }
    }
    if (below(random, 8) == 0) {
      const std::size_t count = below(random, truth.size() + 1);
      queue.drop_front(count);
      truth.erase(truth.begin(), truth.begin() + std::ptrdiff_t(count));
    }
    if (below(random, 3) == 0) queue.shrink();
    if (below(random, 50) == 0) queue.reserve(below(random, 100));
  }
}

// Chance of a push, in percent: long queues span chunks and grow rings.
static std::size_t push_chance(std::size_t round) { return round / 40 % 2 == 0 ? 85 : 30; }

template <class Queue, class Draw>
static void random_walk(std::size_t seed, bool transactions, const Draw& draw) {
  Random random(seed);
  Queue queue;
  std::deque<std::remove_cvref_t<decltype(queue.front())>> truth;
  for (std::size_t round = 0; round < 400; ++round) {
    const auto before = truth;
    if (transactions) queue.begin();
    for (std::size_t i = below(random, 30); i > 0; --i) {
      step(queue, truth, random, push_chance(round), draw);
    }
    same(queue, truth);
    if (transactions && below(random, 2) == 0) {
      queue.rollback();
      truth = before;
    } else if (transactions) {
      queue.commit();
    }
    same(queue, truth);
    if (round % 50 == 0) {
      Queue copy = queue;
      same(copy, truth);
      queue = copy;
      same(queue, truth);
    }
  }
}

static std::string text(Random& random) { return std::string(20, char('a' + below(random, 26))); }
static int number(Random& random) { return int(below(random, 1000)); }

TEST(a_ring_is_a_queue) {
  random_walk<Ring<std::string>>(61, false, text);
  random_walk<Ring<int>>(62, false, number);
  random_walk<Ring<std::string, true>>(63, false, text);
}
TEST(a_ring_is_taken_back) {
  for (std::size_t seed = 0; seed < 5; ++seed) {
    random_walk<Ring<std::string, true>>(seed, true, text);
    random_walk<Ring<int, true>>(seed, true, number);
  }
}
TEST(a_chunked_queue_is_a_queue) {
  random_walk<ChunkedQueue<std::string>>(64, false, text);
  random_walk<ChunkedQueue<int>>(65, false, number);
}
TEST(a_chunked_queue_is_taken_back) {
  for (std::size_t seed = 0; seed < 5; ++seed) {
    random_walk<ChunkedQueue<std::string, true>>(seed, true, text);
    random_walk<ChunkedQueue<int, true>>(seed, true, number);
  }
}

// Outside the elements nothing is held: the elements all own one object, which counts its owners.
template <class Queue>
static void releases(bool transactions) {
  Random random(67);
  const auto object = std::make_shared<int>(1);
  Queue queue;
  std::deque<std::shared_ptr<int>> truth;
  for (std::size_t round = 0; round < 1000; ++round) {
    auto before = truth;
    if (transactions) queue.begin();
    for (std::size_t i = below(random, 30); i > 0; --i) {
      step(queue, truth, random, push_chance(round), [&](Random&) { return object; });
    }
    if (transactions && below(random, 2) == 0) {
      queue.rollback();
      truth.swap(before);
    } else if (transactions) {
      queue.commit();
    }
    before.clear();
    CHECK_EQ(queue.size(), truth.size());
    CHECK_EQ(std::size_t(object.use_count()), 1 + 2 * truth.size());
  }
}
TEST(what_leaves_a_store_is_released) {
  releases<Ring<std::shared_ptr<int>>>(false);
  releases<Ring<std::shared_ptr<int>, true>>(true);
  releases<ChunkedQueue<std::shared_ptr<int>>>(false);
  releases<ChunkedQueue<std::shared_ptr<int>, true>>(true);
}

TEST(slots_are_taken_back) {
  Random random(66);
  Slots<std::string, true> slots(10);
  std::vector<std::string> truth(10);
  for (std::size_t round = 0; round < 2000; ++round) {
    const auto before = truth;
    slots.begin();
    for (std::size_t i = below(random, 12); i > 0; --i) {
      const std::size_t at = below(random, truth.size());
      const std::size_t kind = below(random, 8);
      if (kind == 0) {
        truth.assign(1 + below(random, 20), text(random));
        slots.replace(truth);
      } else if (kind < 3) {
        slots.clear(at);
        truth[at].clear();
      } else if (kind == 3) {
        slots.set(at, slots.take(0));
        truth[at] = truth[0];
      } else {
        truth[at] = text(random);
        slots.set(at, truth[at]);
      }
    }
    if (below(random, 2) == 0) {
      slots.rollback();
      truth = before;
    } else {
      slots.commit();
    }
    CHECK_EQ(slots.size(), truth.size());
    for (std::size_t i = 0; i < truth.size(); ++i) CHECK_EQ(slots[i], truth[i]);
  }
}
