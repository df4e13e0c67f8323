// A multiprocessor imitated on the host, for kernels that are templates on the machine (tensor_core.cuh): every
// thread of a block is a fiber, which runs until it reaches an operation of its warp or block and goes on when
// all have. Fragments of matrices lie where the PTX ISA puts them. What a race would spoil is made visible: the
// threads run in the order asked for, copies arrive no sooner than they are waited for, and shared memory
// begins as NaN.
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
  bool backwards = false;  // the highest lane and warp first
};

class EmulatedBlock {
 public:
  enum class Operation { none, sync_block, sync_warp, shuffle, load, load_transposed, multiply_add, done };

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
        fibers_(static_cast<std::size_t>(launch.threads)) {
    // From an aligned address on, NaN in either type.
    memory_.assign(launch.shared + 128, 0xFF);
    for (Fiber& fiber : fibers_) {
      fiber.stack.reset(new unsigned char[kStack]);
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = kStack;
      fiber.context.uc_link = nullptr;
      makecontext(&fiber.context, &EmulatedBlock::enter, 0);
    }
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
      for (Fiber& fiber : fibers_)
        if (fiber.operation == Operation::sync_block) fiber.operation = Operation::none;
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

  // What the running thread asks of its warp or block.
  struct Request {
    unsigned* registers = nullptr;  // of a load: its destination; of a product: A
    float* sums = nullptr;          // C; the number of a shuffle
    std::uint32_t b[2] = {0, 0};    // B
    unsigned offset = 0;            // of a load
    int lanes = 0;                  // of a shuffle
  };
  void wait(Operation operation, const Request& request) {
    Fiber& fiber = fibers_[static_cast<std::size_t>(running_)];
    fiber.operation = operation;
    fiber.request = request;
    swapcontext(&fiber.context, &scheduler_);
  }
  void copy_later(unsigned offset, const void* from, bool inside) {
    require(offset % 16 == 0 && reinterpret_cast<std::uintptr_t>(from) % 16 == 0,
            "a copy that is not aligned");
    std::memset(shared(offset), 0xFF, 16);
    fibers_[static_cast<std::size_t>(running_)].copies.push_back({offset, inside ? from : nullptr});
  }
  void arrive() {
    Fiber& fiber = fibers_[static_cast<std::size_t>(running_)];
    for (const auto& [offset, from] : fiber.copies) {
      if (from)
        std::memcpy(shared(offset), from, 16);
      else
        std::memset(shared(offset), 0, 16);
    }
    fiber.copies.clear();
  }

 private:
  static constexpr std::size_t kStack = 128 << 10;
  struct Fiber {
    ucontext_t context{};
    std::unique_ptr<unsigned char[]> stack;
    Operation operation = Operation::none;
    Request request;
    std::vector<std::pair<unsigned, const void*>> copies;
  };

  static void enter() {
    EmulatedBlock* block = current();
    block->body_();
    block->wait(Operation::done, {});
  }
  static float half_of(std::uint32_t both, int upper) {
    return to_float(Bf16{static_cast<std::uint16_t>(upper ? both >> 16 : both & 0xFFFFu)});
  }

  // The warp's lanes until they wait for the block or are done.
  Operation run_warp(int warp) {
    Fiber* lanes = fibers_.data() + 32 * warp;
    if (lanes[0].operation == Operation::done) return Operation::done;
    for (;;) {
      for (int i = 0; i < 32; ++i) {
        const int lane = launch_.backwards ? 31 - i : i;
        running_ = 32 * warp + lane;
        swapcontext(&scheduler_, &lanes[lane].context);
      }
      const Operation reached = lanes[0].operation;
      for (int lane = 1; lane < 32; ++lane)
        require(lanes[lane].operation == reached, "lanes of a warp wait for different operations");
      if (reached == Operation::done || reached == Operation::sync_block) return reached;
      perform(reached, lanes);
      for (int lane = 0; lane < 32; ++lane) lanes[lane].operation = Operation::none;
    }
  }

  void perform(Operation operation, Fiber* lanes) {
    if (operation == Operation::shuffle) {
      float given[32];
      for (int lane = 0; lane < 32; ++lane) given[lane] = *lanes[lane].request.sums;
      for (int lane = 0; lane < 32; ++lane)
        *lanes[lane].request.sums = given[lane ^ lanes[lane].request.lanes];
    }
    if (operation == Operation::load || operation == Operation::load_transposed) load(operation, lanes);
    if (operation == Operation::multiply_add) multiply(lanes);
  }

  void load(Operation operation, Fiber* lanes) {
    for (int matrix = 0; matrix < 4; ++matrix) {
      std::uint16_t numbers[8][8];
      for (int row = 0; row < 8; ++row) {
        const unsigned offset = lanes[8 * matrix + row].request.offset;
        require(offset % 16 == 0 && offset + 16 <= launch_.shared, "a row of a matrix that is not aligned");
        std::memcpy(numbers[row], shared(offset), 16);
      }
      for (int lane = 0; lane < 32; ++lane) {
        const int g = lane / 4, t = lane % 4;
        const bool turned = operation == Operation::load_transposed;
        const std::uint32_t low = turned ? numbers[2 * t][g] : numbers[g][2 * t],
                            high = turned ? numbers[2 * t + 1][g] : numbers[g][2 * t + 1];
        lanes[lane].request.registers[matrix] = low | high << 16;
      }
    }
  }

  static void multiply(Fiber* lanes) {
    float a[16][16], b[16][8];
    for (int lane = 0; lane < 32; ++lane) {
      const int g = lane / 4, t = lane % 4;
      for (int upper = 0; upper < 2; ++upper) {
        for (int i = 0; i < 4; ++i)
          a[g + i % 2 * 8][2 * t + upper + i / 2 * 8] = half_of(lanes[lane].request.registers[i], upper);
        for (int i = 0; i < 2; ++i) b[2 * t + upper + 8 * i][g] = half_of(lanes[lane].request.b[i], upper);
      }
    }
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 4; ++i) {
        float& sum = lanes[lane].request.sums[i];
        const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        for (int k = 0; k < 16; ++k) sum += a[row][k] * b[k][column];
      }
  }

