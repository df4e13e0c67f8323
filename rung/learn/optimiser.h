// AdamW on the rows of an ensemble: one kernel over the whole buffer (kernels/adamw.h). Rates, schedule and
// step counter live beside the parameters, so that a step needs nothing from the host.
#pragma once

#include "rung/learn/parameters.h"
#include "rung/records/training_plan.h"

namespace rung::learn {

class Optimiser {
 public:
  Optimiser(const TrainingPlan& plan, const std::vector<MemberPlan>& members, const ParameterLayout& layout,
            const Parameters& parameters);

  // From parameters.gradient, which it leaves as it is; renews the compute copy. On a GPU queued on the
  // current stream.
  void step(Parameters& parameters);

  // A member learns at this share of its peak rate from the next step on.
  void slow(std::size_t member, double share);

  torch::Tensor first, second;  // moments [E, P] float32
  torch::Tensor count;          // [1] int64: steps done
  torch::Tensor alive;          // [E] uint8: 0 for a member that failed or is finished
  torch::Tensor norm;           // [E] float32: the last gradient's norm

 private:
  TrainingPlan plan_;
  std::vector<float> rates_;  // peak, a member each
  torch::Tensor peak_, decay_, decays_, scratch_;
};

}  // namespace rung::learn
