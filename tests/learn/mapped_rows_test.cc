// Rows of a fused projection, padded to a multiple: the same rows and gradients as without.
#include <gtest/gtest.h>

#include "rung/learn/mixers/short_convolution.h"

namespace rung::learn {
namespace {

TEST(MappedRows, padding_changes_no_row_and_no_gradient) {
  for (const bool convolves : {false, true}) {
    ParameterLayout layout;
    std::optional<ShortConvolution> conv;
    if (convolves) conv.emplace("p.", 12, 3, layout);
    Leaves leaves;
    if (convolves) leaves.tensors.push_back(torch::randn({2, 12, 3}));
    const std::vector<std::int64_t> sizes{4, 3, 5, 2, 1};
    const torch::Tensor u = torch::randn({2, 3, 5, 6}), weight = torch::randn({2, 15, 6});
    std::vector<torch::Tensor> outputs, gradients;
    for (const std::int64_t multiple : {1, 8, 5}) {
      const torch::Tensor x = u.clone().requires_grad_(), w = weight.clone().requires_grad_();
      const auto rows = mapped_rows(x, w, multiple, conv, 3, sizes, leaves);
      ASSERT_EQ(rows.size(), sizes.size());
      for (std::size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(rows[i].size(-1), sizes[i]);
      outputs.push_back(torch::cat(rows, -1));
      outputs.back().pow(2).sum().backward();
      gradients.push_back(torch::cat({x.grad().flatten(), w.grad().flatten()}));
    }
    for (std::size_t i = 1; i < outputs.size(); ++i) {
      EXPECT_TRUE(torch::allclose(outputs[0], outputs[i], 1e-5, 1e-5));
      EXPECT_TRUE(torch::allclose(gradients[0], gradients[i], 1e-4, 1e-4));
    }
  }
}

}  // namespace
}  // namespace rung::learn
