// Nearest neighbour by two full layers.
//
// Claim: two full layers with one head find the label of the nearest of n unit vectors when the best dot product leads by a margin γ: the
// softmax of C⟨x, x_i⟩ with C = log(2n)/γ puts more than half of its weight on it. Reference: Bhattamishra et al. 2406.09347.
// Deviation: weights are integers of at most 2^46, so scores more than 46 log 2 below the top are all alike. The argument about all inputs
// needs C (1 - γ) to fit into that, since the best product may be as small as γ; beyond it only what was run is known.
//
// Input: the vector, the bits of the label, the code of the position, and at labels the code of the position before as a target.
// Layer 1: a label fetches the vector before it, exactly: the leak times the vector's range stays below 1/2. MLP: key = that vector at labels.
// Layer 2: the last token scores ⟨x, key⟩ at labels; every other token is pushed below. fetched = the label's bits of the best.
#include <bit>
#include <cmath>

#include "rung/constructions/construction.h"
#include "rung/constructions/relu_gadgets.h"
#include "rung/constructions/retrieval_head.h"

namespace rung {
namespace {

// Retrieval of integers of size up to 2^f: δ 2^(f+1) < 1/2, so that rounding gives the target's number itself.
RetrievalGadget exact_retrieval(int digits, std::int64_t keys, int f, int precision) {
  const std::int64_t widest = std::int64_t{1} << (precision - 1);
  const int fraction = weight_fraction(keys, f + 4);
  const std::int64_t saturation = std::min(widest, static_cast<std::int64_t>(std::ceil(fraction * std::log(2.0))));
  RetrievalGadget best{digits, 0, score_table(saturation, 1, fraction), 0};
  for (int beta = 1; beta < widest && beta <= saturation; ++beta) {
    best.beta = beta;
    best.delta = retrieval_leak(best, keys);
    if (std::ldexp(best.delta, f + 2) < 1) break;
  }
  return best;
}

// The second layer's scores: products over 2^shift, at least kGapUnits - 1 apart where the margin is kept.
constexpr int kGapUnits = 8;
constexpr int kWidestWeight = 46;

struct SimilarityScores {
  int shift = 0;
  ScoreTable table;
  double reach = 0;      // the best product may be this far (in units of 2^shift) below the top
  double needed = 0;     // ... and is at most this far below it when it is at least γ
};

SimilarityScores similarity_scores(std::int64_t n, std::int64_t d, std::int64_t f, std::int64_t margin) {
  SimilarityScores scores;
  const std::int64_t gap = margin << f, one = std::int64_t{1} << (2 * f);
  while ((gap >> (scores.shift + 1)) >= kGapUnits) ++scores.shift;
  const double units = std::max(1.0, static_cast<double>(gap >> scores.shift) - 1);
  const double tau = std::log(4.0 * static_cast<double>(n)) / units;
  const auto slack = static_cast<std::int64_t>(std::ldexp(std::sqrt(static_cast<double>(d)) + 1, static_cast<int>(f))) + d;  // rounded unit vectors
  const std::int64_t top = ((one + slack) >> scores.shift) + 1;
  scores.reach = (kWidestWeight * std::log(2.0) - std::log(16.0 * static_cast<double>(n))) / tau - units;
  scores.needed = static_cast<double>(top - (gap >> scores.shift));
  const auto low = std::max<std::int64_t>(-top, top - static_cast<std::int64_t>(std::ceil(kWidestWeight * std::log(2.0) / tau)) - 1);
  scores.table.low = low;
  scores.table.tau = tau;
  for (std::int64_t s = low; s <= top; ++s)
    scores.table.values.push_back(std::max<std::int64_t>(1, std::llround(std::ldexp(std::exp(tau * static_cast<double>(s - top)), kWidestWeight))));
  return scores;
}

Result<Construction> build(const ConstructionRequest& request) {
  RUNG_TRY(auto made_task, make_task("nearest", request.sizes));
  const std::shared_ptr<const Task> task = std::move(made_task);
  const auto size = task->size();
  const std::int64_t n = size["n"].get<std::int64_t>(), d = size["d"].get<std::int64_t>(), f = size["f"].get<std::int64_t>(), margin = size["margin"].get<std::int64_t>();
  const std::int64_t T = task->prompt_length(), one_vector = std::int64_t{1} << f;
  if (margin < 1) return fail(ErrorCode::range, "[build] nearest needs a margin; expected --margin of at least 1");
  const int D = digits_for(T), L = digits_for(size["sigma"].get<std::int64_t>() + 1), V = digits_for(size["sigma"].get<std::int64_t>());
  const SimilarityScores scores = similarity_scores(n, d, f, margin);
  if (static_cast<std::int64_t>(scores.table.values.size()) > kMaxSaturation)
    return fail(ErrorCode::resource, "[build] nearest with f = {} and margin = {}: more than {} scores; expected a larger margin", f, margin, kMaxSaturation);
  int proved = static_cast<int>(f) + 2;
  while (proved < 48 && std::ldexp(exact_retrieval(D, T, static_cast<int>(f), proved).delta, static_cast<int>(f) + 2) >= 1) ++proved;
  const int p = request.precision.value_or(proved);
  const RetrievalGadget before = exact_retrieval(D, T, static_cast<int>(f), p);
  const std::int64_t push = std::min(one_vector, (std::int64_t{1} << (p - 1)) - 1);
  constexpr std::int64_t kPushes = 3;  // -3 · 2^2f: below every product of two unit vectors by more than the margin

  ModelWriter model(*task, p);
  const Slot vector = model.slot("vector", d, "the point, or 0 at labels");
  const Slot label = model.slot("label", L, "bits of the label (or of the blank)");
  const Slot code = model.slot("code", D, "code of the position, -1 or 1");
  const Slot target = model.slot("target", D, "at labels: code of the position before; 0 elsewhere");
  const Slot one = model.slot("one", 1, "1");
  const Slot labelled = model.slot("labelled", 1, "1 at labels");
  const Slot copied = model.slot("copied", d, "after layer 1, at labels: the vector before");
  const Slot key = model.slot("key", d, "after layer 1: the vector before at labels, 0 elsewhere");
  const Slot fetched = model.slot("fetched", V, "after layer 2, at the last token: bits of the label of the nearest point");
  auto& components = model.field_linear("vector", d);
  for (std::int64_t c = 0; c < d; ++c) components.set(c, vector.at(c), 1);
  model.field_bits("label", L).code(label, 0, 1);
  auto& position = model.position_table();
  for (std::int64_t t = 0; t < T; ++t) {
    for (int i = 0; i < D; ++i) {
      position.set(t, code.at(i), signed_code(t, D)[static_cast<std::size_t>(i)]);
      if (t % 2 == 1) position.set(t, target.at(i), signed_code(t - 1, D)[static_cast<std::size_t>(i)]);
    }
    position.set(t, one.at(0), 1);
    if (t % 2 == 1) position.set(t, labelled.at(0), 1);
  }

  const std::vector<RetrievalHead> heads{{code, target, one, coordinates(vector), coordinates(copied)}};
  LayerWriter& first = model.layer(retrieval_mixer(before, heads), "a label fetches its vector");
  write_retrieval(first, before, heads);
  for (std::int64_t c = 0; c < d; ++c)
    first.mlp().add(key.at(c), gated(first.mlp(), first.mlp().input(labelled.at(0), 0, 1), first.mlp().input(copied.at(c), -one_vector, one_vector)));
  first.after(key.holds);

  LayerWriter& last = model.layer(fmt::format("full(heads=1,dim={},vdim={})", d + kPushes, V), "the nearest label");
  last.map("q").select(0, vector, 1);
  last.map("k").select(0, key, 1);
  for (std::int64_t i = 0; i < kPushes; ++i) {
    last.map("q").set(d + i, one.at(0), -push);
    last.map("k").set(d + i, one.at(0), push);
    last.map("k").set(d + i, labelled.at(0), -push);
  }
  for (int i = 0; i < V; ++i) last.map("v").set(i, label.at(i), 1);
  last.map("o").write(fetched, 0, 1);
  last.scores(scores.table);
  last.scalar("score.shift", scores.shift);
  last.after(fetched.holds);
  model.output_bits(fetched);

  RUNG_TRY(Construction made, finish_construction(model, task, "Two full layers with one head find the label of the nearest of n points with a margin.",
                                                  "Bhattamishra et al. 2406.09347; exact retrieval of vectors (ours)"));
  made.p_proved = proved;
  made.lemma = fmt::format("vectors of {} bits; copied exactly: delta = {:.2g} < 2^-{}; C = {:.1f}", f + 2, before.delta, f + 2,
                           scores.table.tau * std::ldexp(1.0, static_cast<int>(2 * f) - scores.shift));
  made.interval = [=] {
    const bool holds = p >= proved && scores.needed <= scores.reach;
    return IntervalArgument{holds, before.delta, holds ? scores.reach - scores.needed : 0,
                            fmt::format("with the margin kept the best product is at most {:.0f} steps below the top; weights reach {:.0f}", scores.needed, scores.reach)};
  };
  return made;
}

}  // namespace

ConstructionWord nearest_construction() {
  return {.name = "nearest", .summary = "the label of the nearest point, by two full layers", .task = "nearest", .options = {}, .build = build};
}

}  // namespace rung
