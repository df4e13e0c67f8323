#include "check/real_mixer.h"

#include <numeric>

#include "check/integer.h"

namespace rung_check {
namespace {

class RealSideBySide final : public RealMixer {
 public:
  RealSideBySide(const Shape& shape, const RealSource& source) {
    for (std::size_t i = 0; i < shape.parts.size(); ++i)
      parts_.push_back(make_real_mixer(shape.parts[i], source.under(text("part.", i))));
  }
  std::vector<Reals> mix(const std::vector<Reals>& u) const override {
    std::vector<Reals> y(u.size());
    for (const auto& part : parts_) {
      const auto more = part->mix(u);
      for (std::size_t t = 0; t < y.size(); ++t) y[t].insert(y[t].end(), more[t].begin(), more[t].end());
    }
    return y;
  }

 private:
  std::vector<std::unique_ptr<RealMixer>> parts_;
};

}  // namespace

Row certainly_largest(const Reals& values, std::int64_t k, Budget& budget) {
  budget.sorting(values.size());
  const auto unsure = [] {
    throw Rejected("too close to call: which positions are selected depends on rounding");
  };
  for (const auto& value : values)
    if (std::isnan(value.low) || std::isnan(value.high)) unsure();
  Row order(values.size());
  std::iota(order.begin(), order.end(), 0);
  if (static_cast<std::int64_t>(order.size()) <= k) return order;
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return values[at(a)].low > values[at(b)].low; });
  const auto out = order.begin() + k;
  double least = kInfinity, most = -kInfinity;  // the lowest bound of those in, the highest of those out
  for (auto i = order.begin(); i != out; ++i) least = std::min(least, values[at(*i)].low);
  for (auto j = out; j != order.end(); ++j) most = std::max(most, values[at(*j)].high);
  if (least < most) unsure();
  if (least == most) {
    if (!std::isfinite(least)) unsure();
    // Those that meet there must be this very number, and stand in order.
    std::int64_t last_in = -1, first_out = static_cast<std::int64_t>(values.size());
    for (auto i = order.begin(); i != out; ++i) {
      if (values[at(*i)].low != least) continue;
      if (values[at(*i)].high != least) unsure();
      last_in = std::max(last_in, *i);
    }
    for (auto j = out; j != order.end(); ++j) {
      if (values[at(*j)].high != most) continue;
      if (values[at(*j)].low != most) unsure();
      first_out = std::min(first_out, *j);
    }
    if (last_in > first_out) unsure();
  }
  order.resize(at(k));
  std::sort(order.begin(), order.end());
  return order;
}

Real RealFunction::operator()(const Real& whole) const {
  const Real x = scaled(whole, -in);
  const auto value = [&]() -> Real {
    if (word == "identity") return x;
    if (word == "relu") return positive_part(x);
    if (word == "sigmoid") return sigmoid(x);
    if (word == "decay") return sigmoid(-x);
    if (word == "softplus") return softplus(x);
    if (word == "tanh") return hyperbolic_tangent(x);
    if (word == "silu") return x * sigmoid(x);
    if (word == "gelu") return Real(0.5) * x * (Real(1) + error_function(x * square_root(Real(0.5))));
    if (word == "elu1")
      return increasing(x, [](double v) { return v > 0 ? Real(v) + Real(1) : exponential(Real(v)); });
    if (word == "exp") return exponential(x);
    throw Malformed(text("the function ", word.substr(0, 40), " is not known"));
  }();
  return scaled(value, out);
}

RealFunction RealSource::function(const std::string& table, const std::string& otherwise) const {
  const auto found = functions.find(source.prefix + table);
  return found == functions.end() ? RealFunction{otherwise} : found->second;
}

RealMap::RealMap(const RealSource& source, const std::string& name, std::int64_t r, std::int64_t c,
                 bool sums_only)
    : rows(r),
      cols(c),
      shift(sums_only ? 0 : source.source.shift(name)),
      weight(source.reals(name + ".weight", {r, c})) {
  bias =
      source.source.has(name + ".bias") ? source.reals(name + ".bias", {r}) : std::vector<double>(at(r), 0);
  if (!sums_only) source.width(name);
}
Real RealMap::sum(std::int64_t row, const Real* x) const {
  Real total = bias[at(row)];
  for (std::int64_t c = 0; c < cols; ++c) total += Real(weight[at(row * cols + c)]) * x[c];
  return total;
}
Reals RealMap::operator()(const Reals& x, Budget& budget) const {
  budget.work(kPerInterval * static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(cols));
  Reals y;
  for (std::int64_t r = 0; r < rows; ++r) y.push_back(scaled(sum(r, x.data()), -shift));
  return y;
}

