// Recurrent mixers, short convolutions, and the mixers that see one position. Every state entry has a bits at
// the fraction that holds best what was seen; where the formula adds products without a shift (mamba2; linear
// attention with exact or wrapping sums) the state's fraction is the sum of its factors', which are lowered
// until the entries fit.
#include <algorithm>
#include <cmath>

#include "rung/exact/quantise_mixer.h"
#include "rung/exact/released_form.h"
#include "rung/spec/mixers.h"

namespace rung {
namespace {

constexpr double kNeverClip = 1e12;
constexpr int kStepBits = 20;           // Δ of mamba
constexpr int kMostFactorBits = 40;     // of a table whose values are multiplied
constexpr int kKeyExtra = 8;            // docs/weights.md: key.extra
constexpr int kReadScaleFraction = 15;  // of read.scale
constexpr int kMostEpsilonBits = 46;
constexpr int kMostNormFraction = 24;
constexpr int kQuantiseRecurrenceMostScaleBits = 32;

// Beyond this argument sigmoid, tanh and exp(-x) are within 2^-17 of their limits.
constexpr double kFlat = 12;
// Arguments of saturating tables have 2^-f steps; 2 kFlat 2^12 entries at most.
int argument_fraction(int bits) { return std::clamp(bits + 1, 8, 12); }
std::int64_t flat(int fraction) { return static_cast<std::int64_t>(kFlat) << fraction; }

}  // namespace

std::string MixerQuantiser::channel_site(const std::string& name) const {
  if (m_.conv == 0) return name;
  std::int64_t row = 0;
  for (const auto& [other, rows] : convolved_channels(m_)) {
    if (other == name) return fmt::format("conv.{}", row);
    row += rows;
  }
  RUNG_REQUIRE(false, "{} is not convolved", at(name));
}

int MixerQuantiser::channel(const std::string& name, int bits, bool positive_only) const {
  auto own = [&](const std::string& one) {
    if (m_.conv == 0 || model_.noted(at(one))) return fraction(one, bits, positive_only);
    return fraction(channel_site(one), bits);
  };
  if (!tied()) return own(name);
  int common = kHighestFraction;
  for (const auto& [one, rows] : convolved_channels(m_)) common = std::min(common, own(std::string(one)));
  return common;
}

int MixerQuantiser::state_fraction(const std::string& name) const {
  if (model_.out.accumulator == Accumulator::wrap)
    return best_fraction(model_.seen(at(name)), model_.state_bits(), kNeverClip);
  return fraction(name, model_.state_bits());
}

void MixerQuantiser::plain_map(const std::string& name, std::int64_t rows, int fraction, int bits,
                               const InputScale* from) {
  model_.map(at(name), rows, from ? *from : in_, fraction, bits);
  model_.record(at(name), bits, fraction);
}

void MixerQuantiser::project(const std::vector<std::pair<std::string, std::int64_t>>& maps,
                             const Fractions& wanted, int bits) {
  if (m_.conv == 0) {
    for (const auto& [name, rows] : maps) plain_map(name, rows, wanted.at(name), bits);
    return;
  }
  const int p = model_.bits();
  // Of the row, less the fraction behind the convolution: the weights' own scale makes up for both.
  std::vector<int> raw, behind;
  for (const auto& [name, rows] : maps) {
    RUNG_REQUIRE(!tied() || wanted.at(name) == wanted.begin()->second, "{}: one table, two fractions",
                 at(name));
    const int own = model_.seen_fraction(at(name), p);  // notes speak of channels behind the convolution
    plain_map(name, rows, own, p);
    behind.insert(behind.end(), static_cast<std::size_t>(rows), tied() ? 0 : wanted.at(name));
    raw.insert(raw.end(), static_cast<std::size_t>(rows), own - behind.back());
  }
  int shift = model_.row_weights(at("conv.weight"), m_.conv, raw, {m_.conv_channels, m_.conv},
                                 m_.form.conv_bias ? at("conv.bias") : "", behind) +
              model_.shift(at("conv.shift"));
  if (tied()) {
    const int index = model_.gate_bits(at("conv.sum")), summed = fraction("conv.sum", index);
    model_.channel_table(at("conv"), "silu", index, summed, wanted.begin()->second, bits);
    shift -= summed;
  }
  model_.put_shift(at("conv.shift"), shift);
  model_.put_width(at("conv"), bits);
  for (const auto& [name, rows] : maps) model_.record(at(channel_site(name)), bits, wanted.at(name));
}

MixerQuantiser::Fractions MixerQuantiser::front(const std::vector<FrontMap>& maps, const Fractions& most) {
  std::vector<std::pair<std::string, std::int64_t>> rows;
  std::map<std::string, int> inside;  // by table: the fraction of its argument
  bool plain = false;
  const int p = model_.bits(), index = std::clamp(p, 12, kTableBits);
  for (const auto& map : maps) {
    rows.emplace_back(map.name, map.rows);
    plain = plain || map.function == Activation::none;
    if (map.function == Activation::none) continue;
    const int own = channel(map.name, index);
    const auto [known, fresh] = inside.try_emplace(map.table, own);
    if (!fresh) known->second = std::min(known->second, own);
  }
  const int bits = inside.empty() ? p : plain ? std::max(p, index) : index;
  Fractions before, behind;
  for (const auto& map : maps) {
    int own = map.function == Activation::none ? channel(map.name, bits) : inside.at(map.table);
    if (const auto found = most.find(map.name); map.function == Activation::none && found != most.end())
      own = std::min(own, found->second);
    before[map.name] = own;
  }
  if (tied())
    for (auto& [name, fraction] : before)
      for (const auto& [other, lower] : before) fraction = std::min(fraction, lower);
  project(rows, before, bits);
  behind = before;
  for (const auto& entry : inside) {
    const std::string& table = entry.first;
    int out = fraction(table, p);
    for (const auto& map : maps)
      if (const auto found = most.find(map.name); map.table == table && found != most.end())
        out = std::min(out, found->second);
    const FrontMap* last = nullptr;
    for (const auto& map : maps)
      if (map.table == table && map.function != Activation::none) behind[map.name] = out, last = &map;
    model_.channel_table(at(table), activation_function(last->function), index, before.at(last->name), out,
                         p);
    model_.put_width(at(table), p);
    model_.record(at(table), p, out);
  }
  return behind;
}

void MixerQuantiser::gate_stage(int& now, int fraction, int bits, std::int64_t outputs) {
  if (m_.form.gate == Activation::none) return;
  const int factor = best_fraction(model_.seen(at("z.act")), model_.guarded_bits(), kNeverClip);
  gate("z", activation_function(m_.form.gate), outputs, factor);
  model_.put_shift(at("gated.shift"), now + factor - fraction + model_.shift(at("gated.shift")));
  model_.put_width(at("gated"), bits);
  model_.record(at("gated"), bits, fraction);
  now = fraction;
}

int MixerQuantiser::write_epsilon(const std::string& name, double epsilon, int in) {
  const int room =
      epsilon > 0 ? static_cast<int>(std::floor((kMostEpsilonBits - 1 - std::log2(epsilon)) / 2)) : 40;
  const int extra = std::clamp(room - in, 0, kKeyExtra);
  const double whole = std::min(std::ldexp(epsilon, 2 * (in + extra)), std::ldexp(1.0, kMostEpsilonBits));
  model_.put_scalar(at(name + ".extra"), extra);
  model_.put_scalar(at(name + ".epsilon"), static_cast<std::int64_t>(std::nearbyint(whole)));
  return extra;
}

void MixerQuantiser::norm_gain(const std::string& name, int fraction, int bits, std::int64_t gain) {
  const auto gains = model_.numbers(at(name + ".gain"), static_cast<std::size_t>(gain));
  double largest = std::ldexp(1.0, -kMostNormFraction);
  for (const double one : gains) largest = std::max(largest, std::fabs(one));
  // gain · 2^fraction is the gain's own fraction and the norm's.
  const int fitting = static_cast<int>(std::floor(std::log2((std::ldexp(1.0, kStepBits) - 1) / largest)));
  const int own = std::clamp(fraction - fitting, 0, kMostNormFraction);
  std::vector<std::int64_t> integers;
  for (const double one : gains)
    integers.push_back(static_cast<std::int64_t>(std::nearbyint(std::ldexp(one, fraction - own))));
  model_.put(at(name + ".gain"), {gain}, integers);
  model_.put_scalar(at(name + ".fraction"), own);
  model_.put_width(at(name), bits);
  model_.record(at(name), bits, fraction);
}

void MixerQuantiser::norm_stage(int& now, int fraction, int bits, std::int64_t gain) {
  if (m_.form.norm == OutputNorm::none) return;
  norm_gain("ynorm", fraction, bits, gain);
  write_epsilon("ynorm", model_.number(at("ynorm.epsilon"), 0), now);
  now = fraction;
}

void MixerQuantiser::output_form(int core, int y, std::int64_t outputs, std::int64_t gain) {
  const int p = model_.bits(), guarded = model_.guarded_bits();
  if (staged()) {
    model_.put_width(at("read"), guarded);
    model_.record(at("read"), guarded, core);
    int now = core;
    const bool gated = m_.form.gate != Activation::none;
    if (m_.form.norm == OutputNorm::before) {
      norm_stage(now, gated ? fraction("ynorm", guarded) : y, gated ? guarded : p, gain);
      gate_stage(now, y, p, outputs);
    } else {
      const bool normed = m_.form.norm == OutputNorm::after;
      gate_stage(now, normed ? fraction("gated", guarded) : y, normed ? guarded : p, outputs);
      norm_stage(now, y, p, gain);
    }
  }
  output(y, p);
}

void MixerQuantiser::skip_weights(std::int64_t rows, int in, int core) {
  const int product =
      model_.row_weights(at("skip.weight"), 1, std::vector<int>(static_cast<std::size_t>(rows), in), {rows});
  model_.put_shift(at("skip.shift"), product - core + model_.shift(at("skip.shift")));
}

int MixerQuantiser::step_table(const std::string& name, std::int64_t rows, const InputScale* from) {
  const int step = best_fraction(model_.seen(at(name + ".act")), kStepBits + 1, kNeverClip);
  gate(name, "softplus", rows, step, from);
  return step;
}

void MixerQuantiser::step_decay(int step, std::int64_t rows, std::int64_t columns,
                                std::vector<std::int64_t> shape) {
  const std::vector<int> steps(static_cast<std::size_t>(rows), step);
  const int product = model_.row_weights(at("a.weight"), columns, steps, std::move(shape));
  const int index = argument_fraction(model_.bits());
  const double growth = std::min(kFlat, 1.125 * std::max(0.0, model_.seen(at("decay")).largest()));
  model_.function_table(at("decay"), "exp", -flat(index),
                        static_cast<std::int64_t>(std::ceil(std::ldexp(growth, index))), index,
                        kGateFraction - model_.shift(at("decay.shift")), kMostFactorBits);
  model_.put_shift(at("decay.index_shift"), product - index + model_.shift(at("decay.index_shift")));
  model_.put_shift(at("decay.shift"), kGateFraction);
}

void MixerQuantiser::head_decay(const std::string& name) {
  gate(name, "decay", m_.heads, kGateFraction - model_.shift(at("decay.shift")));
  model_.put_shift(at("decay.shift"), kGateFraction);
}

void MixerQuantiser::share(const std::string& first, const std::string& second, int total,
                           Fractions& wanted) const {
  auto precision = [&](const std::string& name) {
    return wanted.at(name) +
           0.5 * std::log2(std::max(model_.seen(at(channel_site(name))).mean_square(), 1e-30));
  };
  while (wanted[first] + wanted[second] > total) {
    if (tied())
      for (auto& [name, fraction] : wanted) --fraction;
    else
      --wanted[precision(first) >= precision(second) ? first : second];
  }
}

void MixerQuantiser::output(int fraction, int bits) {
  model_.put_width(at("y"), bits);
  model_.record(at("y"), bits, fraction);
}

void MixerQuantiser::gate(const std::string& name, const char* function, std::int64_t rows, int out,
                          const InputScale* from) {
  const int bits = model_.gate_bits(at(name)), in = fraction(name, bits);
  plain_map(name, rows, in, bits, from);
  model_.channel_table(at(name), function, bits, in, out, kMostFactorBits);
}

int MixerQuantiser::linear_cell(int y, bool normalised) {
  const int p = model_.bits(), a = model_.state_bits();
  const bool table = m_.feature == FeatureMap::elu1 || m_.feature == FeatureMap::exp,
             taylor = m_.feature == FeatureMap::taylor2;
  const bool positive = m_.feature == FeatureMap::relu;
  const int bits = table ? std::min(p, kTableBits) : p;
  Fractions wanted{
      {"q", channel("q", bits, positive)}, {"k", channel("k", bits, positive)}, {"v", channel("v", bits)}};
  const Accumulator sums = model_.out.accumulator;
  const int counted =
      normalised && sums != Accumulator::exact ? state_fraction("state.count") : kHighestFraction;
  auto lower_all = [&](const std::string& name, int most) {
    if (wanted[name] <= most) return;
    wanted[name] = most;
    if (tied())
      for (auto& [other, fraction] : wanted) fraction = std::min(fraction, most);
  };
  if (normalised) lower_all("v", y);  // value.scale is at least 1
  int feature = 0;                    // of keys; queries have their own only where no table stands between
  if (table || taylor) {
    const int common = std::clamp(std::min(wanted["q"], wanted["k"]), taylor ? 0 : kLowestFraction,
                                  taylor ? 20 : kHighestFraction);
    lower_all("q", common);
    lower_all("k", common);
    if (taylor && common > wanted["q"]) wanted["q"] = wanted["k"] = common;
    if (taylor && tied()) wanted["v"] = common;
    feature = std::min(fraction("feature", p), counted);
    if (sums == Accumulator::wrap) feature = std::min(feature, state_fraction("state") - wanted["v"]);
    if (table)
      model_.channel_table(at("feature"), m_.feature == FeatureMap::exp ? "exp" : "elu1", bits, common,
                           feature, p);
    if (taylor) {
      model_.put_scalar(at("feature.fraction"), common);
      model_.put_shift(at("feature.shift"), 2 * common - feature);
    }
    model_.record(at("feature"), p, feature);
  } else {
    lower_all("k", counted);
    if (sums == Accumulator::wrap) share("k", "v", state_fraction("state"), wanted);
    feature = wanted["k"];
  }
  project({{"q", m_.heads * m_.key_dim}, {"k", m_.heads * m_.key_dim}, {"v", m_.heads * m_.value_dim}},
          wanted, bits);
  int state = wanted["v"] + feature;
  if (sums == Accumulator::round) {
    const int rounded = std::min(state, fraction("state", a));
    model_.put_shift(at("update.shift"), state - rounded);
    state = rounded;
  }
  model_.record(at("state"), sums == Accumulator::exact ? 48 : a, state);
  if (normalised) {
    model_.record(at("state.count"), sums == Accumulator::exact ? 48 : a, feature);
    const int scale = y - (state - feature);
    if (scale < 0 || scale > kQuantiseRecurrenceMostScaleBits)
      model_.refuse(fail(ErrorCode::range, "[quantise] \"{}\" would be 2^{}; 1 to 2^32 expected",
                         at("value.scale"), scale));
    else if (const auto c = static_cast<std::int64_t>(model_.number(at("value.scale"), 1)) << scale; c != 1)
      model_.put_scalar(at("value.scale"), c);
  }
  return state + (table || taylor ? feature : wanted["q"]);
}

int MixerQuantiser::mamba2_cell(int core) {
  const int p = model_.bits(), best = state_fraction("state");
  const std::int64_t outputs = m_.heads * m_.value_dim, keys = m_.kv_heads * m_.key_dim;
  Fractions wanted;
  if (m_.form.act == Activation::none) {
    wanted = {{"x", channel("x", p)}, {"b", channel("b", p)}, {"c", channel("c", p)}};
    if (!m_.form.step) share("x", "b", best, wanted);
    project({{"x", outputs}, {"b", keys}, {"c", keys}}, wanted, p);
  } else {
    // One table behind three maps: without a shift of what is written, half of the state's fraction each.
    const Fractions most = m_.form.step ? Fractions{} : Fractions{{"x", best / 2}, {"b", best / 2}};
    wanted = front({{"x", outputs, "act", m_.form.act},
                    {"b", keys, "act", m_.form.act},
                    {"c", keys, "act", m_.form.act}},
                   most);
  }
  int state = wanted["x"] + wanted["b"];
  if (m_.form.step) {
    const int step = step_table("dt", m_.heads);
    model_.limit_table(at("dt"), step, model_.number(at("dt.low"), 0),
                       model_.number(at("dt.high"), std::ldexp(1.0, kMostFactorBits)));
    step_decay(step, m_.heads, 1, {m_.heads});
    model_.put_shift(at("update.shift"), step + state - best + model_.shift(at("update.shift")));
    state = best;
  } else {
    head_decay("gate");
  }
  if (m_.form.skip != Skip::none)
    skip_weights(m_.form.skip == Skip::head ? m_.heads : outputs, wanted["x"], core);
  model_.record(at("state"), model_.state_bits(), state);
  return state + wanted["c"];
}

void MixerQuantiser::key_norm(Fractions& wanted) {
  const bool released = !m_.form.plain();
  if (released ? m_.form.key_norm == KeyNorm::none : !model_.has(at("key.fraction"))) return;
  const int bits = model_.guarded_bits();
  int unit = std::min(bits - 2, kMostNormFraction);
  if (m_.form.key_norm == KeyNorm::sum) unit = std::clamp(fraction("key", bits), 0, kMostNormFraction);
  model_.put_scalar(at("key.fraction"), unit);
  if (m_.form.key_norm == KeyNorm::l2)
    write_epsilon("key", kLengthEpsilon, wanted["k"]);
  else if (!released)
    model_.put_scalar(at("key.extra"), kKeyExtra);
  model_.put_width(at("key"), bits);
  wanted["q"] = wanted["k"] = unit - (released ? 0 : static_cast<int>(model_.number(at("key.fraction"), 0)));
  model_.record(at("key"), bits, wanted["k"]);
}

int MixerQuantiser::delta_cell(bool gated) {
  const int error = fraction("error", model_.state_bits());  // has the values' fraction and the state's width
  Fractions most{{"v", error}};
  if (m_.form.key_act == Activation::none && m_.form.key_norm == KeyNorm::l2)  // one epsilon for both
    most["q"] = most["k"] = std::min(channel("q", model_.bits()), channel("k", model_.bits()));
  Fractions wanted = front({{"q", m_.kv_heads * m_.key_dim, "qk_act", m_.form.key_act},
                            {"k", m_.steps * m_.kv_heads * m_.key_dim, "qk_act", m_.form.key_act},
                            {"v", m_.steps * m_.heads * m_.value_dim, "act", m_.form.act}},
                           most);
  key_norm(wanted);
  const int key = wanted["k"], query = wanted["q"];
  if (m_.form.beta) gate("beta", "sigmoid", m_.steps * m_.heads, kGateFraction + (m_.range == 2 ? 1 : 0));
  if (gated && m_.form.step)
    step_decay(step_table("gate", m_.heads), m_.heads, 1, {m_.heads});
  else if (gated)
    head_decay("gate");
  const int state = state_fraction("state");
  model_.put_shift(at("predict.shift"), state + key - wanted["v"] + model_.shift(at("predict.shift")));
  model_.put_shift(at("write.shift"), (m_.form.beta ? kGateFraction : 0) + wanted["v"] + key - state +
                                          model_.shift(at("write.shift")));
  model_.record(at("state"), model_.state_bits(), state);
  if (!m_.form.scaled) return state + query;
  model_.put_scalar(at("read.scale"),
                    static_cast<std::int64_t>(std::nearbyint(
                        std::ldexp(1 / std::sqrt(static_cast<double>(m_.key_dim)), kReadScaleFraction))));
  return state + query + kReadScaleFraction;
}

std::vector<int> MixerQuantiser::matrix_recurrence() {
  const int p = model_.bits();
  const bool levels = m_.kind == MixerKind::loglinear;
  const MixerKind kind = levels ? m_.base : m_.kind;
  const bool normalised = kind == MixerKind::linear && m_.normalised && !levels;
  const int y = fraction("y", p), core = core_fraction(y);
  int read = 0;
  if (kind == MixerKind::linear)
    read = linear_cell(y, normalised);
  else
    read = kind == MixerKind::mamba2 ? mamba2_cell(core) : delta_cell(kind == MixerKind::gdelta);
  if (levels) {
    const int bits = model_.gate_bits(at("level"));
    int weight = fraction("level", bits, true);
    if (!m_.form.plain() || model_.names_table(at("level"))) {
      weight = best_fraction(model_.seen(at("level.act")), bits, kNeverClip);
      gate("level", "softplus", m_.heads * m_.levels, weight);
    } else {
      plain_map("level", m_.heads * m_.levels, weight, bits);
    }
    read += weight;
  }
  if (!normalised) model_.put_shift(at("read.shift"), read - core + model_.shift(at("read.shift")));
  const std::int64_t outputs = m_.heads * m_.value_dim;
  output_form(core, y, outputs, kind == MixerKind::mamba2 ? outputs : m_.value_dim);
  return std::vector<int>(static_cast<std::size_t>(outputs), y);
}

int MixerQuantiser::select_norm(const std::string& name, int in, int out, int bits) {
  const int own = std::clamp(out, 0, kMostNormFraction);
  model_.put_scalar(at(name + ".fraction"), own);
  write_epsilon(name, model_.number(at("select.epsilon"), 0), in);
  model_.put_width(at(name), bits);
  model_.record(at(name), bits, own);
  return own;
}

int MixerQuantiser::normed_step(const InputScale& before, int low) {
  const int bits = model_.gate_bits(at("delta.sum")), guarded = model_.guarded_bits();
  const int step = best_fraction(model_.seen(at("delta.act")), kStepBits + 1, kNeverClip);
  int argument = fraction("delta.sum", bits);
  if (m_.form.inner_norms == InnerNorms::after) {
    const int map = fraction("delta", guarded);
    plain_map("delta", m_.inner, map, guarded, &before);
    argument = select_norm("delta_norm", map, argument, guarded);
  } else {
    const int normed = select_norm("delta_norm", low, fraction("delta_norm", guarded), guarded);
    const InputScale inside = InputScale::of(m_.form.rank, normed);
    plain_map("delta", m_.inner, argument, guarded, &inside);
  }
  std::vector<std::int64_t> offsets;
  for (const double offset : model_.numbers(at("delta.offset"), static_cast<std::size_t>(m_.inner)))
    offsets.push_back(static_cast<std::int64_t>(std::nearbyint(std::ldexp(offset, argument))));
  model_.put(at("delta.offset"), {m_.inner}, offsets);
  model_.channel_table(at("delta"), "softplus", bits, argument, step, kMostFactorBits);
  return step;
}

std::vector<int> MixerQuantiser::mamba() {
  const int p = model_.bits();
  const bool normed = m_.form.inner_norms != InnerNorms::none;
  int b = fraction("b", p), c = fraction("c", p);
  const int y = fraction("y", p), core = core_fraction(y), state = state_fraction("state");
  const int x = front({{"x", m_.inner, "act", m_.form.act}}, {}).at("x");
  const InputScale selected = m_.form.select_conv ? InputScale::of(m_.inner, x) : in_;
  plain_map("b", m_.state, b, p, &selected);
  plain_map("c", m_.state, c, p, &selected);
  if (normed) {
    b = select_norm("b_norm", b, fraction("b_norm", p), p);
    c = select_norm("c_norm", c, fraction("c_norm", p), p);
  }
  InputScale before = selected;
  int low = 0;
  if (m_.form.rank > 0) {
    const int bits = model_.guarded_bits();
    low = fraction("delta_low", bits);
    plain_map("delta_low", m_.form.rank, low, bits, &selected);
    before = InputScale::of(m_.form.rank, low);
  }
  const int step = normed ? normed_step(before, low) : step_table("delta", m_.inner, &before);
  step_decay(step, m_.inner, m_.state, {m_.inner, m_.state});
  model_.put_shift(at("update.shift"), step + b + x - state + model_.shift(at("update.shift")));
  model_.put_shift(at("read.shift"), c + state - core + model_.shift(at("read.shift")));
  skip_weights(m_.inner, x, core);
  model_.record(at("state"), model_.state_bits(), state);
  output_form(core, y, m_.inner, m_.inner);
  return std::vector<int>(static_cast<std::size_t>(m_.inner), y);
}

// The output of a hidden vector is the vector: its fraction, and its width where that is larger than p.
std::vector<int> MixerQuantiser::elman() {
  const int state = state_fraction(model_.noted(at("h")) ? "h" : "state");
  const int product =
      model_.summed_maps({{at("x"), in_}, {at("h"), InputScale::of(m_.inner, state)}}, m_.inner) +
      model_.shift(at("cell.shift"));
  if (m_.relu_cell) {
    model_.put_shift(at("cell.shift"), product - state);
  } else {
    const int in = argument_fraction(model_.state_bits());
    model_.put_shift(at("cell.shift"), product - in);
    model_.function_table(at("cell"), "tanh", -flat(in), flat(in), in, state, kMostFactorBits);
  }
  model_.record(at("state"), model_.state_bits(), state);
  output(state, std::clamp(model_.state_bits(), model_.bits(), 48));
  return std::vector<int>(static_cast<std::size_t>(m_.inner), state);
}

std::vector<int> MixerQuantiser::gru() {
  const int state = state_fraction(model_.noted(at("h")) ? "h" : "state");
  const int in = argument_fraction(model_.state_bits());
  const InputScale hidden = InputScale::of(m_.inner, state);
  const int gates = model_.summed_maps(
      {{at("xz"), in_}, {at("hz"), hidden}, {at("xr"), in_}, {at("hr"), hidden}}, m_.inner);
  const int cell = model_.summed_maps({{at("xn"), in_}, {at("hn"), hidden}}, m_.inner);
  model_.put_shift(at("gate.shift"), gates - in + model_.shift(at("gate.shift")));
  model_.put_shift(at("cell.shift"), cell - in + model_.shift(at("cell.shift")));
  model_.put_scalar(at("gate.fraction"), kGateFraction);
  const int own = static_cast<int>(model_.number(at("gate.fraction"), 0));
  model_.function_table(at("gate"), "sigmoid", -flat(in), flat(in), in, kGateFraction - own, kMostFactorBits);
  model_.function_table(at("cell"), "tanh", -flat(in), flat(in), in, state, kMostFactorBits);
  model_.record(at("state"), model_.state_bits(), state);
  output(state, std::clamp(model_.state_bits(), model_.bits(), 48));
  return std::vector<int>(static_cast<std::size_t>(m_.inner), state);
}

std::vector<int> MixerQuantiser::position_wise() {
  const int p = model_.bits(), y = fraction("y", p);
  if (m_.conv == 0) {
    plain_map("v", m_.output_width(), y, p);
  } else {
    const int value = fraction("v", p);
    plain_map("v", m_.inner, value, p);
    const std::vector<int> values(static_cast<std::size_t>(m_.inner), value);
    const int product = model_.row_weights(at("taps.weight"), m_.conv, values, {m_.inner, m_.conv});
    model_.put_shift(at("taps.shift"), product - y + model_.shift(at("taps.shift")));
  }
  output(y, p);
  return std::vector<int>(static_cast<std::size_t>(m_.output_width()), y);
}

std::vector<int> MixerQuantiser::run() {
  using enum MixerKind;
  switch (m_.kind) {
    case full:
    case topk:
    case sparse:
      return attention();
    case linear:
    case mamba2:
    case delta:
    case gdelta:
    case loglinear:
      return matrix_recurrence();
    case mamba:
      return this->mamba();
    case rnn:
      return elman();
    case gru:
      return this->gru();
    case conv:
    case identity:
      return position_wise();
    case heads: {
      std::vector<int> all;
      for (std::size_t j = 0; j < m_.parts.size(); ++j) {
        const auto part = quantise_mixer(model_, m_.parts[j], fmt::format("{}part.{}.", prefix_, j), in_);
        all.insert(all.end(), part.begin(), part.end());
      }
      return all;
    }
    case none:
      return {};
    case gla:
    case kda:
    case rwkv7:
    case recurrent:
    case compressed:
      break;
  }
  RUNG_REQUIRE(false, "{} has no integer form", prefix_);
}

std::vector<int> quantise_mixer(IntegerModel& model, const MixerShape& mixer, const std::string& prefix,
                                const InputScale& in) {
  return MixerQuantiser(model, mixer, prefix, in).run();
}

}  // namespace rung
