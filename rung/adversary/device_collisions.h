// Birthdays in the memory of a device: what the hierarchical search does at every layer (hierarchical.cc).
#pragma once

#include "rung/adversary/device_program.h"

namespace rung {

class DeviceCollisions {
 public:
  // A table for codes of so many bits, in half of the device's memory at most.
  static Result<DeviceCollisions> make(std::unique_ptr<DeviceProgram> program, std::int64_t bits);
  std::uint64_t memory_bytes() const { return memory_bytes_; }

  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  // Numbers of 0, 1, … with equal codes that `accept` takes, or nothing: when the table is full, or `over` says
  // so between two batches. `evaluated` hears how many were evaluated.
  Result<std::optional<Pair>> birthday(const Walk& walk, const std::function<bool(const Pair&)>& accept,
                                       const std::function<void(std::uint64_t)>& evaluated,
                                       const std::function<bool()>& over);

  // One leaf, the last layer's part of `start`; the layers below are common to all that grow from it.
  // REQUIRES that the leaves of a greater depth are not needed before those of a smaller are done with.
  Result<void> plant(std::int64_t depth, const std::vector<std::int64_t>& start, std::int64_t below);
  // Twice as many leaves: after the choices `one`, then after `two`, from slot `first` on. Nothing is grown, and
  // the result is false, where the device has no memory for them. `common`: the layers below, before and
  // afterwards.
  Result<bool> grow(std::int64_t depth, std::int64_t first, const std::vector<std::uint16_t>& one,
                    const std::vector<std::uint16_t>& two, std::vector<std::int64_t>& common);
  std::uint64_t leaves(std::int64_t depth) const { return levels_[static_cast<std::size_t>(depth)].count; }
  // Numbers of two equal leaves.
  Result<std::optional<Pair>> equal_leaves(std::int64_t depth);

 private:
  struct Level {
    DeviceMemory leaves;
    std::uint64_t count = 0;
    std::int32_t own = 0;
  };
  Result<void> empty_table();
  Result<std::vector<lanes::Meeting>> meetings() const;

  std::unique_ptr<DeviceProgram> program_;
  DeviceMemory codes_, numbers_, meetings_, met_;
  lanes::CodeTable table_;
  std::uint64_t memory_bytes_ = 0;
  std::vector<Level> levels_;  // by depth
};

}  // namespace rung
