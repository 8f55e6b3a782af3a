// Large blocks of memory on huge pages, a few of which are kept for the next request.
//
// Layout: a block is whole huge pages. Blocks that are given back go to a short list, the oldest
//   first; a request takes the youngest one of its size. A thread that finds the list in use goes
//   to the system instead of waiting, so a fork at any moment cannot block the child.
// Invariants: I1 the kept blocks take at most kKept bytes. I2 a block is in the list or with its
//   owner, never both.
// Cost: fresh memory is cleared by the kernel page by page: a column of 8 MB takes 1.4 ms to be
//   written for the first time, and 0.3 ms as a block that was kept (Linux 6, a virtual machine).
// Paper: none.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace slidefold {

class LargeMemory {
 public:
  static constexpr std::size_t kHugePage = std::size_t{1} << 21;
  static constexpr std::size_t kLeast = kHugePage / 2;  // smaller blocks are not large
#ifdef __SANITIZE_ADDRESS__
  static constexpr std::size_t kKept = 0;  // so that it sees each use of a block given back
#else
  static constexpr std::size_t kKept = std::size_t{128} << 20;
#endif

  static void* take(std::size_t bytes) {
    const std::size_t size = whole_pages(bytes);
    if (void* const kept = list_.take(size)) return kept;
    void* const fresh = ::operator new(size, std::align_val_t{kHugePage});
#ifdef __linux__
    madvise(fresh, size, MADV_HUGEPAGE);
#endif
    return fresh;
  }
  // `bytes` as it was taken.
  static void give_back(void* block, std::size_t bytes) noexcept {
    const std::size_t size = whole_pages(bytes);
    if (!list_.keep({block, size})) release(block);
  }
  // The bytes that are kept.
  static std::size_t kept() { return list_.bytes; }

 private:
  struct Block {
    void* place;
    std::size_t size;
  };
  struct List {
    static constexpr std::size_t kBlocks = kKept / kHugePage;
    std::array<Block, kBlocks + 1> blocks{};
    std::size_t count = 0, bytes = 0;
    std::atomic<bool> busy = false;

    void* take(std::size_t size) noexcept {
      if (busy.exchange(true, std::memory_order_acquire)) return nullptr;
      void* found = nullptr;
      for (std::size_t i = count; i-- > 0;) {
        if (blocks[i].size != size) continue;
        found = blocks[i].place;
        remove(i);
        break;
      }
      busy.store(false, std::memory_order_release);
      return found;
    }
    bool keep(Block block) noexcept {
      if (block.size > kKept) return false;
      if (busy.exchange(true, std::memory_order_acquire)) return false;
      while (bytes + block.size > kKept) {
        release(blocks[0].place);
        remove(0);
      }
      blocks[count++] = block;
      bytes += block.size;
      busy.store(false, std::memory_order_release);
      return true;
    }
    void remove(std::size_t at) noexcept {
      bytes -= blocks[at].size;
      std::copy(blocks.begin() + at + 1, blocks.begin() + count, blocks.begin() + at);
      --count;
    }
  };
  static std::size_t whole_pages(std::size_t bytes) {
    return (bytes + kHugePage - 1) / kHugePage * kHugePage;
  }
  static void release(void* block) noexcept {
    ::operator delete(block, std::align_val_t{kHugePage});
  }

  static List list_;
};

inline constinit LargeMemory::List LargeMemory::list_{};

}  // namespace slidefold
