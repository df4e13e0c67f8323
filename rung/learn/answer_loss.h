// The loss at the answers, a member at a time: cross-entropy with label smoothing, or squared error for
// vectors.
#pragma once

#include "rung/learn/lesson.h"

namespace rung::learn {

struct Graded {
  torch::Tensor loss;   // [E] float32: mean over the member's answers, without gradient
  torch::Tensor right;  // [E] int64: answers that are right
  torch::Tensor each;   // [E, B * Q] int64: 1 where the answer is right
};

// z [E, B * Q, size]. With `slope` the gradient of the sum of all members' mean losses with respect to z is
// written to it: z.backward(slope) trains every member as if it were alone.
Graded grade(const torch::Tensor& z, const Batch& batch, double smoothing, torch::Tensor* slope);

// One pass forward and back: adds the gradients of the mean loss of the answers, and of each of the model's readouts,
// to those of the leaves. The result is that of the answers.
Graded teach(const Model& model, const Batch& batch, const Leaves& leaves, const ForwardContext& pass,
             double smoothing);

}  // namespace rung::learn
