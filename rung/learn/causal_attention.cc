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

// As the kernels take it: vectors begin at multiples of 16 bytes.
torch::Tensor sliced_in_sixteens(const torch::Tensor& x) {
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
    return kernels::MutableSlice{static_cast<kernels::Bf16*>(all.data_ptr()) + part * columns, all.stride(1),
                                 all.stride(2)};
  };
  return {from(0), from(1), from(2)};
}

class FusedCausalAttention : public torch::autograd::Function<FusedCausalAttention> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given, std::int64_t heads,
                               std::int64_t size, double tau) {
    const torch::Tensor all = sliced_in_sixteens(given);
    const auto shape = attention_shape(all, {heads, size, tau});
    const std::int64_t columns = heads * size;
    torch::Tensor y = torch::empty({all.size(0), all.size(1), all.size(2), columns}, all.options());
    const torch::Tensor log_sums =
        torch::empty({shape.sequences, heads, shape.positions}, all.options().dtype(torch::kFloat32));
    const auto [q, k, v] = three_slices(all, columns);
    check_device(kernels::causal_attention_forward_cuda(shape, {q, k, v}, mutable_slice_of(y),
                                                        log_sums.data_ptr<float>(), current_stream()),
                 "causal_attention");
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
    const torch::Tensor dy = sliced_in_sixteens(gradients[0]);
    const std::int64_t columns = heads.heads * heads.size;
    const torch::Tensor gradient = torch::empty(all.sizes(), all.options());
    const auto [q, k, v] = three_slices(all, columns);
    const auto [dq, dk, dv] = three_slices(gradient, columns);
    const auto shape = attention_shape(all, heads);
    const torch::Tensor scratch =
        torch::empty({kernels::causal_attention_scratch(shape)}, log_sums.options());
    check_device(kernels::causal_attention_backward_cuda(
                     shape, {q, k, v}, slice_of(y), log_sums.data_ptr<float>(), slice_of(dy), {dq, dk, dv},
                     scratch.data_ptr<float>(), current_stream()),
                 "causal_attention backward");
    return {gradient, torch::Tensor(), torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

bool causal_attention_fits(const torch::Tensor& projection, const AttentionHeads& heads) {
  return projection.is_cuda() && projection.scalar_type() == torch::kBFloat16 &&
         projection.size(-1) == 3 * heads.heads * heads.size &&
         kernels::causal_attention_fits(attention_shape(projection, heads));
}

torch::Tensor causal_attention(const torch::Tensor& projection, const AttentionHeads& heads) {
  return FusedCausalAttention::apply(projection, heads.heads, heads.size, heads.tau);
}

}  // namespace rung::learn
