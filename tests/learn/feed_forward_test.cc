// The fused feed-forward block on the CPU against tensor operations in float64 (device_test.cc has the device's).
#include "rung/learn/feed_forward.h"

#include <gtest/gtest.h>

namespace rung::learn {
namespace {

struct BlockInputs {
  std::vector<torch::Tensor> all;  // x, gain, w1, b1, w2, b2
  FeedForwardLeaves leaves() const { return {all[1], all[2], all[3], all[4], all[5]}; }
  BlockInputs as(torch::ScalarType type) const {
    BlockInputs out;
    for (const torch::Tensor& x : all) out.all.push_back(x.to(type).detach().clone().requires_grad_(true));
    return out;
  }
};

BlockInputs drawn_block(std::int64_t members, std::int64_t width, std::int64_t hidden) {
  torch::manual_seed(3);
  return {{torch::randn({members, 3, 7, width}), 1 + 0.3 * torch::randn({members, width}),
           0.3 * torch::randn({members, hidden, width}), 0.5 * torch::randn({members, hidden}),
           0.2 * torch::randn({members, width, hidden}), 0.5 * torch::randn({members, width})}};
}

torch::Tensor by_tensor_operations(const BlockInputs& in) {
  const torch::Tensor& x = in.all[0];
  const auto beside = [](const torch::Tensor& p) { return p.unsqueeze(1).unsqueeze(1); };
  const auto map = [&](const torch::Tensor& rows, const torch::Tensor& w, const torch::Tensor& b) {
    return torch::einsum("ebtc,erc->ebtr", {rows, w}) + beside(b);
  };
  const torch::Tensor u = x * (x.square().mean(-1, true) + 1e-6).rsqrt() * beside(in.all[1]);
  return x + map(map(u, in.all[2], in.all[3]).relu(), in.all[4], in.all[5]);
}

TEST(feed_forward, has_the_outputs_and_gradients_of_tensor_operations_on_the_cpu) {
  for (const auto& [width, hidden] : {std::pair{12, 48}, {16, 33}}) {
    const BlockInputs drawn = drawn_block(2, width, hidden);
    const BlockInputs exact = drawn.as(torch::kDouble), fast = drawn.as(torch::kFloat32);
    const torch::Tensor direction = torch::randn({2, 3, 7, width});
    const torch::Tensor expected = by_tensor_operations(exact),
                        y = feed_forward(fast.all[0], fast.leaves(), MlpActivation::relu);
    expected.backward(direction.to(torch::kDouble));
    y.backward(direction);
    const auto near = [](const torch::Tensor& a, const torch::Tensor& b) {
      return ((a.to(torch::kDouble) - b).norm() / b.norm()).item<double>() < 1e-5;
    };
    EXPECT_TRUE(near(y, expected));
    EXPECT_FALSE(near(y, expected + 0.01));
    for (std::size_t i = 0; i < exact.all.size(); ++i)
      EXPECT_TRUE(near(fast.all[i].grad(), exact.all[i].grad())) << i;
  }
}

TEST(feed_forward, leaves_other_types_and_activations_on_the_cpu_to_tensor_operations) {
  const BlockInputs drawn = drawn_block(1, 32, 64);
  const auto applies = [&](torch::ScalarType type, MlpActivation activation) {
    const BlockInputs in = drawn.as(type);
    return feed_forward_applies(in.all[0], in.leaves(), activation);
  };
  EXPECT_TRUE(applies(torch::kFloat32, MlpActivation::relu));
  EXPECT_FALSE(applies(torch::kFloat32, MlpActivation::gelu));
  EXPECT_FALSE(applies(torch::kFloat32, MlpActivation::silu));
  EXPECT_FALSE(applies(torch::kDouble, MlpActivation::relu));
  EXPECT_FALSE(applies(torch::kBFloat16, MlpActivation::relu));
}

}  // namespace
}  // namespace rung::learn
