#include "rung/learn/kernels/answer_loss.h"

#include <cmath>
#include <limits>
#include <vector>

#include "rung/base/require.h"
#include "rung/learn/kernels/exponential.h"
#include "rung/learn/kernels/vector_clones.h"

namespace rung::kernels {
namespace {

template <class T>
RUNG_KERNEL_INLINE void answer_rows(const AnswerRows& answers, float* loss, std::uint8_t* correct, T* dlogits,
                                    float* power) {
  const std::int64_t size = answers.size;
  const float share = answers.smoothing / static_cast<float>(size);
  for (std::int64_t row = 0; row < answers.rows; ++row) {
    const T* x = static_cast<const T*>(answers.logits) + row * size;
    T* dx = dlogits ? dlogits + row * size : nullptr;
    const std::int64_t target = answers.target[row];
    if (target < 0 || target >= size) {
      loss[row] = 0.0f;
      correct[row] = 0;
      if (dx)
        for (std::int64_t j = 0; j < size; ++j) store(dx[j], 0.0f);
      continue;
    }
    float most = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : most)
    for (std::int64_t j = 0; j < size; ++j) most = to_float(x[j]) > most ? to_float(x[j]) : most;
    std::int64_t best = 0;
    while (best < size - 1 && !(to_float(x[best]) == most)) ++best;
    float sum = 0.0f, mean = 0.0f;
    for (std::int64_t j = 0; j < size; ++j) power[j] = exponential(to_float(x[j]) - most);
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < size; ++j) sum += power[j];
      // Differences to the largest logit: their mean loses nothing when the logits are far from 0.
#pragma omp simd reduction(+ : mean)
    for (std::int64_t j = 0; j < size; ++j) mean += to_float(x[j]) - most;
    mean /= static_cast<float>(size);
    const float at_target = to_float(x[target]) - most;
    const float value = std::log(sum) - (1.0f - answers.smoothing) * at_target -
                        (answers.smoothing > 0.0f ? answers.smoothing * mean : 0.0f);
    loss[row] = value;
    correct[row] = best == target && value == value;
    if (!dx) continue;
    const float weight = answers.weight * (answers.row_weight ? answers.row_weight[row] : 1.0f);
    const float scale = weight / sum;
    const float away = weight * share;
    for (std::int64_t j = 0; j < size; ++j) store(dx[j], power[j] * scale - away);
    store(dx[target], power[target] * scale - away - weight * (1.0f - answers.smoothing));
  }
}

RUNG_KERNEL_CLONES void answers_f32(const AnswerRows& answers, float* loss, std::uint8_t* correct,
                                    void* dlogits, float* power) {
  answer_rows(answers, loss, correct, static_cast<float*>(dlogits), power);
}
RUNG_KERNEL_CLONES void answers_bf16(const AnswerRows& answers, float* loss, std::uint8_t* correct,
                                     void* dlogits, float* power) {
  answer_rows(answers, loss, correct, static_cast<Bf16*>(dlogits), power);
}

}  // namespace

void answer_loss(const AnswerRows& answers, float* loss, std::uint8_t* correct, void* dlogits) {
  RUNG_REQUIRE(answers.rows >= 0 && answers.size >= 1, "rows={} size={}", answers.rows, answers.size);
  RUNG_REQUIRE(answers.smoothing >= 0.0f && answers.smoothing < 1.0f, "smoothing={}", answers.smoothing);
  std::vector<float> power(static_cast<std::size_t>(answers.size));
  (answers.element == Element::f32 ? answers_f32 : answers_bf16)(answers, loss, correct, dlogits,
                                                                 power.data());
}

}  // namespace rung::kernels
