#include "rung/tasks/zoology.h"

#include <bit>
#include <cmath>

#include "rung/tasks/sampling.h"

namespace rung {
namespace {

constexpr std::int64_t kLongestZoology = std::int64_t{1} << 24,
                       kLargestZoologyVocabulary = std::int64_t{1} << 30;
constexpr int kWeightBits = 32;

// r^exponent of r >= 1 and -1 < exponent <= 0, by squaring and square roots alone: these are rounded the same way on
// every machine, pow() is not.
double negative_power(double r, double exponent) {
  double logarithm = 0, rest = r;
  for (; rest >= 2; rest /= 2) logarithm += 1;
  for (double bit = 0.5; bit > 0x1p-50; bit /= 2) {
    rest *= rest;
    if (rest < 2) continue;
    rest /= 2;
    logarithm += bit;
  }
  double left = -exponent * logarithm, root = 2, out = 1;
  for (; left >= 1; left -= 1) out /= 2;
  for (double bit = 0.5; bit > 0x1p-50; bit /= 2) {
    root = std::sqrt(root);
    if (left < bit) continue;
    left -= bit;
    out /= root;
  }
  return out;
}

void fenwick_add(std::vector<std::uint64_t>& sums, std::size_t at, std::uint64_t weight) {
  for (++at; at < sums.size(); at += at & (~at + 1)) sums[at] += weight;
}

// The place whose stretch of weight holds `weight`; its own weight is taken out.
std::size_t fenwick_take(std::vector<std::uint64_t>& sums, std::uint64_t weight) {
  std::size_t at = 0;
  for (std::size_t step = std::bit_floor(sums.size() - 1); step > 0; step /= 2)
    if (at + step < sums.size() && sums[at + step] <= weight) weight -= sums[at += step];
  std::uint64_t own = sums[at + 1];
  for (std::size_t below = at, stop = (at + 1) & at; below > stop; below &= below - 1) own -= sums[below];
  fenwick_add(sums, at, 0 - own);
  return at;
}

std::uint64_t fenwick_total(const std::vector<std::uint64_t>& sums) {
  std::uint64_t total = 0;
  for (std::size_t at = sums.size() - 1; at > 0; at &= at - 1) total += sums[at];
  return total;
}

}  // namespace

Result<ZoologyMqar> ZoologyMqar::make(const Sizes& sizes) {
  const auto& [pairs, length, vocabulary, power, blank] = sizes;
  if (pairs < 1 || length < 4 || length % 2 != 0 || length > kLongestZoology)
    return fail(ErrorCode::range,
                "[task] {} pairs in {} tokens; expected at least one pair and an even length up to {}", pairs,
                length, kLongestZoology);
  if (pairs > length / 4)
    return fail(ErrorCode::range, "[task] {} pairs need a length of {} tokens, four a pair; here {}", pairs,
                4 * pairs, length);
  if (vocabulary <= length || vocabulary > kLargestZoologyVocabulary)
    return fail(ErrorCode::range, "[task] vocabulary = {}; expected more than the length {}, at most {}",
                vocabulary, length, kLargestZoologyVocabulary);
  if (!(power > 0 && power <= 1))
    return fail(ErrorCode::range, "[task] power = {}; expected above 0, at most 1", power);
  return ZoologyMqar(sizes);
}

ZoologyMqar::ZoologyMqar(const Sizes& sizes) : sizes_(sizes) {
  const auto gaps = static_cast<std::size_t>((sizes.length - 2 * sizes.pairs) / 2);
  sums_.assign(gaps + 1, 0);
  for (std::size_t gap = 0; gap < gaps; ++gap) {
    const double weight = negative_power(static_cast<double>(gap + 1), sizes.power - 1);
    fenwick_add(sums_, gap, static_cast<std::uint64_t>(std::ldexp(weight, kWeightBits)));
  }
}

Instance ZoologyMqar::generate(std::uint64_t seed, std::uint64_t index) const {
  Random random(seed, index);
  const std::int64_t half = sizes_.vocabulary / 2;
  const auto length = static_cast<std::size_t>(sizes_.length), pairs = static_cast<std::size_t>(sizes_.pairs);
  const auto keys = distinct(random, sizes_.pairs, half - 1);
  const auto values = distinct(random, sizes_.pairs, sizes_.vocabulary - half);
  std::vector<std::int64_t> tokens(length, 0), labels(length, kNotAsked);
  std::vector<std::uint64_t> sums = sums_;
  std::uint64_t total = fenwick_total(sums);
  for (std::size_t i = 0; i < pairs; ++i) {
    tokens[2 * i] = 1 + keys[i];
    tokens[2 * i + 1] = half + values[i];
    const std::size_t place = 2 * pairs + 2 * fenwick_take(sums, random.below(total));
    total = fenwick_total(sums);
    tokens[place] = 1 + keys[i];
    labels[place] = half + values[i];
  }
  if (!sizes_.blank)
    for (auto& token : tokens)
      if (token == 0)
        token = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(sizes_.vocabulary)));
  return {Prompt{sizes_.length, {std::move(tokens)}}, std::move(labels)};
}

}  // namespace rung
