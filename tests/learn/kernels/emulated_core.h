// A multiprocessor imitated on the host, for kernels that are templates on the machine (tensor_core.cuh) and, by
// warp_emulation.h, for those of warp_matrix.cuh: every thread of a block is a fiber, which runs until it reaches an
// operation of its warp or block and goes on when all have. Fragments of matrices lie where the PTX ISA puts them. What
// a race would spoil is made visible: the lanes of a warp run in another order after every operation, the warps in the
// one asked for, copies arrive no sooner than they are waited for, and shared memory begins as NaN.
//
//   emulate({.blocks = 4, .members = 2, .threads = 128, .shared = bytes}, [&] { kernel<EmulatedCore>(arguments); });
#pragma once

#include <ucontext.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "rung/learn/kernels/element.h"

namespace rung::kernels {

struct EmulatedLaunch {
  int blocks = 1, members = 1, threads = 32;  // blocks of each member
  std::size_t shared = 0;
  bool backwards = false;  // the highest warp first, and lanes in other orders
};

class EmulatedBlock {
 public:
  enum class Operation { none, sync_block, sync_warp, shuffle, load, multiply_add, transpose, done };
  // What a lane brings to an operation of its warp: a number, a row of sixteen bytes, or its part of A and B.
  struct Offer {
    std::uint32_t words[6];
  };

  static void require(bool held, const char* what) {
    if (held) return;
    std::fprintf(stderr, "emulated core: %s\n", what);
    std::abort();
  }
  static EmulatedBlock*& current() {
    static EmulatedBlock* block = nullptr;
    return block;
  }

  EmulatedBlock(const EmulatedLaunch& launch, int member, int index, const std::function<void()>& body)
      : launch_(launch),
        member_(member),
        index_(index),
        body_(body),
        fibers_(static_cast<std::size_t>(launch.threads)),
        offers_(2 * fibers_.size()),
        turn_(launch.backwards ? 2 : 1) {
    // From an aligned address on, NaN in either type.
    memory_.assign(launch.shared + 128, 0xFF);
    for (Fiber& fiber : fibers_) prepare(fiber);
  }

  // Every fiber to its end. A warp whose lanes wait for different things is a bug of the kernel.
  void run() {
    current() = this;
    const int warps = launch_.threads / 32;
    for (bool going = true; going;) {
      int waiting = 0, done = 0;
      for (int w = 0; w < warps; ++w) {
        const Operation reached = run_warp(launch_.backwards ? warps - 1 - w : w);
        waiting += reached == Operation::sync_block ? 1 : 0;
        done += reached == Operation::done ? 1 : 0;
      }
      require(done == 0 || waiting == 0, "a warp ended while others wait for it");
      going = done < warps;
    }
    current() = nullptr;
  }

  int thread() const { return running_; }
  int index() const { return index_; }
  int member() const { return member_; }
  unsigned char* shared(unsigned offset) {
    require(offset < launch_.shared, "an address beyond shared memory");
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data());
    return memory_.data() + (128 - begin % 128) % 128 + offset;
  }

  // Waits for the other lanes of the warp (or for the block) and returns what each lane of the warp brought.
  const Offer* meet(Operation operation, const Offer& offer = {}) {
    Fiber& fiber = fibers_[static_cast<std::size_t>(running_)];
    // Two by turns: lanes that are ahead write the next one.
    Offer* offers = offers_.data() + (running_ / 32 * 2 + fiber.met % 2) * 32;
    offers[running_ % 32] = offer;
    fiber.operation = operation;
    ++fiber.met;
    swapcontext(&fiber.context, &scheduler_);
    return offers;
  }
  void copy_later(void* to, const void* from, bool inside) {
    require((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % 16 == 0,
            "a copy that is not aligned");
    std::memset(to, 0xFF, 16);
    fibers_[static_cast<std::size_t>(running_)].copies.push_back({to, inside ? from : nullptr});
  }
  void arrive() {
    Fiber& fiber = fibers_[static_cast<std::size_t>(running_)];
    for (const Copy& copy : fiber.copies) {
      if (copy.from)
        std::memcpy(copy.to, copy.from, 16);
      else
        std::memset(copy.to, 0, 16);
    }
    fiber.copies.clear();
  }

 private:
  static constexpr std::size_t kStack = 256 << 10;
  struct Copy {
    void* to;
    const void* from;  // null: zeros
  };
  struct Fiber {
    ucontext_t context{};
    std::unique_ptr<unsigned char[]> stack;
    Operation operation = Operation::none;
    std::int64_t met = 0;
    std::vector<Copy> copies;
  };

  [[gnu::noinline]] static void prepare(Fiber& fiber) {
    fiber.stack.reset(new unsigned char[kStack]);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStack;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, &EmulatedBlock::enter, 0);
  }
  static void enter() {
    EmulatedBlock* block = current();
    block->body_();
    block->meet(Operation::done);
  }

