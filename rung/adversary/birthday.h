// The birthday search behind several attacks: evaluate numbered prompts on all cores, remember what each
// ended in, stop when two that should differ ended alike. About 2^(b/2) evaluations where endings have b
// effective bits.
#pragma once

#include <functional>
#include <utility>

#include "rung/adversary/attack.h"

namespace rung {

struct Ending {
  std::uint64_t key = 0;  // hash of what a prompt ended in
  std::uint64_t tag = 0;  // hash of what it should be told apart by; equal tags never make a pair
};

struct Birthday {
  // The endings of prompt number `index`. Called from several threads.
  std::function<Result<std::vector<Ending>>(std::uint64_t index)> evaluate;
  // Two prompts with equal keys and different tags: the certificate, or nothing when they do not hold what
  // they promise.
  std::function<Result<std::optional<Certificate>>(std::uint64_t first, std::uint64_t second)> meet;
  double expected_evaluations = 0;
  std::uint64_t limit = ~std::uint64_t{0};  // prompts that exist
  std::string stage;
};

// Fills verdict, evaluations, effective_bits, memory, seconds and the end of the search as `reason`.
// Determinism: the pair found depends on `evaluate` alone, not on the number of cores or ranks. On a rank
// that does not lead it evaluates what rank 0 hands out, until rank 0's search of the same stage ends, and
// fills nothing. REQUIRES with several ranks: one search a stage and options.queue.
Result<void> search_birthday(const Birthday& birthday, const SearchOptions& options, AttackOutcome& outcome);

// A hash of numbers, and of what came before.
std::uint64_t hash_numbers(std::uint64_t start, const std::vector<std::int64_t>& numbers);

}  // namespace rung
