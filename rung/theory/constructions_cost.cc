#include "rung/theory/constructions_cost.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "rung/base/require.h"
#include "rung/theory/trigonometric_match.h"

namespace rung {
namespace {

using Use = LayerCost::Use;

// Numerators of values of `value_bits` bits over `keys` tokens: at most 2^fraction · value · keys.
int bits_of_sums(const ScoreTable& scores, int value_bits, std::int64_t keys) {
  return digits_for(scores.at(0) + 1) + value_bits + digits_for(keys);
}

// The bits at which float formats are tried: wide enough for every β and score of a lookup.
constexpr int kFloatBits = 12;

// A lookup by one of D digits among `keys` tokens, and what it asks of precision, sums and floats.
void add_lookup(ConstructionCost& cost, int D, std::int64_t keys) {
  cost.precision = std::max(cost.precision, retrieval_precision_proved(D, keys));
  cost.sum_bits =
      std::max(cost.sum_bits, bits_of_sums(retrieval_gadget(D, keys, cost.precision).scores, 1, keys));
  const RetrievalGadget fine = retrieval_gadget(D, keys, kFloatBits);
  const std::int64_t scores = 2 * std::int64_t{fine.beta} * D;
  if (fine.delta < 0.5) cost.float_whole = std::max(cost.float_whole.value_or(0), scores);
}

// Whether the proof by machine covers it: its condition on the very table that is written.
bool lookup_is_formal(const ConstructionCost& cost, int D, std::int64_t keys) {
  return retrieval_holds(retrieval_gadget(D, keys, cost.precision), cost.precision);
}

LayerCost attends(Use use, std::int64_t heads, std::int64_t key_dim, std::int64_t value_dim,
                  std::int64_t count = 1) {
  return {.use = use, .count = count, .heads = heads, .key_dim = key_dim, .value_dim = value_dim};
}

bool is_attention(const LayerCost& layer) {
  return layer.use == Use::lookup || layer.use == Use::softmax || layer.use == Use::slots;
}
bool is_recurrent(const LayerCost& layer) { return !is_attention(layer) && layer.use != Use::mlp; }

std::int64_t largest(const ConstructionCost& cost, std::int64_t LayerCost::*member) {
  std::int64_t most = 0;
  for (const auto& layer : cost.layers)
    if (is_attention(layer) || cost.full_layers() == 0) most = std::max(most, layer.*member);
  return most;
}

std::int64_t ceil_root(std::int64_t n) {
  auto d = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
  while (d * d < n) ++d;
  while (d > 1 && (d - 1) * (d - 1) >= n) --d;
  return d;
}

constexpr std::int64_t kMostPrecomposed = 256, kLargestTable = 4096;  // what the constructions build

}  // namespace

std::int64_t ConstructionCost::full_layers() const {
  std::int64_t total = 0;
  for (const auto& layer : layers) total += is_attention(layer) ? layer.count : 0;
  return total;
}
std::int64_t ConstructionCost::recurrent_layers() const {
  std::int64_t total = 0;
  for (const auto& layer : layers) total += is_recurrent(layer) ? layer.count : 0;
  return total;
}
std::int64_t ConstructionCost::heads() const { return largest(*this, &LayerCost::heads); }
std::int64_t ConstructionCost::key_dim() const { return largest(*this, &LayerCost::key_dim); }
std::int64_t ConstructionCost::value_dim() const { return largest(*this, &LayerCost::value_dim); }
std::int64_t ConstructionCost::state_bits() const {
  std::int64_t entries = 0;
  for (const auto& layer : layers)
    if (is_recurrent(layer))
      entries += layer.count * layer.heads * std::max<std::int64_t>(1, layer.key_dim) * layer.value_dim;
  return entries * entry_bits;
}

namespace {

// Eva and Index alike: the argument's code is the target, the bits below `values` are read.
ConstructionCost lookup_by_argument(std::string construction, std::int64_t n, std::int64_t values) {
  const int D = digits_for(n + 1), V = digits_for(values);
  ConstructionCost cost{.construction = std::move(construction),
                        .word = "F",
                        .layers = {attends(Use::lookup, 1, 2 * D, V)},
                        .width = 2 * D + 2 * V + 1,
                        .position = PositionCode::binary,
                        .sight = Sight::either};
  add_lookup(cost, D, n + 1);
  return cost;
}

}  // namespace

ConstructionCost eva_full_cost(std::int64_t n) {
  auto cost = lookup_by_argument("eva", n, n);
  cost.formal = lookup_is_formal(cost, digits_for(n + 1), n + 1);
  return cost;
}

ConstructionCost index_lookup_cost(std::int64_t n, std::int64_t sigma) {
  auto cost = lookup_by_argument("index", n, sigma);
  cost.options["by"] = "positions";
  return cost;
}

ConstructionCost index_counter_cost(std::int64_t n, std::int64_t sigma) {
  const int D = digits_for(n + 1), V = digits_for(sigma), counter = digits_for(n + 2) + 1;
  ConstructionCost cost{.construction = "index",
                        .options = {{"by", "full"}},
                        .word = "R F",
                        .layers = {{.use = Use::counter, .value_dim = 1}, attends(Use::lookup, 1, 2 * D, V)},
                        .width = 3 * D + 2 * V + 2,
                        .entry_bits = counter};
  add_lookup(cost, D, n + 1);
  cost.precision = std::max(cost.precision, counter);
  cost.float_whole.reset();  // a counter ends where the significand does
  return cost;
}

ConstructionCost eva_table_cost(LayerCost::Use use, std::int64_t n, std::int64_t rows,
                                std::optional<std::int64_t> values) {
  const bool square = use == Use::table || use == Use::buckets;
  RUNG_REQUIRE(rows >= 1 && rows <= n && (square || rows == 1), "rows={} n={}", rows, n);
  const std::int64_t columns = (n + rows - 1) / rows;
  const int entry = digits_for(values.value_or(n));
  ConstructionCost cost{.construction = values ? "index" : "eva",
                        .options = {{"by", use == Use::table     ? "linear"
                                           : use == Use::buckets ? "loglinear"
                                           : use == Use::delta   ? "delta"
                                                                 : "mamba2"}},
                        .word = "R",
                        .layers = {attends(use, 1, columns, rows)},
                        .width = rows == 1 ? 2 * n + 2 : 4 * rows + 2 * columns + 2,
                        .precision = std::max(2, entry),
                        .entry_bits = entry,
                        .position = PositionCode::table};
  if (square) cost.options["rows"] = std::to_string(rows);
  // A number times a unit vector of the position is no sum of embeddings: an MLP in front makes it.
  if (rows > 1) cost.layers.insert(cost.layers.begin(), LayerCost{.use = Use::mlp});
  return cost;
}

ConstructionCost eva_linear_cost(std::int64_t n) { return eva_table_cost(Use::table, n, ceil_root(n)); }

ConstructionCost eva_sparse_cost(std::int64_t n) {
  auto cost = eva_full_cost(n);
  cost.options["by"] = "sparse";
  cost.formal = false;
  return cost;
}

ConstructionCost retrieval_cost(std::int64_t n, int key_bits, std::int64_t sigma) {
  const int V = digits_for(sigma);
  ConstructionCost cost{.construction = "retrieval",
                        .word = "F",
                        .layers = {attends(Use::lookup, 1, 2 * key_bits, V)},
                        .width = 3 * key_bits + 2 * V + 1,
                        .precision = pair_precision_proved(key_bits, n),
                        .sight = Sight::either};
  cost.sum_bits = bits_of_sums(retrieval_gadget(key_bits, n + 1, cost.precision).scores, 1, n + 1);
  return cost;  // the query's key is blanked by saturation, which floats do not have
}

std::optional<ConstructionCost> two_sum_cosines_cost(std::int64_t n, std::int64_t M) {
  const auto p = cosines_precision_proved(n, M, Blank::threshold);
  if (!p) return std::nullopt;
  constexpr std::int64_t kRow = 10;
  ConstructionCost cost{.construction = "two-sum",
                        .options = {{"by", "cosines"}},
                        .word = "F",
                        .layers = {attends(Use::softmax, 1, 3, 1)},
                        .width = kRow,
                        .precision = *p,
                        .position = PositionCode::table};
  cost.sum_bits =
      bits_of_sums(trigonometric_match(n, M, Blank::threshold, *p - kSignAndOne).scores, 1, n + 1);
  return cost;
}

ConstructionCost two_sum_binary_cost(std::int64_t n, std::int64_t M) {
  const int D = digits_for(M);
  ConstructionCost cost{.construction = "two-sum",
                        .options = {{"by", "binary"}},
                        .word = "F",
                        .layers = {attends(Use::softmax, 1, 2 * D, 1)},
                        .width = 4 * D + 3,
                        .precision = binary_match_precision_proved(n),
                        .position = PositionCode::table};
  cost.sum_bits = bits_of_sums(binary_match(n, cost.precision).scores, 1, n + 1);
  return cost;
}

std::optional<ConstructionCost> two_sum_exists_cost(std::int64_t n, std::int64_t M) {
  const auto p = exists_precision_proved(n, M);
  if (!p) return std::nullopt;
  const int digits = digits_for(M);
  ConstructionCost cost{.construction = "two-sum-exists",
                        .word = "F F",
                        .layers = {attends(Use::softmax, 2, 3, digits), attends(Use::softmax, 1, 1, 1)},
                        .width = 15 + 3 * std::int64_t{digits},
                        .precision = *p,
                        .position = PositionCode::table};
  cost.sum_bits = bits_of_sums(trigonometric_match(n, M, Blank::counting, *p - kSignAndOne).scores, 1, n);
  return cost;
}

ConstructionCost two_sum_slots_cost(std::int64_t n, std::int64_t M, std::int64_t block) {
  RUNG_REQUIRE(block >= 1, "block={}", block);
  const std::int64_t B = std::min(block, n), rest = n % B, heads = B + (rest > 0 ? 1 : 0), blocks = n / B;
  const int D = std::max(2, digits_for(M));
  const std::int64_t keys = std::max(blocks, rest + B + 1);
  ConstructionCost cost{
      .construction = "two-sum",
      .options = {{"by", "sparse"}, {"block", std::to_string(B)}},
      .word = "F",
      .layers = {{.use = Use::mlp},
                 {.use = Use::slots, .heads = heads, .key_dim = 2 * D, .value_dim = D, .block = B}},
      .width = 3 * D + 3 + heads * D,
      .precision = slot_precision_proved(D, keys),
      .position = PositionCode::table};
  cost.sum_bits = bits_of_sums(slot_gadget(D, keys, cost.precision).scores, 1, keys);
  return cost;
}

ConstructionCost equality_cost(std::int64_t n) {
  const std::int64_t T = 2 * n + 2;
  const int D = digits_for(T);
  ConstructionCost cost{.construction = "equality",
                        .word = "F F",
                        .layers = {attends(Use::lookup, 1, 2 * D, 1), attends(Use::softmax, 1, 1, 1)},
                        .width = 2 * D + 6,
                        .precision = presence_precision_proved(T),
                        .position = PositionCode::table,
                        .sight = Sight::either};
  add_lookup(cost, D, T);
  cost.float_whole.reset();
  return cost;
}

std::optional<ConstructionCost> counting_cost(std::int64_t n, std::int64_t sigma) {
  const std::int64_t T = n + 2;
  const int S = digits_for(sigma + n), C = digits_for(n + 1);
  const auto counted = counting_precision_proved(n, T);
  if (!counted) return std::nullopt;
  const int number = digits_for(std::max(n + 1, sigma)) + 1;  // 1-σ .. n
  ConstructionCost cost{.construction = "counting",
                        .word = "F F",
                        .layers = {attends(Use::softmax, 1, 2 * S, 1), attends(Use::softmax, 1, 1, C)},
                        .width = S + 2 * C + 6,
                        .precision = std::max({*counted, presence_precision_proved(T), number}),
                        .position = PositionCode::table};
  cost.sum_bits = 46 + 1 + digits_for(T);  // the widest table that a counting head may have
  return cost;
}

namespace {

constexpr int kMostCodeDigits = 62;

// Layer 1 brings every candidate its key; the last two count equal keys, and look up key and count.
std::optional<ConstructionCost> recall_cost(std::string construction, LayerCost first, int D, int K,
                                            std::int64_t candidates, std::int64_t tokens, int V,
                                            std::int64_t row) {
  const int C = digits_for(candidates + 1);
  if (K + C > kMostCodeDigits) return std::nullopt;
  const auto p = last_match_precision_proved(K, candidates, tokens);
  if (!p) return std::nullopt;
  ConstructionCost cost{
      .construction = std::move(construction),
      .word = "F F F",
      .layers = {first, attends(Use::softmax, 2, 2 * K + 1, 1), attends(Use::softmax, 1, 2 * (K + C) + 1, V)},
      .width = row + 2 + 2 * C,
      .precision = *p,
      .position = PositionCode::table};
  add_lookup(cost, D, tokens);
  cost.float_whole.reset();
  cost.sum_bits = 46 + 1 + digits_for(tokens);
  return cost;
}

}  // namespace

std::optional<ConstructionCost> mqar_cost(std::int64_t n, std::int64_t M, std::int64_t sigma,
                                          std::int64_t queries) {
  const std::int64_t T = 2 * n + queries;
  const int D = digits_for(T), K = digits_for(sigma + M), V = digits_for(sigma);
  return recall_cost("mqar", attends(Use::lookup, 1, 2 * D, K), D, K, n, T, V, 2 * D + 4 * K + V + 4);
}

std::optional<ConstructionCost> cgram_cost(std::int64_t n, std::int64_t c, std::int64_t sigma) {
  const std::int64_t context = c - 1;
  const int D = digits_for(n), S = digits_for(sigma);
  if (context > 56 / S || context < 1) return std::nullopt;
  const int K = static_cast<int>(context) * S;
  return recall_cost("cgram", attends(Use::lookup, context, 2 * D, S), D, K, n - context, n, S,
                     (1 + context) * D + 2 * S + 3 * K + 3);
}

std::int64_t dyck_state_bits(std::int64_t types, std::int64_t depth) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  const int type = types <= 1 ? 0 : digits_for(types);
  const __int128 bits = static_cast<__int128>(depth) * type + digits_for(depth + 1) + 1;
  return bits > kMost ? kMost : static_cast<std::int64_t>(bits);
}

