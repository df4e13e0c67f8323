// Random stacks for properties: every mixer, every option, groups of heads.
#pragma once

#include <algorithm>

#include "rung/base/random.h"
#include "rung/spec/architecture.h"
#include "rung/spec/mixers.h"

namespace rung {

inline Mixer random_mixer(Random& random, bool in_heads) {
  const auto words = mixer_descriptors();
  while (true) {
    const MixerDescriptor& word = words[random.below(words.size())];
    if (in_heads && !can_stand_in_heads(word)) continue;
    Mixer mixer{.kind = word.kind};
    if (word.kind == MixerKind::heads) {
      const auto parts = 1 + random.below(3);
      for (std::uint64_t i = 0; i < parts; ++i)
        mixer.parts.push_back({random_mixer(random, true), static_cast<std::int64_t>(1 + random.below(4))});
      return mixer;
    }
    for (const auto& option : word.options) {
      if (in_heads && option.name == "heads") continue;
      if (option.name == "chunk" && mixer.number("window")) continue;
      if (!option.required && random.below(3) != 0) continue;
      if (option.is_number) {
        const std::int64_t value = random.below(4) == 0
                                       ? option.high
                                       : random.between(option.low, std::min(option.high, option.low + 9));
        if (default_number(mixer, option) != value)
          mixer.options.push_back({std::string(option.name), value});
      } else {
        const std::string value =
            option.words.empty() ? "kind-7.x" : std::string(option.words[random.below(option.words.size())]);
        // auto of log-linear attention is what its base has: left open.
        const bool open = mixer.kind == MixerKind::loglinear && value == "auto";
        if (!open && default_word(mixer, option) != value)
          mixer.options.push_back({std::string(option.name), value});
      }
    }
    return mixer;
  }
}

// Up to `length` layers over a small alphabet, with runs and repeated groups, so that folding has work.
inline Stack random_stack(Random& random, std::size_t length) {
  std::vector<Mixer> alphabet;
  for (std::uint64_t i = 0, n = 1 + random.below(4); i < n; ++i)
    alphabet.push_back(random_mixer(random, false));
  Stack stack;
  const std::size_t target = 1 + random.below(length);
  while (stack.layers.size() < target) {
    if (!stack.layers.empty() && random.below(3) == 0) {  // repeat the tail
      const std::size_t period = 1 + random.below(stack.layers.size());
      const std::size_t start = stack.layers.size() - period;
      for (std::size_t i = 0; i < period; ++i) stack.layers.push_back(Mixer(stack.layers[start + i]));
    } else {
      stack.layers.push_back(alphabet[random.below(alphabet.size())]);
    }
  }
  return stack;
}

}  // namespace rung
