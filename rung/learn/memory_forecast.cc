#include "rung/learn/memory_forecast.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <fstream>
#include <functional>
#include <sstream>

#include "rung/learn/answer_loss.h"
#include "rung/learn/device_stream.h"
#include "rung/spec/mixers.h"

namespace rung::learn {
namespace {

// Counts what libtorch's CPU allocator hands out to this thread.
class AllocationCount : public c10::MemoryReportingInfoBase {
 public:
#if TORCH_VERSION_MAJOR >= 2
  void reportMemoryUsage(void*, std::int64_t bytes, std::size_t, std::size_t, c10::Device) override {
    add(bytes);
  }
#else
  void reportMemoryUsage(void*, std::int64_t bytes, std::int64_t, std::int64_t, c10::Device) override {
    add(bytes);
  }
#endif
  bool memoryProfilingEnabled() const override { return true; }
  std::int64_t peak() const { return peak_; }

 private:
  void add(std::int64_t bytes) {
    held_ += bytes;
    peak_ = std::max(peak_, held_);
  }
  std::int64_t held_ = 0, peak_ = 0;
};

std::int64_t step_bytes(const TrainingPlan& plan, const Lesson& lesson, const Model& model, std::size_t stage,
                        std::size_t which, std::int64_t prompts, torch::Device device) {
  Parameters parameters(model.layout(), {1}, {1.0}, device, element_type(plan));
  std::optional<ActivationRounding> rounding;
  ForwardContext pass;
  pass.training = true;
  pass.dropout = plan.dropout;
  pass.seeds = pass.step = torch::zeros({1}, torch::TensorOptions(torch::kLong).device(device));
  if (plan.round_bits) pass.rounding = &rounding.emplace(*plan.round_bits);
  if (plan.carry_bits)
    pass.rounding = &rounding.emplace(*plan.carry_bits, ActivationRounding::Places::carried);
  Batch batch = lesson.draw({stage, which, {1}, 0, prompts, true});
  batch.move_to(device);
  const auto step = [&] { teach(model, batch, parameters.leaves, pass, plan.smoothing); };
  if (device.is_cuda()) {
    step();  // libraries make their workspaces once
    return peak_of(step);
  }
  auto count = std::make_shared<AllocationCount>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, count);
  step();
  return count->peak();
}

}  // namespace

MemoryNeed measure_step(const TrainingPlan& plan, const Lesson& lesson, const Model& model,
                        torch::Device device) {
  MemoryNeed need;
  // Master, two moments and the gradient, the last two also in the compute type where that differs.
  const std::int64_t numbers = model.layout().size();
  need.parameters = numbers * (plan.precision == ComputeType::bf16 ? 4 + 8 + 2 + 2 : 4 + 8 + 4);
  for (std::size_t stage = 0; stage < lesson.stages(); ++stage)
    for (std::size_t which = 0; which < lesson.tasks(); ++which) {
      const std::int64_t one = step_bytes(plan, lesson, model, stage, which, 1, device),
                         two = step_bytes(plan, lesson, model, stage, which, 2, device);
      need.step = std::max(need.step, one + (two - one) * (plan.batch - 1));
    }
  return need;
}

std::int64_t prompt_bytes(const Model& model, std::int64_t length) {
  double bytes = 0;
  const std::function<void(const MixerShape&)> add = [&](const MixerShape& mixer) {
    const Memory memory = mixer_descriptor(mixer.kind).memory;
    const bool square = memory == Memory::past || memory == Memory::levels;
    const double heads = static_cast<double>(std::max<std::int64_t>(1, mixer.heads));
    if (square) bytes += 4.0 * heads * static_cast<double>(length) * static_cast<double>(length);
    for (const MixerShape& part : mixer.parts) add(part);
  };
  for (const LayerShape& layer : model.layers()) {
    add(layer.mixer);
    bytes += 4.0 * static_cast<double>(length) * static_cast<double>(layer.width) * 4;
  }
  return bytes < 9e18 ? static_cast<std::int64_t>(bytes) : INT64_MAX;
}

HostMemory host_memory() {
  HostMemory out;
  const auto kilobytes = [](const char* path, const std::string& key) -> std::int64_t {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
      if (line.starts_with(key)) {
        std::istringstream words(line.substr(key.size()));
        std::int64_t value = 0;
        words >> value;
        return value * 1024;
      }
    return 0;
  };
  out.resident = kilobytes("/proc/self/status", "VmRSS:");
  out.peak = kilobytes("/proc/self/status", "VmHWM:");
  out.available = kilobytes("/proc/meminfo", "MemAvailable:");
  return out;
}

}  // namespace rung::learn
