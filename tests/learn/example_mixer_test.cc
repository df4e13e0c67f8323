// The worked example of docs/mixers.md: a mixer in one file, and the three tests that every mixer has to
// pass.
#include <gtest/gtest.h>

#include "rung/base/random.h"
#include "rung/learn/mixer.h"
#include "tests/docs/page_code.h"

namespace rung::learn {
namespace {

// peak: y_t = max(0, v_1, ..., v_t) with v = W u.
class Peak : public LearnedMixer {
 public:
  Peak(const MixerPlace& place, std::int64_t inner, ParameterLayout& layout) : place_(place) {
    value_ = layout.add(place.prefix + "v.weight", {inner, place.width},
                        Start::normal(fan_in_deviation(place.width)), true);
  }

  torch::Tensor forward(const torch::Tensor& u, const Leaves& leaves,
                        const ForwardContext& pass) const override {
    const torch::Tensor v =
        pass.round(place_.prefix + "v", apply_map(u, leaves[value_]));  // [E, B, T, inner]
    return pass.round(place_.prefix + "y", pass.plain ? plain(v) : fast(v));
  }

 private:
  // As it is defined, position by position.
  static torch::Tensor plain(const torch::Tensor& v) {
    std::vector<torch::Tensor> y;
    torch::Tensor highest = torch::zeros_like(v.select(2, 0));
    for (std::int64_t t = 0; t < v.size(2); ++t) {
      highest = torch::maximum(highest, v.select(2, t));
      y.push_back(highest);
    }
    return torch::stack(y, 2);
  }

  // All positions at once.
  static torch::Tensor fast(const torch::Tensor& v) { return std::get<0>(v.cummax(2)).relu(); }

  MixerPlace place_;
  ParameterLayout::Index value_ = 0;
};

constexpr std::int64_t kWidth = 6, kInner = 5, kPrompts = 3, kLength = 9;

struct Outcome {
  torch::Tensor y, gradient, input_gradient;
};

Outcome outcome(const std::vector<std::uint64_t>& seeds, const torch::Tensor& input,
                const torch::Tensor& direction, bool plain) {
  ParameterLayout layout;
  const Peak mixer({"layers.0.", kWidth, true}, kInner, layout);
  Parameters parameters(layout, seeds, std::vector<double>(seeds.size(), 1.0), torch::kCPU, torch::kFloat32);
  const torch::Tensor u = input.detach().clone().requires_grad_();
  ForwardContext pass;
  pass.plain = plain;
  const torch::Tensor y = mixer.forward(u, parameters.leaves, pass);
  (y * direction).sum().backward();
  return {y.detach(), parameters.gradient.clone(), u.grad()};
}

torch::Tensor random_tensor(std::vector<std::int64_t> shape, std::uint64_t seed) {
  torch::Tensor out = torch::empty(shape);
  Random random(seed);
  for (std::int64_t i = 0; i < out.numel(); ++i)
    out.data_ptr<float>()[i] = static_cast<float>(2 * random.unit() - 1);
  return out;
}

double furthest(const torch::Tensor& a, const torch::Tensor& b) { return (a - b).abs().max().item<double>(); }

TEST(example_mixer, is_the_same_plain_and_fast_forward_and_backward) {
  const torch::Tensor u = random_tensor({2, kPrompts, kLength, kWidth}, 1),
                      direction = random_tensor({2, kPrompts, kLength, kInner}, 2);
  const Outcome plain = outcome({7, 8}, u, direction, true), fast = outcome({7, 8}, u, direction, false);
  EXPECT_GT(plain.y.abs().max().item<double>(), 0.1);
  EXPECT_GT(plain.gradient.abs().max().item<double>(), 0.1);
  EXPECT_LT(furthest(plain.y, fast.y), 1e-5);
  EXPECT_LT(furthest(plain.gradient, fast.gradient), 1e-4);
  EXPECT_LT(furthest(plain.input_gradient, fast.input_gradient), 1e-5);
}

TEST(example_mixer, is_what_its_formula_says_in_double_arithmetic) {
  const torch::Tensor u = random_tensor({1, kPrompts, kLength, kWidth}, 3);
  ParameterLayout layout;
  const Peak mixer({"layers.0.", kWidth, true}, kInner, layout);
  const Parameters parameters(layout, {5}, {1.0}, torch::kCPU, torch::kFloat32);
  const torch::NoGradGuard no_grad;
  const torch::Tensor y = mixer.forward(u, parameters.leaves, {});
  const float* weight = parameters.master.data_ptr<float>();
  double worst = 0;
  for (std::int64_t b = 0; b < kPrompts; ++b)
    for (std::int64_t t = 0; t < kLength; ++t)
      for (std::int64_t c = 0; c < kInner; ++c) {
        double peak = 0;
        for (std::int64_t s = 0; s <= t; ++s) {
          double value = 0;
          for (std::int64_t w = 0; w < kWidth; ++w)
            value += static_cast<double>(weight[c * kWidth + w]) * u[0][b][s][w].item<double>();
          peak = std::max(peak, value);
        }
        worst = std::max(worst, std::abs(peak - y[0][b][t][c].item<double>()));
      }
  EXPECT_LT(worst, 1e-5);
}

TEST(example_mixer, gives_a_member_the_outputs_that_it_has_alone) {
  const torch::Tensor u = random_tensor({2, kPrompts, kLength, kWidth}, 4),
                      direction = torch::ones({2, kPrompts, kLength, kInner});
  const torch::Tensor together = outcome({7, 8}, u, direction, false).y;
  const torch::Tensor alone = outcome({8}, u.narrow(0, 1, 1), direction.narrow(0, 1, 1), false).y;
  EXPECT_LT(furthest(together.narrow(0, 1, 1), alone), 1e-6);
  EXPECT_GT(furthest(together.narrow(0, 0, 1), alone), 1e-2);
}

TEST(example_mixer, stands_in_the_page_word_for_word) {
  expect_shown("docs/mixers.md", "tests/learn/example_mixer_test.cc", "// peak: y_t");
}

}  // namespace
}  // namespace rung::learn
