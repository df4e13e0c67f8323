// Causal attention on the device, against float64.
#include "rung/learn/kernels/causal_attention.h"

#include "tests/learn/kernels/attention_case.h"
#include "tests/learn/kernels/device/device_copy.h"

namespace rung::kernels {
namespace {

class DeviceAttention : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!device_present()) GTEST_SKIP() << "no CUDA device on this machine";
  }
};

// Forward, then backward with what forward kept, into the case's own buffers.
void attend_on_device(AttentionCase& given) {
  for (Buffer* out : {&given.y, &given.gradient, &given.log_sums}) out->fill(NAN);
  const DeviceCopy fused(given.fused), dy(given.dy), y(given.y), gradient(given.gradient),
      log_sums(given.log_sums),
      scratch(static_cast<std::size_t>(causal_attention_scratch(given.shape)) * sizeof(float));
  CausalAttentionInputs in = given.inputs();
  in = {fused.moved(in.q), fused.moved(in.k), fused.moved(in.v)};
  CausalAttentionGradients out = given.gradients();
  out = {gradient.moved(out.dq), gradient.moved(out.dk), gradient.moved(out.dv)};
  const MutableSlice to = y.moved(given.output());
  check(causal_attention_forward_cuda(given.shape, in, to, log_sums.as(), nullptr));
  check(causal_attention_backward_cuda(given.shape, in, to, log_sums.as(), dy.moved(given.output_gradient()),
                                       out, scratch.as(), nullptr));
  y.copy_to(given.y.data());
  gradient.copy_to(given.gradient.data());
  log_sums.copy_to(given.log_sums.data());
}

TEST_F(DeviceAttention, agrees_with_float64_and_leaves_gaps_alone) {
  std::vector<CausalAttentionShape> shapes = attention_shapes();
  for (const std::int64_t size : {16, 32, 64})
    shapes.push_back({.sequences = 1, .positions = 1000, .heads = 2, .size = size, .tau = 0.2f});
  shapes.push_back({.sequences = 200, .positions = 48, .heads = 3, .size = 32, .tau = 0.2f});
  std::uint64_t seed = 1;
  for (const CausalAttentionShape& shape : shapes) {
    SCOPED_TRACE(::testing::Message()
                 << "T=" << shape.positions << " H=" << shape.heads << " d=" << shape.size);
    ASSERT_TRUE(causal_attention_fits(shape));
    AttentionCase given(shape, seed++);
    attend_on_device(given);
    const AttentionReference expected = attention_reference(given);
    EXPECT_LT(output_distance(given, given.y, expected), kAttentionTolerance);
    EXPECT_LT(distance(given.log_sums, expected.log_sums, given.log_sums.count()), kLogSumTolerance);
    for (int which = 0; which < 3; ++which)
      EXPECT_LT(gradient_distance(given, given.gradient, expected, which), kAttentionTolerance) << which;
    EXPECT_TRUE(gaps_untouched(given.y, expected.y));
    EXPECT_TRUE(gaps_untouched(given.gradient, expected.gradient));
  }
}

TEST_F(DeviceAttention, has_the_same_bits_twice) {
  for (const auto& [positions, size] : {std::pair{256, 32}, {700, 32}, {256, 64}, {700, 64}}) {
    AttentionCase once({.sequences = 40, .positions = positions, .heads = 2, .size = size, .tau = 0.2f}, 5);
    AttentionCase again = once;
    attend_on_device(once);
    attend_on_device(again);
    for (std::int64_t i = 0; i < once.gradient.count(); ++i)
      ASSERT_TRUE(std::isnan(once.gradient[i]) || once.gradient[i] == again.gradient[i]) << i;
    for (std::int64_t i = 0; i < once.y.count(); ++i)
      ASSERT_TRUE(std::isnan(once.y[i]) || once.y[i] == again.y[i]) << i;
  }
}

TEST_F(DeviceAttention, what_does_not_fit_is_refused_before_a_launch) {
  const CausalAttentionShape odd{.sequences = 1, .positions = 8, .heads = 1, .size = 24, .tau = 1.0f};
  EXPECT_FALSE(causal_attention_fits(odd));
  EXPECT_NE(causal_attention_forward_cuda(odd, {}, {}, nullptr, nullptr), 0);
  // Vectors that do not begin at a multiple of 16 bytes.
  AttentionCase given({.sequences = 1, .positions = 8, .heads = 1, .size = 16, .tau = 1.0f}, 1);
  const DeviceCopy fused(given.fused), y(given.y), log_sums(given.log_sums);
  CausalAttentionInputs in = given.inputs();
  in = {fused.moved(in.q), fused.moved(in.k), fused.moved(in.v)};
  in.k.position_stride += 1;
  EXPECT_NE(causal_attention_forward_cuda(given.shape, in, y.moved(given.output()), log_sums.as(), nullptr),
            0);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace
}  // namespace rung::kernels
