// Claim: one-full-layer-late (docs/theorems.md). T x_0 y lg N_1 > (x_0 + y + 1) M_part + T s_1 for some T x_0
// <= m, y <= n_1 leaves two functions z_2 with the same activations at `=` for all T x_0 y arguments asked
// for, though they differ there. Invariant: the search for (T, x_0, y) is in floating point, the verdict on
// integers (certify).
#include "rung/adversary/forced_proof.h"

#include <algorithm>
#include <bit>

#include "rung/adversary/prompt_family.h"
#include "rung/adversary/state_bits.h"
#include "rung/theory/counting.h"
#include "rung/theory/one_full_layer.h"

namespace rung {
namespace {

int ceil_lg_of(std::int64_t x) {
  return x <= 1 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(x - 1)));
}

bool is_whole_full_layer(const MixerShape& m) {
  return m.kind == MixerKind::full && !m.window && !m.chunk && m.conv == 0;
}

}  // namespace

std::optional<OneFullLayerBits> one_full_layer_bits(const Target& target) {
  const auto layout = seqcomp_layout(*target.task);
  if (!layout || layout->levels() != 2 || layout->order() != SeqCompLayout::Order::hard) return std::nullopt;
  const auto& layers = target.layers;
  if (!target.exact() || target.weights.decode.steps > 0 || !target.weights.architecture.dimensions.causal ||
      layers.empty())
    return std::nullopt;
  if (!is_whole_full_layer(layers[0].mixer) ||
      !std::all_of(layers.begin() + 1, layers.end(),
                   [](const auto& l) { return has_bounded_state(l.mixer); }))
    return std::nullopt;
  const MixerShape& full = layers[0].mixer;
  const Tensor& table = target.weights.tensors.at("layers.0.score.table");
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < table.size(); ++i) largest = std::max(largest, table.integer(i));
  const std::int64_t weight = std::bit_width(static_cast<std::uint64_t>(largest)),
                     tokens = ceil_lg_of(target.length());
  const std::int64_t value =
      stored_number(target.weights, "layers.0.v.bits", target.weights.architecture.dimensions.precision.bits);
  OneFullLayerBits bits{full.heads * (full.value_dim * (weight + value + tokens + 1) + weight + tokens), 0};
  const std::int64_t cut = layout->start_position();
  for (std::size_t i = 1; i < layers.size(); ++i)
    bits.after += layer_state_bits(target.weights, layers[i].mixer, fmt::format("layers.{}.", i), cut);
  return bits;
}

std::optional<FoolingPairClaim::Proof> forced_proof(const Target& target) {
  const auto bits = one_full_layer_bits(target);
  if (!bits) return std::nullopt;
  const auto layout = seqcomp_layout(*target.task);
  const SeqcompProof proof =
      best_proof(OneFullLayer{bits->partial, 0, bits->after}, {layout->domain(0), {layout->branching(1)}});
  if (!proof.certified) return std::nullopt;
  const auto number = [](const Integer& v) { return v.convert_to<std::int64_t>(); };
  return FoolingPairClaim::Proof{number(proof.T[0]), number(proof.x0), number(proof.y)};
}

void label_fooling_pair(const Target& target, Certificate& certificate) {
  auto* claim = std::get_if<FoolingPairClaim>(&certificate.claim);
  if (!claim) return;
  const auto layout = seqcomp_layout(*target.task);
  if (!layout) return;
  const auto &first = claim->pair.first.fields[0], &second = claim->pair.second.fields[0];
  const auto differ = std::mismatch(first.begin() + layout->domain(layout->levels() - 1), first.end(),
                                    second.begin() + layout->domain(layout->levels() - 1));
  if (differ.first != first.end()) return;
  claim->proof = forced_proof(target);
  if (claim->proof) claim->pair.label = ClaimLabel::forced;
}

bool collision_is_forced(const Task& task, std::int64_t cut, std::int64_t bits) {
  const std::string_view name = task.name();
  const auto size = task.size();
  const auto of = [&](const char* what) { return size.at(what).get<std::int64_t>(); };
  const auto outgrown = [&](const Count& beginnings) { return !bits_suffice(bits, beginnings); };
  if (cut < 1 || !task.built_in()) return false;
  if (name == "eva") return cut <= of("n") && outgrown(Count::power(of("n"), cut));
  if (name == "index" || name == "retrieval") return cut <= of("n") && outgrown(Count::power(of("sigma"), cut));
  if (name == "mqar") return cut <= 2 * of("n") && outgrown(Count::power(of("sigma"), std::min(cut / 2, of("M"))));
  if (name == "two-sum") return cut <= of("n") && outgrown(Count::subsets(of("M"), cut));
  if (name == "equality" || name == "disjointness") return cut <= of("n") && outgrown(Count::power(2, cut));
  if (const auto layout = seqcomp_layout(task)) {
    const std::int64_t values = layout->domain(layout->levels() - 1);
    return cut <= values && outgrown(Count::power(values, cut));
  }
  return false;
}

}  // namespace rung
