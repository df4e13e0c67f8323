// A warp on the host: its lanes are fibers of one thread, which change at every operation that lanes do
// together. The operations are those of rung/learn/kernels/warp_matrix.cuh, with the layouts that the PTX
// instruction set documents; the kernels' code is compiled as it is. Lanes do not take turns in one order, so
// that a barrier that is missing shows; copies to shared memory arrive at the wait and not before.
#pragma once

#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "rung/base/require.h"
#include "rung/learn/kernels/element.h"

#define __device__

namespace rung::kernels {

struct alignas(16) uint4 {
  std::uint32_t x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }

inline constexpr int kWarp = 32;

class WarpEmulation {
 public:
  struct Offer {
    std::uint32_t words[6];
    const void* place;
  };

  // Runs `body` on every lane to its end.
  static void run(const std::function<void()>& body) {
    WarpEmulation warp(body);
    now() = &warp;
    std::uint32_t turn = 1;
    while (warp.lanes_[0].alive) {
      turn = turn * 1664525u + 1013904223u;
      const int first = static_cast<int>(turn >> 27), step = (turn >> 20 & 15) * 2 + 1;
      for (int i = 0; i < kWarp; ++i) {
        warp.lane_ = (first + i * step) % kWarp;
        swapcontext(&warp.home_, &warp.lanes_[warp.lane_].context);
      }
      for (const Lane& lane : warp.lanes_)
        RUNG_REQUIRE(lane.alive == warp.lanes_[0].alive && lane.met == warp.lanes_[0].met &&
                         lane.operation == warp.lanes_[0].operation,
                     "lanes part: {} and {}", lane.operation, warp.lanes_[0].operation);
    }
    now() = nullptr;
  }
  static WarpEmulation& here() { return *now(); }
  int lane() const { return lane_; }

  // What all lanes offer to one operation, by lane.
  const Offer* meet(int operation, const Offer& offer) {
    Lane& lane = lanes_[lane_];
    Offer* offers = offers_[lane.met % 2];
    offers[lane_] = offer;
    lane.operation = operation;
    ++lane.met;
    swapcontext(&lane.context, &home_);
    return offers;
  }
  void copy(void* to, const void* from, int bytes, bool wanted) {
    std::memset(to, 0xFF, bytes);
    lanes_[lane_].copies.push_back({to, from, bytes, wanted});
  }
  void arrive() {
    for (const Copy& copy : lanes_[lane_].copies)
      if (copy.wanted)
        std::memcpy(copy.to, copy.from, copy.bytes);
      else
        std::memset(copy.to, 0, copy.bytes);
    lanes_[lane_].copies.clear();
  }

 private:
  struct Copy {
    void* to;
    const void* from;
    int bytes;
    bool wanted;
  };
  struct Lane {
    ucontext_t context;
    std::vector<unsigned char> stack = std::vector<unsigned char>(1 << 18);
    bool alive = true;
    std::int64_t met = 0;
    int operation = 0;
    std::vector<Copy> copies;
  };
  static WarpEmulation*& now() {
    static WarpEmulation* warp = nullptr;
    return warp;
  }
  static void begin() {
    WarpEmulation& warp = here();
    warp.body_();
    warp.lanes_[warp.lane_].alive = false;
    setcontext(&warp.home_);
  }
  explicit WarpEmulation(const std::function<void()>& body) : body_(body), lanes_(kWarp) {
    for (Lane& lane : lanes_) prepare(lane);
  }
  [[gnu::noinline]] static void prepare(Lane& lane) {
    getcontext(&lane.context);
    lane.context.uc_stack.ss_sp = lane.stack.data();
    lane.context.uc_stack.ss_size = lane.stack.size();
    makecontext(&lane.context, begin, 0);
  }