  // The warp's lanes until they wait for the block or are done.
  Operation run_warp(int warp) {
    Fiber* lanes = fibers_.data() + 32 * warp;
    if (lanes[0].operation == Operation::done) return Operation::done;
    for (;;) {
      turn_ = turn_ * 1664525u + 1013904223u;
      const int first = static_cast<int>(turn_ >> 27), step = static_cast<int>(turn_ >> 20 & 15) * 2 + 1;
      for (int i = 0; i < 32; ++i) {
        const int lane = (first + i * step) % 32;
        running_ = 32 * warp + lane;
        swapcontext(&scheduler_, &lanes[lane].context);
      }
      const Operation reached = lanes[0].operation;
      for (int lane = 1; lane < 32; ++lane)
        require(lanes[lane].operation == reached && lanes[lane].met == lanes[0].met,
                "lanes of a warp wait for different operations");
      if (reached == Operation::done || reached == Operation::sync_block) return reached;
    }
  }

  EmulatedLaunch launch_;
  int member_, index_, running_ = 0;
  const std::function<void()>& body_;
  std::vector<Fiber> fibers_;
  std::vector<Offer> offers_;
  std::vector<unsigned char> memory_;
  std::uint32_t turn_;
  ucontext_t scheduler_{};
};

struct EmulatedCore {
  using Operation = EmulatedBlock::Operation;
  static EmulatedBlock& now() { return *EmulatedBlock::current(); }
  static int thread() { return now().thread(); }
  static int lane() { return now().thread() % 32; }
  static int block() { return now().index(); }
  static int member() { return now().member(); }
  static void sync_block() { now().meet(Operation::sync_block); }
  static void sync_warp() { now().meet(Operation::sync_warp); }

  static unsigned bits(float x) {
    unsigned bits;
    std::memcpy(&bits, &x, sizeof(x));
    return bits;
  }
  static float number(unsigned bits) {
    float x;
    std::memcpy(&x, &bits, sizeof(x));
    return x;
  }
  static float from_lane(float x, int lane) {
    return number(now().meet(Operation::shuffle, {{bits(x)}})[lane % 32].words[0]);
  }
  static float from_lane_below(float x, int lanes) {
    return from_lane(x, lane() < lanes ? lane() : lane() - lanes);
  }
  static unsigned exchange(unsigned x, int lanes) {
    return now().meet(Operation::shuffle, {{x}})[lane() ^ lanes].words[0];
  }
  static float shuffle_xor(float x, int lanes) { return number(exchange(bits(x), lanes)); }
  static bool any(bool of_lane) {
    const EmulatedBlock::Offer* offers = now().meet(Operation::shuffle, {{of_lane}});
    for (int lane = 0; lane < 32; ++lane)
      if (offers[lane].words[0]) return true;
    return false;
  }

  template <class T>
  static T* shared(unsigned offset) {
    return reinterpret_cast<T*>(now().shared(offset));
  }
  static void load_pair(float (&to)[2], unsigned offset) {
    std::memcpy(to, aligned(shared<void>(offset), 8), 8);
  }
  static void load_eight(float (&to)[8], unsigned offset) {
    std::memcpy(to, aligned(shared<void>(offset), 16), 32);
  }
  static void save_sixteen(void* to, const std::uint32_t (&bytes)[4]) {
    std::memcpy(aligned(to, 16), bytes, 16);
  }
  static void save_pair(float* to, float first, float second) {
    const float both[2] = {first, second};
    std::memcpy(aligned(to, 8), both, 8);
  }
  static void save_four(float* to, float a, float b, float c, float d) {
    const float four[4] = {a, b, c, d};
    std::memcpy(aligned(to, 16), four, 16);
  }
  template <class T>
  static T* aligned(T* place, std::uintptr_t bytes) {
    EmulatedBlock::require(reinterpret_cast<std::uintptr_t>(place) % bytes == 0,
                           "an access that is not aligned");
    return place;
  }

