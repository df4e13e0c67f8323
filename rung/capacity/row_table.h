// The set of different rows met so far, each a byte string with an identity: hash-consing, shared by all
// workers. Rows are compared byte by byte, so two rows share an identity exactly if they are equal; the hash
// only finds them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace rung {

// Bytes held by all tables of one count, and the most they may hold.
struct MemoryLimit {
  std::int64_t bytes = 0;
  std::atomic<std::int64_t> held{0};
  bool exceeded() const { return held.load(std::memory_order_relaxed) > bytes; }
};

class RowTable {
 public:
  // REQUIRES: limit outlives the table.
  explicit RowTable(MemoryLimit& limit) : limit_(limit) {}

  struct Entry {
    std::uint64_t id = 0;  // which row; says nothing else, and differs from run to run with several workers
    bool fresh = false;    // not seen before
  };
  // Safe from several threads.
  Entry intern(std::span<const std::uint8_t> row);

  std::int64_t size() const { return size_.load(std::memory_order_relaxed); }

  // REQUIRES an id of this table and no intern under way; valid until the next one.
  std::span<const std::uint8_t> row(std::uint64_t id) const;
  // Every id, shard after shard in order of arrival.
  std::vector<std::uint64_t> ids() const;

 private:
  static constexpr unsigned kShardBits = 6;
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t place = 0;  // 1 + the row's offset in the arena; 0: free
  };
  struct Shard {
    std::mutex mutex;
    std::vector<Slot> slots;
    std::vector<std::uint8_t> arena;  // length as a 7-bit varint, then the bytes
    std::size_t used = 0;
  };

  void grow(Shard& shard);
  void store(Shard& shard, std::span<const std::uint8_t> row);

  MemoryLimit& limit_;
  std::atomic<std::int64_t> size_{0};
  std::array<Shard, 1u << kShardBits> shards_;
};

// Unsigned LEB128, the encoding of numbers inside rows.
inline void append_varint(std::vector<std::uint8_t>& row, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) row.push_back(static_cast<std::uint8_t>(value | 0x80));
  row.push_back(static_cast<std::uint8_t>(value));
}
// Reads one and moves `at` behind it.
std::uint64_t read_varint(std::span<const std::uint8_t> row, std::size_t& at);
// Small for small magnitudes: 0, -1, 1, -2, ... to 0, 1, 2, 3, ...
inline std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
inline std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

}  // namespace rung
