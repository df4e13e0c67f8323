// Invariant of a shard: every stored row is in exactly one slot, reachable by linear probing from its hash,
// and the slots are at most three quarters full.
#include "rung/capacity/row_table.h"

#include <algorithm>
#include <cstring>

#include "rung/base/require.h"

namespace rung {
namespace {

std::uint64_t hash_row(std::span<const std::uint8_t> row) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
  std::uint64_t hash = row.size() * kOdd;
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * kOdd;
    hash ^= hash >> 29;
  };
  std::size_t at = 0;
  for (; at + 8 <= row.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, row.data() + at, 8);
    mix(word);
  }
  std::uint64_t word = 0;
  if (at < row.size()) std::memcpy(&word, row.data() + at, row.size() - at);
  mix(word);
  hash *= kOdd;
  return hash ^ (hash >> 32);
}

std::span<const std::uint8_t> stored_row(const std::vector<std::uint8_t>& arena, std::size_t offset) {
  const auto length = static_cast<std::size_t>(read_varint(arena, offset));
  return std::span(arena).subspan(offset, length);
}

bool equal(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace

std::uint64_t read_varint(std::span<const std::uint8_t> row, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    RUNG_REQUIRE(at < row.size() && shift < 64, "at={} size={}", at, row.size());
    const std::uint8_t byte = row[at++];
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
}

void RowTable::grow(Shard& shard) {
  std::vector<Slot> larger(shard.slots.empty() ? 8 : 2 * shard.slots.size());
  const std::size_t mask = larger.size() - 1;
  limit_.held += static_cast<std::int64_t>((larger.size() - shard.slots.size()) * sizeof(Slot));
  for (const Slot& slot : shard.slots) {
    if (slot.place == 0) continue;
    std::size_t at = slot.tag & mask;
    while (larger[at].place != 0) at = (at + 1) & mask;
    larger[at] = slot;
  }
  shard.slots.swap(larger);
}

void RowTable::store(Shard& shard, std::span<const std::uint8_t> row) {
  auto& arena = shard.arena;
  const std::size_t needed = arena.size() + row.size() + 10;
  if (needed >
      arena.capacity()) {  // by a quarter: a doubling of all shards at once would be the peak of memory
    const std::size_t before = arena.capacity();
    arena.reserve(std::max(needed, before + before / 4 + 64));
    limit_.held += static_cast<std::int64_t>(arena.capacity() - before);
  }
  append_varint(arena, row.size());
  arena.insert(arena.end(), row.begin(), row.end());
}

RowTable::Entry RowTable::intern(std::span<const std::uint8_t> row) {
  const std::uint64_t hash = hash_row(row);
  const std::size_t number = hash >> (64 - kShardBits);
  Shard& shard = shards_[number];
  const auto tag = static_cast<std::uint32_t>(hash);
  const std::scoped_lock lock(shard.mutex);
  if (4 * (shard.used + 1) > 3 * shard.slots.size()) grow(shard);
  const std::size_t mask = shard.slots.size() - 1;
  std::size_t at = tag & mask;
  for (; shard.slots[at].place != 0; at = (at + 1) & mask) {
    const Slot slot = shard.slots[at];
    if (slot.tag == tag && equal(stored_row(shard.arena, slot.place - 1), row))
      return {(static_cast<std::uint64_t>(slot.place - 1) << kShardBits) | number, false};
  }
  const std::size_t offset = shard.arena.size();
  RUNG_REQUIRE(offset < 0xFFFFFFFFu, "a shard of {} bytes", offset);
  store(shard, row);
  shard.slots[at] = {tag, static_cast<std::uint32_t>(offset + 1)};
  ++shard.used;
  size_.fetch_add(1, std::memory_order_relaxed);
  return {(static_cast<std::uint64_t>(offset) << kShardBits) | number, true};
}

std::span<const std::uint8_t> RowTable::row(std::uint64_t id) const {
  return stored_row(shards_[id & ((1u << kShardBits) - 1)].arena, id >> kShardBits);
}

std::vector<std::uint64_t> RowTable::ids() const {
  std::vector<std::uint64_t> all;
  for (std::size_t number = 0; number < shards_.size(); ++number) {
    const auto& arena = shards_[number].arena;
    for (std::size_t at = 0; at < arena.size();) {
      all.push_back((static_cast<std::uint64_t>(at) << kShardBits) | number);
      const auto length = static_cast<std::size_t>(read_varint(arena, at));
      at += length;
    }
  }
  return all;
}

}  // namespace rung
