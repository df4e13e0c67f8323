// Uniform instances of automaton tasks, copy, selective-copy and tracked-recall, number by number as Task::generate
// draws them; the part of instance_draw.h that is about words. Random is InstanceRandom.
#pragma once

#include <cstdint>

#include "rung/learn/kernels/element.h"

namespace rung::kernels {

// An automaton task. The tables lie where the instances are drawn: on the device for its kernel.
struct InstanceAutomaton {
  std::int64_t letters = 0, states = 0;  // ^ is token number `letters`
  std::int64_t start = 0;
  const std::uint32_t* next = nullptr;  // [states, letters]
  const std::int64_t* out = nullptr;    // [states], the answers
  bool everywhere = false;              // an answer after every letter, not after the last alone
};

// What moves the mark of tracked recall: letter i exchanges i - 1 and i; adds 1; turns bit i - 1. Letter 0 does nothing.
enum class MarkLetters { exchanges, rotation, bits };
struct InstanceMark {
  MarkLetters moves = MarkLetters::exchanges;
  std::int64_t letters = 0, word = 0;  // letters to choose from; letters of the word
};
inline constexpr std::int64_t kMarkFields = 3;  // key, value, role

// ^ and n letters.
template <class Random>
RUNG_HOST_DEVICE inline void draw_word(const InstanceAutomaton& task, std::int64_t n, Random& random,
                                       std::int32_t* tokens, std::int64_t* answers) {
  tokens[0] = static_cast<std::int32_t>(task.letters);
  std::int64_t state = task.start;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto letter = static_cast<std::int64_t>(random.below(task.letters));
    tokens[i + 1] = static_cast<std::int32_t>(letter);
    state = task.next[state * task.letters + letter];
    if (task.everywhere) answers[i] = task.out[state];
  }
  if (!task.everywhere) answers[0] = task.out[state];
}

// Whether n different places of `places` are the head of a shuffled list, which needs scratch [places]; else places
// are drawn again where they repeat.
RUNG_HOST_DEVICE inline bool marks_by_shuffle(std::int64_t n, std::int64_t places) { return places / n < 4; }

// n symbols, on all of n places or (selective) on some of `places`, then n blanks.
template <class Random>
RUNG_HOST_DEVICE inline void draw_copy(std::int64_t n, std::int64_t places, std::int64_t sigma,
                                       bool selective, Random& random, std::int32_t* tokens,
                                       std::int64_t* answers, std::int32_t* scratch) {
  for (std::int64_t i = 0; i < n; ++i) answers[i] = static_cast<std::int64_t>(random.below(sigma));
  for (std::int64_t t = 0; t < places; ++t) tokens[t] = selective ? 0 : 1;  // 1: a symbol comes here
  if (selective && marks_by_shuffle(n, places)) {
    for (std::int64_t t = 0; t < places; ++t) scratch[t] = static_cast<std::int32_t>(t);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t other = i + static_cast<std::int64_t>(random.below(places - i));
      tokens[scratch[other]] = 1;
      scratch[other] = scratch[i];
    }
  } else if (selective) {
    for (std::int64_t marked = 0; marked < n;) {
      std::int32_t& place = tokens[random.below(places)];
      marked += place == 0;
      place = 1;
    }
  }
  for (std::int64_t t = 0, i = 0; t < places; ++t)
    tokens[t] = static_cast<std::int32_t>(tokens[t] ? answers[i++] : sigma);
  for (std::int64_t i = 0; i < n; ++i)
    tokens[places + i] = static_cast<std::int32_t>(sigma + (selective ? 1 : 0));
}

RUNG_HOST_DEVICE inline std::int64_t moved_mark(MarkLetters moves, std::int64_t n, std::int64_t letter,
                                                std::int64_t mark) {
  if (letter == 0) return mark;
  if (moves == MarkLetters::rotation) return mark + 1 == n ? 0 : mark + 1;
  if (moves == MarkLetters::bits) return mark ^ (std::int64_t{1} << (letter - 1));
  return mark == letter ? letter - 1 : mark == letter - 1 ? letter : mark;
}

// n pairs, the word, and =: keys, then values, then roles, each [n + word + 1].
template <class Random>
RUNG_HOST_DEVICE inline void draw_marked(const InstanceMark& task, std::int64_t n, std::int64_t sigma,
                                         Random& random, std::int32_t* tokens, std::int64_t* answers) {
  const std::int64_t length = n + task.word + 1;
  std::int32_t *key = tokens, *value = tokens + length, *role = tokens + 2 * length;
  for (std::int64_t i = 0; i < n; ++i) key[i] = static_cast<std::int32_t>(i);
  for (std::int64_t i = n; i > 1; --i) {
    const auto other = static_cast<std::int64_t>(random.below(i));
    const std::int32_t last = key[i - 1];
    key[i - 1] = key[other];
    key[other] = last;
  }
  std::int64_t mark = 0;
  for (std::int64_t i = 0; i < task.word; ++i) {
    const auto letter = static_cast<std::int64_t>(random.below(task.letters));
    key[n + i] = static_cast<std::int32_t>(letter);
    mark = moved_mark(task.moves, n, letter, mark);
  }
  key[length - 1] = 0;
  for (std::int64_t t = 0; t < length; ++t) {
    value[t] = static_cast<std::int32_t>(t < n ? random.below(sigma) : sigma);
    role[t] = t < n ? 0 : t < length - 1 ? 1 : 2;
    if (t < n && key[t] == mark) answers[0] = value[t];
  }
}

}  // namespace rung::kernels
