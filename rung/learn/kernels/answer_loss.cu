// A warp a row; a lane takes every 32nd logit.
#include "rung/learn/kernels/answer_loss.h"

#include "rung/learn/kernels/warp.cuh"

namespace rung::kernels {
namespace {

constexpr int kRows = 8;  // a block

template <class T>
__global__ void __launch_bounds__(kRows* kWarp)
    answer_rows(const AnswerRows answers, float* loss, std::uint8_t* correct, T* dlogits) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kRows + threadIdx.x / kWarp,
                     size = answers.size;
  if (row >= answers.rows) return;
  // dlogits may be logits, so neither is promised to be read only.
  const T* x = static_cast<const T*>(answers.logits) + row * size;
  T* dx = dlogits ? dlogits + row * size : nullptr;
  const std::int64_t target = answers.target[row];
  if (target < 0 || target >= size) {
    if (lane == 0) {
      loss[row] = 0.0f;
      correct[row] = 0;
    }
    if (dx)
      for (std::int64_t j = lane; j < size; j += kWarp) store(dx[j], 0.0f);
    return;
  }
  float most = -INFINITY;
  std::int64_t best = size;
  for (std::int64_t j = lane; j < size; j += kWarp) {
    const float value = widen(x[j]);
    if (value > most || (value == most && best == size)) {
      most = value;
      best = j;
    }
  }
#pragma unroll
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    const float other = __shfl_xor_sync(kAllLanes, most, lanes);
    const std::int64_t index = __shfl_xor_sync(kAllLanes, best, lanes);
    if (other > most || (other == most && index < best)) {
      most = other;
      best = index;
    }
  }
  float sum = 0.0f, mean = 0.0f;
  for (std::int64_t j = lane; j < size; j += kWarp) {
    const float away = widen(x[j]) - most;
    sum += expf(away);
    mean += away;
  }
  sum = warp_sum(sum);
  mean = warp_sum(mean) / static_cast<float>(size);
  const float smoothing = answers.smoothing;
  const float value = logf(sum) - (1.0f - smoothing) * (widen(x[target]) - most) -
                      (smoothing > 0.0f ? smoothing * mean : 0.0f);
  if (lane == 0) {
    loss[row] = value;
    correct[row] = best == target && value == value;
  }
  if (!dx) return;
  __syncwarp();  // everybody has read the target's logit
  const float weight = answers.weight * (answers.row_weight ? answers.row_weight[row] : 1.0f);
  const float scale = weight / sum, away = weight * smoothing / static_cast<float>(size);
  for (std::int64_t j = lane; j < size; j += kWarp)
    store(dx[j],
          expf(widen(x[j]) - most) * scale - away - (j == target ? weight * (1.0f - smoothing) : 0.0f));
}

}  // namespace

int answer_loss_cuda(const AnswerRows& answers, float* loss, std::uint8_t* correct, void* dlogits,
                     void* stream) {
  if (answers.rows < 0 || answers.size < 1 || !(answers.smoothing >= 0.0f && answers.smoothing < 1.0f))
    return cudaErrorInvalidValue;
  if (answers.rows == 0) return cudaSuccess;
  const unsigned blocks = blocks_for(answers.rows, kRows);
  if (blocks == 0) return cudaErrorInvalidConfiguration;
  if (answers.element == Element::f32)
    answer_rows<float><<<blocks, kRows * kWarp, 0, stream_of(stream)>>>(answers, loss, correct,
                                                                        static_cast<float*>(dlogits));
  else
    answer_rows<Bf16><<<blocks, kRows * kWarp, 0, stream_of(stream)>>>(answers, loss, correct,
                                                                       static_cast<Bf16*>(dlogits));
  return launched();
}

}  // namespace rung::kernels
