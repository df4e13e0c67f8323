#include "rung/learn/matrix_recurrence.h"

#include "rung/learn/kernel_view.h"
#include "rung/learn/kernels/causal_reading.h"
#include "rung/learn/kernels/chunked_recurrence.h"

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

kernels::RecurrenceShape shape_of(const torch::Tensor& q, const torch::Tensor& v, bool delta,
                                  bool normalised) {
  return {q.size(0) * q.size(1), q.size(2), q.size(3), q.size(4), v.size(4),
          element_of(q),         delta,     normalised};
}

// On the CPU a short plain sum is read by products over pairs of positions, which costs less than its states.
constexpr std::int64_t kUnrolledPositions = 512;
kernels::CausalReadingShape unrolled(const kernels::RecurrenceShape& shape) {
  return {shape.sequences, shape.positions, shape.heads, shape.key_size, shape.value_size, 0,
          shape.normalised};
}
bool unrolls(const kernels::RecurrenceShape& shape, const torch::Tensor& q, bool decays) {
  return q.is_cpu() && shape.element == kernels::Element::f32 && !decays && !shape.delta &&
         shape.positions <= kUnrolledPositions && kernels::causal_reading_fits(unrolled(shape));
}

// x as the kernel of a shape takes it. Chunks want vectors at multiples of sixteen bytes: a copy costs less
// than the other kernels do.
torch::Tensor placed(const torch::Tensor& given, const kernels::RecurrenceShape& shape) {
  const torch::Tensor x = sliced(given);
  if (!x.is_cuda() || !kernels::recurrence_fits_chunks(shape)) return x;
  const std::int64_t many = 16 / kernels::element_size(shape.element);
  const bool packs = reinterpret_cast<std::uintptr_t>(x.data_ptr()) % 16 == 0 && x.stride(1) % many == 0 &&
                     x.stride(2) % many == 0;
  return packs ? x : x.clone(at::MemoryFormat::Contiguous);
}

class FastRecurrence : public torch::autograd::Function<FastRecurrence> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given_q,
                               const torch::Tensor& given_k, const torch::Tensor& given_v,
                               const torch::Tensor& given_decay, const torch::Tensor& given_beta,
                               bool normalised) {
    const auto shape = shape_of(given_q, given_v, is_given(given_beta), normalised);
    const torch::Tensor q = placed(given_q, shape), k = placed(given_k, shape), v = placed(given_v, shape);
    const torch::Tensor decay = is_given(given_decay) ? given_decay.contiguous() : torch::Tensor(),
                        beta = is_given(given_beta) ? given_beta.contiguous() : torch::Tensor();
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
    else if (unrolls(shape, q, decay.defined()))
      kernels::causal_reading_forward(unrolled(shape), {inputs.q, inputs.k, inputs.v}, mutable_slice_of(y));
    else
      kernels::matrix_recurrence_forward(shape, inputs, mutable_slice_of(y), kept);
    const bool reads_y = q.is_cpu() && normalised;
    context->save_for_backward({q, k, v, decay, beta, error, reads_y ? y : torch::Tensor()});
    context->saved_data["normalised"] = normalised;
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &decay = saved[3], &beta = saved[4],
                        &error = saved[5];
    const auto shape = shape_of(q, v, beta.defined(), context->saved_data["normalised"].toBool());
    const torch::Tensor dy = placed(gradients[0], shape);
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
    } else if (unrolls(shape, q, decay.defined())) {
      const torch::Tensor& y = saved[6];
      kernels::causal_reading_backward(unrolled(shape), {inputs.q, inputs.k, inputs.v},
                                       y.defined() ? slice_of(y) : kernels::Slice(), slice_of(dy),
                                       {out.dq, out.dk, out.dv});
    } else {
      kernels::matrix_recurrence_backward(shape, inputs, floats_of(error), slice_of(dy), out);
    }
    return {dq, dk, dv, ddecay, dbeta, torch::Tensor()};
  }
};

}  // namespace

torch::Tensor divided_by_total(const torch::Tensor& y, const torch::Tensor& total) {
  // One pass over y; the rest is a number a head.
  const torch::Tensor none = total == 0;
  return y * total.masked_fill(none, 1).reciprocal().masked_fill(none, 0);
}

torch::Tensor matrix_recurrence(const RecurrenceInputs& inputs, bool plain) {
  const auto shape = [&] { return shape_of(inputs.q, inputs.v, inputs.beta.defined(), inputs.normalised); };
  const bool slow = plain || inputs.settle;
  const auto unrolled_here = [&] { return unrolls(shape(), inputs.q, inputs.log_decay.defined()); };
  if (inputs.normalised) {
    RUNG_REQUIRE(!inputs.log_decay.defined() && !inputs.beta.defined(), "normalised with a decay or beta");
    if (slow || !(inputs.q.is_cuda() ? kernels::recurrence_fits_chunks(shape()) : unrolled_here())) {
      RecurrenceInputs apart = inputs;
      apart.normalised = false;
      return divided_by_total(matrix_recurrence(apart, plain), (inputs.k.cumsum(2) * inputs.q).sum(-1, true));
    }
  }
  if (slow || !(inputs.q.is_cuda() ? kernels::recurrence_fits_device(shape())
                                   : unrolled_here() || kernels::recurrence_fits_host(shape())))
    return plain_recurrence(inputs);
  return FastRecurrence::apply(inputs.q, inputs.k, inputs.v, or_empty(inputs.log_decay, inputs.q),
                               or_empty(inputs.beta, inputs.q), inputs.normalised);
}

}  // namespace rung::learn
