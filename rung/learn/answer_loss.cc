#include "rung/learn/answer_loss.h"

#include <torch/csrc/autograd/autograd.h>

#include "rung/learn/kernel_view.h"
#include "rung/learn/kernels/answer_loss.h"

namespace rung::learn {

Graded grade(const torch::Tensor& given, const Batch& batch, double smoothing, torch::Tensor* slope) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor z = given.detach().contiguous();
  const std::int64_t members = z.size(0), rows = z.size(1);
  if (batch.targets.dim() == 3) {
    const torch::Tensor error = z.to(torch::kFloat32) - batch.targets;  // [E, R, size]
    if (slope) *slope = (error * (2.0 / static_cast<double>(rows * z.size(2)))).to(z.dtype());
    const torch::Tensor right = error.round().abs().amax(-1) <= batch.tolerance;
    return {error.square().mean({1, 2}), right.sum(1), right.to(torch::kLong)};
  }
  torch::Tensor loss = torch::empty({members, rows}, z.options().dtype(torch::kFloat32));
  torch::Tensor right = torch::empty({members, rows}, z.options().dtype(torch::kUInt8));
  if (slope) *slope = torch::empty_like(z);
  kernels::AnswerRows answers;
  answers.rows = members * rows, answers.size = z.size(2);
  answers.element = element_of(z);
  answers.logits = z.data_ptr();
  const torch::Tensor targets = batch.targets.contiguous();
  answers.target = targets.data_ptr<std::int64_t>();
  answers.smoothing = static_cast<float>(smoothing);
  answers.weight = 1.0f / static_cast<float>(rows);
  void* to = slope ? slope->data_ptr() : nullptr;
  if (z.is_cuda())
    check_device(kernels::answer_loss_cuda(answers, loss.data_ptr<float>(), right.data_ptr<std::uint8_t>(),
                                           to, current_stream()),
                 "answer_loss");
  else
    kernels::answer_loss(answers, loss.data_ptr<float>(), right.data_ptr<std::uint8_t>(), to);
  return {loss.mean(1), right.sum(1, false, torch::kLong), slope ? torch::Tensor() : right.to(torch::kLong)};
}

Graded teach(const Model& model, const Batch& batch, const Leaves& leaves, const ForwardContext& pass,
             double smoothing) {
  std::vector<torch::Tensor> read;
  std::vector<torch::Tensor> outputs{model.forward(batch.inputs, leaves, pass, &read)}, slopes(1);
  const Graded graded = grade(outputs[0], batch, smoothing, &slopes[0]);
  for (std::size_t k = 0; k < read.size(); ++k) {
    Batch values;
    const DeepReadout& place = model.spec().readouts[k].place;
    values.targets = place.token > 0 ? batch.inputs.fields[0]
                                           .index_select(2, batch.inputs.wanted - place.token)
                                           .to(torch::kLong)
                                           .flatten(1, 2)
                                     : batch.between[place.value - 1];
    outputs.push_back(read[k]);
    grade(read[k], values, smoothing, &slopes.emplace_back());
  }
  torch::autograd::backward(outputs, slopes);
  return graded;
}

}  // namespace rung::learn
