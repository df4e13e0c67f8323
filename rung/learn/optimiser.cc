#include "rung/learn/optimiser.h"

#include "rung/learn/device_stream.h"
#include "rung/learn/kernels/adamw.h"

namespace rung::learn {

Optimiser::Optimiser(const TrainingPlan& plan, const std::vector<MemberPlan>& members,
                     const ParameterLayout& layout, const Parameters& parameters)
    : plan_(plan) {
  const torch::NoGradGuard no_grad;
  const torch::Device device = parameters.master.device();
  first = torch::zeros_like(parameters.master);
  second = torch::zeros_like(parameters.master);
  count = torch::zeros({1}, torch::TensorOptions(torch::kLong).device(device));
  const auto size = static_cast<std::int64_t>(members.size());
  alive = torch::ones({size}, torch::TensorOptions(torch::kUInt8).device(device));
  norm = torch::zeros({size}, torch::TensorOptions(torch::kFloat32).device(device));
  std::vector<float> shrinks;
  for (const MemberPlan& member : members)
    rates_.push_back(static_cast<float>(member.rate)), shrinks.push_back(static_cast<float>(member.decay));
  peak_ = torch::tensor(rates_).to(device);
  decay_ = torch::tensor(shrinks).to(device);
  torch::Tensor mask = torch::zeros({layout.size()}, torch::kUInt8);
  for (const ParameterSpec& spec : layout.specs())
    if (spec.decays) mask.narrow(0, spec.offset, spec.size()).fill_(1);
  decays_ = mask.to(device);
  if (device.is_cuda())
    scratch_ = torch::zeros({kernels::adamw_scratch(size, layout.size())},
                            torch::TensorOptions(torch::kUInt8).device(device));
}

void Optimiser::step(Parameters& parameters) {
  const torch::NoGradGuard no_grad;
  const float last_share = plan_.patience > 0 ? 1.0f : static_cast<float>(plan_.floor);
  kernels::AdamWSettings settings{static_cast<float>(plan_.beta1),
                                  static_cast<float>(plan_.beta2),
                                  1e-8f,
                                  static_cast<float>(plan_.clip),
                                  {plan_.warmup, plan_.steps, last_share}};
  const bool rounded = parameters.compute.scalar_type() == torch::kBFloat16;
  kernels::AdamWBuffers buffers;
  buffers.members = parameters.members(), buffers.size = parameters.master.size(1);
  buffers.parameters = parameters.master.data_ptr<float>();
  buffers.rounded = rounded ? static_cast<kernels::Bf16*>(parameters.compute.data_ptr()) : nullptr;
  buffers.gradients = parameters.gradient.data_ptr();
  buffers.gradient_element = rounded ? kernels::Element::bf16 : kernels::Element::f32;
  buffers.first = first.data_ptr<float>(), buffers.second = second.data_ptr<float>();
  buffers.decays = decays_.data_ptr<std::uint8_t>();
  buffers.peak = peak_.data_ptr<float>(), buffers.weight_decay = decay_.data_ptr<float>();
  buffers.alive = alive.data_ptr<std::uint8_t>();
  buffers.step = count.data_ptr<std::int64_t>();
  buffers.norm = norm.data_ptr<float>();
  if (parameters.master.is_cuda())
    check_device(kernels::adamw_step_cuda(settings, buffers, scratch_.data_ptr(), current_stream()), "adamw");
  else
    kernels::adamw_step(settings, buffers);
}

void Optimiser::slow(std::size_t member, double share) {
  const torch::NoGradGuard no_grad;
  peak_[static_cast<std::int64_t>(member)] = rates_[member] * share;
}

}  // namespace rung::learn