std::optional<ConstructionCost> dyck_cost(std::int64_t types, std::int64_t depth) {
  constexpr std::int64_t kMaxCellTable = std::int64_t{1} << 24, kDeepest = 24;
  const std::int64_t bits = dyck_state_bits(types, depth);
  if (depth > kDeepest || types > kMaxCellTable || bits > kDeepest ||
      (std::int64_t{1} << bits) > kMaxCellTable / (2 * types))
    return std::nullopt;
  return ConstructionCost{.construction = "dyck",
                          .word = "R",
                          .layers = {{.use = Use::elman, .value_dim = 1}},
                          .width = 3,
                          .precision = std::max({2, static_cast<int>(bits), digits_for(2 * types) + 1}),
                          .entry_bits = static_cast<int>(bits)};
}

ConstructionCost nearest_cost(std::int64_t n, std::int64_t d, std::int64_t sigma, std::int64_t f) {
  const std::int64_t T = 2 * n + 1, V = digits_for(sigma), D = digits_for(T);
  // Vectors are copied exactly: δ 2^(f+2) < 1, so sat and β are larger by about f bits of exponent.
  const int copied = 2 + digits_for(static_cast<std::int64_t>(std::ceil(
                             (static_cast<double>(f) + 2 + static_cast<double>(D)) * std::numbers::ln2)));
  return {.construction = "nearest",
          .options = {{"by", "softmax"}},
          .word = "F F",
          .layers = {attends(Use::lookup, 1, 2 * D, d), attends(Use::softmax, 1, d + 3, V)},
          .width = 3 * d + digits_for(sigma + 1) + 2 * D + 3 + V,
          .precision = std::max(static_cast<int>(f) + 2, copied),
          .position = PositionCode::table,
          .sum_bits = 46 + static_cast<int>(f) + digits_for(T)};
}

