#include "rung/theory/automaton_classes.h"

#include <algorithm>
#include <map>

#include "rung/base/require.h"

namespace rung {
namespace {

constexpr std::size_t kMostLengths = 4096;  // of a sequence before it repeats
constexpr std::int64_t kMostCuts = 64;      // of one length, from each end

// Blocks renumbered by their first members, so that equal partitions are equal lists.
std::vector<std::uint32_t> normal_blocks(const std::vector<std::vector<std::int64_t>>& keys) {
  std::map<std::vector<std::int64_t>, std::uint32_t> number;
  std::vector<std::uint32_t> block;
  for (const auto& key : keys)
    block.push_back(number.emplace(key, static_cast<std::uint32_t>(number.size())).first->second);
  return block;
}

}  // namespace

template <class T>
const T* AutomatonClasses::Sequence<T>::at(std::int64_t i) const {
  auto index = static_cast<std::size_t>(i);
  if (index < items.size()) return &items[index];
  if (cycle == items.size()) return nullptr;
  return &items[cycle + (index - cycle) % (items.size() - cycle)];
}

AutomatonClasses::AutomatonClasses(const Automaton& automaton, WordLengths lengths) {
  const std::uint32_t states = automaton.state_count(), letters = automaton.letter_count();
  const auto follow = [](auto& sequence, auto first, const auto& next) {
    std::map<decltype(first), std::size_t> seen;
    for (;;) {
      const auto [place, fresh] = seen.emplace(first, sequence.items.size());
      if (!fresh || sequence.items.size() == kMostLengths) {
        sequence.cycle = fresh ? sequence.items.size() : place->second;
        return;
      }
      sequence.items.push_back(first);
      first = next(first);
    }
  };
  std::vector<bool> start(states, false);
  start[automaton.start] = true;
  follow(reached_, std::move(start), [&](const std::vector<bool>& now) {
    std::vector<bool> after = lengths == WordLengths::up_to ? now : std::vector<bool>(states, false);
    for (std::uint32_t q = 0; q < states; ++q)
      for (std::uint32_t a = 0; now[q] && a < letters; ++a) after[automaton.step(q, a)] = true;
    return after;
  });
  // States that no word of one letter (of k letters; of 1 to k letters) tells apart.
  const auto parted = [&](const auto& answer, const std::vector<std::uint32_t>* kept) {
    std::vector<std::vector<std::int64_t>> keys(states);
    for (std::uint32_t q = 0; q < states; ++q) {
      if (kept) keys[q].push_back((*kept)[q]);
      for (std::uint32_t a = 0; a < letters; ++a) keys[q].push_back(answer(automaton.step(q, a)));
    }
    return normal_blocks(keys);
  };
  follow(classes_, parted([&](std::uint32_t q) { return automaton.out[q]; }, nullptr),
         [&](const std::vector<std::uint32_t>& now) {
           return parted([&](std::uint32_t q) { return static_cast<std::int64_t>(now[q]); },
                         lengths == WordLengths::exactly ? nullptr : &now);
         });
}

std::int64_t AutomatonClasses::at(std::int64_t n) const {
  RUNG_REQUIRE(n >= 1, "n={}", n);
  std::int64_t most = 1;
  const auto cut = [&](std::int64_t t) {
    const auto* reached = reached_.at(t);
    const auto* classes = classes_.at(n - t - 1);
    if (!reached || !classes) return;
    std::vector<bool> counted(reached->size(), false);  // by class
    std::int64_t different = 0;
    for (std::size_t q = 0; q < reached->size(); ++q) {
      if (!(*reached)[q] || counted[(*classes)[q]]) continue;
      counted[(*classes)[q]] = true;
      ++different;
    }
    most = std::max(most, different);
  };
  for (std::int64_t t = 0; t < std::min(n, kMostCuts); ++t) {
    cut(t);
    cut(n - 1 - t);
  }
  return most;
}

}  // namespace rung
