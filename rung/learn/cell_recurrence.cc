#include "rung/learn/cell_recurrence.h"

#include "rung/learn/kernel_view.h"

namespace rung::learn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

kernels::CellShape cell_shape(const torch::Tensor& sums, const torch::Tensor& state, kernels::CellKind kind,
                              int bits) {
  return {sums.size(0),    sums.size(0) * sums.size(1), sums.size(2), state.size(2), kind, bits,
          element_of(sums)};
}

class FastCell : public torch::autograd::Function<FastCell> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given_sums,
                               const torch::Tensor& given_state, const torch::Tensor& given_bias,
                               std::int64_t kind, std::int64_t bits) {
    const torch::Tensor sums = sliced(given_sums), state = given_state.contiguous(),
                        bias = given_bias.contiguous();
    const auto shape = cell_shape(sums, state, static_cast<kernels::CellKind>(kind), static_cast<int>(bits));
    const std::vector<std::int64_t> sizes{sums.size(0), sums.size(1), sums.size(2), shape.size};
    torch::Tensor y = torch::empty(sizes, sums.options()), states = torch::empty(sizes, state.options());
    const kernels::CellInputs inputs = view(sums, state, bias);
    if (sums.is_cuda())
      check_device(kernels::cell_forward_cuda(shape, inputs, states.data_ptr<float>(), mutable_slice_of(y),
                                              current_stream()),
                   "cell_recurrence");
    else
      kernels::cell_forward(shape, inputs, states.data_ptr<float>(), mutable_slice_of(y));
    context->save_for_backward({sums, state, bias, states});
    context->saved_data["kind"] = kind;
    context->saved_data["bits"] = bits;
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &sums = saved[0], &state = saved[1], &bias = saved[2], &states = saved[3];
    const auto shape =
        cell_shape(sums, state, static_cast<kernels::CellKind>(context->saved_data["kind"].toInt()),
                   static_cast<int>(context->saved_data["bits"].toInt()));
    const torch::Tensor dy = sliced(gradients[0]);
    torch::Tensor dsums = torch::empty(sums.sizes(), sums.options()),
                  e = torch::empty(sums.sizes(), state.options());
    const kernels::CellInputs inputs = view(sums, state, bias);
    if (sums.is_cuda())
      check_device(
          kernels::cell_backward_cuda(shape, inputs, states.data_ptr<float>(), slice_of(dy),
                                      mutable_slice_of(dsums), e.data_ptr<float>(), current_stream()),
          "cell_recurrence backward");
    else
      kernels::cell_backward(shape, inputs, states.data_ptr<float>(), slice_of(dy), mutable_slice_of(dsums),
                             e.data_ptr<float>());
    // dU = sum e_t h_{t-1}^T over the tokens but each sequence's first, whose state before is 0.
    const torch::Tensor before = states.narrow(2, 0, states.size(2) - 1).flatten(1, 2),
                        after = e.narrow(2, 1, e.size(2) - 1).flatten(1, 2);
    const torch::Tensor dstate = torch::bmm(after.transpose(1, 2), before);
    return {dsums, dstate, is_given(bias) ? e.sum({1, 2}) : torch::Tensor(), torch::Tensor(),
            torch::Tensor()};
  }

 private:
  static kernels::CellInputs view(const torch::Tensor& sums, const torch::Tensor& state,
                                  const torch::Tensor& bias) {
    return {state.data_ptr<float>(), is_given(bias) ? bias.data_ptr<float>() : nullptr, slice_of(sums)};
  }
};

}  // namespace

bool has_cell_kernel(const CellInputs& in) {
  return !in.sums.is_cuda() || kernels::cell_fits_device(cell_shape(in.sums, in.state, in.kind, in.bits));
}

torch::Tensor cell_recurrence(const CellInputs& in) {
  const torch::Tensor state = in.state.to(torch::kFloat32);
  const torch::Tensor bias = in.bias.defined() ? in.bias.to(torch::kFloat32) : or_empty({}, state);
  return FastCell::apply(in.sums, state, bias, static_cast<std::int64_t>(in.kind),
                         static_cast<std::int64_t>(in.bits));
}

}  // namespace rung::learn