ConstructionCost sparse_average_cost(std::int64_t n, std::int64_t q, std::int64_t d, std::int64_t f,
                                     bool everywhere) {
  constexpr double kMeasuredFactor = 10;  // m <= 10 q² log n, n = 3 .. 64, q = 1 .. 4
  const auto m = static_cast<std::int64_t>(std::ceil(kMeasuredFactor * static_cast<double>(q * q) *
                                                     std::log(std::max<double>(2, static_cast<double>(n)))));
  const int answer = static_cast<int>(f) + 2 + digits_for(q);
  return {.construction = "sparse-average",
          .options = {{"read", everywhere ? "all" : "last"}},
          .word = "F",
          .layers = {{.use = Use::mlp}, attends(Use::softmax, 1, m, d)},
          .width = q + 2 * d + 2 * m,
          .precision = std::max({digits_for(n) + 1, digits_for(q + 1) + 1, answer + 2}),
          .position = PositionCode::table,
          .sight = everywhere ? Sight::bidirectional : Sight::causal};
}

SeqcompDigits seqcomp_digits(const Question& question) {
  SeqcompDigits size{.L = question.L, .prompt = question.prompt, .address = digits_for(question.prompt)};
  if (!question.fixed) {  // every N and n_l is below the prompt, and their product is one of the N
    size.values = size.address;
    size.tokens = digits_for(question.prompt + 1);
    size.branch = size.address;
    size.branches =
        question.L == 1 ? 0 : question.L - 2 + size.address;  // Σ max(1, ⌈lg n_l⌉), Π n_l below the prompt
    return size;
  }
  const auto number = [](const Integer& value) { return value.convert_to<std::int64_t>(); };
  std::int64_t N = number(question.seqcomp.m), widest = 1;
  for (const auto& n : question.seqcomp.n) {
    const std::int64_t choices = number(n);
    if (size.tables.size() < 64) size.tables.push_back(N);
    size.branches += digits_for(choices);
    size.last_branch = choices;
    widest = std::max(widest, choices);
    N *= choices;
  }
  size.tables.push_back(N);
  size.values = digits_for(N);
  size.tokens = digits_for(N + 1);
  size.branch = digits_for(widest);
  return size;
}

