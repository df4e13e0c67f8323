#include "rung/learn/matrix_recurrence.h"

#include "rung/learn/kernel_view.h"
#include "rung/learn/kernels/matrix_recurrence.h"

namespace rung::learn {
namespace {

torch::Tensor plain_recurrence(const RecurrenceInputs& in) {
  const std::int64_t length = in.q.size(2);
  torch::Tensor state = torch::zeros({in.q.size(0), in.q.size(1), in.q.size(3), in.v.size(4), in.q.size(4)},
                                     in.q.options().requires_grad(false));  // [E, B, H, dv, dk]
  std::vector<torch::Tensor> y;
  for (std::int64_t t = 0; t < length; ++t) {
    const torch::Tensor q = in.q.select(2, t).unsqueeze(-1),
                        k = in.k.select(2, t).unsqueeze(-1);  // [E, B, H, dk, 1]
    torch::Tensor u = in.v.select(2, t).unsqueeze(-1);        // [E, B, H, dv, 1]
    if (in.log_decay.defined())
      state = state * in.log_decay.select(2, t).exp().to(state.dtype()).unsqueeze(-1).unsqueeze(-1);
    if (in.beta.defined())
      u = in.beta.select(2, t).to(u.dtype()).unsqueeze(-1).unsqueeze(-1) * (u - torch::matmul(state, k));
    state = state + torch::matmul(u, k.transpose(-1, -2));
    if (in.settle) state = in.settle(state, t + 1 == length);
    y.push_back(torch::matmul(state, q).squeeze(-1));
  }
  return torch::stack(y, 2);
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

kernels::RecurrenceShape shape_of(const torch::Tensor& q, const torch::Tensor& v, bool delta) {
  return {q.size(0) * q.size(1), q.size(2), q.size(3), q.size(4), v.size(4), element_of(q), delta};
}

class FastRecurrence : public torch::autograd::Function<FastRecurrence> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given_q,
                               const torch::Tensor& given_k, const torch::Tensor& given_v,
                               const torch::Tensor& given_decay, const torch::Tensor& given_beta) {
    const torch::Tensor q = sliced(given_q), k = sliced(given_k), v = sliced(given_v);
    const torch::Tensor decay = is_given(given_decay) ? given_decay.contiguous() : torch::Tensor(),
                        beta = is_given(given_beta) ? given_beta.contiguous() : torch::Tensor();
    const auto shape = shape_of(q, v, beta.defined());
    torch::Tensor y = torch::empty({q.size(0), q.size(1), q.size(2), q.size(3), v.size(4)}, v.options());
    torch::Tensor error;
    if (beta.defined()) error = torch::empty(y.sizes(), y.options().dtype(torch::kFloat32));
    const kernels::RecurrenceInputs inputs{slice_of(q), slice_of(k), slice_of(v), floats_of(decay),
                                           floats_of(beta)};
    float* kept = error.defined() ? error.data_ptr<float>() : nullptr;
    if (q.is_cuda())
      check_device(
          kernels::matrix_recurrence_forward_cuda(shape, inputs, mutable_slice_of(y), kept, current_stream()),
          "matrix_recurrence");
    else
      kernels::matrix_recurrence_forward(shape, inputs, mutable_slice_of(y), kept);
    context->save_for_backward({q, k, v, decay, beta, error});
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &decay = saved[3], &beta = saved[4],
                        &error = saved[5];
    const torch::Tensor dy = sliced(gradients[0]);
    const auto shape = shape_of(q, v, beta.defined());
    torch::Tensor dq = torch::empty(q.sizes(), q.options()), dk = torch::empty(k.sizes(), k.options()),
                  dv = torch::empty(v.sizes(), v.options()), ddecay, dbeta;
    if (decay.defined()) ddecay = torch::empty_like(decay);
    if (beta.defined()) dbeta = torch::empty_like(beta);
    const kernels::RecurrenceInputs inputs{slice_of(q), slice_of(k), slice_of(v), floats_of(decay),
                                           floats_of(beta)};
    const kernels::RecurrenceGradients out{mutable_slice_of(dq), mutable_slice_of(dk), mutable_slice_of(dv),
                                           ddecay.defined() ? ddecay.data_ptr<float>() : nullptr,
                                           dbeta.defined() ? dbeta.data_ptr<float>() : nullptr};
    if (q.is_cuda()) {
      torch::Tensor scratch =
          torch::empty({kernels::matrix_recurrence_scratch(shape)}, q.options().dtype(torch::kFloat32));
      check_device(kernels::matrix_recurrence_backward_cuda(shape, inputs, floats_of(error), slice_of(dy),
                                                            out, scratch.data_ptr<float>(), current_stream()),
                   "matrix_recurrence backward");
    } else {
      kernels::matrix_recurrence_backward(shape, inputs, floats_of(error), slice_of(dy), out);
    }
    return {dq, dk, dv, ddecay, dbeta};
  }
};

}  // namespace

torch::Tensor matrix_recurrence(const RecurrenceInputs& inputs, bool plain) {
  if (plain || inputs.settle) return plain_recurrence(inputs);
  const auto shape = shape_of(inputs.q, inputs.v, inputs.beta.defined());
  if (!(inputs.q.is_cuda() ? kernels::recurrence_fits_device(shape) : kernels::recurrence_fits_host(shape)))
    return plain_recurrence(inputs);
  return FastRecurrence::apply(inputs.q, inputs.k, inputs.v, or_empty(inputs.log_decay, inputs.q),
                               or_empty(inputs.beta, inputs.q));
}

}  // namespace rung::learn
