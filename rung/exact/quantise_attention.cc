// Softmax attention: scores become table entries E[s] = max(1, round(2^B exp(step (s - top)))) without a
// maximum being subtracted, so the table must reach from the largest score down past the largest score of
// every query: B holds the distance between the two, and some bits of resolution below. Beyond B bits a key
// weighs 1.
#include <algorithm>
#include <cmath>

#include "rung/exact/quantise_mixer.h"

namespace rung {
namespace {

constexpr int kMostWeightBits = 40;    // B
constexpr int kMostScaleBits = 32;     // value.scale
constexpr double kScoreMargin = 0.25;  // of the scores' range, above the largest seen
constexpr int kChanceFraction = 20;    // with weights of kMostWeightBits a quotient's sums stay below 2^62

// A score's step in nats is at most 2^-score_step_bits, which changes a weight by half of that.
int score_step_bits(int precision) { return std::clamp(precision, 6, 12); }
// Bits that the weights of a query's best key have at least.
int weight_resolution(int precision) { return std::min(precision, 12) + 6; }

}  // namespace

void MixerQuantiser::score_rule(int query, int key, int value, int y) {
  const double tau = model_.number(at("score.tau"), 1);
  if (!(tau > 0)) {
    model_.refuse(fail(ErrorCode::unsupported,
                       "[quantise] \"{}\" is {}; softmax weights that grow with the score expected",
                       at("score.tau"), tau));
    return;
  }
  const int dot = query + key + model_.shift(at("score.shift"));  // the fraction of q·k in the units of tau
  const int p = model_.bits();
  const int scored = std::min(dot, static_cast<int>(std::ceil(std::log2(tau))) + score_step_bits(p));
  const double step = std::ldexp(tau, -scored);
  const auto &scores = model_.seen(at("score")), &tops = model_.seen(at("score.top"));
  const double top = scores.largest() + kScoreMargin * (scores.largest() - scores.smallest());
  const double spread = std::max(0.0, tau * (top - tops.smallest()) / std::log(2.0));
  const int bits =
      static_cast<int>(std::min<double>(kMostWeightBits, std::ceil(spread) + weight_resolution(p)));
  const auto high = static_cast<std::int64_t>(std::ceil(std::ldexp(top, scored)));
  const auto entries = static_cast<std::int64_t>(std::ceil(bits * std::log(2.0) / step)) + 2;
  const std::int64_t low = high - entries + 1;
  std::vector<std::int64_t> weights;
  for (std::int64_t s = low; s <= high; ++s)
    weights.push_back(std::max<std::int64_t>(
        1, std::llround(std::ldexp(std::exp(step * static_cast<double>(s - high)), bits))));
  model_.put(at("score.table"), {entries}, weights);
  model_.put_scalar(at("score.low"), low);
  model_.put_shift(at("score.shift"), dot - scored);
  const int width =
      std::min(48, bit_length(static_cast<std::uint64_t>(std::max(std::abs(low), std::abs(high)))) + 1);
  model_.put_scalar(at("score.bits"), width);
  model_.out.tensors[at("score.tau")] = real_tensor({}, std::span(&step, 1), DType::f64);
  model_.record(at("score"), width, scored);
  const auto scale = static_cast<std::int64_t>(model_.number(at("value.scale"), 1))
                     << std::min(kMostScaleBits, y - value);
  if (scale > std::int64_t{1} << kMostScaleBits)
    model_.refuse(fail(ErrorCode::range, "[quantise] \"{}\" would be {}; at most 2^32 expected",
                       at("value.scale"), scale));
  if (scale != 1) model_.put_scalar(at("value.scale"), scale);
}

std::vector<int> MixerQuantiser::attention() {
  const int p = model_.bits();
  const bool blocks = m_.kind == MixerKind::sparse;
  Fractions wanted{{"q", channel("q", p)}, {"k", channel("k", p)}, {"v", channel("v", p)}};
  // Compressed keys and values stand among the others.
  if (blocks)
    wanted["k"] = std::min(wanted["k"], fraction("compress_k", p)),
    wanted["v"] = std::min(wanted["v"], fraction("compress_v", p));
  // Averages are no larger than values; value.scale is at least 1 and at most 2^32.
  const int y = std::min(fraction("y", p), wanted["v"] + kMostScaleBits - 2);
  if (!tied()) wanted["v"] = std::min(wanted["v"], y);
  const int read = std::max(y, wanted["v"]);
  project({{"q", m_.heads * m_.key_dim}, {"k", m_.kv_heads * m_.key_dim}, {"v", m_.kv_heads * m_.value_dim}},
          wanted, p);
  score_rule(wanted["q"], wanted["k"], wanted["v"], read);
  if (blocks && m_.form.plain()) sparse_branches(wanted["k"], wanted["v"]);
  if (blocks && !m_.form.plain()) window_branches(wanted["k"], wanted["v"]);
  if (m_.kind == MixerKind::topk) index_maps();
  output(read, p);
  return std::vector<int>(static_cast<std::size_t>(m_.heads * m_.value_dim), read);
}

void MixerQuantiser::sparse_branches(int key, int value) {
  const int p = model_.bits();
  InputScale block;
  for (std::int64_t t = 0; t < m_.block; ++t) {
    block.fraction.insert(block.fraction.end(), in_.fraction.begin(), in_.fraction.end());
    block.factor.insert(block.factor.end(), in_.factor.begin(), in_.factor.end());
  }
  if (model_.has(at("compress_hidden.weight"))) {
    const std::int64_t rows = model_.real().tensors.at(at("compress_hidden.weight")).shape[0];
    const int hidden = fraction("compress_hidden", p, true);
    model_.map(at("compress_hidden"), rows, block, hidden, p);
    model_.record(at("compress_hidden"), p, hidden);
    block = InputScale::of(rows, hidden);
  }
  model_.map(at("compress_k"), m_.kv_heads * m_.key_dim, block, key, p);
  model_.map(at("compress_v"), m_.kv_heads * m_.value_dim, block, value, p);
  const int bits = model_.gate_bits(at("mix")), mixed = bits - 2;  // 1 must fit
  const int own = static_cast<int>(model_.number(at("mix.fraction"), 0));
  model_.map(at("mix"), m_.heads * (m_.window ? 3 : 1), in_, mixed - own, bits);
  model_.put_scalar(at("mix.fraction"), mixed);
  model_.record(at("mix"), bits, mixed);
}

// Windows are compressed from keys and values as they are stored, and a place is added to a key: one fraction for all.
void MixerQuantiser::window_branches(int key, int value) {
  const int p = model_.bits();
  const std::int64_t span = m_.form.span;
  const auto side = [&](const std::string& name, int stored, std::int64_t dim) {
    model_.put_width(at(name), p);
    model_.record(at(name), p, stored);
    const bool weighted = m_.form.compress == Compression::weighted;
    if (!weighted && m_.form.compress != Compression::linear) return;
    const std::int64_t rows = m_.kv_heads * span * (weighted ? 1 : dim), columns = weighted ? 1 : dim;
    const int product = model_.row_weights(
        at(name + ".weight"), columns, std::vector<int>(static_cast<std::size_t>(rows), stored),
        weighted ? std::vector{m_.kv_heads, span} : std::vector{m_.kv_heads, span * dim, dim});
    model_.put_shift(at(name + ".shift"), product - stored + model_.shift(at(name + ".shift")));
  };
  side("compress_k", key, m_.key_dim);
  side("compress_v", value, m_.value_dim);
  if (m_.form.compress != Compression::mean) {
    const std::int64_t size = m_.kv_heads * span * m_.key_dim;
    std::vector<std::int64_t> places;
    for (const double place : model_.numbers(at("compress_k.place"), static_cast<std::size_t>(size)))
      places.push_back(static_cast<std::int64_t>(std::nearbyint(std::ldexp(place, key))));
    model_.put(at("compress_k.place"), {m_.kv_heads, span, m_.key_dim}, places);
  }
  const int own = static_cast<int>(model_.number(at("mix.fraction"), 0));
  gate("mix", "sigmoid", 3 * m_.heads, kGateFraction - own);
  model_.put_scalar(at("mix.fraction"), kGateFraction);
  model_.put_scalar(at("chance.fraction"), kChanceFraction);
}

// Index scores are only compared: no scale matters beyond their own.
void MixerQuantiser::index_maps() {
  const int p = model_.bits();
  plain_map("index_q", m_.index_heads * m_.index_dim, fraction("index_q", p), p);
  if (m_.form.index_norm) {
    const int map = fraction("index_k", model_.guarded_bits()), key = fraction("index_norm.key", p);
    const auto dim = static_cast<double>(m_.index_dim);
    plain_map("index_k", m_.index_dim, map, model_.guarded_bits());
    norm_gain("index_norm", key, p, m_.index_dim);
    write_epsilon("index_norm", dim * dim * model_.number(at("index_norm.epsilon"), 0),
                  map);  // of d (x - mean)
    std::vector<std::int64_t> bias;
    for (const double one : model_.numbers(at("index_norm.bias"), static_cast<std::size_t>(m_.index_dim)))
      bias.push_back(static_cast<std::int64_t>(std::nearbyint(std::ldexp(one, key))));
    model_.put(at("index_norm.bias"), {m_.index_dim}, bias);
  } else {
    plain_map("index_k", m_.index_dim, fraction("index_k", p), p);
  }
  plain_map("index_mix", m_.index_heads, fraction("index_mix", p, true), p);
}

}  // namespace rung
