// Nearest neighbour by two full layers, or by three and thresholds.
//
// Claim (softmax): two full layers with one head find the label of the nearest of n unit vectors when the
// best dot product leads by a margin γ: the softmax of C⟨x, x_i⟩ with C = log(4n)/γ puts more than half of
// its weight on it. Reference: Bhattamishra et al. 2406.09347. Deviation: weights are integers of at most
// 2^46, so scores more than 46 log 2 below the top are all alike. The argument about all inputs needs C (2 -
// γ) to fit into that, since the best product may be as small as γ - 1 (-1 for one point); beyond it only
// what was run is known.
//
// Claim (thresholds, ours): with 2/γ + O(1) heads in a layer between, the same holds for every n and γ: head
// k asks whether some product reaches θ_k, the thresholds stand γ apart, so the highest one reached lies
// above every product but the best.
//
// Input: the vector, the bits of the label, the code of the position, and at labels the code of the position
// before as a target. Layer 1: a label fetches the vector before it, exactly: the leak times the vector's
// range stays below 1/2. MLP: key = that vector at labels. Last layer: the last token scores ⟨x, key⟩ at
// labels (less the highest threshold reached); every other token is pushed below.
//   fetched = the label's bits of the best.
#include <cmath>

#include "rung/constructions/construction.h"
#include "rung/constructions/relu_gadgets.h"
#include "rung/constructions/retrieval_head.h"
#include "rung/tasks/nearest_points.h"

