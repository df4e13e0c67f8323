#include "rung/lab/separation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rung/base/ceil_lg.h"
#include "rung/spec/accounting.h"

namespace rung::lab {
namespace {

// Numbers that a layer fetches from the whole past, all heads.
std::int64_t fetched_numbers(const MixerShape& mixer) {
  std::int64_t numbers = mixer.looks_back() ? mixer.output_width() : 0;
  for (const MixerShape& part : mixer.parts) numbers += fetched_numbers(part);
  return numbers;
}

}  // namespace

std::optional<Separation> separation(const Weights& weights, const Task& task) {
  if (!task.built_in() || task.name() != "seqcomp" || !task.options().empty()) return {};
  const SizeList size = task.size();
  const std::int64_t levels = size.at("L");
  const auto layers = resolve(weights.architecture);
  if (levels < 2 || !layers) return {};
  Separation out;
  std::int64_t domain = size.at("m");
  out.table = static_cast<double>(domain) * std::log2(static_cast<double>(domain));
  for (std::int64_t l = 1; l < levels; ++l) {
    const std::int64_t branching = size.at("n" + std::to_string(l)), entries = std::min(domain, branching);
    domain *= branching;
    const std::int64_t bits = entries * ceil_lg(static_cast<std::uint64_t>(domain));
    out.needed = l == 1 ? bits : std::min(out.needed, bits);
  }
  for (const LayerShape& layer : *layers) out.fetched = std::max(out.fetched, fetched_numbers(layer.mixer));
  out.bits = weights.architecture.dimensions.precision.bits;
  out.carried = kSeparationSlack * out.fetched * out.bits;
  const Account counted = account(weights.architecture, *layers, {.context = task.prompt_length()});
  for (const LayerAccount& layer : counted.layers) out.state = std::max(out.state, layer.state_bits);
  return out;
}

void measure_separation(std::span<ConfigurationOutcome> outcomes) {
  for (ConfigurationOutcome& outcome : outcomes) {
    if (!outcome.separation) continue;
    Separation& s = *outcome.separation;
    std::optional<std::int64_t> bits;
    for (const ConfigurationOutcome& other : outcomes)
      if (other.subject.task == outcome.subject.task && other.subject.size == outcome.subject.size)
        for (const SeedScore& score : other.scores)
          if (score.accuracy() >= kComposes)
            bits =
                std::max<std::int64_t>(bits.value_or(0), score.carried_bits ? *score.carried_bits : s.bits);
    if (!bits || s.bits < 1) continue;
    count_with(s, *bits);
  }
}

void count_with(Separation& s, std::int64_t bits) {
  s.state = (s.state * bits + s.bits - 1) / s.bits;
  s.bits = bits;
  s.carried = kSeparationSlack * s.fetched * s.bits;
}

std::string separation_text(const Separation& s) {
  const bool values = s.needed > s.carried, states = s.states_are_small();
  std::string text = fmt::format("{}: {} {} {} bits", s.separated() ? "separated" : "not separated", s.needed,
                                 values ? ">" : "<=", s.carried);
  if (s.state > 0)
    text += fmt::format("; states of {} bits {} half of {:.1f}", s.state, states ? "<" : ">=", s.table);
  return text;
}

}  // namespace rung::lab
