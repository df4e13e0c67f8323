#include "rung/tasks/zoology.h"

#include "rung/tasks/sampling.h"

namespace rung {
namespace {

constexpr std::int64_t kLongestZoology = std::int64_t{1} << 24,
                       kLargestZoologyVocabulary = std::int64_t{1} << 30;
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

ZoologyMqar::ZoologyMqar(const Sizes& sizes)
    : sizes_(sizes), law_((sizes.length - 2 * sizes.pairs) / 2, sizes.power) {}

Instance ZoologyMqar::generate(std::uint64_t seed, std::uint64_t index) const {
  Random random(seed, index);
  const std::int64_t half = sizes_.vocabulary / 2;
  const auto length = static_cast<std::size_t>(sizes_.length), pairs = static_cast<std::size_t>(sizes_.pairs);
  const auto keys = distinct(random, sizes_.pairs, half - 1);
  const auto values = distinct(random, sizes_.pairs, sizes_.vocabulary - half);
  std::vector<std::int64_t> tokens(length, 0), labels(length, kNotAsked);
  const auto gaps = law_.draw(random, sizes_.pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    tokens[2 * i] = 1 + keys[i];
    tokens[2 * i + 1] = half + values[i];
    const std::size_t place = 2 * (pairs + static_cast<std::size_t>(gaps[i]));
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
