// mamba in its released form, learned (docs/parity.md): Δ, B and C are maps of the convolved x, Δ through a bottleneck;
//   y = (Σ_n S C + D x) act(z). norms=after divides B, C and the mapped time step by their root mean squares, the last
//   before its offset; norms=before divides the time step before its map.
#include "rung/learn/diagonal_scan.h"
#include "rung/learn/mixers/mixers.h"
#include "rung/learn/mixers/released_parts.h"

namespace rung::learn {
namespace {

class ReleasedMamba : public LearnedMixer {
 public:
  ReleasedMamba(const MixerShape& shape, const MixerPlace& place, ParameterLayout& layout)
      : shape_(shape), prefix_(place.prefix), epsilon_(place.scalar("select.epsilon", 1e-6)) {
    const std::string& p = place.prefix;
    const std::int64_t from = shape.form.select_conv ? shape.inner : place.width;
    front_ = LearnedFront(shape, place, {{"x.weight", shape.inner}}, layout);
    b_ = LearnedMap(p + "b", shape.state, from, 0, std::nullopt, layout);
    c_ = LearnedMap(p + "c", shape.state, from, 0, std::nullopt, layout);
    const std::int64_t rank = shape.form.rank;
    if (rank > 0)
      low_ = layout.add(p + "delta_low.weight", {rank, from}, Start::normal(fan_in_deviation(from)), true);
    const std::int64_t inputs = rank > 0 ? rank : from;
    delta_ =
        layout.add(p + "delta.weight", {shape.inner, inputs}, Start::normal(fan_in_deviation(inputs)), true);
    offset_ = layout.add(p + (normed() ? "delta.offset" : "delta.bias"), {shape.inner}, step_start(), false);
    decay_ = layout.add(p + "a.weight", {shape.inner, shape.state}, Start{Start::Kind::logarithms, 1}, false,
                        Stored::minus_exponential);
    skip_ = layout.add(p + "skip.weight", {shape.inner}, Start::constant(1), false);
    output_ = LearnedOutput(shape, place, shape.inner, shape.inner, shape.inner, 0, layout);
  }

  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves,
                        const ForwardContext& pass) const override {
    const torch::Tensor x = activated(shape_.form.act, front_.forward(u, leaves)[0]);
    const torch::Tensor& from = shape_.form.select_conv ? x : u;
    const auto normalised = [&](const torch::Tensor& row, bool now) {
      return now ? root_mean_square(row, epsilon_) : row;
    };
    const torch::Tensor b = normalised(b_.forward(from, leaves), normed()),
                        c = normalised(c_.forward(from, leaves), normed());
    torch::Tensor step = from;
    if (shape_.form.rank > 0)
      step = normalised(apply_map(step, leaves[low_]), shape_.form.inner_norms == InnerNorms::before);
    step = normalised(apply_map(step, leaves[delta_]), shape_.form.inner_norms == InnerNorms::after);
    step = torch::softplus(wide(step + at_every_token(leaves[offset_])));
    const torch::Tensor y =
        diagonal_scan({x, b, c, step, -wide(leaves[decay_]).exp(), StateRounding()}, pass.plain);
    return output_.forward(u, y + at_every_token(leaves[skip_]) * x, leaves);
  }
  void describe(Weights& weights) const override {
    output_.describe(weights);
    if (normed()) put_scalar(weights, prefix_ + "select.epsilon", epsilon_);
  }

 private:
  bool normed() const { return shape_.form.inner_norms != InnerNorms::none; }
  MixerShape shape_;
  std::string prefix_;
  double epsilon_;
  LearnedFront front_;
  LearnedMap b_, c_;
  LearnedOutput output_;
  ParameterLayout::Index low_ = 0, delta_ = 0, offset_ = 0, decay_ = 0, skip_ = 0;
};

}  // namespace

std::unique_ptr<LearnedMixer> released_mamba_mixer(const MixerShape& shape, const MixerPlace& place,
                                                   ParameterLayout& layout) {
  return std::make_unique<ReleasedMamba>(shape, place, layout);
}

}  // namespace rung::learn
