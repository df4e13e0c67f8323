#include "tests/witness/buildings.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>

#include "rung/constructions/verification.h"

namespace rung {
namespace {

// Words that an option without a list can take at tiny sizes.
std::vector<std::string> open_words(std::string_view name) {
  if (name == "pattern") {
    std::vector<std::string> all;
    for (std::size_t length = 1; length <= 4; ++length)
      for (unsigned bits = 0; bits < 1u << length; ++bits) {
        std::string word;
        for (std::size_t i = 0; i < length; ++i) word += bits >> i & 1 ? 'R' : 'F';
        all.push_back(word);
      }
    return all;
  }
  if (name == "block") return {"1", "2", "3"};
  return {};
}

std::vector<ConstructionRequest> requests(const ConstructionWord& word, const TinyTask& task) {
  std::vector<ConstructionRequest> all{{.name = std::string(word.name), .sizes = task.sizes}};
  for (const auto& option : word.options) {
    std::vector<std::string> words(option.words.begin(), option.words.end());
    if (words.empty()) words = open_words(option.name);
    const auto own = task.options.find(std::string(option.name));
    if (words.empty() && own != task.options.end()) words = {own->second};
    std::vector<ConstructionRequest> more;
    for (const auto& request : all) {
      if (own == task.options.end()) more.push_back(request);
      for (const auto& choice : words) {
        if (own != task.options.end() && own->second != choice) continue;
        more.push_back(request);
        more.back().options[std::string(option.name)] = choice;
      }
    }
    all = std::move(more);
  }
  return all;
}

bool same_task(const Task& a, const Task& b) {
  return a.name() == b.name() && a.size() == b.size() && a.options() == b.options();
}

// Bits of the largest softmax weight, and of the sums of values times weights.
std::pair<std::int64_t, std::int64_t> widths_of(const Weights& weights, std::int64_t tokens) {
  std::int64_t largest = 0;
  for (const auto& [name, tensor] : weights.tensors)
    if (name.ends_with("score.table"))
      for (std::int64_t i = 0; i < tensor.size(); ++i) largest = std::max(largest, tensor.integer(i));
  if (largest == 0) return {0, 0};  // no softmax
  const auto bits = [](std::int64_t x) { return std::bit_width(static_cast<std::uint64_t>(x)); };
  return {bits(largest),
          bits(largest) + weights.architecture.dimensions.precision.bits + bits(tokens - 1) + 1};
}

// Whether the file, written with some number of bits from its own up, answers every prompt in a float format.
bool right_in(const Building& building, const Precision& format) {
  static std::map<std::pair<const Building*, NumberFormat>, bool> kept;
  const auto [found, fresh] = kept.try_emplace({&building, format.format}, false);
  if (!fresh) return found->second;
  constexpr int kMostBits = 16;
  auto request = building.request;
  for (int p = *request.precision; p <= kMostBits && !found->second; ++p) {
    request.precision = p;
    const auto made = build_construction(request);
    if (!made) continue;
    const auto run = verify(*made, {.quantised = format, .stop_at_first_error = true});
    found->second = run && run->passed() && run->mode == VerificationMode::exhaustive;
  }
  return found->second;
}

bool has_room(const MixerShape& there, const MixerShape& needed) {
  for (const auto& part : there.parts)
    if (has_room(part, needed)) return true;
  if (there.kind != needed.kind || there.base != needed.base) return false;
  if (there.window != needed.window || there.chunk != needed.chunk) return false;
  if (there.accumulator != needed.accumulator) return false;
  if (there.kind == MixerKind::rnn && there.relu_cell != needed.relu_cell) return false;
  if (there.steps < needed.steps) return false;
  if (there.block != needed.block || there.normalised != needed.normalised) return false;
  // On keys that are 0 or 1, relu is the identity.
  const auto plain = [](FeatureMap f) { return f == FeatureMap::identity || f == FeatureMap::relu; };
  if (there.feature != needed.feature && !(plain(there.feature) && plain(needed.feature))) return false;
  return there.heads >= needed.heads && there.kv_heads >= needed.kv_heads &&
         there.key_dim >= needed.key_dim && there.value_dim >= needed.value_dim &&
         there.inner >= needed.inner && there.state >= needed.state && there.select >= needed.select &&
         there.conv >= needed.conv && there.index_heads >= needed.index_heads &&
         there.index_dim >= needed.index_dim;
}

}  // namespace

std::string Building::line() const {
  std::string text = "rung build " + request.name;
  for (const auto& [name, value] : request.sizes) text += fmt::format(" --{} {}", name, value);
  for (const auto& [name, value] : request.options)
    text += value == "yes" ? fmt::format(" --{}", name) : fmt::format(" --{} {}", name, value);
  if (request.precision) text += fmt::format(" --precision {}", *request.precision);
  return text;
}

const std::vector<Building>& buildings(const TinyTask& task, int most_bits) {
  static std::map<const TinyTask*, std::vector<Building>> kept;
  const auto [found, fresh] = kept.try_emplace(&task);
  auto& all = found->second;
  if (!fresh) return all;
  for (const auto& word : construction_words()) {
    if (word.task != task.name) continue;
    for (auto request : requests(word, task)) {
      for (int p = 2; p <= most_bits; ++p) {
        request.precision = p;
        auto made = build_construction(request);
        if (!made) continue;
        if (!same_task(*made->task, *task.task)) break;
        const auto checked =
            verify(*made, {.budget = 4 * task.tree.prompts + 1000, .stop_at_first_error = true});
        if (!checked || !checked->passed() || checked->mode != VerificationMode::exhaustive) continue;
        auto layers = resolve(made->weights.architecture);
        if (!layers) break;
        const auto [weight_bits, sum_bits] = widths_of(made->weights, task.tree.length);
        all.push_back({request, std::move(*made), std::move(*layers), weight_bits, sum_bits});
        break;  // more bits are room to spare
      }
    }
  }
  return all;
}

std::optional<std::string> misfit(const Building& building, const Setting& setting) {
  const Dimensions& needed = building.made.weights.architecture.dimensions;
  const Dimensions& there = setting.architecture.dimensions;
  if (needed.causal != there.causal) return needed.causal ? "an encoder" : "a decoder";
  if (building.made.weights.decode.steps > 0 && !setting.chain_of_thought) return "no chain of thought";
  if (setting.floating()) {
    if (!right_in(building, there.precision)) return "errs in " + format_precision(there.precision);
  } else if (there.precision.bits - there.precision.fraction < needed.precision.bits)
    return fmt::format("{} bits of {}", there.precision.bits - there.precision.fraction,
                       needed.precision.bits);
  if (setting.sum_bits && *setting.sum_bits < building.sum_bits)
    return fmt::format("sums of {} bits of {}", *setting.sum_bits, building.sum_bits);
  if (!setting.sum_bits && building.weight_bits > kExponentBits)
    return fmt::format("softmax weights of {} bits", building.weight_bits);
  if (there.accumulator_bits.value_or(there.precision.bits) <
      needed.accumulator_bits.value_or(needed.precision.bits))
    return std::string("state entries");
  if (there.width < needed.width) return fmt::format("width {} of {}", there.width, needed.width);
  const bool placed = there.position == PositionCode::table || there.position == PositionCode::binary;
  if (needed.position != PositionCode::none && !placed) return "no position code";
  std::size_t next = 0;
  for (const auto& layer : building.layers) {
    if (layer.mixer.kind == MixerKind::none) continue;  // position-wise: part of the arbitrary MLP
    while (next < setting.layers.size() && !has_room(setting.layers[next].mixer, layer.mixer)) ++next;
    if (next == setting.layers.size())
      return fmt::format("no layer for {}", format_stack(building.made.weights.architecture.stack));
    ++next;
  }
  return std::nullopt;
}

}  // namespace rung