  static void load_matrices(unsigned (&to)[4], const void* row) { load(to, row, false); }
  static void load_transposed(unsigned (&to)[4], const void* row) { load(to, row, true); }
  // The row is read when the lane comes: what others write without a barrier is not there.
  static void load(unsigned (&to)[4], const void* row, bool turned) {
    EmulatedBlock::Offer offer{};
    std::memcpy(offer.words, aligned(row, 16), 16);
    const EmulatedBlock::Offer* rows = now().meet(Operation::load, offer);
    const int g = lane() / 4, t = lane() % 4;
    const auto at = [&](int matrix, int r, int column) {
      return rows[8 * matrix + r].words[column / 2] >> (column % 2 * 16) & 0xFFFFu;
    };
    for (int matrix = 0; matrix < 4; ++matrix)
      to[matrix] = turned ? at(matrix, 2 * t, g) | at(matrix, 2 * t + 1, g) << 16
                          : at(matrix, g, 2 * t) | at(matrix, g, 2 * t + 1) << 16;
  }
  static void load_matrices(unsigned (&to)[4], unsigned offset) { load_matrices(to, now().shared(offset)); }
  static void load_transposed(unsigned (&to)[4], unsigned offset) {
    load_transposed(to, now().shared(offset));
  }
  // The 8 x 8 matrix that the lanes hold, transposed.
  static unsigned transpose(unsigned x) {
    const EmulatedBlock::Offer* offers = now().meet(Operation::transpose, {{x}});
    const int g = lane() / 4, t = lane() % 4;
    const auto at = [&](int row, int column) {
      return offers[row * 4 + column / 2].words[0] >> (column % 2 * 16) & 0xFFFFu;
    };
    return at(2 * t, g) | at(2 * t + 1, g) << 16;
  }
  static void multiply_add(float* c, const unsigned (&a)[4], unsigned b0, unsigned b1) {
    const EmulatedBlock::Offer* offers =
        now().meet(Operation::multiply_add, {{a[0], a[1], a[2], a[3], b0, b1}});
    const auto half = [](unsigned both, int upper) { return upper ? high(both) : low(both); };
    for (int i = 0; i < 4; ++i) {
      const int row = lane() / 4 + i / 2 * 8, column = lane() % 4 * 2 + i % 2;
      double sum = 0.0;
      for (int k = 0; k < 16; ++k)
        sum += static_cast<double>(half(offers[row % 8 * 4 + k % 8 / 2].words[row / 8 + k / 8 * 2], k % 2)) *
               half(offers[column * 4 + k % 8 / 2].words[4 + k / 8], k % 2);
      c[i] += static_cast<float>(sum);
    }
  }

  static void copy_async(void* to, const void* from, bool inside) { now().copy_later(to, from, inside); }
  static void copy_async(unsigned offset, const void* from, bool inside) {
    copy_async(now().shared(offset), from, inside);
  }
  static void wait_copies() { now().arrive(); }
  static unsigned pack(float low, float high) {
    Bf16 a{}, b{};
    store(a, low), store(b, high);
    return a.bits | static_cast<unsigned>(b.bits) << 16;
  }
  static float low(unsigned both) { return number(both << 16); }
  static float high(unsigned both) { return number(both & 0xFFFF0000u); }
  static float exponential(float x) { return std::exp(x); }
  // As the device's: what is not normal is 0.
  static float power_of_two(float x) {
    const float y = std::exp2(x);
    return y < 0x1p-126f ? 0.0f : y;
  }
  static float logarithm_of_two(float x) { return std::log2(x); }
  static float inverse_root(float x) { return 1.0f / std::sqrt(x); }
  static float quotient(float x, float y) { return x / y; }
};

inline void emulate(const EmulatedLaunch& launch, const std::function<void()>& body) {
  for (int member = 0; member < launch.members; ++member)
    for (int block = 0; block < launch.blocks; ++block) EmulatedBlock(launch, member, block, body).run();
}

}  // namespace rung::kernels