  const std::function<void()>& body_;
  std::vector<Lane> lanes_;
  ucontext_t home_;
  int lane_ = 0;
  Offer offers_[2][kWarp] = {};
};

inline int lane_index() { return WarpEmulation::here().lane(); }
inline void warp_barrier() { WarpEmulation::here().meet(1, {}); }

inline std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}
inline float float_of(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}
inline float from_lane(float x, int lane) {
  return float_of(WarpEmulation::here().meet(2, {{bits_of(x)}, nullptr})[lane % kWarp].words[0]);
}
inline float from_lane_xor(float x, int mask) {
  const auto* offers = WarpEmulation::here().meet(3, {{bits_of(x)}, nullptr});
  return float_of(offers[lane_index() ^ mask].words[0]);
}
inline float from_lane_below(float x, int lanes) {
  const auto* offers = WarpEmulation::here().meet(4, {{bits_of(x)}, nullptr});
  return float_of(offers[lane_index() < lanes ? lane_index() : lane_index() - lanes].words[0]);
}
inline float exponential2(float x) {
  const float y = std::exp2(x);
  return std::abs(y) < 0x1p-126f ? 0.0f : y;
}
inline std::uint32_t pack(float first, float second) {
  Bf16 low, high;
  store(low, first);
  store(high, second);
  return low.bits | static_cast<std::uint32_t>(high.bits) << 16;
}
inline float first_of(std::uint32_t pair) { return float_of(pair << 16); }
inline float second_of(std::uint32_t pair) { return float_of(pair & 0xFFFF0000u); }
inline float half_of(std::uint32_t pair, int half) { return half ? second_of(pair) : first_of(pair); }

inline void multiply_add(float* c, const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  const auto* offers = WarpEmulation::here().meet(5, {{a[0], a[1], a[2], a[3], b0, b1}, nullptr});
  const int g = lane_index() / 4, t = lane_index() % 4;
  for (int i = 0; i < 4; ++i) {
    const int row = g + i / 2 * 8, column = 2 * t + i % 2;
    double sum = 0.0;
    for (int k = 0; k < 16; ++k) {
      const float left = half_of(offers[row % 8 * 4 + k % 8 / 2].words[row / 8 + k / 8 * 2], k % 2);
      const float right = half_of(offers[column * 4 + k % 8 / 2].words[4 + k / 8], k % 2);
      sum += static_cast<double>(left) * right;
    }
    c[i] += static_cast<float>(sum);
  }
}
inline std::uint16_t element_at(const void* row, int i) {
  std::uint16_t element;
  std::memcpy(&element, static_cast<const unsigned char*>(row) + 2 * i, 2);
  return element;
}
inline void load_matrices(std::uint32_t (&to)[4], const void* row) {
  RUNG_REQUIRE(reinterpret_cast<std::uintptr_t>(row) % 16 == 0, "a row that is not aligned");
  const auto* offers = WarpEmulation::here().meet(6, {{}, row});
  const int g = lane_index() / 4, t = lane_index() % 4;
  for (int i = 0; i < 4; ++i) {
    const void* from = offers[8 * i + g].place;
    to[i] = element_at(from, 2 * t) | static_cast<std::uint32_t>(element_at(from, 2 * t + 1)) << 16;
  }
}
inline void load_transposed_matrices(std::uint32_t (&to)[4], const void* row) {
  RUNG_REQUIRE(reinterpret_cast<std::uintptr_t>(row) % 16 == 0, "a row that is not aligned");
  const auto* offers = WarpEmulation::here().meet(7, {{}, row});
  const int g = lane_index() / 4, t = lane_index() % 4;
  for (int i = 0; i < 4; ++i)
    to[i] = element_at(offers[8 * i + 2 * t].place, g) |
            static_cast<std::uint32_t>(element_at(offers[8 * i + 2 * t + 1].place, g)) << 16;
}
inline std::uint32_t transpose_matrix(std::uint32_t x) {
  const auto* offers = WarpEmulation::here().meet(8, {{x}, nullptr});
  const int g = lane_index() / 4, t = lane_index() % 4;
  const auto at = [&](int row, int column) {
    return offers[row * 4 + column / 2].words[0] >> (column % 2 * 16) & 0xFFFFu;
  };
  return at(2 * t, g) | at(2 * t + 1, g) << 16;
}
inline void copy_sixteen(void* to, const void* from, bool wanted) {
  RUNG_REQUIRE((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % 16 == 0,
               "sixteen bytes that are not aligned");
  WarpEmulation::here().copy(to, from, 16, wanted);
}
inline void copy_four(void* to, const void* from, bool wanted) {
  RUNG_REQUIRE((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % 4 == 0,
               "four bytes that are not aligned");
  WarpEmulation::here().copy(to, from, 4, wanted);
}
inline void wait_for_copies() { WarpEmulation::here().arrive(); }

}  // namespace rung::kernels
