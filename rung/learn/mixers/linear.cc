// linear: S_t = S_{t-1} + v_t phi(k_t)^T, y_t = S_t phi(q_t), divided by Z_t.phi(q_t) with Z_t = sum phi(k)
// when normalised.
#include "rung/learn/kernel_view.h"
#include "rung/learn/kernels/elu_rows.h"
#include "rung/learn/matrix_recurrence.h"
#include "rung/learn/mixers/features.h"
#include "rung/learn/mixers/mixers.h"
#include "rung/learn/mixers/short_convolution.h"

namespace rung::learn {
namespace {

// elu(x) + 1 in float32 on the CPU; x [E, B, T, H, d].
class FastElu : public torch::autograd::Function<FastElu> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& given) {
    const torch::Tensor x = sliced(given);
    torch::Tensor y = torch::empty(x.sizes(), x.options());
    const std::int64_t sequences = x.size(0) * x.size(1), length = x.size(2), columns = x.size(3) * x.size(4);
    for (std::int64_t n = 0; n < sequences; ++n)
      kernels::elu_rows_forward(x.data_ptr<float>() + n * x.stride(1), x.stride(2), length, columns,
                                y.data_ptr<float>() + n * length * columns);
    context->save_for_backward({y});
    return y;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const torch::Tensor y = context->get_saved_variables()[0], dy = gradients[0].contiguous();
    torch::Tensor dx = torch::empty(y.sizes(), y.options());
    kernels::elu_rows_backward(y.data_ptr<float>(), dy.data_ptr<float>(), y.numel(), dx.data_ptr<float>());
    return {dx};
  }
};

}  // namespace

torch::Tensor feature_map(FeatureMap feature, const torch::Tensor& x, bool query, bool plain) {
  switch (feature) {
    case FeatureMap::identity:
      return x;
    case FeatureMap::relu:
      return x.relu();
    case FeatureMap::elu1:
      return !plain && x.is_cpu() && x.scalar_type() == torch::kFloat32 ? FastElu::apply(x)
                                                                        : torch::elu(x) + 1;
    case FeatureMap::exp:
      return x.exp();
    case FeatureMap::taylor2: {
      const double low = query ? 2 : 1;
      const torch::Tensor squares = (x.unsqueeze(-1) * x.unsqueeze(-2)).flatten(-2);
      return torch::cat({torch::full_like(x.narrow(-1, 0, 1), low), low * x, squares}, -1);
    }
  }
  RUNG_REQUIRE(false, "feature {}", static_cast<int>(feature));
  return x;
}

namespace {

class LinearAttention : public LearnedMixer {
 public:
  LinearAttention(const MixerShape& shape, const MixerPlace& place, ParameterLayout& layout)
      : shape_(shape), place_(place) {
    const std::string& p = place.prefix;
    keys_ = shape.heads * shape.key_dim, values_ = shape.heads * shape.value_dim;
    weight_ =
        layout.add_stacked({{p + "q.weight", keys_}, {p + "k.weight", keys_}, {p + "v.weight", values_}},
                           {place.width}, Start::normal(fan_in_deviation(place.width)), true);
    if (shape.conv > 0) conv_.emplace(p, 2 * keys_ + values_, shape.conv, layout);
  }

  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves,
                        const ForwardContext& pass) const override {
    const std::string& p = place_.prefix;
    const std::vector<torch::Tensor> rows =
        convolved_rows(apply_map(u, leaves[weight_]), conv_, 3, {keys_, keys_, values_}, leaves);
    const torch::Tensor q = feature_map(
        shape_.feature, split_heads(pass.round(p + "q", rows[0]), shape_.heads), true, pass.plain);
    const torch::Tensor k = feature_map(
        shape_.feature, split_heads(pass.round(p + "k", rows[1]), shape_.heads), false, pass.plain);
    const torch::Tensor v = split_heads(pass.round(p + "v", rows[2]), shape_.heads);
    torch::Tensor y;
    if (place_.causal) {
      y = matrix_recurrence({q, k, v, {}, {}, {}, shape_.normalised}, pass.plain);
    } else {
      const torch::Tensor state = torch::einsum("ebthv,ebthk->ebhvk", {v, k});
      y = torch::einsum("ebhvk,ebthk->ebthv", {state, q});
      if (shape_.normalised) y = divided_by_total(y, (k.sum(2, true) * q).sum(-1, true));
    }
    return pass.round(p + "y", join_heads(y));
  }

 private:
  MixerShape shape_;
  MixerPlace place_;
  std::int64_t keys_ = 0, values_ = 0;
  ParameterLayout::Index weight_ = 0;
  std::optional<ShortConvolution> conv_;
};

}  // namespace

std::unique_ptr<LearnedMixer> linear_mixer(const MixerShape& shape, const MixerPlace& place,
                                           ParameterLayout& layout) {
  return std::make_unique<LinearAttention>(shape, place, layout);
}

}  // namespace rung::learn
