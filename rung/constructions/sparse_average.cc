// q-sparse average by one full layer.
//
// Claim: one head of dimension m = O(q² log n) averages the q vectors that a token names, within ε = 1/(4q).
// Keys are fixed random signs u_t in {±1}^m; the query is Σ_{j in y} u_j. Members score m + (cross terms),
// others cross terms alone; the smallest m is taken at which every member of every subset scores at least θ
// and every other token less (an exact condition on the Gram matrix: rows' q largest and q-1 smallest
// entries). The score is clipped above at θ, so all members weigh the same, and below at θ-1. Reference:
// Sanford, Hsu, Telgarsky 2306.02896 (upper bound of their Theorem 2). Deviation: they solve for the query of
// least norm, an arbitrary function of the subset, and get m = O(q log n). A sum is what n-1 units a member
// can compute exactly; its price is the factor q: the worst q-1 cross terms of a row add up to q sqrt(2 m log
// n), where a solved query has none. Its entries are integers of at most q.
//
// Input: the members' numbers, the vector z, and at position t the signs u_t.
// Layer 1 (no mixer): MLP: query = Σ_i u_{member i}, a piecewise linear function of each number: n-1 units a
// member, shared by all entries. Layer 2 (full, all positions seen): mean = Σ_{j in y} z_j / q over
// 2^(fraction - f), up to the leak of the other tokens.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "rung/base/random.h"
#include "rung/constructions/construction.h"
#include "rung/constructions/relu_gadgets.h"
#include "rung/constructions/retrieval_head.h"

