// Mixers of a real file whose memory is a row of numbers (docs/weights.md, "Mixers" and "Mode Q"), in intervals: rnn, gru,
// mamba; conv and identity.
#include "check/real_mixer.h"

namespace rung_check {
namespace {

// rnn and gru: a hidden row.
class RealHidden final : public RealMixer {
 public:
  RealHidden(const Shape& shape, const RealSource& source)
      : s_(shape), gru_(shape.kind == "gru"), source_(source) {
    const std::int64_t width = source.architecture.width;
    for (const char* name : gru_ ? std::vector<const char*>{"xz", "xr", "xn"} : std::vector<const char*>{"x"})
      x_.emplace_back(source, name, s_.inner, width, /*sums_only=*/true);
    for (const char* name : gru_ ? std::vector<const char*>{"hz", "hr", "hn"} : std::vector<const char*>{"h"})
      h_.emplace_back(source, name, s_.inner, s_.inner, /*sums_only=*/true);
    cell_shift_ = source.source.shift("cell");
    cell_ = source.function("cell", "tanh");
    if (s_.relu_cell) cell_ = RealFunction{"relu"};
    if (gru_) {
      gate_ = source.function("gate", "sigmoid");
      gate_shift_ = source.source.shift("gate");
      fraction_ = source.source.fraction("gate.fraction", 30);
    }
    source.width("y");
  }
  std::vector<Reals> mix(const std::vector<Reals>& u) const override {
    Reals hidden(at(s_.inner));
    std::vector<Reals> y;
    for (const auto& row : u) {
      source_.work(x_.size() * (x_[0].weight.size() + h_[0].weight.size()));
      Reals next;
      for (std::int64_t i = 0; i < s_.inner; ++i) {
        const auto both = [&](std::size_t which) {
          return x_[which].sum(i, row.data()) + h_[which].sum(i, hidden.data());
        };
        if (!gru_) {
          next.push_back(cell_(scaled(both(0), -cell_shift_)));
          continue;
        }
        const Real z = gate_(scaled(both(0), -gate_shift_)), r = gate_(scaled(both(1), -gate_shift_));
        const Real n = cell_(scaled(
            x_[2].sum(i, row.data()) + scaled(r * h_[2].sum(i, hidden.data()), -fraction_), -cell_shift_));
        next.push_back(scaled(z * hidden[at(i)] + (scaled(Real(1), fraction_) - z) * n, -fraction_));
      }
      hidden = std::move(next);
      y.push_back(hidden);
    }
    return y;
  }

