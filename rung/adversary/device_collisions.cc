#include "rung/adversary/device_collisions.h"

#include <algorithm>
#include <bit>

namespace rung {
namespace {

constexpr std::uint32_t kMostMeetings = 1 << 12;
constexpr std::uint32_t kFirstBirthdayBatch = 1 << 14, kMostBirthdayBatch = 1 << 26;
constexpr std::int64_t kFewestPlaceBits = 14;
constexpr std::uint64_t kPlaceBytes = sizeof(std::uint64_t) + sizeof(std::uint32_t);

}  // namespace

Result<DeviceCollisions> DeviceCollisions::make(std::unique_ptr<DeviceProgram> program, std::int64_t bits) {
  DeviceCollisions made;
  made.program_ = std::move(program);
  std::size_t free = 0;
  RUNG_CHECK(device_result(lanes::device_memory(&free)));
  const std::int64_t fits = static_cast<std::int64_t>(std::bit_width(free / 2 / kPlaceBytes)) - 1;
  lanes::CodeTable& table = made.table_;
  table.places =
      std::uint64_t{1} << std::clamp<std::int64_t>(
          bits / 2 + 4, kFewestPlaceBits, std::max(kFewestPlaceBits, std::min<std::int64_t>(fits, 32)));
  table.capacity = kMostMeetings;
  RUNG_TRY(made.codes_, DeviceMemory::allocate(table.places * sizeof(std::uint64_t)));
  RUNG_TRY(made.numbers_, DeviceMemory::allocate(table.places * sizeof(std::uint32_t)));
  RUNG_TRY(made.meetings_, DeviceMemory::allocate(kMostMeetings * sizeof(lanes::Meeting)));
  RUNG_TRY(made.met_, DeviceMemory::allocate(sizeof(std::uint32_t)));
  table.codes = made.codes_.as<std::uint64_t>();
  table.numbers = made.numbers_.as<std::uint32_t>();
  table.meetings = made.meetings_.as<lanes::Meeting>();
  table.met = made.met_.as<std::uint32_t>();
  made.memory_bytes_ = table.places * kPlaceBytes;
  return made;
}

Result<void> DeviceCollisions::empty_table() {
  RUNG_CHECK(device_result(lanes::clear_on_device(table_.met, sizeof(std::uint32_t))));
  return device_result(lanes::clear_on_device(table_.codes, table_.places * sizeof(std::uint64_t)));
}

// In the order of their numbers, whatever the order in which threads came.
Result<std::vector<lanes::Meeting>> DeviceCollisions::meetings() const {
  std::uint32_t met = 0;
  RUNG_CHECK(device_result(lanes::copy_from_device(&met, table_.met, sizeof met)));
  std::vector<lanes::Meeting> all(std::min(met, table_.capacity));
  RUNG_CHECK(device_result(
      lanes::copy_from_device(all.data(), table_.meetings, all.size() * sizeof(lanes::Meeting))));
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  return all;
}

Result<std::optional<DeviceCollisions::Pair>> DeviceCollisions::birthday(
    const Walk& walk, const std::function<bool(const Pair&)>& accept,
    const std::function<void(std::uint64_t)>& evaluated, const std::function<bool()>& over) {
  RUNG_TRY(const auto evaluation, program_->evaluation(walk, true));
  RUNG_CHECK(empty_table());
  // Three quarters full at most; numbers have 32 bits.
  const std::uint64_t most = std::min<std::uint64_t>(table_.places / 4 * 3, 0xffffffff);
  std::uint64_t batch = kFirstBirthdayBatch;
  for (std::uint64_t first = 0; first < most;
       first += batch, batch = std::min<std::uint64_t>(2 * batch, kMostBirthdayBatch)) {
    batch = std::min(batch, most - first);
    RUNG_CHECK(device_result(lanes::meet_codes(evaluation, static_cast<std::uint32_t>(first),
                                               static_cast<std::uint32_t>(batch), table_)));
    RUNG_TRY(const auto all, meetings());
    evaluated(batch);
    for (const auto& meeting : all) {
      std::uint32_t earlier = 0;
      RUNG_CHECK(
          device_result(lanes::copy_from_device(&earlier, table_.numbers + meeting.place, sizeof earlier)));
      if (const Pair pair{earlier, meeting.number}; accept(pair)) return std::optional<Pair>(pair);
    }
    RUNG_CHECK(device_result(lanes::clear_on_device(table_.met, sizeof(std::uint32_t))));
    if (over()) break;
  }
  return std::optional<Pair>{};
}

Result<void> DeviceCollisions::plant(std::int64_t depth, const std::vector<std::int64_t>& start,
                                     std::int64_t below) {
  if (levels_.size() <= static_cast<std::size_t>(depth)) levels_.resize(static_cast<std::size_t>(depth) + 1);
  Level& level = levels_[static_cast<std::size_t>(depth)];
  level.own = static_cast<std::int32_t>(static_cast<std::int64_t>(start.size()) - below);
  level.count = 1;
  const std::size_t bytes = static_cast<std::size_t>(level.own) * sizeof(std::int64_t);
  RUNG_TRY(level.leaves, DeviceMemory::allocate(bytes));
  return device_result(lanes::copy_to_device(level.leaves.as<void>(), start.data() + below, bytes));
}

Result<bool> DeviceCollisions::grow(std::int64_t depth, std::int64_t first,
                                    const std::vector<std::uint16_t>& one,
                                    const std::vector<std::uint16_t>& two,
                                    std::vector<std::int64_t>& common) {
  Level& level = levels_[static_cast<std::size_t>(depth)];
  const std::size_t bytes = 2 * level.count * static_cast<std::size_t>(level.own) * sizeof(std::int64_t);
  std::size_t free = 0;
  RUNG_CHECK(device_result(lanes::device_memory(&free)));
  if (bytes > free / 2 || 2 * level.count > 0xffffffff) return false;
  const std::vector<std::int64_t> empty(common.size() +
                                        static_cast<std::size_t>(level.own));  // leaves are given
  RUNG_TRY(const auto evaluation, program_->evaluation({.depth = depth,
                                                        .first = first,
                                                        .length = static_cast<std::int64_t>(one.size()),
                                                        .start = empty.data()},
                                                       false));
  const auto one_rows = program_->rows(first, one), two_rows = program_->rows(first, two);
  const std::size_t row_bytes = one_rows.size() * sizeof(std::uint32_t),
                    common_bytes = common.size() * sizeof(std::int64_t);
  RUNG_TRY(const auto rows, DeviceMemory::allocate(2 * row_bytes));
  RUNG_TRY(const auto states, DeviceMemory::allocate(2 * common_bytes));
  RUNG_TRY(auto grown, DeviceMemory::allocate(bytes));
  auto* const row = rows.as<std::uint32_t>();
  auto* const state = states.as<std::int64_t>();
  RUNG_CHECK(device_result(lanes::copy_to_device(row, one_rows.data(), row_bytes)));
  RUNG_CHECK(device_result(lanes::copy_to_device(row + one_rows.size(), two_rows.data(), row_bytes)));
  RUNG_CHECK(device_result(lanes::copy_to_device(state, common.data(), common_bytes)));
  RUNG_CHECK(
      device_result(lanes::grow_leaves(evaluation, {.one = row,
                                                    .two = row + one_rows.size(),
                                                    .steps = static_cast<std::int32_t>(one_rows.size()),
                                                    .below = static_cast<std::int32_t>(common.size()),
                                                    .own = level.own,
                                                    .common = state,
                                                    .leaves = level.leaves.as<std::int64_t>(),
                                                    .count = level.count,
                                                    .grown = grown.as<std::int64_t>(),
                                                    .end = state + common.size()})));
  RUNG_CHECK(device_result(lanes::copy_from_device(common.data(), state + common.size(), common_bytes)));
  level.leaves = std::move(grown);
  level.count *= 2;
  memory_bytes_ = std::max<std::uint64_t>(memory_bytes_, table_.places * kPlaceBytes + bytes / 2 * 3);
  return true;
}

Result<std::optional<DeviceCollisions::Pair>> DeviceCollisions::equal_leaves(std::int64_t depth) {
  const Level& level = levels_[static_cast<std::size_t>(depth)];
  const std::uint64_t part = table_.places / 4 * 3;
  const auto own = static_cast<std::size_t>(level.own);
  const auto* const leaves = level.leaves.as<std::int64_t>();
  const auto leaf = [&](std::uint64_t number, std::vector<std::int64_t>& to) {
    return device_result(
        lanes::copy_from_device(to.data(), leaves + number * own, own * sizeof(std::int64_t)));
  };
  // More leaves than the table holds: among so many in a row.
  for (std::uint64_t first = 0; first < level.count; first += part) {
    RUNG_CHECK(empty_table());
    RUNG_CHECK(device_result(
        lanes::meet_leaves(leaves + first * own, level.own,
                           static_cast<std::uint32_t>(std::min(part, level.count - first)), table_)));
    RUNG_TRY(const auto all, meetings());
    for (const auto& meeting : all) {
      std::uint32_t earlier = 0;
      RUNG_CHECK(
          device_result(lanes::copy_from_device(&earlier, table_.numbers + meeting.place, sizeof earlier)));
      std::vector<std::int64_t> a(own), b(own);
      RUNG_CHECK(leaf(first + earlier, a));
      RUNG_CHECK(leaf(first + meeting.number, b));
      if (a == b) return std::optional<Pair>(Pair{first + earlier, first + meeting.number});
    }
  }
  return std::optional<Pair>{};
}

}  // namespace rung
