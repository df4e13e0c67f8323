#include "rung/learn/causal_attention.h"

#include "rung/learn/kernel_view.h"
#include "rung/learn/kernels/causal_attention.h"

namespace rung::learn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

kernels::CausalAttentionShape attention_shape(const torch::Tensor& projection, const AttentionHeads& heads) {
  return {.sequences = projection.size(0) * projection.size(1),
          .positions = projection.size(2),
          .heads = heads.heads,
          .size = heads.size,
          .element = element_of(projection),
          .tau = static_cast<float>(heads.tau)};
}

// As the kernels take it: on a device vectors begin at multiples of 16 bytes.
torch::Tensor placed(const torch::Tensor& x) {
  if (x.is_cpu()) return sliced(x);
  const bool begins = reinterpret_cast<std::uintptr_t>(x.data_ptr()) % 16 == 0;
  if (begins && is_sliced(x) && x.stride(1) % 8 == 0 && x.stride(2) % 8 == 0) return x;
  const torch::Tensor copy = x.contiguous();
  return copy.is_same(x) ? x.clone() : copy;
}

// q, k and v of a tensor that is laid out as the projection.
struct ThreeSlices {
  kernels::MutableSlice q, k, v;
};
ThreeSlices three_slices(const torch::Tensor& all, std::int64_t columns) {
  const auto from = [&](std::int64_t part) {
    return kernels::MutableSlice{static_cast<char*>(all.data_ptr()) + part * columns * all.element_size(),
                                 all.stride(1), all.stride(2)};
  };
  return {from(0), from(1), from(2)};
}

class FusedCausalAttention : public torch::autograd::Function<FusedCausalAttention> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given, std::int64_t heads,
                               std::int64_t size, double tau) {
    const torch::Tensor all = placed(given);
    const auto shape = attention_shape(all, {heads, size, tau});
    const std::int64_t columns = heads * size;
    torch::Tensor y = torch::empty({all.size(0), all.size(1), all.size(2), columns}, all.options());
    const torch::Tensor log_sums =
        torch::empty({shape.sequences, heads, shape.positions}, all.options().dtype(torch::kFloat32));
    const auto [q, k, v] = three_slices(all, columns);
    if (all.is_cuda())
      check_device(kernels::causal_attention_forward_cuda(shape, {q, k, v}, mutable_slice_of(y),
                                                          log_sums.data_ptr<float>(), current_stream()),
                   "causal_attention");
    else
      kernels::causal_attention_forward(shape, {q, k, v}, mutable_slice_of(y), log_sums.data_ptr<float>());
    context->saved_data["heads"] = heads;
    context->saved_data["size"] = size;
    context->saved_data["tau"] = tau;
    context->save_for_backward({all, y, log_sums});
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &all = saved[0], &y = saved[1], &log_sums = saved[2];
    const AttentionHeads heads{context->saved_data["heads"].toInt(), context->saved_data["size"].toInt(),
                               context->saved_data["tau"].toDouble()};
    const torch::Tensor dy = placed(gradients[0]);
    const std::int64_t columns = heads.heads * heads.size;
    const torch::Tensor gradient = torch::empty(all.sizes(), all.options());
    const auto [q, k, v] = three_slices(all, columns);
    const auto [dq, dk, dv] = three_slices(gradient, columns);
    const auto shape = attention_shape(all, heads);
    if (all.is_cuda())
      check_device(
          kernels::causal_attention_backward_cuda(shape, {q, k, v}, slice_of(y), log_sums.data_ptr<float>(),
                                                  slice_of(dy), {dq, dk, dv}, current_stream()),
          "causal_attention backward");
    else
      kernels::causal_attention_backward(shape, {q, k, v}, slice_of(y), log_sums.data_ptr<float>(),
                                         slice_of(dy), {dq, dk, dv});
    return {gradient, torch::Tensor(), torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

bool causal_attention_pays(const torch::Tensor& projection, const AttentionHeads& heads) {
  const auto type = projection.scalar_type();
  if (type != torch::kBFloat16 && type != torch::kFloat32) return false;
  if (projection.size(-1) != 3 * heads.heads * heads.size) return false;
  const auto shape = attention_shape(projection, heads);
  if (projection.is_cpu()) return kernels::causal_attention_fits_host(shape);
  // Longer, cuDNN's kernels of heads of 64 are faster, copies included (bench/results/training.md).
  constexpr std::int64_t kWideHead = 64, kMostPositions = 1024;
  return projection.is_cuda() && type == torch::kBFloat16 && kernels::causal_attention_fits(shape) &&
         (heads.size < kWideHead || shape.positions <= kMostPositions);
}

torch::Tensor causal_attention(const torch::Tensor& projection, const AttentionHeads& heads) {
  return FusedCausalAttention::apply(projection, heads.heads, heads.size, heads.tau);
}

}  // namespace rung::learn