 private:
  Shape s_;
  bool gru_;
  RealSource source_;
  std::vector<RealMap> x_, h_;
  RealFunction cell_, gate_;
  std::int64_t cell_shift_ = 0, gate_shift_ = 0, fraction_ = 0;
};

class RealMamba final : public RealMixer {
 public:
  RealMamba(const Shape& shape, const RealSource& source)
      : s_(shape),
        source_(source),
        channels_(source, shape.conv),
        stage_(shape, source, s_.inner, s_.inner),
        delta_(source.function("delta", "softplus")),
        decay_(source.function("decay", "exp")),
        a_(source.reals("a.weight", {s_.inner, s_.state})),
        skip_(source.reals("skip.weight", {s_.inner})) {
    const std::int64_t from = s_.form.select_conv ? s_.inner : source.architecture.width;
    channels_.add("x", s_.inner);
    if (stage_.gated()) channels_.add("z", s_.inner, /*convolved=*/false);
    channels_.activate("act", s_.form.act, 0, 1);
    channels_.finish(s_.form.conv_bias);
    b_ = RealMap(source, "b", s_.state, from);
    c_ = RealMap(source, "c", s_.state, from);
    if (s_.form.rank > 0) low_.emplace(source, "delta_low", s_.form.rank, from);
    step_ = RealMap(source, "delta", s_.inner, low_ ? s_.form.rank : from);
    if (s_.form.norms != "none") {
      offset_ = source.reals("delta.offset", {s_.inner});
      epsilon_ = real_epsilon(source, "select.epsilon");
      for (const char* name : {"b_norm", "c_norm", "delta_norm"}) source.width(name);
    }
    index_shift_ = source.source.scalar("decay.index_shift", 0, -40, 100);
    decay_shift_ = source.source.shift("decay");
    update_shift_ = source.source.shift("update");
    read_shift_ = source.source.shift("read");
    skip_shift_ = source.source.shift("skip");
    source.width("y");
  }
  std::vector<Reals> mix(const std::vector<Reals>& u) const override {
    Reals hidden(at(s_.inner * s_.state));
    std::vector<Reals> y;
    const auto rows = channels_.all(u);
    for (std::size_t t = 0; t < u.size(); ++t) {
      source_.work(5 * hidden.size());
      const Real* x = rows[t].data();
      const Reals from = s_.form.select_conv ? Reals(x, x + s_.inner) : u[t];
      Reals b = b_(from, budget()), c = c_(from, budget()), low = low_ ? (*low_)(from, budget()) : from;
      if (s_.form.norms == "before") low = rms(low);
      Reals delta = step_(low, budget());
      if (s_.form.norms == "after") delta = rms(delta);
      if (!offset_.empty()) {
        b = rms(b);
        c = rms(c);
        for (std::size_t i = 0; i < delta.size(); ++i) delta[i] += Real(offset_[i]);
      }
      Reals o;
      for (std::int64_t i = 0; i < s_.inner; ++i) {
        const Real step = delta_(delta[at(i)]);
        Real total;
        for (std::int64_t n = 0; n < s_.state; ++n) {
          Real& h = hidden[at(i * s_.state + n)];
          const Real decay = decay_(scaled(step * Real(a_[at(i * s_.state + n)]), -index_shift_));
          h = scaled(decay * h, -decay_shift_) + scaled(step * b[at(n)] * x[i], -update_shift_);
          total += c[at(n)] * h;
        }
        o.push_back(scaled(total, -read_shift_) + scaled(Real(skip_[at(i)]) * x[i], -skip_shift_));
      }
      y.push_back(stage_(std::move(o), stage_.gated() ? x + channels_.offset(1) : nullptr));
    }
    return y;
  }

 private:
  Budget& budget() const { return source_.source.budget; }
  Reals rms(const Reals& x) const {
    return real_normalised(x, std::vector<double>(x.size(), 1), static_cast<double>(x.size()), 0, epsilon_);
  }

  Shape s_;
  RealSource source_;
  RealChannels channels_;
  RealStage stage_;
  RealFunction delta_, decay_;
  RealMap b_, c_, step_;
  std::optional<RealMap> low_;
  std::vector<double> a_, skip_, offset_;
  double epsilon_ = 0;
  std::int64_t index_shift_ = 0, decay_shift_ = 0, update_shift_ = 0, read_shift_ = 0, skip_shift_ = 0;
};

// conv, and identity, which is one tap.
class RealTaps final : public RealMixer {
 public:
  RealTaps(const Shape& shape, const RealSource& source)
      : s_(shape), source_(source), v_(source, "v", shape.outputs(), source.architecture.width) {
    source.width("y");
    if (s_.kind == "identity") return;
    taps_ = source.reals("taps.weight", {s_.inner, s_.conv});
    shift_ = source.source.shift("taps");
  }
  std::vector<Reals> mix(const std::vector<Reals>& u) const override {
    std::vector<Reals> v, y;
    for (const auto& row : u) {
      v.push_back(v_(row, source_.source.budget));
      if (taps_.empty()) continue;
      source_.work(taps_.size());
      y.emplace_back();
      for (std::int64_t c = 0; c < s_.inner; ++c) {
        Real total;
        for (std::int64_t j = 0; j < s_.conv && j < static_cast<std::int64_t>(v.size()); ++j)
          total += Real(taps_[at(c * s_.conv + j)]) * v[v.size() - 1 - at(j)][at(c)];
        y.back().push_back(scaled(total, -shift_));
      }
    }
    return taps_.empty() ? v : y;
  }

 private:
  Shape s_;
  RealSource source_;
  RealMap v_;
  std::vector<double> taps_;
  std::int64_t shift_ = 0;
};

}  // namespace

std::unique_ptr<RealMixer> make_real_row_recurrence(const Shape& shape, const RealSource& source) {
  if (shape.kind == "rnn" || shape.kind == "gru") return std::make_unique<RealHidden>(shape, source);
  if (shape.kind == "mamba") return std::make_unique<RealMamba>(shape, source);
  if (shape.kind == "conv" || shape.kind == "identity") return std::make_unique<RealTaps>(shape, source);
  return nullptr;
}

}  // namespace rung_check