  EmulatedLaunch launch_;
  int member_, index_, running_ = 0;
  const std::function<void()>& body_;
  std::vector<Fiber> fibers_;
  std::vector<unsigned char> memory_;
  ucontext_t scheduler_{};
};

struct EmulatedCore {
  using Operation = EmulatedBlock::Operation;
  static EmulatedBlock& now() { return *EmulatedBlock::current(); }
  static int thread() { return now().thread(); }
  static int block() { return now().index(); }
  static int member() { return now().member(); }
  static void sync_block() { now().wait(Operation::sync_block, {}); }
  static void sync_warp() { now().wait(Operation::sync_warp, {}); }
  static float shuffle_xor(float x, int lanes) {
    now().wait(Operation::shuffle, {.sums = &x, .lanes = lanes});
    return x;
  }
  static unsigned exchange(unsigned x, int lanes) {
    float carried;
    std::memcpy(&carried, &x, sizeof(x));
    carried = shuffle_xor(carried, lanes);
    std::memcpy(&x, &carried, sizeof(x));
    return x;
  }
  static bool any(bool of_lane) {
    float some = of_lane ? 1.0f : 0.0f;
    for (int lanes = 1; lanes < 32; lanes *= 2) some += shuffle_xor(some, lanes);
    return some > 0;
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
  static void load_matrices(unsigned (&to)[4], unsigned offset) {
    now().wait(Operation::load, {.registers = to, .offset = offset});
  }
  static void load_transposed(unsigned (&to)[4], unsigned offset) {
    now().wait(Operation::load_transposed, {.registers = to, .offset = offset});
  }
  static void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    unsigned copy[4] = {a[0], a[1], a[2], a[3]};
    now().wait(Operation::multiply_add, {.registers = copy, .sums = c, .b = {b0, b1}});
  }
  static void* aligned(void* place, std::uintptr_t bytes) {
    EmulatedBlock::require(reinterpret_cast<std::uintptr_t>(place) % bytes == 0,
                           "an access that is not aligned");
    return place;
  }
  static void copy_async(unsigned offset, const void* from, bool inside) {
    now().copy_later(offset, from, inside);
  }
  static void wait_copies() { now().arrive(); }
  static unsigned pack(float low, float high) {
    Bf16 a{}, b{};
    store(a, low), store(b, high);
    return a.bits | static_cast<unsigned>(b.bits) << 16;
  }
  static float low(unsigned both) { return to_float(Bf16{static_cast<std::uint16_t>(both & 0xFFFFu)}); }
  static float high(unsigned both) { return to_float(Bf16{static_cast<std::uint16_t>(both >> 16)}); }
  static float exponential(float x) { return std::exp(x); }
  static float power_of_two(float x) { return std::exp2(x); }
  static float logarithm_of_two(float x) { return std::log2(x); }
  static float inverse_root(float x) { return 1.0f / std::sqrt(x); }
  static float quotient(float x, float y) { return x / y; }
};

inline void emulate(const EmulatedLaunch& launch, const std::function<void()>& body) {
  for (int member = 0; member < launch.members; ++member)
    for (int block = 0; block < launch.blocks; ++block) EmulatedBlock(launch, member, block, body).run();
}

}  // namespace rung::kernels
