// Partial sums of a softmax head over ranges of keys, exactly:
//   num += Σ_j E[clip(rsh(q·k_j, r))] v_j,   den += Σ_j E[...]
// The sums are integers, so they may be split over blocks, threads and players and added in any order.
//
// Keys lie transposed in tiles of kTile, so that scores vectorise over keys. Three number types, chosen from
// the declared widths: double while every partial sum stays below 2^53 (a double then adds integers exactly),
// int64 below 2^62, Int128 otherwise. All three give the same numbers; tests compare them with the plain
// formula.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rung/exact/arithmetic.h"

namespace rung {

// How scores become weights in mode X.
struct ScoreRule {
  int shift = 0;  // r
  Table weights;  // E over the clipped score
};

struct SoftmaxSums {
  std::vector<Int128> num;
  Int128 den = 0;
  explicit SoftmaxSums(std::int64_t value_dim) : num(static_cast<std::size_t>(value_dim), 0) {}
};

// Keys and values of one head.
class HeadStore {
 public:
  virtual ~HeadStore() = default;
  virtual std::int64_t size() const = 0;
  virtual void resize(std::int64_t count) = 0;
  // REQUIRES t < size(). Distinct t may be put from distinct threads.
  virtual void put(std::int64_t t, const std::int64_t* key, const std::int64_t* value) = 0;
  // Adds keys begin <= j < end to the sums.
  virtual void add(const std::int64_t* query, std::int64_t begin, std::int64_t end,
                   SoftmaxSums& sums) const = 0;
  // rsh(q·k_j, r) before clipping (used where blocks or tokens are selected by score).
  virtual Int128 score(const std::int64_t* query, std::int64_t j) const = 0;
  // Reads back what put() stored.
  virtual void get(std::int64_t t, std::int64_t* key, std::int64_t* value) const = 0;
  // Appends key then value of every token.
  virtual void append_numbers(std::vector<std::int64_t>& out) const = 0;
};

enum class KernelNumber { automatic, float64, int64, int128 };
struct HeadWidths {
  int query_bits = 16, key_bits = 16, value_bits = 16;
  std::int64_t keys = 0;  // most keys that will be summed
};
// REQUIRES rule outlives the store. `number` other than automatic is for tests; it must be wide enough.
std::unique_ptr<HeadStore> make_head_store(std::int64_t key_dim, std::int64_t value_dim,
                                           const ScoreRule& rule, const HeadWidths& widths,
                                           KernelNumber number = KernelNumber::automatic);
// Bits, sign included, that rsh(q·k, r) and the partial sums need.
int score_bits(std::int64_t key_dim, const ScoreRule& rule, const HeadWidths& widths);
int partial_sum_bits(const ScoreRule& rule, const HeadWidths& widths);
// The narrowest exact number type for these widths.
KernelNumber narrowest_kernel(std::int64_t key_dim, const ScoreRule& rule, const HeadWidths& widths);

}  // namespace rung