namespace {

// What every form has: a code of the position, the bits of the token, 1, a target and what was fetched.
ConstructionCost seqcomp_base(const SeqcompDigits& s, std::string word, std::vector<LayerCost> layers,
                              std::int64_t beside) {
  std::erase_if(layers, [](const LayerCost& layer) { return layer.count == 0; });
  ConstructionCost cost{.construction = "seqcomp",
                        .word = std::move(word),
                        .layers = std::move(layers),
                        .width = 2 * s.address + 2 * s.values + 1 + beside,
                        .position = PositionCode::binary};
  return cost;
}

LayerCost chain_lookup(const SeqcompDigits& s, std::int64_t heads, std::int64_t count) {
  return attends(Use::lookup, heads, 2 * s.address, s.values, count);
}

LayerCost carry_layer(const SeqcompDigits& s, CarryForm form) {
  return form == CarryForm::heads ? attends(Use::carry, s.L, 1, s.values)
                                  : attends(Use::carry, 1, s.L, s.values);
}

// Numbers of a carrier: a column each are read as one number of L bits, which the MLP takes apart.
void add_carry(ConstructionCost& cost, const SeqcompDigits& s, CarryForm form) {
  cost.entry_bits = 1;
  cost.sight = Sight::causal;
  cost.options["carry"] = form == CarryForm::heads ? "heads" : "columns";
  if (form != CarryForm::columns) return;
  cost.precision = static_cast<int>(std::max<std::int64_t>(cost.precision, s.L + 1));
}

std::string pattern_of(std::int64_t recurrent, std::int64_t full) {
  return std::string(static_cast<std::size_t>(recurrent), 'R') +
         std::string(static_cast<std::size_t>(full), 'F');
}

// The letters of --pattern; longer words are described by their powers alone.
constexpr std::int64_t kSpelled = 64;

}  // namespace

