// A group of neighbouring lanes takes a row, each lane Count neighbouring logits, Turns times, all in registers: one read and
// one write. Rows too long for that, or not aligned for it, take a warp each, a lane every 32nd logit.
#include "rung/learn/kernels/answer_loss.h"

#include "rung/learn/kernels/packed.cuh"

namespace rung::kernels {
namespace {

constexpr int kRows = 8;  // a block of warps
constexpr int kThreads = 256, kMostTurns = 4;

template <class T, int Count, int Turns>
__global__ void __launch_bounds__(kThreads)
    packed_answer_rows(const AnswerRows answers, float* loss, std::uint8_t* correct, T* dlogits,
                       const int lanes) {
  const int lane = static_cast<int>(threadIdx.x) % lanes, size = static_cast<int>(answers.size);
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * (kThreads / lanes) + threadIdx.x / lanes;
  // Lanes beyond the last row take part in the sums of their warp.
  const bool inside = row < answers.rows;
  const T* x = static_cast<const T*>(answers.logits) + (inside ? row : 0) * size;
  const std::int64_t given = inside ? answers.target[row] : -1;
  const bool counts = given >= 0 && given < size;
  const int target = counts ? static_cast<int>(given) : 0;
  float value[Turns][Count];
  float most = -INFINITY;
  int best = size;
#pragma unroll
  for (int turn = 0; turn < Turns; ++turn) {
    const int first = (turn * lanes + lane) * Count;
    if (first < size)
      load_packed<T, Count>(value[turn], x + first);
    else
      for (float& each : value[turn]) each = -INFINITY;
#pragma unroll
    for (int j = 0; j < Count; ++j)
      if (first < size && (value[turn][j] > most || (value[turn][j] == most && best == size))) {
        most = value[turn][j];
        best = first + j;
      }
  }
  for (int step = lanes / 2; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(kAllLanes, most, step);
    const int index = __shfl_xor_sync(kAllLanes, best, step);
    if (other > most || (other == most && index < best)) {
      most = other;
      best = index;
    }
  }
  float sum = 0.0f, mean = 0.0f, at_target = 0.0f;
#pragma unroll
  for (int turn = 0; turn < Turns; ++turn) {
    const int first = (turn * lanes + lane) * Count;
    if (first >= size) continue;
#pragma unroll
    for (int j = 0; j < Count; ++j) {
      const float away = value[turn][j] - most;
      mean += away;
      if (first + j == target) at_target = away;
      value[turn][j] = expf(away);
      sum += value[turn][j];
    }
  }
  for (int step = lanes / 2; step > 0; step /= 2) {
    sum += __shfl_xor_sync(kAllLanes, sum, step);
    mean += __shfl_xor_sync(kAllLanes, mean, step);
    at_target += __shfl_xor_sync(kAllLanes, at_target, step);
  }
  if (!inside) return;
  const float smoothing = answers.smoothing;
  if (lane == 0) {
    const float lost = logf(sum) - (1.0f - smoothing) * at_target -
                       (smoothing > 0.0f ? smoothing * mean / static_cast<float>(size) : 0.0f);
    loss[row] = counts ? lost : 0.0f;
    correct[row] = counts && best == target && lost == lost;
  }
  if (!dlogits) return;
  const float weight = counts ? answers.weight * (answers.row_weight ? answers.row_weight[row] : 1.0f) : 0.0f;
  const float scale = weight / sum, away = weight * smoothing / static_cast<float>(size);
#pragma unroll
  for (int turn = 0; turn < Turns; ++turn) {
    const int first = (turn * lanes + lane) * Count;
    if (first >= size) continue;
#pragma unroll
    for (int j = 0; j < Count; ++j)
      value[turn][j] =
          counts ? value[turn][j] * scale - away - (first + j == target ? weight * (1.0f - smoothing) : 0.0f)
                 : 0.0f;
    save_packed<T, Count>(dlogits + row * size + first, value[turn]);
  }
}

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

template <class T>
int answer_rows_of(const AnswerRows& answers, float* loss, std::uint8_t* correct, void* dlogits,
                   cudaStream_t stream) {
  constexpr int kCount = kPackedCount<T>;
  T* const slope = static_cast<T*>(dlogits);
  const bool packed = answers.size % kCount == 0 && answers.size <= kCount * kWarp * kMostTurns &&
                      packs(answers.logits, answers.size, sizeof(T)) &&
                      packs(dlogits, answers.size, sizeof(T));
  if (!packed) {
    const unsigned blocks = blocks_for(answers.rows, kRows);
    if (blocks == 0) return cudaErrorInvalidConfiguration;
    answer_rows<T><<<blocks, kRows * kWarp, 0, stream>>>(answers, loss, correct, slope);
    return launched();
  }
  int lanes = 1;
  while (lanes < kWarp && lanes * kCount < answers.size) lanes *= 2;
  const unsigned blocks = blocks_for(answers.rows, kThreads / lanes);
  if (blocks == 0) return cudaErrorInvalidConfiguration;
  const std::int64_t turns = (answers.size + lanes * kCount - 1) / (lanes * kCount);
  if (turns == 1)
    packed_answer_rows<T, kCount, 1><<<blocks, kThreads, 0, stream>>>(answers, loss, correct, slope, lanes);
  else if (turns == 2)
    packed_answer_rows<T, kCount, 2><<<blocks, kThreads, 0, stream>>>(answers, loss, correct, slope, lanes);
  else
    packed_answer_rows<T, kCount, kMostTurns>
        <<<blocks, kThreads, 0, stream>>>(answers, loss, correct, slope, lanes);
  return launched();
}

}  // namespace

int answer_loss_cuda(const AnswerRows& answers, float* loss, std::uint8_t* correct, void* dlogits,
                     void* stream) {
  if (answers.rows < 0 || answers.size < 1 || !(answers.smoothing >= 0.0f && answers.smoothing < 1.0f))
    return cudaErrorInvalidValue;
  if (answers.rows == 0) return cudaSuccess;
  const cudaStream_t queue = stream_of(stream);
  return answers.element == Element::f32 ? answer_rows_of<float>(answers, loss, correct, dlogits, queue)
                                         : answer_rows_of<Bf16>(answers, loss, correct, dlogits, queue);
}

}  // namespace rung::kernels
