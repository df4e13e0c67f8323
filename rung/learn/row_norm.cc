#include "rung/learn/row_norm.h"

#include "rung/learn/kernel_view.h"
#include "rung/learn/kernels/row_norm.h"

namespace rung::learn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Rows: the last dimension; groups of rows: everything before the dimensions whose rows stand side by side. x
// [E, B, T, W] has one row a group, x [E, B, T, H, d] has H.
struct RowNormRows {
  kernels::NormShape shape;
  std::int64_t stride;
};

RowNormRows rows_of(const torch::Tensor& x, bool unit) {
  const std::int64_t inner = x.dim() == 5 ? x.size(3) : 1;
  kernels::NormShape shape;
  shape.outer = x.size(0) * x.size(1) * x.size(2), shape.inner = inner, shape.width = x.size(-1),
  shape.members = x.size(0);
  shape.element = element_of(x);
  shape.unit = unit;
  shape.epsilon = static_cast<float>(kNormEpsilon);
  return {shape, x.stride(2)};
}

// The positions of all sequences evenly spaced.
bool is_even(const torch::Tensor& x) {
  return is_sliced(x) && (x.size(1) == 1 || x.stride(1) == x.size(2) * x.stride(2));
}
torch::Tensor even(const torch::Tensor& x) { return is_even(x) ? x : x.contiguous(); }

class FastNorm : public torch::autograd::Function<FastNorm> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given,
                               const torch::Tensor& given_gain) {
    const torch::Tensor x = even(given), gain = is_given(given_gain)
                                                    ? given_gain.to(torch::kFloat32).contiguous()
                                                    : torch::Tensor();
    const RowNormRows rows = rows_of(x, !gain.defined());
    torch::Tensor y = torch::empty(x.sizes(), x.options());
    torch::Tensor inverse =
        torch::empty({rows.shape.outer * rows.shape.inner}, x.options().dtype(torch::kFloat32));
    const kernels::MutableNormRows out{y.data_ptr(), y.stride(2)};
    if (x.is_cuda())
      check_device(kernels::row_norm_forward_cuda(rows.shape, {x.data_ptr(), rows.stride}, floats_of(gain),
                                                  out, inverse.data_ptr<float>(), current_stream()),
                   "row_norm");
    else
      kernels::row_norm_forward(rows.shape, {x.data_ptr(), rows.stride}, floats_of(gain), out,
                                inverse.data_ptr<float>());
    context->save_for_backward({x, gain, inverse});
    if (is_given(given_gain))
      context->saved_data["gain_type"] = static_cast<std::int64_t>(given_gain.scalar_type());
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &gain = saved[1], &inverse = saved[2];
    const torch::Tensor dy = even(gradients[0]);
    const RowNormRows rows = rows_of(x, !gain.defined());
    torch::Tensor dx = torch::empty(x.sizes(), x.options()), dgain;
    if (gain.defined()) dgain = torch::empty_like(gain);
    float* to = gain.defined() ? dgain.data_ptr<float>() : nullptr;
    const kernels::NormRows in{x.data_ptr(), rows.stride}, slope{dy.data_ptr(), dy.stride(2)};
    const kernels::MutableNormRows out{dx.data_ptr(), dx.stride(2)};
    if (x.is_cuda()) {
      torch::Tensor scratch = torch::empty({std::max<std::int64_t>(1, kernels::row_norm_scratch(rows.shape))},
                                           x.options().dtype(torch::kFloat32));
      check_device(
          kernels::row_norm_backward_cuda(rows.shape, in, floats_of(gain), inverse.data_ptr<float>(), slope,
                                          out, to, scratch.data_ptr<float>(), current_stream()),
          "row_norm backward");
    } else {
      kernels::row_norm_backward(rows.shape, in, floats_of(gain), inverse.data_ptr<float>(), slope, out, to);
    }
    if (gain.defined())
      dgain = dgain.to(static_cast<torch::ScalarType>(context->saved_data["gain_type"].toInt()));
    return {dx, dgain};
  }
};

}  // namespace

torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& gain, bool plain) {
  if (!plain) return FastNorm::apply(x, gain);
  const torch::Tensor wide = x.to(torch::kFloat32);
  const torch::Tensor scale = wide.square().mean(-1, true).add(kNormEpsilon).rsqrt();
  return (wide * scale).to(x.dtype()) * gain.unsqueeze(1).unsqueeze(1);
}

torch::Tensor unit_rows(const torch::Tensor& x, bool plain) {
  if (!plain) return FastNorm::apply(x, or_empty({}, x));
  constexpr double kTiny =
      1e-24;  // far below the square of any number that float32 keeps apart from 0 here: a zero row stays 0
  const torch::Tensor wide = x.to(torch::kFloat32);
  return (wide * wide.square().sum(-1, true).add(kTiny).rsqrt()).to(x.dtype());
}

}  // namespace rung::learn