namespace rung {
namespace {

// Retrieval of integers of size up to 2^f: δ 2^(f+1) < 1/2, so that rounding gives the target's number
// itself.
RetrievalGadget exact_retrieval(int digits, std::int64_t keys, int f, int precision) {
  const std::int64_t widest = std::int64_t{1} << (precision - 1);
  const int fraction = weight_fraction(keys, f + 4);
  const std::int64_t saturation =
      std::min(widest, static_cast<std::int64_t>(std::ceil(fraction * std::log(2.0))));
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
  double reach = 0;   // the best product may be this far (in units of 2^shift) below the top
  double needed = 0;  // ... and is at most this far below it in any prompt of the task
};

SimilarityScores similarity_scores(std::int64_t n, std::int64_t d, std::int64_t f, std::int64_t margin) {
  SimilarityScores scores;
  const std::int64_t gap = nearest_gap(margin, f), one = std::int64_t{1} << (2 * f);
  while ((gap >> (scores.shift + 1)) >= kGapUnits) ++scores.shift;
  const double units = std::max(1.0, static_cast<double>(gap >> scores.shift) - 1);
  const double tau = std::log(4.0 * static_cast<double>(n)) / units;
  const std::int64_t top = ((one + nearest_slack(d, f)) >> scores.shift) + 1;  // |products| are below it
  scores.reach = (kWidestWeight * std::log(2.0) - std::log(16.0 * static_cast<double>(n))) / tau - units;
  // Products are at least -top, and the best one is the gap above the others, where there are others. Tokens
  // that are no labels are pushed below -top - gap, and the table goes on until there.
  scores.needed = static_cast<double>(2 * top - (n > 1 ? gap >> scores.shift : 0));
  const auto low = std::max<std::int64_t>(
      -top - (gap >> scores.shift),
      top - static_cast<std::int64_t>(std::ceil(kWidestWeight * std::log(2.0) / tau)) - 1);
  scores.table.low = low;
  scores.table.tau = tau;
  for (std::int64_t s = low; s <= top; ++s)
    scores.table.values.push_back(std::max<std::int64_t>(
        1, std::llround(std::ldexp(std::exp(tau * static_cast<double>(s - top)), kWidestWeight))));
  return scores;
}

// Thresholds θ_k = -R + k·gap over all products |⟨x, x_i⟩| <= R. Scores are doubled, so that the blank (the
// last token, score -1) stands between what reaches a threshold (0 and more) and what does not (-2 and less).
struct Thresholds {
  std::int64_t range = 0, gap = 0, count = 0;
};
constexpr int kReachedBits = 40,
              kBlankBits =
                  20;  // one token that reaches outweighs the blank, which outweighs up to 2^19 that do not

Thresholds thresholds(std::int64_t d, std::int64_t f, std::int64_t margin) {
  Thresholds t{(std::int64_t{1} << (2 * f)) + nearest_slack(d, f), nearest_gap(margin, f), 0};
  t.count = 2 * t.range / t.gap + 1;
  return t;
}

ScoreTable step_scores() {
  return {-2,
          (kReachedBits - kBlankBits) * std::log(2.0),
          {1, std::int64_t{1} << kBlankBits, std::int64_t{1} << kReachedBits}};
}

struct Sizes {
  std::int64_t n, d, sigma, f, margin, T;
};

// The slots that every form shares, and the first layer.
struct Points {
  Slot vector, label, one, labelled, asking, key, fetched;
};

Points write_points(ModelWriter& model, const Sizes& s, const RetrievalGadget& before) {
  const int D = before.digits, L = digits_for(s.sigma + 1);
  const std::int64_t unit = std::int64_t{1} << s.f;
  Points points;
  points.vector = model.slot("vector", s.d, "the point, or 0 at labels");
  points.label = model.slot("label", L, "bits of the label (or of the blank)");
  const Slot code = model.slot("code", D, "code of the position, -1 or 1");
  const Slot target = model.slot("target", D, "at labels: code of the position before; 0 elsewhere");
  points.one = model.slot("one", 1, "1");
  points.labelled = model.slot("labelled", 1, "1 at labels");
  points.asking = model.slot("asking", 1, "1 at the last token");
  const Slot copied = model.slot("copied", s.d, "after layer 1, at labels: the vector before");
  points.key = model.slot("key", s.d, "after layer 1: the vector before at labels, 0 elsewhere");
  points.fetched =
      model.slot("fetched", digits_for(s.sigma),
                 "after the last layer, at the last token: bits of the label of the nearest point");
  auto& components = model.field_linear("vector", s.d);
  for (std::int64_t c = 0; c < s.d; ++c) components.set(c, points.vector.at(c), 1);
  model.field_bits("label", L).code(points.label, 0, 1);
  auto& position = model.position_table();
  for (std::int64_t t = 0; t < s.T; ++t) {
    const bool of_label = t % 2 == 1;
    for (int i = 0; i < D; ++i) {
      position.set(t, code.at(i), signed_code(t, D)[static_cast<std::size_t>(i)]);
      if (of_label) position.set(t, target.at(i), signed_code(t - 1, D)[static_cast<std::size_t>(i)]);
    }
    position.set(t, points.one.at(0), 1);
    if (of_label) position.set(t, points.labelled.at(0), 1);
  }
  position.set(s.T - 1, points.asking.at(0), 1);

  const std::vector<RetrievalHead> heads{
      {code, target, points.one, coordinates(points.vector), coordinates(copied)}};
  LayerWriter& first = model.layer(retrieval_mixer(before, heads), "a label fetches its vector");
  write_retrieval(first, before, heads);
  for (std::int64_t c = 0; c < s.d; ++c)
    first.mlp().add(points.key.at(c), gated(first.mlp(), first.mlp().input(points.labelled.at(0), 0, 1),
                                            first.mlp().input(copied.at(c), -unit, unit)));
  first.after(points.key.holds);
  return points;
}

void write_values(LayerWriter& layer, const Points& points) {
  for (std::int64_t i = 0; i < points.fetched.size; ++i) layer.map("v").set(i, points.label.at(i), 1);
  layer.map("o").write(points.fetched, 0, 1);
  layer.after(points.fetched.holds);
}

void write_softmax(ModelWriter& model, const Sizes& s, const Points& points, const SimilarityScores& scores) {
  constexpr std::int64_t kPushes =
      3;  // -3 · 2^2f: below every product of two unit vectors by more than the margin
  const std::int64_t push =
      std::min(std::int64_t{1} << s.f, (std::int64_t{1} << (model.precision() - 1)) - 1);
  LayerWriter& last = model.layer(
      fmt::format("full(heads=1,dim={},vdim={})", s.d + kPushes, points.fetched.size), "the nearest label");
  last.map("q").select(0, points.vector, 1);
  last.map("k").select(0, points.key, 1);
  for (std::int64_t i = 0; i < kPushes; ++i) {
    last.map("q").set(s.d + i, points.one.at(0), -push);
    last.map("k").set(s.d + i, points.one.at(0), push);
    last.map("k").set(s.d + i, points.labelled.at(0), -push);
  }
  last.scores(scores.table);
  last.scalar("score.shift", scores.shift);
  write_values(last, points);
}

// One head: score 2⟨x, key⟩ - 2θ at labels, -1 at the last token, -2 at points. θ = -offset/2 + (what `less`
// adds).
void write_step_head(LayerWriter& layer, const Sizes& s, const Points& points, std::int64_t first,
                     std::int64_t offset) {
  const std::int64_t unit = std::int64_t{1} << s.f;
  const std::int64_t high = offset >= 0 ? offset / unit : -((-offset + unit - 1) / unit),
                     low = offset - high * unit;
  layer.map("q").select(first, points.vector, 2);
  layer.map("k").select(first, points.key, 1);
  layer.map("q").set(first + s.d, points.one.at(0), high);
  layer.map("k").set(first + s.d, points.labelled.at(0), unit);
  layer.map("q").set(first + s.d + 1, points.one.at(0), low);
  layer.map("k").set(first + s.d + 1, points.labelled.at(0), 1);
  layer.map("q").set(first + s.d + 2, points.one.at(0), -1);
  layer.map("k").set(first + s.d + 2, points.one.at(0), 2);
  layer.map("k").set(first + s.d + 2, points.labelled.at(0), -2);
  layer.map("k").set(first + s.d + 2, points.asking.at(0), -1);
}

void write_thresholds(ModelWriter& model, const Sizes& s, const Points& points, const Thresholds& t) {
  const Slot reached =
      model.slot("reached", 1, "after layer 2, at the last token: how many thresholds some product reaches");
  const std::int64_t unit = std::int64_t{1} << s.f;
  LayerWriter& test = model.layer(fmt::format("full(heads={},dim={},vdim=1)", t.count, s.d + 3),
                                  "which thresholds are reached");
  for (std::int64_t k = 0; k < t.count; ++k) {
    write_step_head(test, s, points, k * (s.d + 3), 2 * t.range - 2 * k * t.gap);
    test.map("v").set(k, points.labelled.at(0), 1);
    test.map("o").set(reached.at(0), k, 1);
  }
  test.scores(step_scores());
  test.after(reached.holds);
  LayerWriter& last = model.layer(fmt::format("full(heads=1,dim={},vdim={})", s.d + 4, points.fetched.size),
                                  "the label above the highest of them");
  write_step_head(last, s, points, 0,
                  2 * t.range + 2 * t.gap);  // 2θ of the last one reached: -2R + 2 (reached - 1) gap
  last.map("q").set(s.d + 3, reached.at(0), 2 * s.margin);
  last.map("k").set(s.d + 3, points.labelled.at(0), -unit);
  last.scores(step_scores());
  write_values(last, points);
}

Result<Construction> build_nearest(const ConstructionRequest& request) {
  RUNG_TRY(const std::shared_ptr<const Task> task, make_task("nearest", request.sizes));
  const auto size = task->size();
  const Sizes s{size["n"], size["d"], size["sigma"], size["f"], size["margin"], task->prompt_length()};
  if (s.margin < 1)
    return fail(ErrorCode::range, "[build] nearest needs a margin; expected `margin` of at least 1");
  const SimilarityScores scores = similarity_scores(s.n, s.d, s.f, s.margin);
  const Thresholds steps = thresholds(s.d, s.f, s.margin);
  const std::string by = request.option("by", "auto");
  const bool by_softmax = by == "softmax" || (by == "auto" && scores.needed <= scores.reach);
  constexpr std::int64_t kMostHeads = 1 << 14;
  if (!by_softmax && steps.count > kMostHeads)
    return fail(ErrorCode::resource,
                "[build] nearest by thresholds needs {} heads; at most {} expected: choose a larger margin",
                steps.count, kMostHeads);
  const int f = static_cast<int>(s.f), D = digits_for(s.T);
  int proved = f + (by_softmax ? 2 : 4);
  while (proved < 48 && std::ldexp(exact_retrieval(D, s.T, f, proved).delta, f + 2) >= 1) ++proved;
  const int p = request.precision.value_or(proved);
  const RetrievalGadget before = exact_retrieval(D, s.T, f, p);

  ModelWriter model(*task, p);
  const Points points = write_points(model, s, before);
  if (by_softmax)
    write_softmax(model, s, points, scores);
  else
    write_thresholds(model, s, points, steps);
  model.output_bits(points.fetched);

  RUNG_TRY(Construction made,
           finish_construction(
               model, task,
               by_softmax
                   ? "Two full layers with one head find the label of the nearest of n points with a margin."
                   : fmt::format("Three full layers, the second with {} threshold heads, find the label of "
                                 "the nearest of n points with a margin.",
                                 steps.count),
               "Bhattamishra et al. 2406.09347; exact retrieval of vectors, thresholds (ours)"));
  made.p_proved = proved;
  made.lemma =
      fmt::format("vectors of {} bits; copied exactly: delta = {:.2g} < 2^-{}", f + 2, before.delta, f + 2);
  made.interval = [=] {
    const bool copied = p >= proved;
    if (!by_softmax) {
      const bool holds = copied && s.n < (std::int64_t{1} << (kBlankBits - 1));
      return IntervalArgument{holds, before.delta, holds ? 1.0 : 0,
                              "with the margin kept, one threshold lies above every product but the best, "
                              "and exactly those below it are reached"};
    }
    const bool holds = copied && scores.needed <= scores.reach;
    return IntervalArgument{holds, before.delta, holds ? scores.reach - scores.needed : 0,
                            fmt::format("with the margin kept the best product is at most {:.0f} steps below "
                                        "the top; weights reach {:.0f}",
                                        scores.needed, scores.reach)};
  };
  return made;
}

}  // namespace

ConstructionWord nearest_construction() {
  return {.name = "nearest",
          .summary = "the label of the nearest point, by two full layers, or three with thresholds",
          .task = "nearest",
          .options = {{"by",
                       "one softmax, or thresholds where its weights do not reach (auto)",
                       {"auto", "softmax", "thresholds"}}},
          .build = build_nearest};
}

}  // namespace rung
