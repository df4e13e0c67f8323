#include "rung/theory/word.h"

#include <algorithm>

#include "rung/base/require.h"
#include "rung/spec/mixers.h"

namespace rung {
namespace {

// Softmax over the whole past, in this mixer or one of its head groups.
struct Sums {
  bool full = false, selects = false, uncovered = false;
  std::int64_t taps = 0;  // of a convolution in front of full heads
  StateBits partial;
  Integer outputs = 0, straddling = 0;
};

// Numerators of `values` numbers and one denominator, of a head.
StateBits head_sums(std::int64_t values, std::int64_t p, std::optional<std::int64_t> sum_bits) {
  if (sum_bits) return {.fixed = Integer(values + 1) * *sum_bits};
  return {.fixed = Integer(values) * (kExponentBits + p + 1) + kExponentBits, .growing = values + 1};
}
StateBits times(const StateBits& bits, const Integer& factor) {
  return {bits.fixed * factor, bits.growing * factor, bits.per_level * factor, bits.level_growing * factor};
}

void add_sums(const MixerShape& m, std::int64_t width, std::int64_t p, std::optional<std::int64_t> sum_bits,
              Sums& sums) {
  for (const auto& part : m.parts) add_sums(part, width, p, sum_bits, sums);
  if (letter_of(m) != Letter::full) return;
  const Integer heads = m.heads, values = m.value_dim;
  switch (coverage_of(m)) {
    case Coverage::proved:
      sums.full = true;
      sums.taps = std::max(sums.taps, m.conv);
      sums.partial += times(head_sums(m.value_dim, p, sum_bits), heads);
      sums.outputs += heads * values * p;
      return;
    case Coverage::sketch:
      // Compression sums, and the k best blocks with their scores and sums; a block across a cut travels
      // whole.
      sums.full = sums.selects = true;
      sums.partial += times(head_sums(m.value_dim, p, sum_bits), (m.select + 1) * heads);
      sums.partial.fixed += Integer(m.select) * p;
      sums.outputs += heads * values * p;
      sums.straddling += Integer(m.block) * width * p;
      if (m.window) sums.straddling += Integer(*m.window - 1) * m.kv_heads * (m.key_dim + m.value_dim) * p;
      return;
    case Coverage::none:  // token scores and selection, compressed caches
      sums.uncovered = true;
      return;
  }
}

// Tokens that a bounded mixer sees, itself among them. A chunk may begin anywhere, so it promises none but its own.
std::int64_t reach_of(const MixerShape& m) {
  if (letter_of(m) == Letter::recurrent && !recurrence_of(m).state.value.empty()) return kUnboundedReach;
  std::int64_t most = m.window.value_or(1) + std::max<std::int64_t>(m.conv, 1) - 1;
  for (const auto& part : m.parts) most = std::max(most, reach_of(part));
  return most;
}

Integer doublings_to(const Integer& tokens) { return bit_length(tokens - 1); }

}  // namespace

Integer StateBits::after(const Integer& tokens) const {
  RUNG_REQUIRE(tokens >= 1, "tokens={}", tokens.str());
  const Integer doublings = doublings_to(tokens), live = bit_length(tokens);  // ⌊lg t⌋ + 1
  return fixed + growing * doublings + live * (per_level + level_growing * doublings);
}

Integer StateBits::one_level(const Integer& tokens) const {
  RUNG_REQUIRE(tokens >= 1, "tokens={}", tokens.str());
  return fixed + per_level + (growing + level_growing) * doublings_to(tokens);
}

StateBits& StateBits::operator+=(const StateBits& other) {
  fixed += other.fixed;
  growing += other.growing;
  per_level += other.per_level;
  level_growing += other.level_growing;
  return *this;
}

Word make_word(const Architecture& architecture, const std::vector<LayerShape>& layers,
               const StorageBits& storage, const std::function<Account(const StorageBits&)>& count,
               std::optional<std::int64_t> sum_bits) {
  const Account counted = count(storage);
  const std::int64_t p = architecture.dimensions.precision.bits;
  Word word;
  word.text = counted.pattern;
  word.folded = fold_pattern(counted.layers);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const StateWidths& widths = counted.layers[i].widths;
    const StateBits state{widths.fixed, widths.sums, widths.level_fixed, widths.level_sums};
    word.given_entries = word.given_entries || widths.entries > 0;
    const std::int64_t reach = reach_of(layers[i].mixer);
    Sums sums;
    add_sums(layers[i].mixer, layers[i].width, p, sum_bits, sums);
    if (sums.uncovered) {
      word.letters.push_back({.kind = WordLetter::Kind::uncovered, .layer = i, .state = state});
    } else if (sums.full) {
      // A convolution in front of full heads is an R before the F; what else has state stands beside.
      const bool alone = layers[i].mixer.parts.empty();
      const bool convolves = sums.taps > 1;
      if (convolves)
        word.letters.push_back(
            {.kind = WordLetter::Kind::recurrent, .layer = i, .state = state, .reach = sums.taps});
      WordLetter full{.kind = WordLetter::Kind::full,
                      .layer = i,
                      .selects = sums.selects,
                      .partial = sums.partial,
                      .outputs = sums.outputs};
      if (!(alone && convolves)) full.state = state;
      full.state.fixed += full.straddling = sums.straddling;
      word.letters.push_back(std::move(full));
    } else if (!counted.layers[i].letters.empty()) {
      word.letters.push_back(
          {.kind = WordLetter::Kind::recurrent, .layer = i, .state = state, .reach = reach});
    }
  }
  return word;
}

std::size_t Word::full_letters() const {
  return static_cast<std::size_t>(std::count_if(
      letters.begin(), letters.end(), [](const WordLetter& l) { return l.kind == WordLetter::Kind::full; }));
}
bool Word::uncovered() const {
  return std::any_of(letters.begin(), letters.end(),
                     [](const WordLetter& l) { return l.kind == WordLetter::Kind::uncovered; });
}
bool Word::selects() const {
  return std::any_of(letters.begin(), letters.end(), [](const WordLetter& l) { return l.selects; });
}
bool Word::head_wise() const {
  return std::any_of(letters.begin(), letters.end(), [](const WordLetter& l) {
    return l.kind == WordLetter::Kind::full && !l.state.empty();
  });
}

const WordLetter& Word::full(std::size_t k) const {
  for (const auto& letter : letters)
    if (letter.kind == WordLetter::Kind::full && k-- == 0) return letter;
  RUNG_REQUIRE(false, "fewer full layers than asked for");
  return letters.front();
}

StateBits Word::total() const {
  StateBits bits;
  for (const auto& letter : letters) bits += letter.state, bits.fixed -= letter.straddling;
  return bits;
}

std::int64_t Word::reach(std::size_t k) const {
  std::int64_t reach = 1;
  std::size_t seen = 0;
  for (const auto& letter : letters) {
    if (letter.kind == WordLetter::Kind::full) ++seen;
    if (letter.kind == WordLetter::Kind::recurrent && seen == k)
      reach = std::min(kUnboundedReach, reach - 1 + letter.reach);  // in this order: no sum above 2^63 - 1
  }
  return reach;
}

Integer Word::partial(const Integer& tokens) const {
  Integer most = 0;
  for (const auto& letter : letters) most = std::max(most, letter.partial.after(tokens));
  return most;
}
Integer Word::outputs() const {
  Integer most = 0;
  for (const auto& letter : letters) most = std::max(most, letter.outputs);
  return most;
}

}  // namespace rung
