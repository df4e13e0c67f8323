// rnn: h_t = tanh(W x_t + U h_{t-1} + b) (or relu); gru: z, r gates, h = z h + (1 - z) n. The input's share
// of the sums is one product over all positions; the recurrence itself goes token by token, since the cell is
// not linear in its state.
#include "rung/learn/cell_recurrence.h"
#include "rung/learn/mixers/mixers.h"

namespace rung::learn {
namespace {

class Cell : public LearnedMixer {
 public:
  Cell(const MixerShape& shape, const MixerPlace& place, ParameterLayout& layout)
      : shape_(shape), place_(place) {
    const std::string& p = place.prefix;
    const std::vector<std::string> gates =
        shape.kind == MixerKind::gru ? std::vector<std::string>{"z", "r", "n"} : std::vector<std::string>{""};
    std::vector<ParameterLayout::Part> input, state, input_bias, state_bias;
    for (const std::string& gate : gates) {
      input.push_back({p + "x" + gate + ".weight", shape.inner});
      state.push_back({p + "h" + gate + ".weight", shape.inner});
      input_bias.push_back({p + "x" + gate + ".bias", shape.inner});
      state_bias.push_back({p + "h" + gate + ".bias", shape.inner});
    }
    input_ = layout.add_stacked(input, {place.width}, Start::normal(fan_in_deviation(place.width)), true);
    state_ = layout.add_stacked(state, {shape.inner}, Start::normal(fan_in_deviation(shape.inner)), true);
    input_bias_ = layout.add_stacked(input_bias, {}, Start::constant(0), false);
    if (shape.kind == MixerKind::gru)
      state_bias_ = layout.add_stacked(state_bias, {}, Start::constant(0), false);
  }

  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves,
                        const ForwardContext& pass) const override {
    const std::int64_t members = u.size(0), prompts = u.size(1), length = u.size(2), size = shape_.inner;
    const torch::Tensor sums = apply_map(u, leaves[input_], leaves[input_bias_]);  // [E, B, T, G S]
    // States of a bounded cell lie in (-1, 1): that is the range that is rounded where what is carried is.
    const bool carried = pass.rounding && pass.rounding->carried_alone() && !shape_.relu_cell;
    const CellInputs inputs{sums, leaves[state_],
                            shape_.kind == MixerKind::gru ? leaves[state_bias_] : torch::Tensor(),
                            cell_kind(), carried && !pass.rounding->watching ? pass.rounding->bits() : 0};
    if (!pass.plain && (!pass.rounding || carried) && has_cell_kernel(inputs)) return cell_recurrence(inputs);
    const torch::Tensor turn = leaves[state_].transpose(1, 2);  // [E, S, G S]
    torch::Tensor h = torch::zeros({members, prompts, size}, u.options().requires_grad(false));
    std::vector<torch::Tensor> y;
    const std::vector<torch::Tensor> steps = sums.unbind(2);
    for (std::int64_t t = 0; t < length; ++t) {
      const torch::Tensor x = steps[static_cast<std::size_t>(t)];
      if (shape_.kind == MixerKind::gru) {
        const torch::Tensor g = torch::baddbmm(leaves[state_bias_].unsqueeze(1), h, turn);
        const torch::Tensor z = (x.narrow(-1, 0, size) + g.narrow(-1, 0, size)).sigmoid();
        const torch::Tensor r = (x.narrow(-1, size, size) + g.narrow(-1, size, size)).sigmoid();
        const torch::Tensor n = (x.narrow(-1, 2 * size, size) + r * g.narrow(-1, 2 * size, size)).tanh();
        h = torch::lerp(n, h, z);
      } else {
        const torch::Tensor g = torch::baddbmm(x, h, turn);
        h = shape_.relu_cell ? g.relu() : g.tanh();
      }
      h = pass.round(place_.prefix + "h", h);
      y.push_back(h);
    }
    return torch::stack(y, 2);
  }

 private:
  kernels::CellKind cell_kind() const {
    if (shape_.kind == MixerKind::gru) return kernels::CellKind::gru;
    return shape_.relu_cell ? kernels::CellKind::relu : kernels::CellKind::tanh;
  }

  MixerShape shape_;
  MixerPlace place_;
  ParameterLayout::Index input_ = 0, state_ = 0, input_bias_ = 0, state_bias_ = 0;
};

}  // namespace

std::unique_ptr<LearnedMixer> cell_mixer(const MixerShape& shape, const MixerPlace& place,
                                         ParameterLayout& layout) {
  return std::make_unique<Cell>(shape, place, layout);
}

}  // namespace rung::learn
