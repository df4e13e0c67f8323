// Causal attention on the fused projection, on the CPU and on a GPU, against the formula in float64. The latter is skipped,
// saying so, where there is no device.
#include "rung/learn/causal_attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "rung/learn/device_stream.h"

namespace rung::learn {
namespace {

// [E, B, T, 3 H d] -> [E, B, T, H d]
torch::Tensor attention_by_formula(const torch::Tensor& projection, const AttentionHeads& division) {
  const auto heads_first = [&](const torch::Tensor& x) {
    return x.unflatten(-1, std::vector<std::int64_t>{division.heads, division.size}).transpose(2, 3);
  };
  const auto parts = projection.chunk(3, -1);
  const torch::Tensor q = heads_first(parts[0]), k = heads_first(parts[1]), v = heads_first(parts[2]);
  const std::int64_t length = projection.size(2);
  const torch::Tensor hidden = torch::ones({length, length}, torch::kBool).triu(1);
  const torch::Tensor weight =
      (torch::matmul(q, k.transpose(-1, -2)) * division.tau).masked_fill(hidden, -INFINITY).softmax(-1);
  return torch::matmul(weight, v).transpose(2, 3).flatten(-2);
}

double relative_difference(const torch::Tensor& a, const torch::Tensor& b) {
  const torch::Tensor x = a.detach().cpu().to(torch::kDouble), y = b.detach().cpu().to(torch::kDouble);
  return ((x - y).norm() / y.norm()).item<double>();
}

TEST(causal_attention, has_no_kernel_for_bfloat16_on_the_cpu_nor_for_doubles) {
  EXPECT_FALSE(causal_attention_pays(torch::zeros({1, 1, 4, 96}, torch::kBFloat16), {1, 32, 0.2}));
  EXPECT_FALSE(causal_attention_pays(torch::zeros({1, 1, 4, 96}, torch::kDouble), {1, 32, 0.2}));
  EXPECT_FALSE(causal_attention_pays(torch::zeros({1, 1, 4, 97}), {1, 32, 0.2}));
}

TEST(causal_attention, has_the_outputs_and_gradients_of_the_formula_on_the_cpu) {
  for (const std::int64_t length : {1, 7, 130}) {
    const AttentionHeads division{2, 6, 0.4};
    const torch::Tensor given = torch::randn({2, 3, length, 36}),
                        direction = torch::randn({2, 3, length, 12});
    torch::Tensor exact = given.to(torch::kDouble).requires_grad_(true),
                  fast = given.clone().requires_grad_(true);
    ASSERT_TRUE(causal_attention_pays(fast, division));
    const torch::Tensor expected = attention_by_formula(exact, division),
                        y = causal_attention(fast, division);
    EXPECT_LT(relative_difference(y, expected), 1e-5);
    expected.backward(direction.to(torch::kDouble));
    y.backward(direction);
    EXPECT_LT(relative_difference(fast.grad(), exact.grad()), 1e-5);
    // A gradient without memory of its own, and a projection that is a part of another.
    exact.mutable_grad() = fast.mutable_grad() = torch::Tensor();
    const torch::Tensor wide = torch::cat({fast, fast}, -1).narrow(-1, 0, 36);
    attention_by_formula(exact, division).sum().backward();
    causal_attention(wide, division).sum().backward();
    EXPECT_LT(relative_difference(fast.grad(), exact.grad()), 1e-5);
  }
}

TEST(device_attention, is_left_to_the_library_for_long_contexts_of_wide_heads) {
  if (auto ready = cuda_ready(); !ready) GTEST_SKIP() << ready.error().message;
  const auto pays = [](std::int64_t length, std::int64_t size) {
    return causal_attention_pays(
        torch::zeros({1, 1, length, 3 * size}, torch::dtype(torch::kBFloat16).device(torch::kCUDA)),
        {1, size, 0.125});
  };
  EXPECT_TRUE(pays(1024, 64));
  EXPECT_FALSE(pays(1025, 64));
  EXPECT_TRUE(pays(4096, 32));
}

TEST(device_attention, has_the_outputs_and_gradients_of_the_formula) {
  if (auto ready = cuda_ready(); !ready) GTEST_SKIP() << ready.error().message;
  for (const std::int64_t size : {16, 32, 64})
    for (const std::int64_t length : {7, 130, 300}) {
      SCOPED_TRACE(testing::Message() << "d=" << size << " T=" << length);
      const AttentionHeads division{2, size, 1 / std::sqrt(static_cast<double>(size))};
      const torch::Tensor given = torch::randn({2, 3, length, 6 * size}).to(torch::kBFloat16),
                          direction = torch::randn({2, 3, length, 2 * size}).to(torch::kBFloat16);
      torch::Tensor exact = given.to(torch::kDouble).requires_grad_(true),
                    fast = given.to(torch::kCUDA).requires_grad_(true);
      ASSERT_TRUE(causal_attention_pays(fast, division));
      const torch::Tensor expected = attention_by_formula(exact, division),
                          y = causal_attention(fast, division);
      EXPECT_LT(relative_difference(y, expected), 8e-3);
      expected.backward(direction.to(torch::kDouble));
      y.backward(direction.to(torch::kCUDA));
      EXPECT_LT(relative_difference(fast.grad(), exact.grad()), 8e-3);
      // A gradient without memory of its own.
      exact.mutable_grad() = fast.mutable_grad() = torch::Tensor();
      attention_by_formula(exact, division).sum().backward();
      causal_attention(fast, division).sum().backward();
      EXPECT_LT(relative_difference(fast.grad(), exact.grad()), 8e-3);
    }
}

}  // namespace
}  // namespace rung::learn
