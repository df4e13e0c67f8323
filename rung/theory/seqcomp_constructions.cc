// L-SeqComp, the possible side of the pattern theorem: #F >= L+1, or #F = L with an R before the second F (anywhere,
// L = 1).
//
// Every form is a file that `rung build seqcomp` writes (constructions_cost.h), and an architecture is compared with it
// resource by resource (construction_fit.h). `=` needs z_0, then i_1, .., i_L in order; i_l (l >= 2) also needs w_{l-1}.
// Two heads: F^{L+1}. One head: F^{2L}. A recurrent layer hands z_0 and all w to `=` at once (R F^L); and if a full layer
// stands before it, z_0's own token has fetched i_1 there already (F R F^{L-1}). Pre-composition: the tokens of z_{L-1}
// see z_L, so in one full layer each fetches z_L(w', value) for all n_{L-1} values w', a head each, which saves one F.
// Absorption: linear states before the first F that hold z_1 .. z_j save j lookups. Encoders double: ⌈lg(L+1)⌉ + 1
// layers. With chain of thought one F writes L+1 tokens. Carriers other than linear attention with relu, elu1 or exp
// features, and selecting layers as lookups: sketch.
#include <algorithm>

#include "rung/theory/construction_fit.h"
#include "rung/theory/theorem_groups.h"

namespace rung {
namespace {

using Use = LayerCost::Use;

Verdict composed(const Theorem& theorem, const Setting& setting, const Question& question,
                 const ConstructionFit& fit, std::vector<std::string> argument) {
  Verdict v = verdict_of_fit(theorem, setting, question, fit);
  v.parameters["L"] = question.L;
  v.parameters["prompt"] = question.prompt;
  v.argument = std::move(argument);
  v.argument.insert(v.argument.begin(),
                    fmt::format("Positions have codes of {} bits, so the MLP at `=` computes every target.",
                                address_bits(question.prompt)));
  return v;
}

bool some_layer_serves(const Setting& setting, const LayerCost& need) {
  return std::any_of(setting.layers.begin(), setting.layers.end(), [&](const LayerShape& layer) {
    return layer_service(layer.mixer, need, true).has_value();
  });
}

// Whether anything in the stack could carry a number at all: without it the forms with R have nothing to say.
bool has_carrier(const Setting& setting) {
  return some_layer_serves(setting, {.use = Use::carry, .key_dim = 1, .value_dim = 1});
}

std::optional<Verdict> full(const Theorem& t, const Setting& s, const Question& q) {
  const SeqcompDigits size = seqcomp_digits(q);
  std::vector<ConstructionCost> costs{seqcomp_full_cost(size)};
  if (auto serial = seqcomp_serial_cost(size)) costs.push_back(std::move(*serial));
  return composed(t, s, q, best_fit(s, std::move(costs)),
                  {"The first lookups fetch z_0 and the w, each further full layer one i_l."});
}

std::optional<Verdict> recurrence(const Theorem& t, const Setting& s, const Question& q) {
  if (!has_carrier(s)) return std::nullopt;
  const SeqcompDigits size = seqcomp_digits(q);
  std::vector<ConstructionCost> costs;
  for (const bool late : {false, true})
    for (const CarryForm form : {CarryForm::heads, CarryForm::columns})
      costs.push_back(seqcomp_carried_cost(size, late, form));
  const ConstructionFit fit = best_fit(s, std::move(costs));
  Verdict v = composed(
      t, s, q, fit,
      {"The recurrence hands z_0 (or i_1) and all w to `=`.", "Each further full layer looks up one i_l."});
  for (std::size_t i = 0; i < std::min<std::size_t>(2, fit.places.size()); ++i)
    if (fit.cost.layers[i].use == Use::carry) v.parameters["carrier_layer"] = fit.places[i].layer;
  return v;
}

std::optional<Verdict> precomposed(const Theorem& t, const Setting& s, const Question& q) {
  if (q.L < 2 || !q.fixed) return std::nullopt;
  const SeqcompDigits size = seqcomp_digits(q);
  std::vector<ConstructionCost> costs;
  for (const CarryForm form : {CarryForm::none, CarryForm::heads, CarryForm::columns})
    if (form == CarryForm::none || has_carrier(s))
      if (auto cost = seqcomp_precomposed_cost(size, form)) costs.push_back(std::move(*cost));
  if (costs.empty()) return std::nullopt;
  return composed(
      t, s, q, best_fit(s, std::move(costs)),
      {fmt::format("In one full layer every z_{} token fetches z_{}(w', its value) for all {} values w'.",
                   q.L - 1, q.L, size.last_branch),
       "Its own lookup then brings the answers for all w' at once; the MLP picks the right one: one F "
       "saved."});
}

std::optional<Verdict> absorbed(const Theorem& t, const Setting& s, const Question& q) {
  if (!q.fixed || !some_layer_serves(s, {.use = Use::relu_table, .key_dim = 1, .value_dim = 1}))
    return std::nullopt;
  const SeqcompDigits size = seqcomp_digits(q);
  std::vector<ConstructionCost> costs;
  for (std::int64_t j = 1; j <= q.L && j <= 64; ++j)
    if (auto cost = seqcomp_absorbed_cost(size, j)) costs.push_back(std::move(*cost));
  if (costs.empty()) return std::nullopt;
  return composed(
      t, s, q, best_fit(s, std::move(costs)),
      {"States that hold z_1 .. z_j stand behind a carrier and before the lookups, and save j of them."});
}

std::optional<Verdict> encoder(const Theorem& t, const Setting& s, const Question& q) {
  if (s.causal()) return std::nullopt;
  return composed(
      t, s, q, fit_construction(s, seqcomp_encoder_cost(seqcomp_digits(q))),
      {"Every token of z_l points to the token of z_{l+1} that continues it; each layer doubles the reach."});
}

std::optional<Verdict> thought(const Theorem& t, const Setting& s, const Question& q) {
  if (!s.chain_of_thought) return std::nullopt;
  Verdict v = composed(
      t, s, q, fit_construction(s, seqcomp_thought_cost(seqcomp_digits(q))),
      {fmt::format("Write u_0 = z_0, u_t = w_t N_(t-1) + i_t, u_L = i_L: {} tokens, one lookup each.",
                   q.L + 1)});
  v.parameters["generated"] = q.L + 1;
  return v;
}

}  // namespace

std::vector<Theorem> seqcomp_constructions() {
  const auto row = [](const char* id, auto* evaluate) {
    return Theorem{.id = id,
                   .tasks = {"seqcomp"},
                   .options = kHardOrder,
                   .variants = kEveryVariant,
                   .evaluate = evaluate};
  };
  return {row("seqcomp-full", full),
          row("seqcomp-recurrence", recurrence),
          row("seqcomp-precomposed", precomposed),
          row("seqcomp-absorbed", absorbed),
          row("seqcomp-encoder", encoder),
          row("seqcomp-thought", thought)};
}

}  // namespace rung