Reals real_normalised(const Reals& x, const std::vector<double>& gain, double count, std::int64_t fraction,
                      double epsilon) {
  Real squares;
  for (const auto& value : x) squares += square(value);
  const Real root = square_root(squares / Real(count) + Real(epsilon));
  Reals y(x.size());
  if (root.is(0)) return y;
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = scaled(x[i] * Real(gain[i]), fraction) / root;
  return y;
}

void RealChannels::add(const std::string& name, std::int64_t rows, bool convolved) {
  maps_.emplace_back(source_, name, rows, source_.architecture.width);
  offsets_.push_back(channels_);
  channels_ += rows;
  if (convolved) convolved_ = channels_;
}
void RealChannels::activate(const std::string& name, const std::string& word, std::size_t first,
                            std::size_t last) {
  if (word == "none") return;
  source_.width(name);
  activations_.push_back({first, last, source_.function(name, word)});
}
void RealChannels::finish(bool bias) {
  if (taps_ == 0) return;
  bias_ = bias ? source_.reals("conv.bias", {convolved_}) : std::vector<double>(at(convolved_), 0);
  weight_ = source_.reals("conv.weight", {convolved_, taps_});
  shift_ = source_.source.shift("conv");
  source_.width("conv");
  if (source_.named("conv")) function_ = source_.function("conv", "");
}
std::vector<Reals> RealChannels::all(const std::vector<Reals>& u) const {
  source_.source.budget.store(2 * u.size() * at(channels_));
  std::vector<Reals> before;
  for (const auto& row : u) {
    before.emplace_back();
    for (const auto& map : maps_) {
      const Reals more = map(row, source_.source.budget);
      before.back().insert(before.back().end(), more.begin(), more.end());
    }
  }
  auto after = before;
  source_.work(u.size() * at(convolved_ * taps_));
  for (std::int64_t t = 0; taps_ > 0 && t < static_cast<std::int64_t>(u.size()); ++t)
    for (std::int64_t c = 0; c < convolved_; ++c) {
      Real total = bias_[at(c)];
      for (std::int64_t j = 0; j < taps_ && j <= t; ++j)
        total += Real(weight_[at(c * taps_ + j)]) * before[at(t - j)][at(c)];
      total = scaled(total, -shift_);
      after[at(t)][at(c)] = function_ ? (*function_)(total) : total;
    }
  for (const auto& one : activations_)
    for (auto& row : after)
      for (std::int64_t c = offsets_[one.first];
           c < (one.last < offsets_.size() ? offsets_[one.last] : channels_); ++c)
        row[at(c)] = one.function(row[at(c)]);
  return after;
}

double real_epsilon(const RealSource& source, const std::string& name) {
  const double epsilon = source.real(name, 0);
  if (!(epsilon >= 0)) throw Malformed(text(source.source.prefix, name, " is negative"));
  return epsilon;
}

RealStage::RealStage(const Shape& shape, const RealSource& source, std::int64_t gain, std::int64_t group)
    : norm_(shape.form.norm), group_(group) {
  if (shape.form.gate == "none" && norm_ == "none") return;
  source.width("read");
  if (shape.form.gate != "none") {
    gate_ = source.function("z", shape.form.gate);
    gated_shift_ = source.source.shift("gated");
    source.width("gated");
  }
  if (norm_ == "none") return;
  gain_ = source.reals("ynorm.gain", {gain});
  source.width("ynorm");
  epsilon_ = real_epsilon(source, "ynorm.epsilon");
}
Reals RealStage::operator()(Reals o, const Real* z) const {
  const auto gate = [&] {
    for (std::size_t i = 0; gate_ && i < o.size(); ++i) o[i] = scaled(o[i] * (*gate_)(z[i]), -gated_shift_);
  };
  if (norm_ != "before") gate();
  for (std::size_t begin = 0; norm_ != "none" && begin < o.size(); begin += at(group_)) {
    std::vector<double> gain;
    for (std::size_t i = 0; i < at(group_); ++i) gain.push_back(gain_[(begin + i) % gain_.size()]);
    const auto from = o.begin() + static_cast<std::ptrdiff_t>(begin);
    const Reals normed =
        real_normalised(Reals(from, from + group_), gain, static_cast<double>(group_), 0, epsilon_);
    std::copy(normed.begin(), normed.end(), from);
  }
  if (norm_ == "before") gate();
  return o;
}

std::unique_ptr<RealMixer> make_real_mixer(const Shape& shape, const RealSource& source) {
  if (shape.kind == "none") return nullptr;
  if (shape.kind == "heads") return std::make_unique<RealSideBySide>(shape, source);
  if (auto attention = make_real_attention(shape, source)) return attention;
  if (auto recurrence = make_real_recurrence(shape, source)) return recurrence;
  throw Malformed(text("the mixer ", shape.kind, " cannot be evaluated"));
}

}  // namespace rung_check