namespace rung {
namespace {

constexpr std::uint64_t kSignSeed = 2306'02896;
constexpr std::int64_t kMostPositions = 4096;  // the Gram matrix is kept whole

struct Signs {
  std::int64_t m = 0;
  std::vector<std::int8_t> u;  // m columns of n signs, column after column
  std::int64_t member = 0;     // the lowest score of a member of any q-subset
  std::int64_t stranger = 0;   // the highest score of a token outside it
};

// The first columns of a fixed sequence of random signs that separate members from strangers. REQUIRES 1 <= q
// <= n.
Signs separating_signs(std::int64_t n, std::int64_t q) {
  Signs signs;
  const auto rows = static_cast<std::size_t>(n);
  std::vector<std::int32_t> gram(rows * rows, 0), row;
  Random random(kSignSeed, static_cast<std::uint64_t>(n));
  do {
    ++signs.m;
    const std::size_t first = signs.u.size();
    for (std::size_t t = 0; t < rows; ++t) signs.u.push_back(random.next() >> 63 ? 1 : -1);
    const std::int8_t* column = signs.u.data() + first;
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < rows; ++j) gram[i * rows + j] += column[i] * column[j];
    signs.member = signs.m * q;
    signs.stranger = -signs.m * q - 1;
    for (std::size_t i = 0; i < rows; ++i) {
      row.assign(gram.begin() + static_cast<std::ptrdiff_t>(i * rows),
                 gram.begin() + static_cast<std::ptrdiff_t>((i + 1) * rows));
      row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
      std::sort(row.begin(), row.end());
      signs.member =
          std::min<std::int64_t>(signs.member, std::accumulate(row.begin(), row.begin() + (q - 1), signs.m));
      if (q < n)
        signs.stranger = std::max<std::int64_t>(signs.stranger,
                                                std::accumulate(row.end() - q, row.end(), std::int64_t{0}));
      if (signs.member <= signs.stranger) break;
    }
  } while (signs.member <= signs.stranger);
  return signs;
}

// Bits of the members' weight (a stranger weighs 1): all strangers together move the mean by less than the
// room that two roundings to 1/(4 · 2^⌈lg q⌉) leave below 1/(4q).
int member_weight_bits(std::int64_t n, std::int64_t q) { return digits_for(16 * n * (q + 1)) + 2; }

Result<Construction> build_sparse_average(const ConstructionRequest& request) {
  const std::string read = request.option("read", "all");
  RUNG_TRY(const std::shared_ptr<const Task> task,
           make_task("sparse-average", request.sizes,
                     read == "last" ? std::map<std::string, std::string>{{"read", "last"}}
                                    : std::map<std::string, std::string>{}));
  const auto size = task->size();
  const std::int64_t n = size["n"].get<std::int64_t>(), q = size["q"].get<std::int64_t>(),
                     d = size["d"].get<std::int64_t>(), f = size["f"].get<std::int64_t>();
  if (n > kMostPositions)
    return fail(ErrorCode::resource, "[build] sparse-average with n = {}; at most {} expected", n,
                kMostPositions);
  const AnswerSpec answer = task->answer_spec();
  const Signs signs = separating_signs(n, q);
  const int weight_bits = member_weight_bits(n, q);
  const int proved = std::max({digits_for(n) + 1, digits_for(q + 1) + 1, answer.fraction + 2});
  const int p = request.precision.value_or(proved);

  ModelWriter model(*task, p);
  const Slot member = model.slot("member", q, "the numbers of the subset");
  const Slot vector = model.slot("vector", d, "z of this position");
  const Slot sign = model.slot("sign", signs.m, "u of this position, -1 or 1");
  const Slot query = model.slot("query", signs.m, "after layer 1: the sum of u over the subset");
  const Slot mean = model.slot("mean", d, "after layer 2: the mean of z over the subset");
  auto& subset = model.field_linear("subset", q);
  for (std::int64_t i = 0; i < q; ++i) subset.set(i, member.at(i), 1);
  auto& components = model.field_linear("vector", d);
  for (std::int64_t c = 0; c < d; ++c) components.set(c, vector.at(c), 1);
  const auto u = [&](std::int64_t t, std::int64_t c) -> std::int64_t {
    return signs.u[static_cast<std::size_t>(c * n + t)];
  };
  auto& position = model.position_table();
  for (std::int64_t t = 0; t < n; ++t)
    for (std::int64_t c = 0; c < signs.m; ++c) position.set(t, sign.at(c), u(t, c));
  if (read == "all") model.encoder();

  LayerWriter& first = model.layer("none", "the query of the subset");
  ReluCircuit& mlp = first.mlp();
  std::vector<Number> sums(static_cast<std::size_t>(signs.m));
  for (std::int64_t i = 0; i < q; ++i) {
    const Number x = mlp.input(member.at(i), 0, n - 1);
    std::vector<Number> above;  // max(0, x - v), v = 0 .. n-2: the kinks
    for (std::int64_t v = 0; v + 1 < n; ++v) above.push_back(mlp.relu(x - v));
    for (std::int64_t c = 0; c < signs.m; ++c) {
      Number& sum = sums[static_cast<std::size_t>(c)];
      sum = sum + u(0, c);
      for (std::int64_t v = 0; v + 1 < n; ++v) {
        const std::int64_t bend = u(v + 1, c) - u(v, c) - (v > 0 ? u(v, c) - u(v - 1, c) : 0);
        if (bend != 0) sum = sum + bend * above[static_cast<std::size_t>(v)];
      }
    }
  }
  for (std::int64_t c = 0; c < signs.m; ++c) mlp.add(query.at(c), sums[static_cast<std::size_t>(c)]);
  first.after(query.holds);

  LayerWriter& layer =
      model.layer(fmt::format("full(heads=1,dim={},vdim={})", signs.m, d), "the mean over the subset");
  layer.map("q").select(0, query, 1);
  layer.map("k").select(0, sign, 1);
  layer.map("v").select(0, vector, 1);
  layer.map("o").write(mean, 0, 1);
  const std::int64_t threshold = signs.member;
  layer.scores(ScoreTable{threshold - 1, weight_bits * std::log(2.0), {1, std::int64_t{1} << weight_bits}});
  layer.scalar("value.scale", std::int64_t{1} << (answer.fraction - f));
  layer.after(mean.holds);
  model.output({OutputSpec::Kind::vector, d, answer.fraction});
  model.output_map().select(0, mean, 1);

  RUNG_TRY(
      Construction made,
      finish_construction(
          model, task,
          fmt::format("One head of dimension {} averages every {}-subset of {} vectors within 1/(4q).",
                      signs.m, q, n),
          "Sanford, Hsu, Telgarsky 2306.02896; saturating scores in place of the least-norm query (ours)"));
  made.p_proved = proved;
  made.lemma = fmt::format(
      "random signs of dimension {}: members score at least {}, others at most {}; numbers of {} bits",
      signs.m, signs.member, signs.stranger, proved);
  const double leak = static_cast<double>(n - q) / static_cast<double>(q) * std::ldexp(1.0, -weight_bits);
  made.interval = [=] {
    // Two roundings to the grid of the answers, and the leak; both numbers lie on the grid, so the first
    // wrong distance does, too.
    const double step = std::ldexp(1.0, -answer.fraction), error = 2 * leak + step;
    const double wrong = (std::floor(answer.tolerance / step) + 1) * step;
    const bool holds = p >= proved && error < wrong;
    return IntervalArgument{holds, leak, holds ? wrong - error : 0,
                            fmt::format("in every subset members score at least {} and others at most {}; "
                                        "the mean is off by at most {:.4f}",
                                        signs.member, signs.stranger, error)};
  };
  return made;
}

}  // namespace

ConstructionWord sparse_average_construction() {
  return {.name = "sparse-average",
          .summary = "the mean of q named vectors by one head of dimension O(q² log n)",
          .task = "sparse-average",
          .options = {{"read",
                       "where answers are read: everywhere (an encoder) or at the last position",
                       {"all", "last"}}},
          .build = build_sparse_average};
}

}  // namespace rung
