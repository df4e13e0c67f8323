#include "rung/learn/diagonal_scan.h"

#include "rung/learn/kernel_view.h"
#include "rung/learn/kernels/diagonal_scan.h"

namespace rung::learn {
namespace {

torch::Tensor plain_scan(const ScanInputs& in) {
  const torch::Tensor a = in.a.unsqueeze(1);  // [E, 1, I, N]
  torch::Tensor h = torch::zeros({in.x.size(0), in.x.size(1), in.x.size(3), in.b.size(3)},
                                 in.step.options().requires_grad(false));
  std::vector<torch::Tensor> y;
  for (std::int64_t t = 0; t < in.x.size(2); ++t) {
    const torch::Tensor step = in.step.select(2, t).unsqueeze(-1);  // [E, B, I, 1]
    const torch::Tensor b = in.b.select(2, t).unsqueeze(2), c = in.c.select(2, t).unsqueeze(2),
                        x = in.x.select(2, t).unsqueeze(-1);  // [E, B, 1, N]
    h = (step * a).exp() * h + step * b * x;
    if (in.settle) h = in.settle(h, t + 1 == in.x.size(2));
    y.push_back((h * c).sum(-1));
  }
  return torch::stack(y, 2).to(in.x.dtype());
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

kernels::ScanShape shape_of(const torch::Tensor& x, const torch::Tensor& b) {
  return {x.size(0), x.size(0) * x.size(1), x.size(2), x.size(3), b.size(3), element_of(x)};
}

class FastScan : public torch::autograd::Function<FastScan> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given_x,
                               const torch::Tensor& given_b, const torch::Tensor& given_c,
                               const torch::Tensor& given_step, const torch::Tensor& given_a) {
    const torch::Tensor x = sliced(given_x), b = sliced(given_b), c = sliced(given_c),
                        step = sliced(given_step.to(x.dtype())), a = given_a.contiguous();
    const auto shape = shape_of(x, b);
    torch::Tensor y = torch::empty(x.sizes(), x.options()), checkpoints;
    const kernels::ScanInputs inputs{a.data_ptr<float>(), slice_of(step), slice_of(x), slice_of(b),
                                     slice_of(c)};
    if (x.is_cuda()) {
      checkpoints = torch::empty({kernels::scan_checkpoints(shape)}, a.options());
      check_device(kernels::diagonal_scan_forward_cuda(shape, inputs, mutable_slice_of(y),
                                                       checkpoints.data_ptr<float>(), current_stream()),
                   "diagonal_scan");
    } else {
      kernels::diagonal_scan_forward(shape, inputs, mutable_slice_of(y));
    }
    context->save_for_backward({x, b, c, step, a, checkpoints});
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &b = saved[1], &c = saved[2], &step = saved[3], &a = saved[4];
    const torch::Tensor dy = sliced(gradients[0]);
    const auto shape = shape_of(x, b);
    torch::Tensor dx = torch::empty(x.sizes(), x.options()), db = torch::empty(b.sizes(), b.options()),
                  dc = torch::empty(c.sizes(), c.options()),
                  dstep = torch::empty(step.sizes(), step.options()), da = torch::empty_like(a);
    const kernels::ScanInputs inputs{a.data_ptr<float>(), slice_of(step), slice_of(x), slice_of(b),
                                     slice_of(c)};
    const kernels::ScanGradients out{mutable_slice_of(dstep), mutable_slice_of(dx), mutable_slice_of(db),
                                     mutable_slice_of(dc), da.data_ptr<float>()};
    if (x.is_cuda()) {
      torch::Tensor scratch = torch::empty({kernels::diagonal_scan_scratch(shape)}, a.options());
      check_device(kernels::diagonal_scan_backward_cuda(shape, inputs, slice_of(dy), floats_of(saved[5]), out,
                                                        scratch.data_ptr<float>(), current_stream()),
                   "diagonal_scan backward");
    } else {
      kernels::diagonal_scan_backward(shape, inputs, slice_of(dy), out);
    }
    return {dx, db, dc, dstep.to(torch::kFloat32), da};
  }
};

}  // namespace

torch::Tensor diagonal_scan(const ScanInputs& inputs, bool plain) {
  if (plain || inputs.settle) return plain_scan(inputs);
  if (inputs.x.is_cuda() && !kernels::scan_fits_device(shape_of(inputs.x, inputs.b)))
    return plain_scan(inputs);
  return FastScan::apply(inputs.x, inputs.b, inputs.c, inputs.step, inputs.a);
}

}  // namespace rung::learn
