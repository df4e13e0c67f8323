// Claim: log-linear-* (docs/theorems.md). Let k = ⌊lg q⌋, q the first answer position. From position 2^k on,
// the first 2^k tokens act only through one bucket in every log-linear layer (and the states of the other
// recurrences): two beginnings of 2^k tokens with equal states are answered alike for ever, though the other
// levels of all later positions hold far more bits. Search: a birthday on the states after 2^k positions
// (state_collision.h).
#include "rung/adversary/method_list.h"

#include <algorithm>
#include <bit>

#include "rung/adversary/state_bits.h"
#include "rung/adversary/state_collision.h"
#include "rung/spec/mixers.h"

namespace rung {
namespace {

std::int64_t bucket(const Task& task) {
  return static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(task.query_positions().front())));
}

Fitness big_bucket_fitness(const Target& target) {
  const bool log_linear = std::any_of(target.layers.begin(), target.layers.end(),
                                      [](const auto& l) { return assumptions_of(l.mixer).doubling_levels; });
  if (!log_linear) return {false, "no log-linear layer whose levels double", 0};
  if (const auto reason = unbounded_state(target)) return {false, *reason, 0};
  if (target.task->query_positions().front() < 2)
    return {false, "nothing stands before the first answer position", 0};
  const std::int64_t cut = bucket(*target.task),
                     bits = nominal_state_bits(target.weights, target.layers, cut);
  return {true, fmt::format("{} bits hold the first {} tokens", bits, cut), static_cast<double>(bits) / 2};
}

Result<AttackOutcome> run_big_bucket(const Target& target, const SearchOptions& options) {
  AttackOutcome outcome{.method = "big-bucket"};
  RUNG_CHECK(collide_states(target, bucket(*target.task), options, outcome));
  return outcome;
}

}  // namespace

AttackMethod big_bucket_method() {
  return {"big-bucket",
          "two beginnings with equal states once they form one bucket",
          &big_bucket_fitness,
          &run_big_bucket,
          false,
          /*spreads=*/true};
}

}  // namespace rung