ConstructionCost seqcomp_full_cost(const SeqcompDigits& s) {
  auto cost = seqcomp_base(s, "F^{L+1}", {chain_lookup(s, 2, s.L - 1), chain_lookup(s, 1, 2)},
                           s.L <= 1   ? 0
                           : s.L == 2 ? s.branch
                                      : 2 * s.branch);
  cost.sight = Sight::either;
  add_lookup(cost, s.address, s.prompt);
  cost.formal = lookup_is_formal(cost, s.address, s.prompt);
  return cost;
}

std::optional<ConstructionCost> seqcomp_serial_cost(const SeqcompDigits& s) {
  if (s.L < 2) return std::nullopt;
  auto cost = seqcomp_base(
      s, "F^{2L}", {attends(Use::lookup, 1, 2 * s.address, s.branch, s.L - 1), chain_lookup(s, 1, s.L + 1)},
      s.branches);
  cost.sight = Sight::either;
  if (s.L <= kSpelled) cost.options["pattern"] = pattern_of(0, 2 * s.L);
  add_lookup(cost, s.address, s.prompt);
  return cost;
}

ConstructionCost seqcomp_carried_cost(const SeqcompDigits& s, bool late, CarryForm form) {
  RUNG_REQUIRE(form != CarryForm::none, "form");
  std::vector<LayerCost> layers{carry_layer(s, form), chain_lookup(s, 1, late ? s.L - 1 : s.L)};
  if (late) layers.insert(layers.begin(), chain_lookup(s, 1, 1));
  auto cost =
      seqcomp_base(s, late ? "F R F^{L-1}" : "R F^L", std::move(layers), (late ? s.values : 0) + s.branches);
  add_lookup(cost, s.address, s.prompt);
  add_carry(cost, s, form);
  // What is read of all numbers at once, and i_1 and the w in the same coordinates.
  if (late && form == CarryForm::columns) cost.width += 2 * std::int64_t{s.values};
  if (s.L <= kSpelled) cost.options["pattern"] = (late ? "F" : "") + pattern_of(1, late ? s.L - 1 : s.L);
  cost.float_whole.reset();
  return cost;
}

