// The tests, or with RUNG_BENCH_KERNELS=1 what each kernel costs: median milliseconds of 20 calls between
// CUDA events, and tokens a second, at the sizes of an ensemble's step (2048 sequences of 256 tokens, 2 heads
// of 32).
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <vector>

#include "rung/learn/kernels/adamw.h"
#include "rung/learn/kernels/answer_loss.h"
#include "rung/learn/kernels/causal_attention.h"
#include "rung/learn/kernels/diagonal_scan.h"
#include "rung/learn/kernels/embedding_sum.h"
#include "rung/learn/kernels/feed_forward.h"
#include "rung/learn/kernels/log_linear_attention.h"
#include "rung/learn/kernels/matrix_recurrence.h"
#include "rung/learn/kernels/row_norm.h"
#include "rung/learn/kernels/task_instances.h"
#include "tests/learn/kernels/device/device_copy.h"

namespace rung::kernels {
namespace {

constexpr std::int64_t kMembers = 32, kSequences = 2048, kPositions = 256, kHeads = 2, kSize = 32;
constexpr std::int64_t kTokens = kSequences * kPositions, kWidth = kHeads * kSize;

// Milliseconds of one call: the median of 20, after 3 that are not counted.
double milliseconds(const std::function<int()>& call) {
  cudaEvent_t begin = nullptr, end = nullptr;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<float> times;
  for (int i = 0; i < 23; ++i) {
    check(cudaEventRecord(begin));
    check(call());
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    float time = 0.0f;
    check(cudaEventElapsedTime(&time, begin, end));
    if (i >= 3) times.push_back(time);
  }
  check(cudaEventDestroy(begin));
  check(cudaEventDestroy(end));
  std::nth_element(times.begin(), times.begin() + 10, times.end());
  return times[10];
}

void report(std::string_view name, double time, double bytes) {
  fmt::print("{:<46} {:>9.3f} ms {:>9.1f} Mtokens/s {:>8.0f} GB/s\n", name, time,
             static_cast<double>(kTokens) / time / 1e3, bytes / time / 1e6);
}

// Numbers near 0 with both signs: a thousand of them, again and again (zeros would flatter).
DeviceCopy drawn(Element element, std::int64_t count, double mean = 0.0, double deviation = 0.3) {
  Random random(1);
  Buffer few(element, 1000);
  few.draw(random, mean, deviation);
  std::vector<unsigned char> bytes(static_cast<std::size_t>(count * element_size(element)));
  for (std::size_t at = 0; at < bytes.size(); at += few.bytes())
    std::copy_n(static_cast<const unsigned char*>(few.data()), std::min(few.bytes(), bytes.size() - at),
                bytes.begin() + static_cast<std::ptrdiff_t>(at));
  return DeviceCopy(bytes);
}
DeviceCopy room(std::int64_t bytes) { return DeviceCopy(static_cast<std::size_t>(bytes)); }

// Heads of so many tokens as elsewhere, in sequences of another length.
struct TimedHeads {
  std::int64_t positions = kPositions, count = kHeads, size = kSize;
  std::string words() const {
    if (positions == kPositions && count == kHeads && size == kSize) return "";
    return fmt::format(", {} x {}, T = {},", count, size, positions);
  }
};

void time_recurrence(Element element, bool delta, bool decays, const TimedHeads& heads = {}) {
  const std::int64_t width = heads.count * heads.size;
  const RecurrenceShape shape{
      kTokens / heads.positions, heads.positions, heads.count, heads.size, heads.size, element, delta};
  const std::int64_t bytes = element_size(element), pitch = 3 * width;
  const DeviceCopy fused = drawn(element, kTokens * pitch, 0.0, 0.15), dy = drawn(element, kTokens * width);
  const DeviceCopy log_decay = drawn(Element::f32, kTokens * heads.count, -0.2, 0.02),
                   beta = drawn(Element::f32, kTokens * heads.count, 0.5, 0.1);
  const DeviceCopy y = room(kTokens * width * bytes), gradient = room(kTokens * pitch * bytes),
                   error = room(kTokens * width * 4), dlog_decay = room(kTokens * heads.count * 4),
                   dbeta = room(kTokens * heads.count * 4),
                   scratch = room(matrix_recurrence_scratch(shape) * 4);
  const auto slice = [&](const DeviceCopy& from, std::int64_t part) {
    return MutableSlice{from.as<unsigned char>() + part * width * bytes, heads.positions * pitch, pitch};
  };
  const RecurrenceInputs in{slice(fused, 0), slice(fused, 1), slice(fused, 2),
                            decays ? log_decay.as() : nullptr, delta ? beta.as() : nullptr};
  const RecurrenceGradients out{slice(gradient, 0), slice(gradient, 1), slice(gradient, 2),
                                decays ? dlog_decay.as() : nullptr, delta ? dbeta.as() : nullptr};
  const std::string name = fmt::format("recurrence {}{}{}", element == Element::f32 ? "f32" : "bf16",
                                       delta ? " delta" : "", decays ? " decay" : "") +
                           heads.words();
  const double vector = static_cast<double>(kTokens * width * bytes),
               kept = delta ? kTokens * width * 4.0 : 0.0;
  report(name + " forward", milliseconds([&] {
           return matrix_recurrence_forward_cuda(
               shape, in, whole(y.as<void>(), heads.positions, heads.count, heads.size), error.as(), nullptr);
         }),
         4 * vector + kept);
  report(name + " backward", milliseconds([&] {
           return matrix_recurrence_backward_cuda(
               shape, in, error.as(),
               whole(static_cast<const void*>(dy.as<void>()), heads.positions, heads.count, heads.size), out,
               scratch.as(), nullptr);
         }),
         7 * vector + kept);
}

void time_norm(Element element) {
  const NormShape shape{
      .outer = kTokens, .inner = 1, .width = kWidth, .members = kMembers, .element = element};
  const std::int64_t bytes = element_size(element);
  const DeviceCopy x = drawn(element, kTokens * kWidth), dy = drawn(element, kTokens * kWidth),
                   gain = drawn(Element::f32, kMembers * kWidth, 1.0), y = room(kTokens * kWidth * bytes),
                   inverse = room(kTokens * 4), dgain = room(kMembers * kWidth * 4),
                   scratch = room(row_norm_scratch(shape) * 4);
  const std::string name = element == Element::f32 ? "row norm f32" : "row norm bf16";
  const double vector = static_cast<double>(kTokens * kWidth * bytes);
  report(name + " forward", milliseconds([&] {
           return row_norm_forward_cuda(shape, {x.as<void>(), kWidth}, gain.as(), {y.as<void>(), kWidth},
                                        inverse.as(), nullptr);
         }),
         2 * vector);
  report(name + " backward", milliseconds([&] {
           return row_norm_backward_cuda(shape, {x.as<void>(), kWidth}, gain.as(), inverse.as(),
                                         {dy.as<void>(), kWidth}, {y.as<void>(), kWidth}, dgain.as(),
                                         scratch.as(), nullptr);
         }),
         3 * vector);
}

void time_log_linear(Element element, const TimedHeads& heads = {}) {
  const std::int64_t width = heads.count * heads.size, levels = log_linear_levels(heads.positions),
                     bytes = element_size(element), pitch = 3 * width;
  const LogLinearShape shape{
      kTokens / heads.positions, heads.positions, heads.count, heads.size, heads.size, levels, element};
  const DeviceCopy fused = drawn(element, kTokens * pitch), dy = drawn(element, kTokens * width),
                   share = drawn(Element::f32, kTokens * heads.count * levels, 0.5),
                   log_decay = drawn(Element::f32, kTokens * heads.count, -0.1, 0.01),
                   y = room(kTokens * width * bytes), gradient = room(kTokens * pitch * bytes),
                   dshare = room(kTokens * heads.count * levels * 4),
                   dlog_decay = room(kTokens * heads.count * 4),
                   scratch = room(log_linear_scratch(shape) * 4);
  const auto slice = [&](const DeviceCopy& from, std::int64_t part) {
    return MutableSlice{from.as<unsigned char>() + part * width * bytes, heads.positions * pitch, pitch};
  };
  const LogLinearInputs in{slice(fused, 0), slice(fused, 1), slice(fused, 2), share.as(), log_decay.as()};
  const LogLinearGradients out{slice(gradient, 0), slice(gradient, 1), slice(gradient, 2), dshare.as(),
                               dlog_decay.as()};
  const std::string name = (element == Element::f32 ? "log-linear f32" : "log-linear bf16") + heads.words();
  const double vector = static_cast<double>(kTokens * width * bytes);
  report(name + " forward", milliseconds([&] {
           return log_linear_forward_cuda(shape, in,
                                          whole(y.as<void>(), heads.positions, heads.count, heads.size),
                                          scratch.as(), nullptr);
         }),
         4 * vector);
  report(name + " backward", milliseconds([&] {
           return log_linear_backward_cuda(
               shape, in,
               whole(static_cast<const void*>(dy.as<void>()), heads.positions, heads.count, heads.size), out,
               scratch.as(), nullptr);
         }),
         7 * vector);
}

void time_attention(const TimedHeads& heads) {
  const std::int64_t width = heads.count * heads.size;
  const std::string name = "causal attention bf16" + heads.words();
  const CausalAttentionShape shape{.sequences = kTokens / heads.positions,
                                   .positions = heads.positions,
                                   .heads = heads.count,
                                   .size = heads.size,
                                   .tau = 0.18f};
  const std::int64_t pitch = 3 * width;
  const DeviceCopy fused = drawn(Element::bf16, kTokens * pitch), dy = drawn(Element::bf16, kTokens * width),
                   y = room(kTokens * width * 2), gradient = room(kTokens * pitch * 2),
                   log_sums = room(kTokens * heads.count * 4),
                   scratch = room(causal_attention_scratch(shape) * 4);
  const auto slice = [&](const DeviceCopy& from, std::int64_t part) {
    return MutableSlice{from.as<Bf16>() + part * width, heads.positions * pitch, pitch};
  };
  const CausalAttentionInputs in{slice(fused, 0), slice(fused, 1), slice(fused, 2)};
  const MutableSlice out = whole(y.as<void>(), heads.positions, heads.count, heads.size),
                     slope = whole(dy.as<void>(), heads.positions, heads.count, heads.size);
  const double vector = static_cast<double>(kTokens * width * 2);
  report(name + " forward",
         milliseconds([&] { return causal_attention_forward_cuda(shape, in, out, log_sums.as(), nullptr); }),
         4 * vector);
  report(name + " backward", milliseconds([&] {
           return causal_attention_backward_cuda(shape, in, out, log_sums.as(), slope,
                                                 {slice(gradient, 0), slice(gradient, 1), slice(gradient, 2)},
                                                 scratch.as(), nullptr);
         }),
         8 * vector);
}

void time_scan(Element element) {
  const std::int64_t channels = 2 * kWidth, states = 16, bytes = element_size(element),
                     pitch = 2 * (channels + states);
  const ScanShape shape{kMembers, kSequences, kPositions, channels, states, element};
  const DeviceCopy fused = drawn(element, kTokens * pitch, 0.1, 0.02),
                   dy = drawn(element, kTokens * channels),
                   a = drawn(Element::f32, kMembers * channels * states, -1.0),
                   y = room(kTokens * channels * bytes), gradient = room(kTokens * pitch * bytes),
                   da = room(kMembers * channels * states * 4),
                   checkpoints = room(scan_checkpoints(shape) * 4),
                   scratch = room(diagonal_scan_scratch(shape) * 4);
  const auto slice = [&](const DeviceCopy& from, std::int64_t column) {
    return MutableSlice{from.as<unsigned char>() + column * bytes, kPositions * pitch, pitch};
  };
  const ScanInputs in{a.as(), slice(fused, 0), slice(fused, channels), slice(fused, 2 * channels),
                      slice(fused, 2 * channels + states)};
  const ScanGradients out{slice(gradient, 0), slice(gradient, channels), slice(gradient, 2 * channels),
                          slice(gradient, 2 * channels + states), da.as()};
  const std::string name = element == Element::f32 ? "diagonal scan f32" : "diagonal scan bf16";
  const double vector = static_cast<double>(kTokens * channels * bytes);
  report(name + " forward", milliseconds([&] {
           return diagonal_scan_forward_cuda(shape, in, whole(y.as<void>(), kPositions, 1, channels),
                                             checkpoints.as(), nullptr);
         }),
         3 * vector);
  report(name + " backward", milliseconds([&] {
           return diagonal_scan_backward_cuda(
               shape, in, whole(static_cast<const void*>(dy.as<void>()), kPositions, 1, channels),
               checkpoints.as(), out, scratch.as(), nullptr);
         }),
         5 * vector);
}

void time_feed_forward(Activation activation) {
  const std::int64_t hidden = 256;
  if (!feed_forward_fits(kWidth, hidden)) return;
  const FeedForwardShape shape{kMembers, kTokens / kMembers, kWidth, hidden, activation};
  const DeviceCopy x = drawn(Element::bf16, kTokens * kWidth), dy = drawn(Element::bf16, kTokens * kWidth),
                   gain = drawn(Element::bf16, kMembers * kWidth, 1.0),
                   w1 = drawn(Element::bf16, kMembers * hidden * kWidth),
                   b1 = drawn(Element::bf16, kMembers * hidden),
                   w2 = drawn(Element::bf16, kMembers * hidden * kWidth),
                   b2 = drawn(Element::bf16, kMembers * kWidth), y = room(kTokens * kWidth * 2),
                   dx = room(kTokens * kWidth * 2),
                   gradients = room(kMembers * hidden * (2 * kWidth + 1) * 2),
                   dgain = room(kMembers * kWidth * 2), db2 = room(kMembers * kWidth * 2),
                   scratch = room(feed_forward_scratch(shape) * 4);
  const FeedForwardWeights weights{{gain.as<Bf16>(), kWidth},
                                   {w1.as<Bf16>(), hidden * kWidth},
                                   {b1.as<Bf16>(), hidden},
                                   {w2.as<Bf16>(), hidden * kWidth},
                                   {b2.as<Bf16>(), kWidth}};
  Bf16* matrices = gradients.as<Bf16>();
  const FeedForwardGradients out{dx.as<Bf16>(),
                                 dgain.as<Bf16>(),
                                 matrices,
                                 matrices + 2 * kMembers * hidden * kWidth,
                                 matrices + kMembers * hidden * kWidth,
                                 db2.as<Bf16>()};
  const std::string name = activation == Activation::relu   ? "feed-forward bf16 relu"
                           : activation == Activation::gelu ? "feed-forward bf16 gelu"
                                                            : "feed-forward bf16 silu";
  const double vector = static_cast<double>(kTokens * kWidth * 2);
  report(name + " forward",
         milliseconds([&] { return feed_forward_cuda(shape, x.as<Bf16>(), weights, y.as<Bf16>(), nullptr); }),
         2 * vector);
  report(name + " backward", milliseconds([&] {
           return feed_forward_backward_cuda(shape, x.as<Bf16>(), weights, dy.as<Bf16>(), out, scratch.as(),
                                             nullptr);
         }),
         3 * vector);
}

void time_the_rest() {
  const std::int64_t vocabulary = 256, size = 250000;
  std::vector<std::int32_t> tokens(kTokens);
  Random random(2);
  for (auto& token : tokens) token = static_cast<std::int32_t>(random.below(vocabulary));
  const DeviceCopy token(tokens), table = drawn(Element::bf16, kMembers * vocabulary * kWidth),
                                  position = drawn(Element::bf16, kMembers * kPositions * kWidth),
                                  gradient = room(kMembers * vocabulary * kWidth * 4),
                                  dposition = room(kMembers * kPositions * kWidth * 4),
                                  x = room(kTokens * kWidth * 2), dx = drawn(Element::bf16, kTokens * kWidth);
  const EmbeddingShape shape{kMembers, kSequences, kPositions, kWidth, 1, false, Element::bf16, kPositions};
  const EmbeddingField field{token.as<void>(), vocabulary, table.as<void>(), gradient.as()};
  const DeviceCopy scratch = room(embedding_sum_scratch(shape, &field) * 4);
  report("embedding bf16 forward", milliseconds([&] {
           return embedding_sum_forward_cuda(shape, &field, position.as<void>(), x.as<void>(), nullptr);
         }),
         kTokens * kWidth * 2.0);
  report("embedding bf16 backward", milliseconds([&] {
           return embedding_sum_backward_cuda(shape, &field, dx.as<void>(), dposition.as(), scratch.as(),
                                              nullptr);
         }),
         kTokens * kWidth * 4.0);

  const DeviceCopy logits = drawn(Element::bf16, kTokens * vocabulary), loss = room(kTokens * 4),
                   correct = room(kTokens), dlogits = room(kTokens * vocabulary * 2);
  const std::vector<std::int64_t> targets(kTokens, 3);
  const DeviceCopy target(targets);
  const AnswerRows rows{kTokens, vocabulary, Element::bf16, logits.as<void>(), target.as<std::int64_t>()};
  report("loss at every position, 256 logits", milliseconds([&] {
           return answer_loss_cuda(rows, loss.as(), correct.as<std::uint8_t>(), dlogits.as<void>(), nullptr);
         }),
         kTokens * vocabulary * 4.0);

  const DeviceCopy parameters = drawn(Element::f32, kMembers * size),
                   gradients = drawn(Element::bf16, kMembers * size),
                   first = drawn(Element::f32, kMembers * size),
                   second = drawn(Element::f32, kMembers * size, 1.0, 0.1),
                   rounded = room(kMembers * size * 2), peak = drawn(Element::f32, kMembers),
                   weight_decay = drawn(Element::f32, kMembers),
                   alive(std::vector<std::uint8_t>(kMembers, 1)), step(std::vector<std::int64_t>(1, 0)),
                   work = room(adamw_scratch(kMembers, size));
  AdamWBuffers buffers;
  buffers.members = kMembers;
  buffers.size = size;
  buffers.parameters = parameters.as();
  buffers.rounded = rounded.as<Bf16>();
  buffers.gradients = gradients.as<void>();
  buffers.gradient_element = Element::bf16;
  buffers.first = first.as();
  buffers.second = second.as();
  buffers.peak = peak.as();
  buffers.weight_decay = weight_decay.as();
  buffers.alive = alive.as<std::uint8_t>();
  buffers.step = step.as<std::int64_t>();
  report("adamw, 32 x 250,000 parameters",
         milliseconds([&] { return adamw_step_cuda({.clip = 1.0f}, buffers, work.as<void>(), nullptr); }),
         kMembers * size * 30.0);

  const InstanceTask eva{.kind = InstanceKind::evaluation, .n = kPositions - 1, .sigma = kPositions - 1};
  const DeviceCopy seeds(std::vector<std::uint64_t>(kMembers, 7)), drawn_tokens = room(kTokens * 4),
                                                                   answers = room(kSequences * 8);
  report("instances of eva, n = 255", milliseconds([&] {
           return task_instances_cuda(
               eva,
               {kMembers, kSequences / kMembers, seeds.as<std::uint64_t>(), step.as<std::int64_t>(),
                drawn_tokens.as<std::int32_t>(), answers.as<std::int64_t>()},
               nullptr, nullptr);
         }),
         kTokens * 4.0);
}

int time_kernels() {
  if (!device_present()) {
    fmt::print(stderr, "[kernels] no CUDA device on this machine\n");
    return 1;
  }
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, 0));
  fmt::print("{}: {} sequences of {} tokens, {} heads of {}, {} members\n", properties.name, kSequences,
             kPositions, kHeads, kSize, kMembers);
  for (const Element element : {Element::f32, Element::bf16}) {
    time_recurrence(element, false, false);
    time_recurrence(element, false, true);
    time_recurrence(element, true, false);
    time_recurrence(element, true, true);
    time_norm(element);
    time_log_linear(element);
    time_scan(element);
  }
  for (const Activation activation : {Activation::relu, Activation::gelu, Activation::silu})
    time_feed_forward(activation);
  time_attention({});
  for (const TimedHeads heads :
       {TimedHeads{256, 4, 64}, TimedHeads{1024, 2, 32}, TimedHeads{1024, 2, 64}, TimedHeads{4096, 2, 64}}) {
    time_attention(heads);
    time_log_linear(Element::bf16, heads);
  }
  // float32 has the plain kernels.
  for (const Element element : {Element::f32, Element::bf16})
    for (const bool delta : {false, true})
      for (const bool decays : {false, true}) time_recurrence(element, delta, decays, {256, 2, 64});
  time_the_rest();
  return 0;
}

}  // namespace
}  // namespace rung::kernels

int main(int count, char** words) {
  const char* bench = std::getenv("RUNG_BENCH_KERNELS");
  if (bench && std::string_view(bench) == "1") return rung::kernels::time_kernels();
  ::testing::InitGoogleTest(&count, words);
  return RUN_ALL_TESTS();
}
