// Blocks that are kept for the next request: who has them, how many stay, and threads.
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "check.hpp"
#include "slidefold/storage/buffer.hpp"
#include "slidefold/storage/large_memory.hpp"

using slidefold::Buffer;
using slidefold::LargeMemory;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(a_block_comes_back) {
  void* const first = LargeMemory::take(5 * kMiB);
  void* const second = LargeMemory::take(5 * kMiB);
  CHECK(first != second);
  LargeMemory::give_back(first, 5 * kMiB);
  CHECK(LargeMemory::kept() <= LargeMemory::kKept);
  if (LargeMemory::kKept > 0) {
    CHECK(LargeMemory::kept() == 6 * kMiB);
    void* const other = LargeMemory::take(9 * kMiB);  // of another size
    CHECK(other != first);
    void* const again = LargeMemory::take(5 * kMiB + 1);  // as many whole pages
    CHECK(again == first);
    CHECK(LargeMemory::kept() == 0);
    LargeMemory::give_back(other, 9 * kMiB);
    LargeMemory::give_back(again, 5 * kMiB + 1);
  } else {
    CHECK(LargeMemory::kept() == 0);
  }
  LargeMemory::give_back(second, 5 * kMiB);
}

TEST(the_oldest_goes) {
  for (std::size_t size = 1; size < 80; ++size) {
    std::vector<void*> blocks;
    for (int i = 0; i < 3; ++i) blocks.push_back(LargeMemory::take(size * kMiB));
    for (void* const block : blocks) {
      std::memset(block, 1, size * kMiB);
      LargeMemory::give_back(block, size * kMiB);
      CHECK(LargeMemory::kept() <= LargeMemory::kKept);
    }
  }
  const std::size_t before = LargeMemory::kept();
  void* const huge = LargeMemory::take(LargeMemory::kKept + 1);
  LargeMemory::give_back(huge, LargeMemory::kKept + 1);  // too large to be kept
  CHECK(LargeMemory::kept() == before);
}

TEST(buffers_never_share) {
  std::atomic<bool> mixed = false;
  std::vector<std::thread> threads;
  for (std::size_t t = 1; t <= 4; ++t) {
    threads.emplace_back([t, &mixed] {
      for (std::size_t round = 0; round < 50; ++round) {
        Buffer<std::size_t> one(kMiB / 4), two(kMiB / 4 * (1 + round % 3));
        for (std::size_t i = 0; i < one.size(); i += 512) one[i] = t;
        for (std::size_t i = 0; i < two.size(); i += 512) two[i] = 10 * t;
        for (std::size_t i = 0; i < one.size(); i += 512) {
          if (one[i] != t) mixed = true;
        }
        for (std::size_t i = 0; i < two.size(); i += 512) {
          if (two[i] != 10 * t) mixed = true;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(!mixed);
}

}  // namespace
