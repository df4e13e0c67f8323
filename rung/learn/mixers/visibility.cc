#include "rung/learn/mixers/visibility.h"

#include <cmath>

namespace rung::learn {

torch::Tensor hidden_positions(const MixerShape& shape, bool causal, std::int64_t length,
                               torch::Device device) {
  const torch::Tensor place = torch::arange(length, torch::TensorOptions(torch::kLong).device(device));
  const torch::Tensor i = place.unsqueeze(1), j = place.unsqueeze(0);
  torch::Tensor hidden =
      causal ? j > i : torch::zeros({length, length}, torch::TensorOptions(torch::kBool).device(device));
  if (shape.window) hidden = hidden | ((causal ? i - j : (i - j).abs()) >= *shape.window);
  if (shape.chunk) hidden = hidden | (i.div(*shape.chunk, "floor") != j.div(*shape.chunk, "floor"));
  return hidden;
}

bool is_plainly_causal(const MixerShape& shape, bool causal) {
  return causal && !shape.window && !shape.chunk;
}

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1)
bool has_causal_attention(const torch::Tensor& q) { return q.is_cuda() && q.dim() == 5; }

torch::Tensor library_causal_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                       double tau) {
  const auto flat = [](const torch::Tensor& x) { return x.flatten(0, 1); };
  return at::scaled_dot_product_attention(flat(q), flat(k), flat(v), {}, 0.0, true, tau)
      .unflatten(0, {q.size(0), q.size(1)});
}
#else
bool has_causal_attention(const torch::Tensor&) { return false; }

torch::Tensor library_causal_attention(const torch::Tensor&, const torch::Tensor&, const torch::Tensor&,
                                       double) {
  RUNG_REQUIRE(false, "libtorch {}.{} has no causal attention", TORCH_VERSION_MAJOR, TORCH_VERSION_MINOR);
  return {};
}
#endif

torch::Tensor softmax_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                double tau, const torch::Tensor& hidden, bool plain) {
  if (plain) {
    const torch::Tensor weight =
        (torch::matmul(q, k.transpose(-1, -2)) * tau).masked_fill(hidden, -INFINITY).softmax(-1);
    return torch::matmul(weight.nan_to_num(0), v);
  }
  // The mask enters the product itself: one pass over the scores less.
  const std::int64_t length = q.size(-2), seen = k.size(-2);
  const auto flat = [](const torch::Tensor& x) { return x.reshape({-1, x.size(-2), x.size(-1)}); };
  if (hidden.dim() == 2) {
    const torch::Tensor mask =
        torch::zeros({length, seen}, q.options().requires_grad(false)).masked_fill_(hidden, -INFINITY);
    const torch::Tensor weight =
        torch::baddbmm(mask.unsqueeze(0), flat(q), flat(k).transpose(1, 2), 1, tau).softmax(-1);
    return torch::bmm(weight, flat(v)).view({q.size(0), q.size(1), q.size(2), length, v.size(-1)});
  }
  const torch::Tensor weight =
      (torch::matmul(q, k.transpose(-1, -2)) * tau).masked_fill(hidden, -INFINITY).softmax(-1);
  return torch::matmul(weight.nan_to_num(0), v);
}

}  // namespace rung::learn
