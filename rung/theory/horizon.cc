// Claim: each search returns the first n at which the bound proves impossibility. Monotone counts are searched by galloping and
// bisection; others are monotone between powers of two of the tokens, and those stretches are searched one after the
// other (log-linear 2-Sum: a bucket twice as large may have fewer subsets of a fixed alphabet).
// References: Eva and 2-Sum against recurrences, log-linear stacks and sparse blocks, docs/counting.md.
#include "rung/theory/horizon.h"

#include <bit>
#include <functional>

#include "rung/base/require.h"

namespace rung {
namespace {

// The first n in [low, high] at which `certifies` holds; it may only ever turn from false to true.
std::optional<std::int64_t> first_in(std::int64_t low, std::int64_t high,
                                     const std::function<bool(std::int64_t)>& certifies) {
  if (low > high) return std::nullopt;
  std::int64_t known_false = low - 1, step = 1, probe = low;
  while (!certifies(probe)) {
    known_false = probe;
    if (probe == high) return std::nullopt;
    probe = high - probe < step ? high : probe + step;
    step *= 2;
  }
  while (probe - known_false > 1) {
    const std::int64_t middle = known_false + (probe - known_false) / 2;
    (certifies(middle) ? probe : known_false) = middle;
  }
  return probe;
}

// The first n at which a function that never decreases reaches a value; kHorizonLimit + 1 where none does.
std::int64_t first_reaching(const std::function<__int128(std::int64_t)>& tokens, __int128 value) {
  std::int64_t below = 0, high = kHorizonLimit + 1;
  while (high - below > 1) {
    const std::int64_t middle = below + (high - below) / 2;
    (tokens(middle) >= value ? high : below) = middle;
  }
  return high;
}

std::int64_t oldest_bucket(std::int64_t n) {  // 2^⌊lg n⌋
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
}

}  // namespace

std::optional<std::int64_t> first_certified(const std::function<__int128(std::int64_t n)>& tokens,
                                            const std::function<bool(std::int64_t n)>& certifies) {
  std::int64_t from = 1;
  for (int k = 0; from <= kHorizonLimit; ++k)
    for (const std::int64_t more : {0, 1}) {  // up to 2^k - 1 tokens, then 2^k itself
      const std::int64_t next = first_reaching(tokens, (__int128{1} << k) + more);
      if (next > from && certifies(next - 1)) return first_in(from, next - 1, certifies);
      from = std::max(from, next);
    }
  return std::nullopt;
}

Integer Modulus::at(std::int64_t n) const {
  switch (rule) {
    case Rule::twice_plus_one:
      return 2 * Integer(n) + 1;
    case Rule::square:
      return Integer(n) * n;
    case Rule::fixed:
      return value;
  }
  return value;
}

Integer lower_half(const Integer& M) {
  RUNG_REQUIRE(M >= 1, "M={}", M.str());
  return (M - 1) / 2;
}

Count eva_count(std::int64_t n) { return Count::power(n, n); }
Count index_count(std::int64_t n, std::int64_t alphabet) { return Count::power(alphabet, n); }
Count log_linear_count(std::int64_t n) { return Count::power(n, oldest_bucket(n)); }
Count log_linear_index_count(std::int64_t n, std::int64_t alphabet) {
  return Count::power(alphabet, oldest_bucket(n));
}
Count two_sum_count(std::int64_t n, const Integer& M) { return Count::subsets(M, n); }
Count log_linear_two_sum_count(std::int64_t n, const Integer& M) {
  const std::int64_t bucket = oldest_bucket(n);
  const Integer values = n > bucket ? Integer(M - 1) : M;  // the later tokens need a value of their own
  if (values < bucket) return Count::power(1, 1);
  return Count::binomial(values, bucket);
}
Count seqcomp_count(const Integer& arguments) { return Count::power(arguments, arguments); }

std::int64_t window_blocks(std::int64_t window, std::int64_t block) {
  RUNG_REQUIRE(window >= 0 && block >= 1, "window={} block={}", window, block);
  return window / block + (window % block != 0) + 1;
}

Integer determined_values(const Integer& message_bits, std::int64_t block) {
  const auto too_many = [&](std::int64_t d) {
    return !bits_suffice(message_bits, Count::subsets_or_empty(d, block));
  };
  const auto first = first_in(0, kHorizonLimit, too_many);
  return first ? Integer(*first - 1) : Integer(kHorizonLimit);
}

namespace {

bool sparse_impossible(const SparseLayer& layer, std::int64_t n, const Integer& values,
                       const Integer& determined) {
  const std::int64_t blocks = n / layer.block;
  if (!layer.position_dependent)
    return blocks > layer.selected && values >= layer.block &&
           !bits_suffice(layer.message_bits, Count::binomial(values, layer.block));
  return determined < values - layer.block && (values - determined) * blocks > values * layer.selected;
}

Integer determined_by(const SparseLayer& layer) {
  RUNG_REQUIRE(layer.block >= 1 && layer.selected >= 0, "block={} selected={}", layer.block, layer.selected);
  return layer.position_dependent ? determined_values(layer.message_bits, layer.block) : Integer(0);
}

}  // namespace

bool sparse_two_sum_impossible(const SparseLayer& layer, std::int64_t n, const Integer& values) {
  return sparse_impossible(layer, n, values, determined_by(layer));
}

std::optional<std::int64_t> sparse_two_sum_certified_from(const SparseLayer& layer, const Modulus& modulus) {
  const Integer determined = determined_by(layer);
  return first_in(1, kHorizonLimit,
                  [&](std::int64_t n) { return sparse_impossible(layer, n, modulus.at(n), determined); });
}

}  // namespace rung
