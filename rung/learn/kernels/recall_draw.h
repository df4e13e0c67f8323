// Instances of khop and of mqar with gaps, number by number as Task::generate draws them, and what other kinds draw too:
// different values, Zipf values; the part of instance_draw.h that is about recall. Random is InstanceRandom.
#pragma once

#include <cstdint>

#include "rung/learn/kernels/element.h"

namespace rung::kernels {

// As zipf() of rung/tasks/sampling.h.
template <class Random>
RUNG_HOST_DEVICE inline std::int64_t draw_zipf(Random& random, std::int64_t bound) {
  std::uint64_t blocks = 0;
  while ((static_cast<std::uint64_t>(bound) >> blocks) != 0) ++blocks;
  for (;;) {
    const std::uint64_t first = std::uint64_t{1} << random.below(blocks);
    const std::uint64_t rank = first + random.below(first);
    if (rank <= static_cast<std::uint64_t>(bound) && random.below(rank) < first)
      return static_cast<std::int64_t>(rank) - 1;
  }
}

// int32 numbers of scratch that draw_distinct needs.
RUNG_HOST_DEVICE inline std::int64_t distinct_scratch(std::int64_t count, std::int64_t bound) {
  return bound / count < 4 ? bound : 0;
}

// As distinct() of rung/tasks/sampling.h: different values of [0, bound), value i plus `low` to to[i * stride].
// REQUIRES 1 <= count <= bound.
template <class Random>
RUNG_HOST_DEVICE inline void draw_distinct(Random& random, std::int64_t count, std::int64_t bound,
                                           std::int32_t low, std::int32_t* to, std::int64_t stride,
                                           std::int32_t* scratch) {
  if (distinct_scratch(count, bound) > 0) {
    for (std::int64_t i = 0; i < bound; ++i) scratch[i] = static_cast<std::int32_t>(i);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t other = i + static_cast<std::int64_t>(random.below(bound - i));
      const std::int32_t chosen = scratch[other];
      scratch[other] = scratch[i];
      to[i * stride] = low + chosen;
    }
    return;
  }
  for (std::int64_t i = 0; i < count;) {
    const std::int32_t value = low + static_cast<std::int32_t>(random.below(bound));
    bool seen = false;
    for (std::int64_t j = 0; j < i && !seen; ++j) seen = to[j * stride] == value;
    if (!seen) to[stride * i++] = value;
  }
}

// n pairs of different keys and values, then `places` times a key or a blank and a blank.
struct GappedRecall {
  std::int64_t n = 1, keys = 1, sigma = 1, places = 1;
  const std::uint64_t* weight = nullptr;  // [places]: of the law of the gaps
};

// tokens [2 n + 2 places]; answers, positions [n] in the order of the positions. positions may be null.
template <class Random>
RUNG_HOST_DEVICE inline void draw_gapped(const GappedRecall& task, Random& random, std::int32_t* tokens,
                                         std::int64_t* answers, std::int64_t* positions,
                                         std::int32_t* scratch) {
  const auto low = static_cast<std::int32_t>(task.sigma),
             blank = static_cast<std::int32_t>(task.sigma + task.keys);
  draw_distinct(random, task.n, task.keys, low, tokens, 2, scratch);
  draw_distinct(random, task.n, task.sigma, 0, tokens + 1, 2, scratch);
  std::int32_t* const asking = tokens + 2 * task.n;
  std::uint64_t total = 0;
  for (std::int64_t g = 0; g < task.places; ++g) {
    asking[2 * g] = asking[2 * g + 1] = blank;
    total += task.weight[g];
  }
  for (std::int64_t i = 0; i < task.n; ++i) {
    std::uint64_t left = random.below(total);
    std::int64_t gap = 0;
    for (; asking[2 * gap] != blank || left >= task.weight[gap]; ++gap)
      if (asking[2 * gap] == blank) left -= task.weight[gap];
    asking[2 * gap] = tokens[2 * i];
    total -= task.weight[gap];
  }
  for (std::int64_t g = 0, i = 0; g < task.places; ++g) {
    if (asking[2 * g] == blank) continue;
    std::int64_t pair = 0;
    while (tokens[2 * pair] != asking[2 * g]) ++pair;
    if (positions) positions[i] = 2 * (task.n + g);
    answers[i++] = tokens[2 * pair + 1];
  }
}

// n symbols, with `different` none beside itself; answers at every place or at the last: the symbol `hops` steps of
// induction away, sigma where a step has nowhere to go.
struct InductionHops {
  std::int64_t n = 1, hops = 1, sigma = 1;
  bool everywhere = false, different = false;
};

// tokens, scratch [n]; answers [n] or [1].
template <class Random>
RUNG_HOST_DEVICE inline void draw_hops(const InductionHops& task, Random& random, std::int32_t* tokens,
                                       std::int64_t* answers, std::int32_t* scratch) {
  const std::int64_t n = task.n;
  for (std::int64_t t = 0; t < n; ++t) {
    const bool other = task.different && t > 0;
    tokens[t] = static_cast<std::int32_t>(random.below(task.sigma - (other ? 1 : 0)));
    if (other && tokens[t] >= tokens[t - 1]) ++tokens[t];
    std::int64_t before = t - 1;
    while (before >= 0 && tokens[before] != tokens[t]) --before;
    scratch[t] = static_cast<std::int32_t>(before < 0 ? -1 : before + 1);
  }
  for (std::int64_t t = task.everywhere ? 0 : n - 1; t < n; ++t) {
    std::int64_t place = t;
    for (std::int64_t hop = 0; hop < task.hops && place >= 0; ++hop) {
      const std::int64_t next = scratch[place];
      if (next == place) break;  // the same symbol right before: every further step stays here
      place = next;
    }
    *answers++ = place >= 0 ? tokens[place] : task.sigma;
  }
}

}  // namespace rung::kernels
