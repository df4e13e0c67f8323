#include "rung/learn/log_linear_attention.h"

#include "rung/learn/kernel_view.h"
#include "rung/learn/kernels/causal_reading.h"
#include "rung/learn/kernels/log_linear_attention.h"

namespace rung::learn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kWidestHead = 64;

kernels::LogLinearShape shape_of(const torch::Tensor& q, const torch::Tensor& v, const torch::Tensor& share) {
  return {q.size(0) * q.size(1), q.size(2), q.size(3), q.size(4), v.size(4), share.size(4), element_of(q)};
}

kernels::CausalReadingShape host_shape_of(const torch::Tensor& q, const torch::Tensor& v,
                                          const torch::Tensor& share) {
  return {q.size(0) * q.size(1), q.size(2), q.size(3), q.size(4), v.size(4), share.size(4), false};
}
kernels::CausalReadingInputs host_inputs(const torch::Tensor& q, const torch::Tensor& k,
                                         const torch::Tensor& v, const torch::Tensor& share,
                                         const torch::Tensor& decay) {
  return {slice_of(q), slice_of(k), slice_of(v), floats_of(share), floats_of(decay)};
}

class FastLogLinear : public torch::autograd::Function<FastLogLinear> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given_q,
                               const torch::Tensor& given_k, const torch::Tensor& given_v,
                               const torch::Tensor& given_share, const torch::Tensor& given_decay) {
    const torch::Tensor q = sliced(given_q), k = sliced(given_k), v = sliced(given_v),
                        share = given_share.contiguous();
    const torch::Tensor decay = is_given(given_decay) ? given_decay.contiguous() : torch::Tensor();
    const auto shape = shape_of(q, v, share);
    torch::Tensor y = torch::empty({q.size(0), q.size(1), q.size(2), q.size(3), v.size(4)}, v.options());
    if (q.is_cuda()) {
      torch::Tensor scratch =
          torch::empty({std::max<std::int64_t>(1, kernels::log_linear_scratch(shape))}, share.options());
      check_device(kernels::log_linear_forward_cuda(
                       shape, {slice_of(q), slice_of(k), slice_of(v), floats_of(share), floats_of(decay)},
                       mutable_slice_of(y), scratch.data_ptr<float>(), current_stream()),
                   "log_linear_attention");
    } else {
      kernels::causal_reading_forward(host_shape_of(q, v, share), host_inputs(q, k, v, share, decay),
                                      mutable_slice_of(y));
    }
    context->save_for_backward({q, k, v, share, decay});
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &share = saved[3], &decay = saved[4];
    const torch::Tensor dy = sliced(gradients[0]);
    const auto shape = shape_of(q, v, share);
    torch::Tensor dq = torch::empty(q.sizes(), q.options()), dk = torch::empty(k.sizes(), k.options()),
                  dv = torch::empty(v.sizes(), v.options()), dshare = torch::empty_like(share), ddecay;
    if (decay.defined()) ddecay = torch::empty_like(decay);
    if (q.is_cuda()) {
      const kernels::LogLinearGradients out{mutable_slice_of(dq), mutable_slice_of(dk), mutable_slice_of(dv),
                                            dshare.data_ptr<float>(),
                                            ddecay.defined() ? ddecay.data_ptr<float>() : nullptr};
      torch::Tensor scratch =
          torch::empty({std::max<std::int64_t>(1, kernels::log_linear_scratch(shape))}, share.options());
      check_device(kernels::log_linear_backward_cuda(
                       shape, {slice_of(q), slice_of(k), slice_of(v), floats_of(share), floats_of(decay)},
                       slice_of(dy), out, scratch.data_ptr<float>(), current_stream()),
                   "log_linear_attention backward");
    } else {
      kernels::causal_reading_backward(
          host_shape_of(q, v, share), host_inputs(q, k, v, share, decay), {}, slice_of(dy),
          {mutable_slice_of(dq), mutable_slice_of(dk), mutable_slice_of(dv), dshare.data_ptr<float>(),
           ddecay.defined() ? ddecay.data_ptr<float>() : nullptr});
    }
    return {dq, dk, dv, dshare, ddecay};
  }
};

}  // namespace

bool log_linear_fits(const LogLinearInputs& in) {
  if (in.share.size(4) < kernels::log_linear_levels(in.q.size(2))) return false;
  if (in.q.is_cuda()) return in.q.size(4) <= kWidestHead && in.v.size(4) <= kWidestHead;
  for (const torch::Tensor* x : {&in.q, &in.k, &in.v})
    if (!x->is_cpu() || x->scalar_type() != torch::kFloat32) return false;
  return kernels::causal_reading_fits(host_shape_of(in.q, in.v, in.share));
}

torch::Tensor log_linear_attention(const LogLinearInputs& in) {
  return FastLogLinear::apply(in.q, in.k, in.v, in.share, or_empty(in.log_decay, in.share));
}

}  // namespace rung::learn
