// Cross-entropy at answer rows with label smoothing, its gradient, and whether the row is right, in one pass.
//   s = (1 - smoothing) onehot(target) + smoothing / size
//   loss = -sum_j s_j log softmax(logits)_j,   dlogits = (softmax(logits) - s) * weight
// The answer is the argmax, ties to the smaller index. A row whose target lies outside [0, size) counts for
// nothing: loss 0, not correct, gradient 0. A row with a NaN is not correct.
#pragma once

#include <cstdint>

#include "rung/learn/kernels/element.h"

namespace rung::kernels {

struct AnswerRows {
  std::int64_t rows = 0, size = 0;  // size at least 1
  Element element = Element::f32;   // of logits and dlogits
  const void* logits = nullptr;     // [rows, size]
  const std::int64_t* target = nullptr;
  float smoothing = 0.0f;  // in [0, 1)
  float weight = 1.0f;     // of every row's gradient (1 / rows of a member: the gradient of its mean loss)
  const float* row_weight = nullptr;  // [rows] or null: a further factor
};

// loss [rows] without weights; correct [rows] 0 or 1; dlogits [rows, size] or null, may be logits. One
// thread.
void answer_loss(const AnswerRows& answers, float* loss, std::uint8_t* correct, void* dlogits);

// The same on a device, queued on `stream` (a cudaStream_t). Returns 0 or a cudaError_t.
int answer_loss_cuda(const AnswerRows& answers, float* loss, std::uint8_t* correct, void* dlogits,
                     void* stream);

}  // namespace rung::kernels
