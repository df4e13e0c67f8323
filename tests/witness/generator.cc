#include "tests/witness/generator.h"

#include <fmt/format.h>

#include <algorithm>

#include "rung/spec/mixers.h"

namespace rung {
namespace {

bool one_in(Random& random, std::uint64_t n) { return random.below(n) == 0; }

std::int64_t small_number(Random& random, const OptionWord& option) {
  if (option.name == "elements") return random.between(1, 12);
  return std::min(option.high,
                  option.low + static_cast<std::int64_t>(random.below(one_in(random, 4) ? 9 : 3)));
}

bool is_recurrence(MixerKind kind) {
  const Memory memory = mixer_descriptor(kind).memory;
  return memory != Memory::past && memory != Memory::of_parts;
}

void bound_attention(Mixer& mixer, Random& random) {
  if (mixer.kind == MixerKind::full && !mixer.number("window") && !mixer.number("chunk"))
    mixer.options.insert(mixer.options.begin(), {"window", random.between(1, 4)});
}

Mixer small_recurrence(Random& random) {
  while (true) {
    Mixer mixer = small_mixer(random, false);
    if (mixer.kind == MixerKind::full) {
      bound_attention(mixer, random);
      return mixer;
    }
    if (mixer.kind == MixerKind::heads) {
      bool all = true;
      for (auto& part : mixer.parts) {
        bound_attention(part.mixer, random);
        all = all && (part.mixer.kind == MixerKind::full || is_recurrence(part.mixer.kind));
      }
      if (all) return mixer;
      continue;
    }
    if (is_recurrence(mixer.kind)) return mixer;
  }
}

WitnessCase asked_about(const TinyTask& task) {
  WitnessCase given;
  given.task = task.name;
  given.sizes = task.sizes;
  given.options = task.options;
  given.variant = task.variant;
  return given;
}

void draw_dimensions(Random& random, WitnessCase& given) {
  auto& a = given.architecture;
  if (!one_in(random, 3)) a.width = random.between(1, 12);
  if (one_in(random, 2)) a.heads = random.between(1, 4);
  if (one_in(random, 6)) a.kv_heads = random.between(1, 2);
  if (!one_in(random, 3)) a.head_dim = random.between(1, 10);
  if (one_in(random, 3)) a.value_dim = random.between(1, 4);
  if (one_in(random, 2)) a.state = random.between(1, 3);
  if (one_in(random, 8)) a.mlp = one_in(random, 2) ? "none" : "8";
  if (one_in(random, 8)) a.norm = one_in(random, 2) ? "rms" : "none";
  static constexpr const char* kPositions[] = {"none", "table", "binary", "rope"};
  if (one_in(random, 3)) a.position = kPositions[random.below(4)];
  static constexpr const char* kFloats[] = {"bf16", "fp16", "e4m3", "e5m2", "fp32"};
  const int p = static_cast<int>(one_in(random, 4) ? random.between(7, 16) : random.between(2, 6));
  if (one_in(random, 8)) {
    a.precision = kFloats[random.below(5)];
    given.assume_exact = one_in(random, 2);
  } else if (one_in(random, 6)) {
    a.precision = fmt::format("{}.{}", p, random.below(static_cast<std::uint64_t>(p)));
  } else {
    a.precision = fmt::format("{}", p);
  }
  if (one_in(random, 4)) given.sum_bits = random.between(1, 20);
  if (one_in(random, 6)) a.acc_bits = random.between(1, 12);
}

}  // namespace

Mixer small_mixer(Random& random, bool in_heads) {
  const auto words = mixer_descriptors();
  while (true) {
    const MixerDescriptor& word = words[random.below(words.size())];
    if (in_heads && !can_stand_in_heads(word)) continue;
    Mixer mixer{.kind = word.kind};
    if (word.kind == MixerKind::heads) {
      const auto parts = 1 + random.below(3);
      for (std::uint64_t i = 0; i < parts; ++i)
        mixer.parts.push_back({small_mixer(random, true), random.between(1, 3)});
      return mixer;
    }
    for (const auto& option : word.options) {
      if (in_heads && option.name == "heads") continue;
      if (option.name == "chunk" && mixer.number("window")) continue;
      const bool rare = option.name == "conv" || option.name == "cache" || option.name == "window" ||
                        option.name == "chunk" || option.name == "groups" || option.name == "kv";
      if (!option.required && !one_in(random, rare ? 6 : 2)) continue;
      if (option.is_number) {
        const std::int64_t value = small_number(random, option);
        if (default_number(mixer, option) != value)
          mixer.options.push_back({std::string(option.name), value});
      } else {
        const std::string value =
            option.words.empty() ? "any" : std::string(option.words[random.below(option.words.size())]);
        if (default_word(mixer, option) != value) mixer.options.push_back({std::string(option.name), value});
      }
    }
    return mixer;
  }
}

Stack small_stack(Random& random) {
  Stack stack;
  const std::uint64_t layers = 1 + random.below(4);
  while (stack.layers.size() < layers) {
    if (!stack.layers.empty() && one_in(random, 3))
      stack.layers.push_back(Mixer(stack.layers[random.below(stack.layers.size())]));
    else
      stack.layers.push_back(small_mixer(random, false));
  }
  return stack;
}

WitnessCase random_case(Random& random, const TinyTask& task) {
  WitnessCase given = asked_about(task);
  draw_dimensions(random, given);
  given.architecture.line = format_stack(small_stack(random));
  given.architecture.encoder = one_in(random, 8);
  given.chain_of_thought = one_in(random, 6);
  return given;
}

WitnessCase random_recurrence(Random& random, const TinyTask& task) {
  WitnessCase given = asked_about(task);
  draw_dimensions(random, given);
  const bool tight = !one_in(random, 3);  // about as many states as tiny tasks have classes
  if (tight) {
    auto& a = given.architecture;
    a.width = random.between(1, 3);
    a.heads = 1;
    a.kv_heads.reset();
    a.head_dim = random.between(1, 2);
    a.value_dim = random.between(1, 2);
    a.state = random.between(1, 2);
    a.precision = fmt::format("{}", random.between(2, 5));
    if (a.acc_bits) a.acc_bits = random.between(1, 4);
  }
  Stack stack;
  for (std::uint64_t i = 0, n = tight ? 1 : 1 + random.below(3); i < n; ++i)
    stack.layers.push_back(small_recurrence(random));
  given.architecture.line = format_stack(stack);
  given.chain_of_thought = one_in(random, 6);
  return given;
}

std::optional<WitnessCase> enlarged(Random& random, const WitnessCase& given, std::string& what) {
  WitnessCase more = given;
  auto& a = more.architecture;
  const auto grow = [&](const char* name, std::optional<std::int64_t>& value) -> bool {
    if (!value) return false;
    what = name;
    *value += random.between(1, 3);
    return true;
  };
  switch (random.below(8)) {
    case 0:
      // Without it a head's dimensions are its share of the width.
      if (!a.head_dim || !grow("heads", a.heads)) return std::nullopt;
      break;
    case 1:
      if (!grow("key dimension", a.head_dim)) return std::nullopt;
      break;
    case 2:
      if (!grow("value dimension", a.value_dim)) return std::nullopt;
      break;
    case 3:
      // Dimensions that the width alone fixes grow with it.
      if (!grow("width", a.width)) return std::nullopt;
      break;
    case 4:
      if (!grow("state", a.state)) return std::nullopt;
      break;
    case 5: {
      const auto precision = parse_precision(a.precision.value_or("16"));
      if (!precision || precision->format != NumberFormat::fixed) return std::nullopt;
      what = "bits";
      const int bits = precision->bits + static_cast<int>(random.between(1, 3));
      a.precision =
          precision->fraction > 0 ? fmt::format("{}.{}", bits, precision->fraction) : fmt::format("{}", bits);
      break;
    }
    case 6: {
      auto stack = parse_stack(a.line);
      if (!stack) return std::nullopt;
      what = "a layer";
      const auto at = static_cast<std::ptrdiff_t>(random.below(stack->layers.size() + 1));
      stack->layers.insert(stack->layers.begin() + at, small_mixer(random, false));
      a.line = format_stack(*stack);
      break;
    }
    default: {  // a number in the line itself
      auto stack = parse_stack(a.line);
      if (!stack) return std::nullopt;
      Mixer& mixer = stack->layers[random.below(stack->layers.size())];
      Mixer* target = &mixer;
      if (!mixer.parts.empty()) {
        auto& part = mixer.parts[random.below(mixer.parts.size())];
        if (a.head_dim && one_in(random, 2)) {
          ++part.heads;
          what = "heads of a group";
          a.line = format_stack(*stack);
          break;
        }
        target = &part.mixer;
      }
      static const std::vector<std::string> kGrowing = {"heads", "dim",   "vdim",     "state",
                                                        "size",  "inner", "elements", "window"};
      std::vector<MixerOption*> numbers;
      for (auto& option : target->options)
        if ((a.head_dim || option.name != "heads") &&
            std::find(kGrowing.begin(), kGrowing.end(), option.name) != kGrowing.end())
          numbers.push_back(&option);
      if (numbers.empty()) return std::nullopt;
      MixerOption& option = *numbers[random.below(numbers.size())];
      std::get<std::int64_t>(option.value) += random.between(1, 3);
      what = option.name;
      a.line = format_stack(*stack);
    }
  }
  return more;
}

}  // namespace rung
