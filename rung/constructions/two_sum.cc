// 2-Sum-last by one full layer: cosines with three numbers a head, or binary codes.
//
// Claim (trigonometric): one head of dimension 3 decides whether some x_j ≡ -x_{n+1} (mod M), with f ≈ 2 lg M
// + lg log n fraction bits; see trigonometric_match.h. Claim (binary): one head of dimension 2⌈lg M⌉ at 4 to
// 5 bits: query the code of (M - x) mod M, a match scores 0, the blank -β, everything else at most -2β; up to
// n tokens may stand at distance 1, so β > log n. References: Sanford, Hsu, Telgarsky 2306.02896; Chen, Peng,
// Wu 2412.02975; blank and constants ours.
//
// The blank is the last token itself; its key is 0 whatever its number (cosine_head.h), and its value is 0.
#include <algorithm>

#include "rung/constructions/construction.h"
#include "rung/constructions/cosine_head.h"
#include "rung/constructions/eva_forms.h"
#include "rung/constructions/retrieval_head.h"

namespace rung {
namespace {

constexpr const char* kReference = "Sanford, Hsu, Telgarsky 2306.02896; blank and constants ours";

struct TwoSumSizes {
  std::int64_t n = 0, modulus = 0;
};
TwoSumSizes sizes_of(const Task& task) { return {task.size()["n"], task.size()["M"]}; }

// For queries spread over [M]: n copies of the number that looks most like the match, and the match among
// numbers that weigh least.
std::vector<Instance> worst_instances(const TrigonometricMatch& match, std::int64_t count) {
  std::vector<Instance> worst;
  const std::int64_t M = match.modulus,
                     queries = std::min<std::int64_t>(M, std::max<std::int64_t>(1, count / 2));
  for (std::int64_t i = 0; i < queries; ++i) {
    const auto x = static_cast<std::int64_t>(static_cast<__int128>(i) * M / queries), partner = (M - x) % M;
    std::optional<std::int64_t> nearest, farthest;
    for (const std::int64_t step :
         {std::int64_t{1}, M - 1, M / 2}) {  // only neighbours come near; half a turn is farthest
      const std::int64_t y = (partner + step) % M;
      if (y == partner) continue;
      if (!nearest || match.score(x, y) > match.score(x, *nearest)) nearest = y;
      if (!farthest || match.score(x, y) < match.score(x, *farthest)) farthest = y;
    }
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(match.n) + 1, farthest.value_or(partner));
    tokens.front() = partner;
    tokens.back() = x;
    worst.push_back({Prompt{match.n + 1, {tokens}}, {1}});
    if (!nearest) continue;
    std::fill(tokens.begin(), tokens.end() - 1, *nearest);
    worst.push_back({Prompt{match.n + 1, {tokens}}, {0}});
  }
  return worst;
}

Result<Construction> build_trigonometric(std::shared_ptr<const Task> task,
                                         const ConstructionRequest& request) {
  const auto [n, M] = sizes_of(*task);
  const Blank blank = request.option("blank", "threshold") == "counting" ? Blank::counting : Blank::threshold;
  const bool by_pairs = request.option("proof", "bounds") == "pairs";
  if (by_pairs && M > kMostPairs)
    return fail(ErrorCode::resource,
                "[build] two-sum at M = {}: `proof` pairs looks at every pair up to M = {}", M, kMostPairs);
  const std::optional<int> proved =
      by_pairs ? cosines_precision_by_pairs(n, M, blank) : cosines_precision_proved(n, M, blank);
  if (!proved && !request.precision)
    return fail(ErrorCode::resource,
                "[build] two-sum at n = {}, M = {} needs more than {} bits; expected a smaller modulus, or "
                "`by` binary",
                n, M, kMaxTrigonometricFraction + kSignAndOne);
  const int p = request.precision.value_or(proved.value_or(2)), f = p - kSignAndOne;
  if (f > kMaxTrigonometricFraction)
    return fail(ErrorCode::range, "[build] two-sum by cosines at {} bits; at most {} expected", p,
                kMaxTrigonometricFraction + kSignAndOne);
  const TrigonometricMatch match = trigonometric_match(n, M, blank, f);

  ModelWriter model(*task, p);
  const CosineHead head(model, match, n, "last", "the query", "(κ-1) 2^f: the blank's key");
  const Slot real = model.slot("value", 1, "1; at the last position 0");
  const Slot y = model.slot("y", 1, "0, then the share of the weight that is not the blank's");
  auto& token = model.field_table("token", M);
  for (std::int64_t x = 0; x < M; ++x) token.set(x, real.at(0), 1);
  model.position_table().set(n, real.at(0), -1);

  LayerWriter& layer = model.layer("full(heads=1,dim=3,vdim=1)", "match against a blank");
  head.write(layer, match);
  layer.map("v").set(0, real.at(0), 1);
  layer.map("o").set(y.at(0), 0, 1);
  if (blank == Blank::counting) {
    layer.scalar("value.scale", kCountingSteps);
    layer.after("y: at the last position, 16 cnt/(cnt+1) up to rounding, cnt the number of matches");
    model.output_yes(y, 1, kCountingSteps / 4);
  } else {
    layer.after("y: at the last position, 1 iff some x_j + x_{n+1} ≡ 0 (mod M)");
    model.output_yes(y, 2, 1);
  }
  RUNG_TRY(Construction made,
           finish_construction(model, task, "One full layer with one head of dimension 3 solves 2-Sum-last.",
                               kReference));
  made.p_proved = proved;
  made.lemma = fmt::format("cosines with f = {} fraction bits ({}: {}), c = {:.1f}, p = f + 2", f,
                           by_pairs ? "every pair's own rounding; closed rule" : "closed rule",
                           trigonometric_fraction(n, M), match.scale);
  made.interval = [match, by_pairs] {
    return by_pairs ? last_number_argument_by_pairs(match) : last_number_argument(match);
  };
  made.worst = [match](std::int64_t count) { return worst_instances(match, count); };
  return made;
}

Result<Construction> build_binary(std::shared_ptr<const Task> task, const ConstructionRequest& request) {
  const auto [n, M] = sizes_of(*task);
  const int D = digits_for(M);
  const int proved = binary_match_precision_proved(n);
  const int p = request.precision.value_or(proved);
  const BinaryMatch match = binary_match(n, p);

  ModelWriter model(*task, p);
  constexpr int kBlankBits = 16;  // 2^16 blanks every number of a row of at most 16 bits
  model.stream_bits(std::min(p, kBlankBits));
  const Slot ask = model.slot("partner", D, "code of (M - x) mod M, -1 or 1: the query");
  const Slot high =
      model.slot("digit 1", D, "1 where a digit of x is 1; at the last position the largest number");
  const Slot low =
      model.slot("digit 0", D, "1 where a digit of x is 0; at the last position the largest number");
  const Slot one = model.slot("one", 1, "1");
  const Slot ones =
      model.slot("ones", D, "1; at the last position 1, 0, ..., 0, so that the blank scores -beta");
  const Slot real = model.slot("value", 1, "1; at the last position 0");
  const Slot y = model.slot("y", 1, "0, then the share of the weight that is not the blank's, rounded");
  auto& token = model.field_table("token", M);
  for (std::int64_t x = 0; x < M; ++x) {
    const auto partner = signed_code((M - x) % M, D);
    for (std::int64_t d = 0; d < D; ++d) {
      token.set(x, ask.at(d), partner[static_cast<std::size_t>(d)]);
      token.set(x, high.at(d), x >> d & 1);
      token.set(x, low.at(d), 1 - (x >> d & 1));
      token.set(x, ones.at(d), 1);
    }
    token.set(x, one.at(0), 1);
    token.set(x, real.at(0), 1);
  }
  auto& position = model.position_table();
  for (std::int64_t d = 0; d < D; ++d) {
    position.set(n, high.at(d), std::int64_t{1} << kBlankBits);
    position.set(n, low.at(d), std::int64_t{1} << kBlankBits);
    if (d > 0) position.set(n, ones.at(d), -1);
  }
  position.set(n, real.at(0), -1);

  LayerWriter& layer =
      model.layer(fmt::format("full(heads=1,dim={},vdim=1)", 2 * D), "match against a blank");
  layer.map("q").select(0, ask, match.beta);
  layer.map("k").select(0, high, 1);
  layer.map("k").select(0, low, -1);
  for (std::int64_t d = 0; d < D; ++d) layer.map("q").set(D + d, one.at(0), -match.beta);
  layer.map("k").select(D, ones, 1);
  layer.map("v").set(0, real.at(0), 1);
  layer.map("o").set(y.at(0), 0, 1);
  layer.scores(match.scores);
  layer.after("y: at the last position, 1 iff some x_j + x_{n+1} ≡ 0 (mod M)");
  model.output_yes(y, 2, 1);
  RUNG_TRY(
      Construction made,
      finish_construction(model, task, "One full layer with one head of dimension 2⌈lg M⌉ solves 2-Sum-last.",
                          "retrieval gadget; Chen, Peng, Wu 2412.02975; blank ours"));
  made.p_proved = proved;
  made.lemma =
      fmt::format("beta = {} > log n at this clip: n tokens at distance 1 weigh {:.4f} < 1 of the blank",
                  match.beta, match.leak);
  made.interval = [match, n = n] {
    return leak_argument(
        match.leak,
        fmt::format("{} tokens at distance 1 weigh at most {:.4f} of the blank, a match more than it", n,
                    match.leak));
  };
  return made;
}

Result<Construction> build_two_sum(const ConstructionRequest& request) {
  RUNG_TRY(const std::shared_ptr<const Task> task, make_task("two-sum", request.sizes));
  const std::string by = request.option("by", "cosines");
  if (by != "cosines" && request.options.contains("blank"))
    return fail(ErrorCode::range, "[build] `blank` belongs to `by` cosines; {} has {}", by,
                by == "binary" ? "one blank" : "none");
  if (by != "cosines" && request.options.contains("proof"))
    return fail(ErrorCode::range, "[build] `proof` belongs to `by` cosines; {} has one", by);
  if (by != "sparse" && request.options.contains("block"))
    return fail(ErrorCode::range, "[build] `block` belongs to `by` sparse; {} has no blocks", by);
  if (by == "sparse") return build_two_sum_sparse(request);
  if (by == "binary") return build_binary(task, request);
  return build_trigonometric(task, request);
}

}  // namespace

ConstructionWord two_sum_construction() {
  return {
      .name = "two-sum",
      .summary = "is -x among the numbers before: one head of dimension 3, binary codes, or sparse attention",
      .task = "two-sum",
      .options = {{"by", "the mechanism", {"cosines", "binary", "sparse"}},
                  {"block",
                   "two-sum by sparse: tokens a block, a head each (the largest divisor of n up to its root)",
                   {}},
                  {"blank", "two-sum: what a match is weighed against", {"threshold", "counting"}},
                  {"proof",
                   "two-sum: the precision by bounds on rounding, or by every pair's own",
                   {"bounds", "pairs"}}},
      .build = build_two_sum};
}

}  // namespace rung
