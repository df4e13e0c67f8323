// A lane kernel's program in the memory of a CUDA device, and the walks that run on it (lanes/search_device.h).
// One thread drives it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rung/adversary/attack.h"
#include "rung/adversary/lane_plan.h"
#include "rung/adversary/lanes/search_device.h"
#include "rung/adversary/state_kernel.h"

namespace rung {

// Memory of the device; freed with it. Throws nothing: errors are results.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory() { lanes::device_release(memory_); }
  DeviceMemory(DeviceMemory&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  static Result<DeviceMemory> allocate(std::size_t bytes);
  template <class T>
  T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_ = nullptr;
};
// A status of lanes/search_device.h as a result.
Result<void> device_result(int status);

// What a lane kernel hands over: rows in the order of the places, each place's after those of the one before.
struct LaneRows {
  const LanePlan* plan = nullptr;
  std::vector<lanes::Step> steps;    // by place
  std::vector<std::size_t> begins;   // by slot: its first place; one more at the end
  std::vector<std::int32_t> rows32;  // of first-layer channels, as lanes::feed reads them; one of the two
  std::vector<std::int64_t> rows64;
  std::int64_t stride = 0, scratch = 0;  // numbers of a row; of a scratch row
  std::vector<std::int32_t> entry_rows;  // the entrywise form of the first layer, where it has one
  lanes::EntryRows entries;              // and what they are
  std::vector<std::int32_t> widths;      // of all layers' numbers, in bits
  std::vector<std::int64_t> numbers;     // by depth
};

class DeviceProgram {
 public:
  // Errors: no device, too large for it.
  static Result<std::unique_ptr<DeviceProgram>> make(const LaneRows& rows);

  // The walk's step function. It holds until the next call.
  Result<lanes::Evaluation> evaluation(const Walk& walk, bool packs);
  // The rows that these choices take from slot `first` on, fixed tokens included.
  std::vector<std::uint32_t> rows(std::int64_t first, std::span<const std::uint16_t> choices) const;

 private:
  DeviceMemory arena_, start_;
  lanes::Evaluation whole_;
  std::vector<lanes::Step> steps_;
  std::vector<std::size_t> begins_;
  std::vector<std::int64_t> numbers_;
  bool entrywise_ = false;
};

// Walks to distinguished points on the device, all of them side by side.
class DeviceWalks {
 public:
  static Result<DeviceWalks> start(const lanes::Evaluation& evaluation, int zeros, std::uint64_t patience,
                                   std::uint64_t seed);
  struct Batch {
    std::uint64_t evaluations = 0;
    std::vector<lanes::TrailEnd> ends;
  };
  // The batch that was under way; the device has begun the next when this returns.
  Result<Batch> advance();

 private:
  using Clock = std::chrono::steady_clock;
  Result<void> launch();

  lanes::Evaluation evaluation_;
  int zeros_ = 0;
  std::uint64_t patience_ = 0;
  DeviceMemory memory_, ends_memory_;
  lanes::Chains chains_;
  lanes::TrailEnds ends_;
  std::int64_t steps_ = 0;
  Clock::time_point launched_;
};

// A set of states and that of their successors in the device's memory, one bit a state of at most 36 bits.
class DeviceStates {
 public:
  static Result<DeviceStates> make(int bits);
  // The successors of the states by slot `slot` take their place: their number, or nothing when it was over
  // before (the states are then as before). `step` hears of every part that was done, in evaluations.
  Result<std::optional<std::uint64_t>> advance(DeviceProgram& program, const StateKernel& kernel,
                                               std::int64_t slot, const std::function<void()>& step,
                                               const std::function<bool()>& over);
  // Words of 64 states, from number `first` on.
  Result<void> read(std::uint64_t first, std::span<std::uint64_t> words) const;
  Result<void> write(std::uint64_t first, std::span<const std::uint64_t> words);

 private:
  std::uint64_t words_ = 0;  // of 32 states
  DeviceMemory now_, next_, fresh_;
};

// The kernel on the device that the options ask for; null: on the processor. Errors: cuda is asked for, and
// the kernel cannot be there.
Result<std::unique_ptr<DeviceProgram>> program_for(const StateKernel& kernel, const SearchOptions& options);

}  // namespace rung
