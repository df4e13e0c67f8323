#include "rung/learn/feed_forward.h"

#include <array>

#include "rung/learn/kernel_view.h"
#include "rung/learn/kernels/feed_forward.h"
#include "rung/learn/row_norm.h"

namespace rung::learn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

kernels::Activation kernel_activation(MlpActivation activation) {
  switch (activation) {
    case MlpActivation::relu:
      return kernels::Activation::relu;
    case MlpActivation::gelu:
      return kernels::Activation::gelu;
    case MlpActivation::silu:
      return kernels::Activation::silu;
  }
  return kernels::Activation::relu;
}

bool begins_aligned(const torch::Tensor& x) {
  return reinterpret_cast<std::uintptr_t>(x.data_ptr()) % 16 == 0;
}

// Rows side by side, on a device sixteen bytes at a time.
torch::Tensor packed_rows(const torch::Tensor& x) {
  const torch::Tensor whole = x.contiguous();
  return whole.is_cpu() || begins_aligned(whole) ? whole : whole.clone();
}
// A leaf as it lies in the members' buffer, or a copy without gaps where it lies otherwise.
torch::Tensor member_rows(const torch::Tensor& leaf) {
  const bool fits = leaf.select(0, 0).is_contiguous() &&
                    (leaf.is_cpu() || (leaf.stride(0) % 8 == 0 && begins_aligned(leaf)));
  return fits ? leaf : packed_rows(leaf);
}

template <class T>
T* numbers_of(const torch::Tensor& x) {
  return static_cast<T*>(x.data_ptr());
}
template <class T>
kernels::MemberValuesOf<T> values_of(const torch::Tensor& x) {
  return {numbers_of<T>(x), x.stride(0)};
}

kernels::FeedForwardShape block_shape(const torch::Tensor& x, const torch::Tensor& w1,
                                      std::int64_t activation) {
  return {.members = x.size(0),
          .rows = x.size(1) * x.size(2),
          .width = x.size(3),
          .hidden = w1.size(1),
          .activation = static_cast<kernels::Activation>(activation),
          .epsilon = static_cast<float>(kNormEpsilon)};
}

class FusedFeedForward : public torch::autograd::Function<FusedFeedForward> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given,
                               const torch::Tensor& gain, const torch::Tensor& w1, const torch::Tensor& b1,
                               const torch::Tensor& w2, const torch::Tensor& b2, std::int64_t activation) {
    const torch::Tensor x = packed_rows(given);
    const variable_list kept{
        x, member_rows(gain), member_rows(w1), member_rows(b1), member_rows(w2), member_rows(b2)};
    torch::Tensor y = torch::empty(x.sizes(), x.options());
    const kernels::FeedForwardShape shape = block_shape(x, w1, activation);
    if (x.is_cuda())
      check_device(
          kernels::feed_forward_cuda(shape, numbers_of<kernels::Bf16>(x), weights_of<kernels::Bf16>(kept),
                                     numbers_of<kernels::Bf16>(y), current_stream()),
          "feed_forward");
    else
      kernels::feed_forward_forward(shape, numbers_of<float>(x), weights_of<float>(kept),
                                    numbers_of<float>(y));
    context->save_for_backward(kept);
    context->saved_data["activation"] = activation;
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list kept = context->get_saved_variables();
    const torch::Tensor &x = kept[0], dy = packed_rows(gradients[0]);
    variable_list out;
    for (const torch::Tensor& tensor : kept) out.push_back(torch::empty(tensor.sizes(), x.options()));
    const kernels::FeedForwardShape shape =
        block_shape(x, kept[2], context->saved_data["activation"].toInt());
    if (x.is_cuda()) {
      torch::Tensor scratch = torch::empty({std::max<std::int64_t>(1, kernels::feed_forward_scratch(shape))},
                                           x.options().dtype(torch::kFloat32));
      check_device(kernels::feed_forward_backward_cuda(
                       shape, numbers_of<kernels::Bf16>(x), weights_of<kernels::Bf16>(kept),
                       numbers_of<kernels::Bf16>(dy), gradients_of<kernels::Bf16>(out),
                       scratch.data_ptr<float>(), current_stream()),
                   "feed_forward backward");
    } else {
      kernels::feed_forward_backward(shape, numbers_of<float>(x), weights_of<float>(kept),
                                     numbers_of<float>(dy), gradients_of<float>(out));
    }
    out.emplace_back();
    return out;
  }

 private:
  template <class T>
  static kernels::FeedForwardWeightsOf<T> weights_of(const variable_list& kept) {
    return {values_of<T>(kept[1]), values_of<T>(kept[2]), values_of<T>(kept[3]), values_of<T>(kept[4]),
            values_of<T>(kept[5])};
  }
  template <class T>
  static kernels::FeedForwardGradientsOf<T> gradients_of(const variable_list& out) {
    return {numbers_of<T>(out[0]), numbers_of<T>(out[1]), numbers_of<T>(out[2]),
            numbers_of<T>(out[3]), numbers_of<T>(out[4]), numbers_of<T>(out[5])};
  }
};

}  // namespace

bool feed_forward_applies(const torch::Tensor& x, const FeedForwardLeaves& leaves, MlpActivation activation) {
  const bool host = x.is_cpu();
  for (const torch::Tensor* tensor : {&x, &leaves.gain, &leaves.w1, &leaves.b1, &leaves.w2, &leaves.b2})
    if (tensor->device() != x.device() ||
        tensor->scalar_type() != (host ? torch::kFloat32 : torch::kBFloat16))
      return false;
  if (host) return activation == MlpActivation::relu;
  return x.is_cuda() && kernels::feed_forward_fits(x.size(-1), leaves.w1.size(1));
}

torch::Tensor feed_forward(const torch::Tensor& x, const FeedForwardLeaves& leaves,
                           MlpActivation activation) {
  return FusedFeedForward::apply(x, leaves.gain, leaves.w1, leaves.b1, leaves.w2, leaves.b2,
                                 static_cast<std::int64_t>(kernel_activation(activation)));
}

}  // namespace rung::learn
