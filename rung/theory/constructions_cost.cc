#include "rung/theory/constructions_cost.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numbers>
#include <tuple>

#include "rung/spec/require.h"

namespace rung {
namespace {

constexpr int kMostBeta = 64;

double delta_unsaturated(int D, double beta) { return std::expm1(D * std::log1p(std::exp(-2 * beta))); }

// The least p over β: what one lookup among 2^D addresses costs.
int lookup_precision(int D) {
  int best = 0;
  for (int beta = 1; beta <= kMostBeta; ++beta)
    for (int p = 2; best == 0 || p < best; ++p) {
      if (beta > (1 << (std::min(p, 30) - 1)) - 1) continue;  // β itself must be representable
      if (retrieval_delta(D, beta, std::ldexp(1.0, p - 1)) >= 1) {
        if (p > 40) break;
        continue;
      }
      best = p;
      break;
    }
  return best;
}

ConstructionCost lookups(std::string_view id, std::string_view word, std::int64_t layers, std::int64_t heads,
                         std::int64_t prompt, std::int64_t values) {
  const int D = address_bits(prompt);
  return {.id = id,
          .word = word,
          .full_layers = layers,
          .heads = heads,
          .key_dim = 2 * D,
          .value_dim = std::max(1, ceil_lg(values)),
          .precision = lookup_precision(D)};
}

}  // namespace

int address_bits(std::int64_t tokens) {
  RUNG_REQUIRE(tokens >= 1, "tokens={}", tokens);
  return std::max(1, ceil_lg(tokens));
}

double retrieval_delta(int D, double beta, double saturation) {
  double delta = 0, choose = 1;
  for (int h = 1; h <= D; ++h) {
    choose = choose * (D - h + 1) / h;
    delta += choose * std::exp(-std::min(2 * beta * h, saturation));
  }
  return delta;
}

std::optional<int> retrieval_precision(int D, int beta) {
  const double delta = delta_unsaturated(D, beta);
  if (delta >= 1) return std::nullopt;
  return 1 + static_cast<int>(std::ceil(std::log2(D * std::numbers::ln2 - std::log1p(-delta))));
}

int retrieval_beta(int D) {
  int beta = 1;
  while (delta_unsaturated(D, beta) >= 1) ++beta;
  return beta;
}

int retrieval_reach(int p, int beta) {
  RUNG_REQUIRE(p >= 2, "p={}", p);
  int D = 0;
  while (D < 1024 && retrieval_delta(D + 1, beta, std::ldexp(1.0, p - 1)) < 1) ++D;
  return D;
}

namespace {

std::optional<RetrievalFit> search_retrieval_fit(const Precision& precision, int D) {
  if (precision.format != NumberFormat::fixed) {
    constexpr double kRoom =
        0.25;  // y stays above 1/2 after relative errors of 1/8 in numerator and denominator
    for (int beta = 1; beta <= kMostBeta; ++beta)
      if (const double delta = delta_unsaturated(D, beta); delta <= kRoom) return RetrievalFit{beta, delta};
    return std::nullopt;
  }
  const int whole = precision.bits - 1 - precision.fraction;
  const double saturation = std::ldexp(1.0, whole), step = std::ldexp(1.0, -precision.fraction);
  const double most = precision.fraction == 0 ? 1 : (1 - step) / (1 + step);
  std::optional<RetrievalFit> best;
  for (int beta = 1; beta <= kMostBeta && beta <= saturation - step; ++beta) {
    const double delta = retrieval_delta(D, beta, saturation);
    if (delta < most && (!best || delta < best->delta)) best = RetrievalFit{beta, delta};
  }
  return best;
}

}  // namespace

// Every layer of a stack asks for the same few fits.
std::optional<RetrievalFit> retrieval_fit(const Precision& precision, int D) {
  constexpr std::size_t kMost = 4096;
  thread_local std::map<std::tuple<NumberFormat, int, int, int>, std::optional<RetrievalFit>> known;
  if (known.size() >= kMost) known.clear();
  const auto [place, fresh] = known.try_emplace({precision.format, precision.bits, precision.fraction, D});
  if (fresh) place->second = search_retrieval_fit(precision, D);
  return place->second;
}

ConstructionCost eva_full_cost(std::int64_t n) { return lookups("eva-full", "F", 1, 1, n + 1, n); }

ConstructionCost eva_linear_cost(std::int64_t n) {
  std::int64_t d = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
  while (d * d < n) ++d;
  while (d > 1 && (d - 1) * (d - 1) >= n) --d;
  const int bits = std::max(1, ceil_lg(n));
  return {.id = "eva-linear",
          .word = "R",
          .recurrent_layers = 1,
          .heads = 1,
          .key_dim = d,
          .value_dim = d,
          .precision = bits + 1,
          .state_bits = d * d * bits};
}

ConstructionCost eva_sparse_cost(std::int64_t n, std::int64_t block) {
  auto cost = lookups("eva-sparse", "F", 1, 1, n + 1, n);
  cost.state_bits = 0;
  cost.key_dim = std::max<std::int64_t>(cost.key_dim, 2 * address_bits(std::max<std::int64_t>(1, n / block)));
  return cost;
}

ConstructionCost retrieval_cost(std::int64_t n, int key_bits, std::int64_t values) {
  auto cost = lookups("retrieval-full", "F", 1, 1, n + 1, values);
  cost.key_dim = 2 * key_bits;
  cost.precision = lookup_precision(key_bits);
  return cost;
}

double two_sum_scale(std::int64_t n, std::int64_t M, bool counting_blank) {
  const double square = static_cast<double>(M) * static_cast<double>(M), count = static_cast<double>(n);
  return counting_blank ? square / 8 * std::log(16 * count) : square / 4 * std::log(4 * count);
}

int two_sum_fraction_bits(std::int64_t n, std::int64_t M) {
  return static_cast<int>(
      std::ceil(2 * std::log2(static_cast<double>(M)) + std::log2(std::log(16 * static_cast<double>(n)))));
}

ConstructionCost two_sum_trigonometric_cost(std::int64_t n, std::int64_t M, bool counting_blank) {
  const int whole = std::max(1, static_cast<int>(std::ceil(std::log2(two_sum_scale(n, M, counting_blank)))));
  return {.id = "two-sum-trigonometric",
          .word = "F",
          .full_layers = 1,
          .heads = 1,
          .key_dim = 3,
          .value_dim = 1,
          .precision = two_sum_fraction_bits(n, M) + whole + 2};
}

ConstructionCost two_sum_binary_cost(std::int64_t n, std::int64_t M) {
  // No match: n e^{-2β} against the blank's e^{-β}; β > log 2n. A match: 1 against e^{-β} + n e^{-2β}.
  const int beta = static_cast<int>(std::floor(std::log(2 * static_cast<double>(n)))) + 1;
  const int p = 1 + ceil_lg(2 * beta);
  return {.id = "two-sum-binary",
          .word = "F",
          .full_layers = 1,
          .heads = 1,
          .key_dim = 2 * std::int64_t{std::max(1, ceil_lg(M))} + 1,
          .value_dim = 1,
          .precision = p};
}

ConstructionCost two_sum_exists_cost(std::int64_t n, std::int64_t M) {
  auto cost = two_sum_binary_cost(n, M);
  cost.id = "two-sum-exists-full";
  cost.word = "F F";
  cost.full_layers = 2;
  cost.heads = 2;  // the first token is the blank, so a second head reads its number
  cost.precision += kCountingFraction;
  return cost;
}

ConstructionCost two_sum_slots_cost(std::int64_t n, std::int64_t M, std::int64_t block) {
  auto cost = two_sum_binary_cost(n, M);
  cost.id = "two-sum-slots";
  cost.heads = block;
  return cost;
}

ConstructionCost seqcomp_full_cost(int L, std::int64_t prompt) {
  return lookups("seqcomp-full", "F^{L+1}", L + 1, L >= 2 ? 2 : 1, prompt, prompt);
}

ConstructionCost seqcomp_early_cost(int L, std::int64_t prompt) {
  auto cost = lookups("seqcomp-recurrence", "R F^L", L, 1, prompt, prompt);
  cost.recurrent_layers = 1;
  cost.state_bits = L * (std::int64_t{address_bits(prompt)} + 1);
  return cost;
}

ConstructionCost seqcomp_middle_cost(int L, std::int64_t prompt) {
  auto cost = seqcomp_early_cost(L, prompt);
  cost.word = "F R F^{L-1}";
  return cost;
}

ConstructionCost seqcomp_precomposed_cost(int L, std::int64_t prompt, std::int64_t n_last,
                                          std::int64_t alphabet, bool early) {
  auto cost = lookups("seqcomp-precomposed", early ? "R F^{L-1}" : "F^L", early ? L - 1 : L,
                      std::max<std::int64_t>(early ? 1 : 2, n_last), prompt, alphabet);
  cost.recurrent_layers = early ? 1 : 0;
  return cost;
}

ConstructionCost seqcomp_encoder_cost(int L, std::int64_t prompt) {
  return lookups("seqcomp-encoder", "F^{⌈lg(L+1)⌉+1}", encoder_layers(L), std::max(2, L), prompt, prompt);
}

ConstructionCost seqcomp_thought_cost(int L, std::int64_t prompt) {
  auto cost = lookups("seqcomp-thought", "F", 1, L >= 2 ? 2 : 1, prompt + L + 1, prompt);
  cost.generated = L + 1;
  return cost;
}

ConstructionCost sparse_average_cost(std::int64_t n, std::int64_t q) {
  constexpr double kMeasuredFactor = 10;  // m' between 8 and 10 q log n, n = 64..4096, q = 1..16
  const auto width = static_cast<std::int64_t>(std::ceil(
      kMeasuredFactor * static_cast<double>(q) * std::log(std::max<double>(2, static_cast<double>(n)))));
  return {.id = "sparse-average-full",
          .word = "F",
          .full_layers = 1,
          .heads = 1,
          .key_dim = width,
          .value_dim = 1,
          .precision = 11};
}

ConstructionCost equality_cost(std::int64_t n) { return lookups("equality-full", "F F", 2, 1, 2 * n + 2, 2); }

ConstructionCost nearest_cost(std::int64_t n, std::int64_t d, double gap) {
  const double scale = std::log(4 * static_cast<double>(n)) / gap;
  return {.id = "nearest-full",
          .word = "F F",
          .full_layers = 2,
          .heads = 1,
          .key_dim = std::max<std::int64_t>(d, 2 * address_bits(2 * n + 1)),
          .value_dim = d,
          .precision = 2 * static_cast<int>(std::ceil(std::log2(std::max(2.0, scale)))) + 2};
}

ConstructionCost recall_cost(std::int64_t tokens, std::int64_t context_symbols, std::int64_t alphabet) {
  const std::int64_t bits = std::max(1, ceil_lg(alphabet));
  auto cost = lookups("recall-full", "F F", 2, context_symbols, tokens, alphabet);
  cost.key_dim = std::max(cost.key_dim, 2 * context_symbols * bits);
  return cost;
}

ConstructionCost counting_cost(std::int64_t n, std::int64_t alphabet) {
  auto cost = lookups("counting-full", "F F", 2, 1, n + 2, alphabet);
  cost.key_dim = std::max<std::int64_t>(
      cost.key_dim, 2 * std::int64_t{ceil_lg(alphabet + n)});  // tokens are symbols and numbers k <= n
  cost.value_dim = address_bits(n + 1);                        // the bits of the count
  cost.precision =
      std::max(cost.precision, 2 * address_bits(n + 1) + 1);  // cnt/(cnt+1) apart by 1/n², and a sign
  return cost;
}

DyckCost dyck_cost(std::int64_t types, std::int64_t depth) {
  DyckCost cost;
  const __int128 bits = static_cast<__int128>(depth) * ceil_lg(types) + ceil_lg(depth + 1) + 1;
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  cost.state_bits = bits > kMost ? kMost : static_cast<std::int64_t>(bits);
  // Stacks of up to `depth` brackets, and a dead state; one unit a (state, symbol).
  __int128 stacks = types == 1 ? static_cast<__int128>(depth) + 1 : 1, level = 1;
  for (std::int64_t j = 0; types > 1 && j < depth; ++j) {
    level *= types;
    stacks += level;
    if (stacks > kMost / (4 * static_cast<__int128>(types))) return cost;
  }
  cost.units = static_cast<std::int64_t>((stacks + 1) * 2 * types);
  return cost;
}

int encoder_layers(int L) {
  RUNG_REQUIRE(L >= 1, "L={}", L);
  return ceil_lg(L + 1) + 1;
}

}  // namespace rung
