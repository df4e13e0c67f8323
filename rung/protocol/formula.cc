#include "rung/protocol/formula.h"

#include <algorithm>
#include <numeric>

namespace rung {
namespace {

std::int64_t total(const std::vector<int>& widths) {
  return std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
}

// Hand-overs at every cut; `bits_at` gives the bits at the first position of the player that goes on.
template <class BitsAt>
FormulaTerm hand_overs(const std::vector<OwnedSegment>& players, const BitsAt& bits_at) {
  FormulaTerm term{.kind = MessageKind::state};
  std::vector<std::int64_t> each;
  for (std::size_t i = 1; i < players.size(); ++i) each.push_back(bits_at(players[i].first));
  term.bits = std::accumulate(each.begin(), each.end(), std::int64_t{0});
  if (!each.empty() && std::all_of(each.begin(), each.end(), [&](auto bits) { return bits == each.front(); }))
    term.text = fmt::format("hand-overs · state bits = {} · {}", each.size(), each.front());
  else
    term.text = fmt::format("Σ state bits over {} hand-overs", each.size());
  return term;
}

}  // namespace

SumWidths sum_widths(const SplitSoftmax::Sizes& sizes, std::int64_t summed_tokens,
                     std::optional<int> override_bits) {
  RUNG_REQUIRE(summed_tokens >= 1, "summed_tokens={}", summed_tokens);
  if (override_bits) return {*override_bits, *override_bits};
  const int growth = ceil_lg(static_cast<std::uint64_t>(summed_tokens));
  return {sizes.weight_bits + sizes.value_bits + growth + 1, sizes.weight_bits + growth};
}

std::vector<FormulaTerm> formula_terms(const ModelParts& model, const std::vector<OwnedSegment>& players,
                                       std::optional<int> sum_bits) {
  std::vector<FormulaTerm> terms;
  const std::int64_t length = players.back().end;
  std::int64_t receiving = 0;  // Σ_i senders_i · tokens_i
  for (std::size_t i = 0; i < players.size(); ++i)
    receiving += static_cast<std::int64_t>(i) * players[i].size();
  for (std::int64_t layer = 0; layer < model.layers(); ++layer) {
    const auto mixers = model.mixers(layer);
    for (std::size_t part = 0; part < mixers.size(); ++part) {
      const auto add = [&](FormulaTerm term) {
        if (term.bits == 0) return;
        term.layer = layer;
        term.part = static_cast<std::int64_t>(part);
        terms.push_back(std::move(term));
      };
      const ExactMixer& mixer = *mixers[part];
      if (const SplitSoftmax* softmax = mixer.softmax()) {
        add(hand_overs(players, [&](std::int64_t) { return total(softmax->front_widths()); }));
        const auto sizes = softmax->sizes();
        const auto widths = sum_widths(sizes, length, sum_bits);
        add({.kind = MessageKind::partial_sums,
             .text = fmt::format("Σ senders·tokens · H(d·p_num + p_den) = {} · {}·({}·{} + {})", receiving,
                                 sizes.heads, sizes.value_dim, widths.num, widths.den),
             .bits = receiving * sizes.heads * (sizes.value_dim * widths.num + widths.den)});
      } else if (const auto* selection = mixer.selection()) {
        add(hand_overs(players, [&](std::int64_t t) { return total(selection->front_widths(t)); }));
        const std::int64_t units = players.back().first / selection->unit(),
                           bits = total(selection->summary_widths());
        add({.kind = MessageKind::summary,
             .text = fmt::format("{} · b_cmp = {} · {}", selection->unit() > 1 ? "blocks" : "tokens", units,
                                 bits),
             .bits = units * bits});
      } else {
        add(hand_overs(players, [&](std::int64_t t) { return total(mixer.state_widths(t)); }));
      }
    }
  }
  return terms;
}

}  // namespace rung
