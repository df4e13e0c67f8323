#include "rung/learn/matrix_recurrence.h"

#include "rung/learn/kernel_view.h"
#include "rung/learn/kernels/chunked_recurrence.h"

namespace rung::learn {
namespace {

bool by_channel(const RecurrenceInputs& in) {
  return in.log_decay.defined() && in.log_decay.dim() == in.q.dim();
}

torch::Tensor plain_recurrence(const RecurrenceInputs& in) {
  const std::int64_t length = in.q.size(2);
  torch::Tensor state = torch::zeros({in.q.size(0), in.q.size(1), in.q.size(3), in.v.size(4), in.q.size(4)},
                                     in.q.options().requires_grad(false));  // [E, B, H, dv, dk]
  torch::Tensor decay;                                                      // [E, B, T, H, 1, dk or 1]
  if (in.log_decay.defined()) {
    decay = in.log_decay.exp().to(state.dtype());
    decay = by_channel(in) ? decay.unsqueeze(-2) : decay.unsqueeze(-1).unsqueeze(-1);
  }
  std::vector<torch::Tensor> y;
  for (std::int64_t t = 0; t < length; ++t) {
    const torch::Tensor q = in.q.select(2, t).unsqueeze(-1),
                        k = in.k.select(2, t).unsqueeze(-1);  // [E, B, H, dk, 1]
    torch::Tensor u = in.v.select(2, t).unsqueeze(-1);        // [E, B, H, dv, 1]
    torch::Tensor p;                                          // [E, B, H, dv, 1]
    if (in.a.defined()) p = torch::matmul(state, in.a.select(2, t).unsqueeze(-1));
    if (decay.defined()) state = state * decay.select(2, t);
    if (in.beta.defined())
      u = in.beta.select(2, t).to(u.dtype()).unsqueeze(-1).unsqueeze(-1) * (u - torch::matmul(state, k));
    state = state + torch::matmul(u, k.transpose(-1, -2));
    if (p.defined()) state = state + torch::matmul(p, in.b.select(2, t).unsqueeze(-2));
    if (in.settle) state = in.settle(state, t + 1 == length);
    y.push_back(torch::matmul(state, q).squeeze(-1));
  }
  return torch::stack(y, 2);
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

kernels::RecurrenceShape shape_of(const RecurrenceInputs& in) {
  return {in.q.size(0) * in.q.size(1),
          in.q.size(2),
          in.q.size(3),
          in.q.size(4),
          in.v.size(4),
          element_of(in.q),
          in.beta.defined(),
          in.normalised,
          by_channel(in),
          in.a.defined()};
}
kernels::RecurrenceInputs views_of(const RecurrenceInputs& in) {
  kernels::RecurrenceInputs out{slice_of(in.q), slice_of(in.k), slice_of(in.v), floats_of(in.log_decay),
                                floats_of(in.beta)};
  if (in.a.defined()) out.a = slice_of(in.a), out.b = slice_of(in.b);
  return out;
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
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& q, const torch::Tensor& k,
                               const torch::Tensor& v, const torch::Tensor& log_decay,
                               const torch::Tensor& beta, const torch::Tensor& a, const torch::Tensor& b,
                               bool normalised) {
    const auto given = [](const torch::Tensor& x) { return is_given(x) ? x : torch::Tensor(); };
    RecurrenceInputs in{q, k, v, given(log_decay), given(beta), {}, normalised, given(a), given(b)};
    const auto shape = shape_of(in);
    for (torch::Tensor* x : {&in.q, &in.k, &in.v, &in.a, &in.b})
      if (x->defined()) *x = placed(*x, shape);
    for (torch::Tensor* x : {&in.log_decay, &in.beta})
      if (x->defined()) *x = x->contiguous();
    torch::Tensor y = torch::empty({q.size(0), q.size(1), q.size(2), q.size(3), v.size(4)}, v.options());
    torch::Tensor error;
    if (shape.delta || shape.low_rank) error = torch::empty(y.sizes(), y.options().dtype(torch::kFloat32));
    float* kept = error.defined() ? error.data_ptr<float>() : nullptr;
    if (q.is_cuda())
      check_device(kernels::matrix_recurrence_forward_cuda(shape, views_of(in), mutable_slice_of(y), kept,
                                                           current_stream()),
                   "matrix_recurrence");
    else
      kernels::matrix_recurrence_forward(shape, views_of(in), mutable_slice_of(y), kept);
    context->save_for_backward({in.q, in.k, in.v, in.log_decay, in.beta, in.a, in.b, error});
    context->saved_data["normalised"] = normalised;
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const RecurrenceInputs in{
        saved[0], saved[1], saved[2], saved[3], saved[4], {}, context->saved_data["normalised"].toBool(),
        saved[5], saved[6]};
    const torch::Tensor& error = saved[7];
    const auto shape = shape_of(in);
    const torch::Tensor dy = placed(gradients[0], shape);
    const auto like = [](const torch::Tensor& x) {
      return x.defined() ? torch::empty(x.sizes(), x.options()) : torch::Tensor();
    };
    torch::Tensor dq = like(in.q), dk = like(in.k), dv = like(in.v), ddecay = like(in.log_decay),
                  dbeta = like(in.beta), da = like(in.a), db = like(in.b);
    kernels::RecurrenceGradients out{mutable_slice_of(dq), mutable_slice_of(dk), mutable_slice_of(dv),
                                     ddecay.defined() ? ddecay.data_ptr<float>() : nullptr,
                                     dbeta.defined() ? dbeta.data_ptr<float>() : nullptr};
    if (shape.low_rank) out.da = mutable_slice_of(da), out.db = mutable_slice_of(db);
    if (in.q.is_cuda()) {
      torch::Tensor scratch =
          torch::empty({kernels::matrix_recurrence_scratch(shape)}, in.q.options().dtype(torch::kFloat32));
      check_device(
          kernels::matrix_recurrence_backward_cuda(shape, views_of(in), floats_of(error), slice_of(dy), out,
                                                   scratch.data_ptr<float>(), current_stream()),
          "matrix_recurrence backward");
    } else {
      kernels::matrix_recurrence_backward(shape, views_of(in), floats_of(error), slice_of(dy), out);
    }
    return {dq, dk, dv, ddecay, dbeta, da, db, torch::Tensor()};
  }
};

}  // namespace

torch::Tensor divided_by_total(const torch::Tensor& y, const torch::Tensor& total) {
  // One pass over y; the rest is a number a head.
  const torch::Tensor none = total == 0;
  return y * total.masked_fill(none, 1).reciprocal().masked_fill(none, 0);
}

torch::Tensor matrix_recurrence(const RecurrenceInputs& inputs, bool plain) {
  RUNG_REQUIRE(inputs.a.defined() == inputs.b.defined(), "a without b");
  const auto shape = [&] { return shape_of(inputs); };
  const bool slow = plain || inputs.settle;
  if (inputs.normalised) {
    RUNG_REQUIRE(!inputs.log_decay.defined() && !inputs.beta.defined(), "normalised with a decay or beta");
    if (slow || !(inputs.q.is_cuda() ? kernels::recurrence_fits_chunks(shape())
                                     : kernels::recurrence_fits_host(shape()))) {
      RecurrenceInputs apart = inputs;
      apart.normalised = false;
      return divided_by_total(matrix_recurrence(apart, plain), (inputs.k.cumsum(2) * inputs.q).sum(-1, true));
    }
  }
  if (slow || !(inputs.q.is_cuda() ? kernels::recurrence_fits_device(shape())
                                   : kernels::recurrence_fits_host(shape())))
    return plain_recurrence(inputs);
  const auto given = [&](const torch::Tensor& x) { return or_empty(x, inputs.q); };
  return FastRecurrence::apply(inputs.q, inputs.k, inputs.v, given(inputs.log_decay), given(inputs.beta),
                               given(inputs.a), given(inputs.b), inputs.normalised);
}

bool channels_have_kernel(std::int64_t key_size, std::int64_t value_size, bool on_device) {
  const kernels::RecurrenceShape shape{.key_size = key_size, .value_size = value_size, .channels = true};
  return on_device ? kernels::recurrence_fits_device(shape) : kernels::recurrence_fits_host(shape);
}

}  // namespace rung::learn
