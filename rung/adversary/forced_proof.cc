// Claim: one-full-layer-late, one-full-layer-early, full-alone-* (docs/theorems.md;
// rung/theory/one_full_layer.h has the first two). Alone: the answer token queries with its own token, so a
// part of the prompt reaches it through partial sums of M_part bits; where the part has more contents that
// some common rest separates, two of them end alike. Invariant: the search for (T, x_0, y) is in floating
// point, every verdict on integers.
#include "rung/adversary/forced_proof.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "rung/adversary/prompt_family.h"
#include "rung/adversary/state_bits.h"
#include "rung/base/ceil_lg.h"
#include "rung/theory/horizon.h"
#include "rung/theory/one_full_layer.h"
#include "rung/theory/three_sum_values.h"

namespace rung {
namespace {

bool is_whole_full_layer(const MixerShape& m) {
  return m.kind == MixerKind::full && !m.window && !m.chunk && m.conv == 0;
}
std::int64_t partial_sum_bits(const Target& target, std::size_t layer) {
  const MixerShape& full = target.layers[layer].mixer;
  const Tensor& table = target.weights.tensors.at(fmt::format("layers.{}.score.table", layer));
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < table.size(); ++i) largest = std::max(largest, table.integer(i));
  const std::int64_t weight = std::bit_width(static_cast<std::uint64_t>(largest)),
                     tokens = ceil_lg(target.length());
  const std::int64_t value = stored_number(target.weights, fmt::format("layers.{}.v.bits", layer),
                                           target.weights.architecture.dimensions.precision.bits);
  return full.heads * (full.value_dim * (weight + value + tokens + 1) + weight + tokens);
}

// The one whole full layer, where every other layer satisfies `other`.
template <class Other>
std::optional<std::size_t> one_full_layer(const Target& target, const Other& other) {
  if (!target.exact() || target.weights.decode.steps > 0) return std::nullopt;
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < target.layers.size(); ++i) {
    const MixerShape& m = target.layers[i].mixer;
    if (!found && is_whole_full_layer(m))
      found = i;
    else if (!other(m))
      return std::nullopt;
  }
  return found;
}

bool same_outside(const Task& task, const EndAlike& pair, const std::vector<std::int64_t>& part) {
  const auto fields = task.fields();
  for (std::int64_t t = 0; t < pair.first.positions; ++t)
    if (!std::binary_search(part.begin(), part.end(), t) &&
        prompt_row(pair.first, fields, t) != prompt_row(pair.second, fields, t))
      return false;
  return true;
}

std::vector<std::int64_t> every(std::int64_t stride, std::int64_t end) {
  std::vector<std::int64_t> positions;
  for (std::int64_t t = 0; t < end; t += stride) positions.push_back(t);
  return positions;
}

}  // namespace

std::optional<OneFullLayerBits> one_full_layer_bits(const Target& target) {
  const auto layout = seqcomp_layout(*target.task);
  if (!layout || layout->levels() != 2 || layout->order() != SeqCompLayout::Order::hard) return std::nullopt;
  const auto full = one_full_layer(target, has_bounded_state);
  if (!full || !target.weights.architecture.dimensions.causal) return std::nullopt;
  OneFullLayerBits bits{partial_sum_bits(target, *full), 0, 0};
  bool early = false;
  for (const std::int64_t cut : {layout->domain(1), layout->start_position()}) {
    std::int64_t before = 0;
    bits.after = 0;
    for (std::size_t i = 0; i < target.layers.size(); ++i) {
      const MixerShape& m = target.layers[i].mixer;
      if (i == *full) continue;
      early = early || (i < *full && !is_position_wise(m));
      (i < *full ? before : bits.after) +=
          layer_state_bits(target.weights, m, fmt::format("layers.{}.", i), cut);
    }
    bits.before = std::max(bits.before, before);
  }
  if (early && bits.before == 0)
    return std::nullopt;  // a recurrence without a state: neither theorem is about it
  return bits;
}

std::optional<FoolingPairClaim::Transcripts> forced_proof(const Target& target) {
  const auto bits = one_full_layer_bits(target);
  if (!bits) return std::nullopt;
  const auto layout = seqcomp_layout(*target.task);
  const SeqcompProof proof = best_proof(OneFullLayer{bits->partial, bits->before, bits->after},
                                        {layout->domain(0), {layout->branching(1)}});
  if (!proof.certified) return std::nullopt;
  const auto number = [](const Integer& v) { return v.convert_to<std::int64_t>(); };
  return FoolingPairClaim::Transcripts{number(proof.T[0]), number(proof.x0), number(proof.y)};
}

std::optional<std::int64_t> full_alone_bits(const Target& target) {
  const auto full = one_full_layer(target, is_position_wise);
  return full ? std::optional(partial_sum_bits(target, *full)) : std::nullopt;
}

std::optional<AnsweredPart> answered_part(const Task& task, std::int64_t bits) {
  const std::string_view name = task.name();
  const auto size = task.size();
  const auto of = [&](const char* what) { return size.at(what).get<std::int64_t>(); };
  const auto outgrows = [&](const Count& contents) { return !bits_suffice(bits, contents); };
  if (name == "equality" || name == "disjointness")
    return AnsweredPart{every(1, of("n")), outgrows(Count::power(2, of("n")))};
  if (name == "three-sum") {
    const Integer values = three_sum_values(of("M"));
    if (of("n") < 3 || values < 1) return std::nullopt;
    return AnsweredPart{every(1, of("n") - 2), outgrows(Count::subsets(values, of("n") - 2))};
  }
  if (name == "dyck") {
    const std::int64_t n = of("n");
    if (n % 2 != 0 || n < 4) return std::nullopt;
    return AnsweredPart{every(2, n - 2), outgrows(Count::power(of("k"), n / 2 - 1))};
  }
  if (const auto layout = seqcomp_layout(task);
      layout && layout->levels() == 1 && layout->order() == SeqCompLayout::Order::hard)
    return AnsweredPart{every(1, layout->domain(0)), outgrows(seqcomp_count(layout->domain(0)))};
  return std::nullopt;
}

void label_fooling_pair(const Target& target, Certificate& certificate) {
  auto* claim = std::get_if<FoolingPairClaim>(&certificate.claim);
  if (!claim) return;
  const Task& task = *target.task;
  if (const auto bits = full_alone_bits(target)) {
    const auto part = answered_part(task, *bits);
    const bool last =
        task.name() != "three-sum" || claim->pair.first.token(claim->pair.first.positions - 1) == 0;
    if (part && part->outgrows && last && same_outside(task, claim->pair, part->positions))
      claim->proof = FoolingPairClaim::PartialSums{*bits};
  }
  if (const auto layout = seqcomp_layout(task); !claim->proof && layout && layout->levels() == 2 &&
                                                same_outside(task, claim->pair, every(1, layout->domain(1))))
    claim->proof = forced_proof(target);
  if (claim->proof) claim->pair.label = ClaimLabel::forced;
}

}  // namespace rung
