#include "rung/theory/word.h"

#include <algorithm>

#include "rung/spec/require.h"

namespace rung {
namespace {

// Softmax over the whole past, in this mixer or one of its head groups.
struct Sums {
  bool full = false, selects = false, uncovered = false, early_convolution = false;
  Integer partial = 0, outputs = 0, straddling = 0;
};

void add_sums(const MixerShape& m, std::int64_t width, std::int64_t p, std::int64_t accumulator, Sums& sums) {
  const Integer heads = m.heads, values = m.value_dim;
  switch (m.kind) {
    case MixerKind::heads:
      for (const auto& part : m.parts) add_sums(part, width, p, accumulator, sums);
      return;
    case MixerKind::full:
      if (m.window || m.chunk) return;
      sums.full = true;
      sums.early_convolution = sums.early_convolution || m.conv > 1;
      sums.partial += heads * (values + 1) * accumulator;
      sums.outputs += heads * values * p;
      return;
    case MixerKind::sparse: {
      // Compression sums, and the k best blocks with their scores and sums; a block across a cut travels
      // whole.
      sums.full = sums.selects = true;
      const Integer plain = heads * (values + 1) * accumulator;
      sums.partial += (m.select + 1) * plain + Integer(m.select) * p;
      sums.outputs += heads * values * p;
      sums.straddling += Integer(m.block) * width * p;
      if (m.window) sums.straddling += Integer(*m.window - 1) * m.kv_heads * (m.key_dim + m.value_dim) * p;
      return;
    }
    case MixerKind::topk:
    case MixerKind::compressed:
      sums.uncovered = true;
      return;
    default:
      return;
  }
}

}  // namespace

Integer StateBits::after(const Integer& tokens) const {
  RUNG_REQUIRE(tokens >= 1, "tokens={}", tokens.str());
  return fixed + per_level * (bit_length(tokens) + 1);  // ⌊lg t⌋ + 2
}

StateBits& StateBits::operator+=(const StateBits& other) {
  fixed += other.fixed;
  per_level += other.per_level;
  return *this;
}

std::int64_t default_accumulator(const Precision& precision) { return 2 * std::int64_t{precision.bits} + 20; }

Word make_word(const Architecture& architecture, const std::vector<LayerShape>& layers,
               const StorageBits& storage, const std::function<Account(const StorageBits&)>& count,
               std::int64_t accumulator) {
  // Two contexts, two and three live levels: the difference is one level.
  StorageBits two = storage, three = storage;
  two.context = 1;
  three.context = 2;
  const Account at_two = count(two), at_three = count(three);
  const std::int64_t p = architecture.dimensions.precision.bits;
  Word word;
  word.text = at_two.pattern;
  word.folded = fold_pattern(at_two.layers);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Integer level = Integer(at_three.layers[i].state_bits) - at_two.layers[i].state_bits;
    const StateBits state{Integer(at_two.layers[i].state_bits) - 2 * level, level};
    Sums sums;
    add_sums(layers[i].mixer, layers[i].width, p, accumulator, sums);
    if (sums.uncovered) {
      word.letters.push_back({.kind = WordLetter::Kind::uncovered, .layer = i, .state = state});
    } else if (sums.full) {
      // A convolution in front of full heads is an R before the F; what else has state stands beside.
      const bool alone = layers[i].mixer.kind != MixerKind::heads;
      if (sums.early_convolution)
        word.letters.push_back({.kind = WordLetter::Kind::recurrent, .layer = i, .state = state});
      WordLetter full{.kind = WordLetter::Kind::full,
                      .layer = i,
                      .selects = sums.selects,
                      .partial = sums.partial,
                      .outputs = sums.outputs};
      if (!(alone && sums.early_convolution)) full.state = state;
      full.state.fixed += sums.straddling;
      word.letters.push_back(std::move(full));
    } else if (!at_two.layers[i].letters.empty()) {
      word.letters.push_back({.kind = WordLetter::Kind::recurrent, .layer = i, .state = state});
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
    return l.kind == WordLetter::Kind::full && (l.state.fixed > 0 || l.state.per_level > 0);
  });
}

StateBits Word::gap(std::size_t k, bool beside) const {
  StateBits bits;
  std::size_t seen = 0;
  for (const auto& letter : letters) {
    if (letter.kind == WordLetter::Kind::full) {
      ++seen;
      if (beside && seen == k) bits += letter.state;
    } else if (seen == k) {
      bits += letter.state;
    }
  }
  return bits;
}

const WordLetter& Word::full(std::size_t k) const {
  for (const auto& letter : letters)
    if (letter.kind == WordLetter::Kind::full && k-- == 0) return letter;
  RUNG_REQUIRE(false, "fewer full layers than asked for");
  return letters.front();
}

StateBits Word::total() const {
  StateBits bits;
  for (const auto& letter : letters) bits += letter.state;
  return bits;
}

Integer Word::partial() const {
  Integer most = 0;
  for (const auto& letter : letters) most = std::max(most, letter.partial);
  return most;
}
Integer Word::outputs() const {
  Integer most = 0;
  for (const auto& letter : letters) most = std::max(most, letter.outputs);
  return most;
}

}  // namespace rung
