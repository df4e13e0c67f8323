// The device kernels against their twins on the host (log-linear attention and the feed-forward block: against
// their definition), on the same cases. Outputs are NaN beforehand, so that what is not written is seen; gaps between slices must stay
// NaN.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "rung/learn/kernels/bias_rows.h"
#include "rung/learn/kernels/task_instances.h"
#include "tests/learn/kernels/adamw_case.h"
#include "tests/learn/kernels/answer_case.h"
#include "tests/learn/kernels/cell_case.h"
#include "tests/learn/kernels/device/device_copy.h"
#include "tests/learn/kernels/embedding_case.h"
#include "tests/learn/kernels/feed_forward_case.h"
#include "tests/learn/kernels/instance_case.h"
#include "tests/learn/kernels/log_linear_case.h"
#include "tests/learn/kernels/norm_case.h"
#include "tests/learn/kernels/recurrence_case.h"
#include "tests/learn/kernels/scan_case.h"

namespace rung::kernels {
namespace {

class Device : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!device_present()) GTEST_SKIP() << "no CUDA device on this machine";
  }
};

// The recurrence of a case on the device: y, gradient, dlog_decay, dbeta.
struct RecurrenceOutputs {
  Buffer y, gradient, dlog_decay, dbeta;
};
RecurrenceOutputs recur_on_device(RecurrenceCase& given) {
  const DeviceCopy fused(given.fused), dy(given.dy), log_decay(given.log_decay), beta(given.beta);
  const DeviceCopy y(given.y), gradient(given.gradient), dlog_decay(given.dlog_decay), dbeta(given.dbeta),
      error(given.error);
  RecurrenceInputs in = given.inputs();
  in = {fused.moved(in.q), fused.moved(in.k), fused.moved(in.v), given.decays ? log_decay.as() : nullptr,
        given.shape.delta ? beta.as() : nullptr};
  RecurrenceGradients out = given.gradients();
  out = {gradient.moved(out.dq), gradient.moved(out.dk), gradient.moved(out.dv),
         given.decays ? dlog_decay.as() : nullptr, given.shape.delta ? dbeta.as() : nullptr};
  const DeviceCopy scratch(static_cast<std::size_t>(matrix_recurrence_scratch(given.shape)) * sizeof(float));
  check(matrix_recurrence_forward_cuda(given.shape, in, y.moved(given.output()), error.as(), nullptr));
  check(matrix_recurrence_backward_cuda(given.shape, in, error.as(), dy.moved(given.output_gradient()), out,
                                        scratch.as(), nullptr));
  return {y.read(given.y), gradient.read(given.gradient), dlog_decay.read(given.dlog_decay),
          dbeta.read(given.dbeta)};
}