std::optional<ConstructionCost> seqcomp_precomposed_cost(const SeqcompDigits& s, CarryForm form) {
  const bool early = form != CarryForm::none;
  if (s.L < (early ? 3 : 2) || s.L > kSpelled || s.last_branch < 1 || s.last_branch > kMostPrecomposed)
    return std::nullopt;
  const std::int64_t first = std::max<std::int64_t>(s.last_branch, early ? 1 : 2),
                     full = early ? s.L - 1 : s.L;
  std::vector<LayerCost> layers{chain_lookup(s, first, 1), chain_lookup(s, early ? 1 : 2, full - 2),
                                chain_lookup(s, s.last_branch, 1)};
  if (early) layers.insert(layers.begin(), carry_layer(s, form));
  // The base's target and fetched, first - 1 more targets, what the heads composed and answered, two held w, the result.
  auto cost = seqcomp_base(s, early ? "R F^{L-1}" : "F^L", std::move(layers),
                           1 + (first - 1) * s.address + first * s.values + s.last_branch * s.values +
                               s.values + 2 * s.branch + (early ? s.values + s.branches : 0) +
                               (form == CarryForm::columns ? s.values : 0));
  add_lookup(cost, s.address, s.prompt);
  if (early) add_carry(cost, s, form);
  cost.options["pattern"] = pattern_of(early ? 1 : 0, full);
  cost.float_whole.reset();
  return cost;
}

std::optional<ConstructionCost> seqcomp_absorbed_cost(const SeqcompDigits& s, std::int64_t absorbed) {
  if (absorbed < 1 || absorbed > s.L || s.L > kSpelled ||
      static_cast<std::int64_t>(s.tables.size()) < absorbed)
    return std::nullopt;
  std::vector<LayerCost> layers{carry_layer(s, CarryForm::heads)};
  std::int64_t entries = 0;
  for (std::int64_t l = 0; l < absorbed; ++l) {
    const std::int64_t N = s.tables[static_cast<std::size_t>(l)];
    if (N > kLargestTable) return std::nullopt;
    layers.push_back(attends(Use::relu_table, 1, N, s.values));
    entries += N;
  }
  layers.push_back(chain_lookup(s, 1, s.L - absorbed));
  auto cost = seqcomp_base(s, "R^{1+j} F^{L-j}", std::move(layers), s.values + s.branches + entries);
  if (absorbed < s.L) add_lookup(cost, s.address, s.prompt);
  add_carry(cost, s, CarryForm::heads);
  cost.options["pattern"] = pattern_of(1 + absorbed, s.L - absorbed);
  cost.float_whole.reset();
  return cost;
}

ConstructionCost seqcomp_encoder_cost(const SeqcompDigits& s) {
  const int doublings = encoder_layers(s.L) - 1;
  auto cost = seqcomp_base(
      s, "F^{⌈lg(L+1)⌉+1}",
      {chain_lookup(s, s.L, 1), attends(Use::lookup, 1, 2 * s.address, s.values + s.L + 1, doublings)},
      2 * (s.L + 1) + s.branches + 2 * s.values);
  cost.position = PositionCode::table;
  cost.sight = Sight::bidirectional;
  cost.options["encoder"] = "yes";
  add_lookup(cost, s.address, s.prompt);
  cost.float_whole.reset();
  return cost;
}

ConstructionCost seqcomp_thought_cost(const SeqcompDigits& s) {
  const int D = digits_for(s.L + 3) + s.tokens;
  const std::int64_t heads = s.L >= 2 ? 2 : 1;
  ConstructionCost cost{.construction = "seqcomp",
                        .options = {{"cot", "yes"}},
                        .word = "F",
                        .layers = {attends(Use::lookup, heads, 2 * D, s.values)},
                        .width = 2 * D + 3 * s.values + 1 + s.L + (s.L >= 2 ? D + s.branch : 0),
                        .position = PositionCode::table,
                        .generated = s.L + 1};
  if (D > kMostCodeDigits) {
    cost.precision = kMostPrecision;
    return cost;
  }
  add_lookup(cost, D, s.prompt + s.L);
  cost.float_whole.reset();
  return cost;
}

int encoder_layers(std::int64_t L) {
  RUNG_REQUIRE(L >= 1, "L={}", L);
  return digits_for(L + 1) + 1;
}

}  // namespace rung