TEST_F(Device, matrix_recurrence_agrees_with_the_host) {
  auto shapes = recurrence_shapes();
  shapes.push_back({64, 256, 2, 32, 32, Element::bf16, true});
  // Aligned and in bfloat16, heads of 16, 32 and 64 numbers go through the tensor cores.
  for (const std::int64_t positions : {1, 5, 63, 64, 65, 200})
    for (const std::int64_t size : {16, 32, 64})
      for (const bool delta : {false, true})
        shapes.push_back({3, positions, 2, size, size, Element::bf16, delta});
  for (const auto& shape : shapes)
    for (const auto& [decays, aligned] :
         {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
      RecurrenceCase given(shape, decays, 11, aligned);
      SCOPED_TRACE(::testing::Message()
                   << "T=" << shape.positions << " dk=" << shape.key_size << " dv=" << shape.value_size
                   << " delta=" << shape.delta << " decay=" << decays
                   << " f32=" << (shape.element == Element::f32) << " aligned=" << aligned);
      for (Buffer* out : {&given.y, &given.gradient, &given.dlog_decay, &given.dbeta}) out->fill(NAN);
      const RecurrenceOutputs device = recur_on_device(given);
      matrix_recurrence_forward(shape, given.inputs(), given.output(), given.error.floats());
      matrix_recurrence_backward(shape, given.inputs(), given.error.floats(), given.output_gradient(),
                                 given.gradients());
      EXPECT_LT(apart(device.y, given.y), tolerance(shape.element));
      EXPECT_LT(apart(device.gradient, given.gradient), tolerance(shape.element));
      if (shape.positions > 1) {
        EXPECT_LT(apart(device.dlog_decay, given.dlog_decay), 1e-4);
      } else if (
          decays) {  // the first decay acts on nothing: its gradient is 0, and both are what rounding leaves
        for (std::int64_t i = 0; i < given.dlog_decay.count(); ++i)
          EXPECT_NEAR(device.dlog_decay[i], 0.0, 1e-3);
      }
      EXPECT_LT(apart(device.dbeta, given.dbeta), 1e-4);
    }
}

TEST_F(Device, matrix_recurrence_agrees_where_decays_are_strong_and_betas_reach_2) {
  for (const double strongest : {1e-4, 20.0, 200.0})
    for (const bool delta : {false, true}) {
      SCOPED_TRACE(::testing::Message() << "delta=" << delta << " decays to " << -strongest);
      RecurrenceCase given({3, 200, 2, 32, 32, Element::bf16, delta}, true, 5, true, strongest, 2.0);
      for (Buffer* out : {&given.y, &given.gradient, &given.dlog_decay, &given.dbeta}) out->fill(NAN);
      const RecurrenceOutputs device = recur_on_device(given);
      matrix_recurrence_forward(given.shape, given.inputs(), given.output(), given.error.floats());
      matrix_recurrence_backward(given.shape, given.inputs(), given.error.floats(), given.output_gradient(),
                                 given.gradients());
      EXPECT_LT(apart(device.y, given.y), tolerance(Element::bf16));
      EXPECT_LT(apart(device.gradient, given.gradient), tolerance(Element::bf16));
      EXPECT_LT(apart(device.dlog_decay, given.dlog_decay), 3e-4);
      EXPECT_LT(apart(device.dbeta, given.dbeta), 1e-4);
    }
}

TEST_F(Device, linear_attention_divides_by_the_sum_of_its_weights) {
  for (const std::int64_t size : {16, 32, 64})
    for (const std::int64_t positions : {1, 5, 63, 64, 65, 200}) {
      SCOPED_TRACE(::testing::Message() << "d=" << size << " T=" << positions);
      RecurrenceCase given({3, positions, 2, size, size, Element::bf16, false, true}, false, 7, true);
      make_features(given);
      const auto expected = attend_linearly(given);
      given.y.fill(NAN);
      given.gradient.fill(0.0);
      const RecurrenceOutputs device = recur_on_device(given);
      EXPECT_LT(apart(device.y, expected.y), tolerance(Element::bf16));
      EXPECT_LT(apart(device.gradient, expected.gradient), tolerance(Element::bf16));
    }
  // Where chunks do not fit, nothing does.
  RecurrenceCase odd({1, 5, 1, 16, 16, Element::bf16, false, true}, false, 7, false);
  EXPECT_NE(matrix_recurrence_forward_cuda(odd.shape, odd.inputs(), odd.output(), nullptr, nullptr), 0);
}

TEST_F(Device, matrix_recurrence_has_the_same_bits_twice) {
  for (const std::int64_t size : {32, 64}) {
    RecurrenceCase given({200, 100, 2, 32, size, Element::bf16, true}, true, 1, true);
    const RecurrenceOutputs once = recur_on_device(given), again = recur_on_device(given);
    EXPECT_EQ(distance(once.y, again.y, once.y.count()), 0.0);
    EXPECT_EQ(apart(once.gradient, again.gradient), 0.0);
    EXPECT_EQ(distance(once.dlog_decay, again.dlog_decay, once.dlog_decay.count()), 0.0);
    // A sequence alone.
    RecurrenceCase first = given;
    first.shape.sequences = 1;
    const RecurrenceOutputs alone = recur_on_device(first);
    for (std::int64_t i = 0; i < 100 * 2 * size; ++i) ASSERT_EQ(alone.y[i], once.y[i]);
    for (std::int64_t i = 0; i < 100 * 2; ++i) ASSERT_EQ(alone.dlog_decay[i], once.dlog_decay[i]);
  }
}

TEST_F(Device, row_norm_agrees_with_the_host) {
  auto shapes = norm_shapes();
  shapes.push_back({.outer = 6000, .inner = 2, .width = 32, .members = 3, .element = Element::bf16});
  for (const NormShape& shape : shapes)
    for (const bool gained : {false, true})
      for (const bool aligned : {false, true}) {
        if (shape.unit && gained) continue;
        NormCase given(shape, gained, 5, aligned);
        SCOPED_TRACE(::testing::Message() << "width=" << shape.width << " inner=" << shape.inner << " unit="
                                          << shape.unit << " gain=" << gained << " aligned=" << aligned);
        for (Buffer* out : {&given.y, &given.dx, &given.inverse, &given.dgain}) out->fill(NAN);
        const DeviceCopy x(given.x), dy(given.dy), gain(given.gain);
        const DeviceCopy y(given.y), dx(given.dx), inverse(given.inverse), dgain(given.dgain);
        const DeviceCopy scratch(static_cast<std::size_t>(row_norm_scratch(shape)) * sizeof(float));
        const float* factor = gained ? gain.as() : nullptr;
        check(row_norm_forward_cuda(shape, {x.as<void>(), given.stride}, factor, {y.as<void>(), given.stride},
                                    inverse.as(), nullptr));
        check(row_norm_backward_cuda(shape, {x.as<void>(), given.stride}, factor, inverse.as(),
                                     {dy.as<void>(), given.stride}, {dx.as<void>(), given.stride},
                                     gained ? dgain.as() : nullptr, scratch.as(), nullptr));
        row_norm_forward(shape, given.in(), given.gain_data(), given.out(), given.inverse.floats());
        row_norm_backward(shape, given.in(), given.gain_data(), given.inverse.floats(), given.out_gradient(),
                          given.in_gradient(), gained ? given.dgain.floats() : nullptr);
        EXPECT_LT(apart(y.read(given.y), given.y), tolerance(shape.element));
        EXPECT_LT(apart(inverse.read(given.inverse), given.inverse), 1e-5);
        EXPECT_LT(apart(dx.read(given.dx), given.dx), tolerance(shape.element));
        EXPECT_LT(apart(dgain.read(given.dgain), given.dgain), 3e-5);
      }
}

TEST_F(Device, answer_loss_agrees_with_the_host) {
  for (const Element element : {Element::f32, Element::bf16})
    for (const std::int64_t size : {1, 2, 7, 8, 16, 33, 40, 256, 300, 512, 1000})
      for (const float smoothing : {0.0f, 0.1f}) {
        AnswerCase given(41, size, element, smoothing, 3);
        given.target[5] = -1;
        for (std::int64_t j = 0; j < size; ++j) given.logits.set(7 * size + j, 1.0);  // a tie
        given.dlogits.fill(NAN);
        const DeviceCopy logits(given.logits), target(given.target), weight(given.row_weight);
        const DeviceCopy loss(given.loss), correct(given.correct), dlogits(given.dlogits);
        AnswerRows rows = given.rows();
        rows.logits = logits.as<void>();
        rows.target = target.as<std::int64_t>();
        rows.row_weight = weight.as();
        check(answer_loss_cuda(rows, loss.as(), correct.as<std::uint8_t>(), dlogits.as<void>(), nullptr));
        answer_loss(given.rows(), given.loss.floats(), given.correct.data(), given.dlogits.data());
        std::vector<std::uint8_t> right(given.correct.size());
        correct.copy_to(right.data());
        EXPECT_EQ(right, given.correct) << size;
        EXPECT_LT(apart(loss.read(given.loss), given.loss), 1e-5) << size;
        EXPECT_LT(apart(dlogits.read(given.dlogits), given.dlogits), tolerance(element)) << size;
        // In place.
        check(answer_loss_cuda(rows, loss.as(), correct.as<std::uint8_t>(), logits.as<void>(), nullptr));
        EXPECT_LT(apart(logits.read(given.dlogits), given.dlogits), tolerance(element)) << size;
      }
}

TEST_F(Device, a_bias_is_added_to_every_row_of_its_member) {
  for (const Element element : {Element::f32, Element::bf16})
    for (const std::int64_t width : {1, 6, 8, 64, 257, 1024})
      for (const std::int64_t rows : {1, 7, 8, 100}) {
        constexpr std::int64_t kMembers = 3;
        Random random(9);
        Buffer values(element, kMembers * rows * width), bias(element, kMembers * width);
        values.draw(random), bias.draw(random);
        Buffer expected = values;
        for (std::int64_t i = 0; i < expected.count(); ++i)
          expected.set(i, values[i] + bias[i / (rows * width) * width + i % width]);
        const DeviceCopy there(values), added(bias);
        check(add_bias_cuda({kMembers, rows, width, element, there.as<void>(), added.as<void>()}, nullptr));
        EXPECT_EQ(apart(there.read(values), expected), 0.0) << width << " " << rows;
      }
}

FeedForwardOutputs feed_forward_on_device(const FeedForwardCase& given) {
  FeedForwardOutputs out(given.shape);
  const DeviceCopy x(given.x), dy(given.dy), gain(given.gain.numbers), w1(given.w1.numbers),
      b1(given.b1.numbers), w2(given.w2.numbers), b2(given.b2.numbers);
  const DeviceCopy y(out.y), dx(out.dx), dgain(out.dgain), dw1(out.dw1), db1(out.db1), dw2(out.dw2),
      db2(out.db2);
  const DeviceCopy scratch(static_cast<std::size_t>(feed_forward_scratch(given.shape)) * sizeof(float));
  const FeedForwardWeights weights{{gain.as<Bf16>(), given.gain.stride},
                                   {w1.as<Bf16>(), given.w1.stride},
                                   {b1.as<Bf16>(), given.b1.stride},
                                   {w2.as<Bf16>(), given.w2.stride},
                                   {b2.as<Bf16>(), given.b2.stride}};
  check(feed_forward_cuda(given.shape, x.as<Bf16>(), weights, y.as<Bf16>(), nullptr));
  check(feed_forward_backward_cuda(
      given.shape, x.as<Bf16>(), weights, dy.as<Bf16>(),
      {dx.as<Bf16>(), dgain.as<Bf16>(), dw1.as<Bf16>(), db1.as<Bf16>(), dw2.as<Bf16>(), db2.as<Bf16>()},
      scratch.as(), nullptr));
  out.y = y.read(out.y), out.dx = dx.read(out.dx), out.dgain = dgain.read(out.dgain);
  out.dw1 = dw1.read(out.dw1), out.db1 = db1.read(out.db1), out.dw2 = dw2.read(out.dw2);
  out.db2 = db2.read(out.db2);
  return out;
}

TEST_F(Device, feed_forward_agrees_with_its_definition) {
  EXPECT_FALSE(feed_forward_fits(48, 64));
  EXPECT_FALSE(feed_forward_fits(64, 72));
  for (const std::int64_t members : {1, 3})
    for (const std::int64_t rows : {1, 17, 128, 200, 1333})
      for (const std::int64_t hidden : {32, 64, 96, 128, 256})
        for (const std::int64_t width : {32, 64})
          for (const Activation activation : {Activation::relu, Activation::gelu, Activation::silu}) {
            if (!feed_forward_fits(width, hidden)) continue;
            SCOPED_TRACE(::testing::Message() << "members=" << members << " rows=" << rows << " width="
                                              << width << " hidden=" << hidden << " " << name_of(activation));
            const FeedForwardCase given({members, rows, width, hidden, activation}, 6);
            EXPECT_LT(worst_distance(feed_forward_on_device(given), feed_forward(given)),
                      activation == Activation::relu ? kUnitTolerance : kFeedForwardTolerance);
          }
}

TEST_F(Device, feed_forward_has_the_same_bits_again) {
  if (!feed_forward_fits(64, 64)) GTEST_SKIP() << "no room for the block on this device";
  const FeedForwardCase given({.members = 2, .rows = 3000, .width = 64, .hidden = 64}, 9);
  const FeedForwardOutputs one = feed_forward_on_device(given), other = feed_forward_on_device(given);
  for (const auto& [a, b] :
       {std::pair(&one.y, &other.y), std::pair(&one.dx, &other.dx), std::pair(&one.dgain, &other.dgain),
        std::pair(&one.dw1, &other.dw1), std::pair(&one.db1, &other.db1), std::pair(&one.dw2, &other.dw2),
        std::pair(&one.db2, &other.db2)})
    EXPECT_EQ(apart(*a, *b), 0.0);
}

TEST_F(Device, embedding_agrees_with_the_host) {
  auto cases = embedding_cases();
  cases.emplace_back(EmbeddingShape{1, 64, 256, 64, 1, false, Element::bf16, 256},
                     std::vector<std::int64_t>{40}, 5);
  cases.emplace_back(EmbeddingShape{2, 8, 100, 200, 1, false, Element::f32, 0}, std::vector<std::int64_t>{9},
                     6);
  for (EmbeddingCase& given : cases) {
    std::vector<EmbeddingField> fields = given.fields();
    std::vector<std::unique_ptr<DeviceCopy>> held;
    for (std::size_t f = 0; f < fields.size(); ++f) {
      held.push_back(given.shape.wide_tokens ? std::make_unique<DeviceCopy>(given.tokens[f])
                                             : std::make_unique<DeviceCopy>(given.narrow[f]));
      fields[f].tokens = held.back()->as<void>();
      held.push_back(std::make_unique<DeviceCopy>(given.tables[f]));
      fields[f].table = held.back()->as<void>();
      held.push_back(std::make_unique<DeviceCopy>(given.gradients[f]));
      fields[f].gradient = held.back()->as();
    }
    const DeviceCopy position(given.position), dposition(given.dposition), dx(given.dx), x(given.x.bytes());
    const DeviceCopy scratch(static_cast<std::size_t>(embedding_sum_scratch(given.shape, fields.data())) * 4);
    check(embedding_sum_forward_cuda(given.shape, fields.data(),
                                     given.positioned() ? position.as<void>() : nullptr, x.as<void>(),
                                     nullptr));
    check(embedding_sum_backward_cuda(given.shape, fields.data(), dx.as<void>(),
                                      given.positioned() ? dposition.as() : nullptr, scratch.as(), nullptr));
    const auto own = given.fields();
    embedding_sum_forward(given.shape, own.data(), given.positioned() ? given.position.data() : nullptr,
                          given.x.data());
    embedding_sum_backward(given.shape, own.data(), given.dx.data(),
                           given.positioned() ? given.dposition.floats() : nullptr);
    EXPECT_LT(apart(x.read(given.x), given.x), tolerance(given.shape.element));
    for (std::size_t f = 0; f < fields.size(); ++f)
      EXPECT_LT(apart(held[3 * f + 2]->read(given.gradients[f]), given.gradients[f]), 1e-5);
    if (given.positioned()) {
      EXPECT_LT(apart(dposition.read(given.dposition), given.dposition), 1e-5);
    }
  }
}

// Forward and backward on the device, into the case's own buffers.
void attend_on_device(LogLinearCase& given) {
  const LogLinearShape& s = given.shape;
  given.gradient.fill(0.0);
  const DeviceCopy fused(given.fused), dy(given.dy), share(given.share), log_decay(given.log_decay),
      gradient(given.gradient), y(given.y.bytes()), dshare(given.dshare.bytes()),
      dlog_decay(given.dlog_decay.bytes()),
      scratch(static_cast<std::size_t>(log_linear_scratch(s)) * sizeof(float));
  LogLinearInputs in = given.inputs();
  in = {fused.moved(in.q), fused.moved(in.k), fused.moved(in.v), share.as(),
        given.decays ? log_decay.as() : nullptr};
  const LogLinearGradients out{gradient.moved(given.slice<MutableSlice>(given.gradient, 0)),
                               gradient.moved(given.slice<MutableSlice>(given.gradient, 1)),
                               gradient.moved(given.slice<MutableSlice>(given.gradient, 2)), dshare.as(),
                               given.decays ? dlog_decay.as() : nullptr};
  check(log_linear_forward_cuda(s, in, whole(y.as<void>(), s.positions, s.heads, s.value_size), scratch.as(),
                                nullptr));
  check(log_linear_backward_cuda(
      s, in, whole(static_cast<const void*>(dy.as<void>()), s.positions, s.heads, s.value_size), out,
      scratch.as(), nullptr));
  y.copy_to(given.y.data());
  gradient.copy_to(given.gradient.data());
  dshare.copy_to(given.dshare.data());
  dlog_decay.copy_to(given.dlog_decay.data());
}

TEST_F(Device, log_linear_attention_agrees_with_its_definition) {
  for (const Element element : {Element::f32, Element::bf16}) {
    std::vector<LogLinearShape> shapes = log_linear_shapes(element);
    for (const std::int64_t size : {16, 32, 64})
      shapes.push_back({1, 1000, 2, size, size, log_linear_levels(1000), element});
    shapes.push_back({300, 48, 3, 32, 32, log_linear_levels(48), element});
    for (const LogLinearShape& shape : shapes)
      for (const bool decays : {false, true})
        for (const std::int64_t gap : {1, 8}) {  // vectors that begin anywhere, and at multiples of 16 bytes
          LogLinearCase given(shape, decays, 17, gap);
          SCOPED_TRACE(::testing::Message()
                       << "T=" << shape.positions << " dk=" << shape.key_size << " dv=" << shape.value_size
                       << " decay=" << decays << " gap=" << gap << " f32=" << (element == Element::f32));
          const LogLinearReference expected = attend(given);
          attend_on_device(given);
          EXPECT_LT(apart(given.y, expected.y), tolerance(element));
          EXPECT_LT(apart(given.gradient, expected.gradient), tolerance(element));
          EXPECT_LT(apart(given.dshare, expected.dshare), 1e-4);
          if (decays) {
            EXPECT_LT(apart(given.dlog_decay, expected.dlog_decay), 1e-3);
          }
        }
  }
}

TEST_F(Device, log_linear_attention_has_the_same_bits_twice) {
  for (const std::int64_t positions : {256, 700}) {
    LogLinearCase once({40, positions, 2, 32, 32, log_linear_levels(positions), Element::bf16}, true, 5, 8);
    LogLinearCase again = once;
    attend_on_device(once);
    attend_on_device(again);
    for (const auto of :
         {&LogLinearCase::y, &LogLinearCase::gradient, &LogLinearCase::dshare, &LogLinearCase::dlog_decay})
      for (std::int64_t i = 0; i < (once.*of).count(); ++i) ASSERT_EQ((once.*of)[i], (again.*of)[i]) << i;
  }
}

TEST_F(Device, diagonal_scan_agrees_with_the_host) {
  for (const ScanShape& shape : scan_shapes()) {
    ScanCase given(shape, 6);
    SCOPED_TRACE(::testing::Message() << "T=" << shape.positions << " I=" << shape.channels
                                      << " J=" << shape.states << " f32=" << (shape.element == Element::f32));
    for (Buffer* out : {&given.y, &given.gradient, &given.da}) out->fill(NAN);
    const DeviceCopy fused(given.fused), dy(given.dy), a(given.a), gradient(given.gradient), y(given.y),
        da(given.da);
    const DeviceCopy checkpoints(static_cast<std::size_t>(scan_checkpoints(shape)) * sizeof(float));
    const DeviceCopy scratch(static_cast<std::size_t>(diagonal_scan_scratch(shape)) * sizeof(float));
    ScanInputs in = given.inputs();
    in = {a.as(), fused.moved(in.step), fused.moved(in.x), fused.moved(in.b), fused.moved(in.c)};
    ScanGradients out = given.gradients();
    out = {gradient.moved(out.dstep), gradient.moved(out.dx), gradient.moved(out.db), gradient.moved(out.dc),
           da.as()};
    check(diagonal_scan_forward_cuda(shape, in, y.moved(given.output()), checkpoints.as(), nullptr));
    check(diagonal_scan_backward_cuda(shape, in, dy.moved(given.output_gradient()), checkpoints.as(), out,
                                      scratch.as(), nullptr));
    diagonal_scan_forward(shape, given.inputs(), given.output());
    diagonal_scan_backward(shape, given.inputs(), given.output_gradient(), given.gradients());
    EXPECT_LT(apart(y.read(given.y), given.y), tolerance(shape.element));
    EXPECT_LT(apart(gradient.read(given.gradient), given.gradient), tolerance(shape.element));
    EXPECT_LT(apart(da.read(given.da), given.da), 1e-4);
  }
}

TEST_F(Device, cells_agree_with_the_host) {
  std::vector<CellShape> shapes = cell_shapes();
  shapes.push_back({3, 9, 70, 6, CellKind::gru, 7, Element::f32});
  shapes.push_back({2, 8, 40, 20, CellKind::tanh, 7, Element::f32});
  for (const CellShape& shape : shapes) {
    CellCase given(shape, 6);
    SCOPED_TRACE(::testing::Message()
                 << "T=" << shape.positions << " S=" << shape.size << " kind=" << static_cast<int>(shape.kind)
                 << " bits=" << shape.bits << " f32=" << (shape.element == Element::f32));
    for (Buffer* out : {&given.y, &given.states, &given.e}) out->fill(NAN);
    const DeviceCopy fused(given.fused), dy(given.dy), state(given.state), bias(given.bias),
        gradient(given.gradient), y(given.y), states(given.states), e(given.e);
    CellInputs in = given.inputs();
    in = {state.as(), given.biased() ? bias.as() : nullptr, fused.moved(in.sums)};
    check(cell_forward_cuda(shape, in, states.as(), y.moved(given.output()), nullptr));
    check(cell_backward_cuda(shape, in, states.as(), dy.moved(given.output_gradient()),
                             gradient.moved(given.sums_gradient()), e.as(), nullptr));
    cell_forward(shape, given.inputs(), given.states.floats(), given.output());
    cell_backward(shape, given.inputs(), given.states.floats(), given.output_gradient(),
                  given.sums_gradient(), given.e.floats());
    // Near a tie the two may round to neighbours, of which there are 127.
    const double near = shape.bits > 0 ? 0.01 : tolerance(shape.element),
                 exact = shape.bits > 0 ? 0.01 : 1e-4;
    EXPECT_LT(apart(y.read(given.y), given.y), near);
    EXPECT_LT(apart(states.read(given.states), given.states), exact);
    EXPECT_LT(apart(gradient.read(given.gradient), given.gradient), near);
    EXPECT_LT(apart(e.read(given.e), given.e), exact);
  }
}

TEST_F(Device, instances_are_those_of_the_host_bit_for_bit) {
  std::vector<InstanceCase> cases = instance_cases();
  for (std::size_t i = 0, plain = cases.size(); i < plain; ++i)
    if (asks_again(cases[i].task.kind)) {
      InstanceCase several = cases[i];
      several.task.questions = 3, several.task.spacing = 5;
      cases.push_back(several);
      several = cases[i];
      several.task.thoughts = true;
      if (instances_fit(several.task)) cases.push_back(several);
    }
  for (const InstanceCase& given : cases) {
    const std::int64_t length = instance_tokens(given.task), answers = instance_answers(given.task),
                       batch = 70;
    const std::vector<std::uint64_t> seeds = {1, 0xFEEDFACECAFEBEEFULL, 0};
    const std::vector<std::int64_t> step = {1000000007};
    std::vector<std::int32_t> tokens(3 * batch * length), drawn(tokens.size());
    std::vector<std::int64_t> targets(3 * batch * answers), found(targets.size()), places(targets.size()),
        stands(targets.size());
    const DeviceCopy seed(seeds), counter(step), out(tokens), answered(targets), positions(places);
    const DeviceCopy scratch(static_cast<std::size_t>(task_instances_scratch(given.task, 3, batch)) * 4);
    InstanceTask there = given.task;  // its tables on the device
    const InstanceAutomaton& automaton = given.task.automaton;
    const DeviceCopy next(automaton.next, static_cast<std::size_t>(automaton.states * automaton.letters) *
                                              sizeof(*automaton.next)),
        outputs(automaton.out, static_cast<std::size_t>(automaton.states) * sizeof(*automaton.out));
    if (automaton.next)
      there.automaton.next = next.as<std::uint32_t>(), there.automaton.out = outputs.as<std::int64_t>();
    const bool gaps = given.task.gap_weights != nullptr;
    const DeviceCopy weights(given.task.gap_weights,
                             gaps ? static_cast<std::size_t>(given.task.queries) * sizeof(std::uint64_t) : 0);
    if (gaps) there.gap_weights = weights.as<std::uint64_t>();
    check(task_instances_cuda(
        there,
        {3, batch, seed.as<std::uint64_t>(), counter.as<std::int64_t>(), out.as<std::int32_t>(),
         answered.as<std::int64_t>(), nullptr, 0, nullptr, positions.as<std::int64_t>()},
        scratch.as<std::int32_t>(), nullptr));
    task_instances(given.task, {3, batch, seeds.data(), step.data(), tokens.data(), targets.data(), nullptr,
                                0, nullptr, places.data()});
    out.copy_to(drawn.data());
    answered.copy_to(found.data());
    positions.copy_to(stands.data());
    EXPECT_EQ(drawn, tokens) << given.name;
    EXPECT_EQ(found, targets) << given.name;
    EXPECT_EQ(stands, places) << given.name;
    if (given.task.thoughts || given.task.variant != InstanceVariant::uniform) continue;
    if (given.task.kind != InstanceKind::evaluation && given.task.kind != InstanceKind::seqcomp) continue;
    std::vector<InstanceSupport> supports(3, whole_support(given.task));
    for (std::int64_t& size : supports[1].size) size = (size + 1) / 2;
    const DeviceCopy support(supports);
    check(task_instances_cuda(
        given.task,
        {3, batch, seed.as<std::uint64_t>(), counter.as<std::int64_t>(), out.as<std::int32_t>(),
         answered.as<std::int64_t>(), support.as<InstanceSupport>()},
        scratch.as<std::int32_t>(), nullptr));
    task_instances(given.task,
                   {3, batch, seeds.data(), step.data(), tokens.data(), targets.data(), supports.data()});
    out.copy_to(drawn.data());
    answered.copy_to(found.data());
    EXPECT_EQ(drawn, tokens) << given.name << " from a support";
    EXPECT_EQ(found, targets) << given.name << " from a support";
    if (given.task.kind != InstanceKind::seqcomp || given.task.levels < 2) continue;
    std::vector<std::int64_t> between(targets.size() * (given.task.levels - 1)), passed(between.size());
    const DeviceCopy values(between);
    check(task_instances_cuda(
        given.task,
        {3, batch, seed.as<std::uint64_t>(), counter.as<std::int64_t>(), out.as<std::int32_t>(),
         answered.as<std::int64_t>(), support.as<InstanceSupport>(), 0, values.as<std::int64_t>()},
        scratch.as<std::int32_t>(), nullptr));
    task_instances(given.task, {3, batch, seeds.data(), step.data(), tokens.data(), targets.data(),
                                supports.data(), 0, between.data()});
    values.copy_to(passed.data());
    EXPECT_EQ(passed, between) << given.name << " values between";
  }
}

// Instances and AdamW captured once, replayed many times: nothing comes from the host between steps.
TEST_F(Device, a_captured_step_counts_its_own_steps) {
  for (const Element element : {Element::f32, Element::bf16}) {
    AdamWCase given(3, 9001, element, 4);
    const DeviceCopy parameters(given.parameters), gradients(given.gradients), first(given.first),
        second(given.second), peak(given.peak), weight_decay(given.weight_decay), norm(given.norm),
        rounded(given.rounded), decays(given.decays), alive(given.alive),
        step(&given.step, sizeof(given.step));
    const DeviceCopy scratch(static_cast<std::size_t>(adamw_scratch(3, 9001)));
    AdamWBuffers on = given.buffers();
    on.parameters = parameters.as();
    on.rounded = rounded.as<Bf16>();
    on.gradients = gradients.as<void>();
    on.first = first.as();
    on.second = second.as();
    on.decays = decays.as<std::uint8_t>();
    on.peak = peak.as();
    on.weight_decay = weight_decay.as();
    on.alive = alive.as<std::uint8_t>();
    on.step = step.as<std::int64_t>();
    on.norm = norm.as();
    const InstanceTask task{.kind = InstanceKind::evaluation, .n = 9, .sigma = 9};
    const std::vector<std::uint64_t> seeds = {5};
    std::vector<std::int32_t> tokens(4 * 10);
    std::vector<std::int64_t> targets(4);
    const DeviceCopy seed(seeds), drawn(tokens), answered(targets);
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;
    check(cudaStreamCreate(&stream));
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    check(task_instances_cuda(task,
                              {1, 4, seed.as<std::uint64_t>(), step.as<std::int64_t>(),
                               drawn.as<std::int32_t>(), answered.as<std::int64_t>()},
                              nullptr, stream));
    check(adamw_step_cuda(given.settings, on, scratch.as<void>(), stream));
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&replay, graph, 0));
    for (int t = 0; t < 5; ++t) {
      check(cudaGraphLaunch(replay, stream));
      task_instances(task, {1, 4, seeds.data(), &given.step, tokens.data(), targets.data()});
      adamw_step(given.settings, given.buffers());
    }
    check(cudaStreamSynchronize(stream));
    check(cudaGraphExecDestroy(replay));
    check(cudaGraphDestroy(graph));
    check(cudaStreamDestroy(stream));
    std::int64_t counted = 0;
    step.copy_to(&counted);
    EXPECT_EQ(counted, 5);
    std::vector<std::int32_t> last(tokens.size());
    drawn.copy_to(last.data());
    EXPECT_EQ(last, tokens);
    EXPECT_LT(apart(parameters.read(given.parameters), given.parameters), 1e-6);
    EXPECT_LT(apart(second.read(given.second), given.second), 1e-6);
    EXPECT_LT(apart(norm.read(given.norm), given.norm), 1e-6);
    std::vector<Bf16> copy(given.rounded.size());
    rounded.copy_to(copy.data());
    const Buffer now = parameters.read(given.parameters);
    for (std::int64_t i = 0; i < now.count(); ++i) {
      Bf16 nearest;
      store(nearest, static_cast<float>(now[i]));
      ASSERT_EQ(copy[i].bits, nearest.bits);
    }
    // A gradient that is not finite ends one member alone.
    Buffer bad = given.gradients;
    bad.set(9001 + 77, std::nan(""));
    check(cudaMemcpy(gradients.as<void>(), bad.data(), bad.bytes(), cudaMemcpyHostToDevice));
    check(adamw_step_cuda(given.settings, on, scratch.as<void>(), nullptr));
    alive.copy_to(given.alive.data());
    EXPECT_EQ(given.alive, (std::vector<std::uint8_t>{1, 0, 1}));
    const Buffer after = parameters.read(given.parameters);
    EXPECT_EQ(after[9001 + 5], now[9001 + 5]);
    EXPECT_NE(after[5], now[5]);
  }
}

TEST_F(Device, sizes_that_do_not_fit_are_refused_before_a_launch) {
  EXPECT_NE(matrix_recurrence_forward_cuda({1, 1, 1, 65, 8, Element::f32, false}, {}, {}, nullptr, nullptr),
            0);
  EXPECT_NE(log_linear_forward_cuda({1, 100, 1, 8, 8, 3, Element::f32}, {}, {}, nullptr, nullptr), 0);
  EXPECT_NE(diagonal_scan_forward_cuda({1, 1, 1, 1, 33, Element::f32}, {}, {}, nullptr, nullptr), 0);
  EXPECT_NE(cell_forward_cuda({1, 1, 1, 33, CellKind::gru, 0, Element::f32}, {}, nullptr, {}, nullptr), 0);
  EXPECT_NE(answer_loss_cuda({.rows = 1, .size = 0}, nullptr, nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace
}  // namespace rung::kernels
