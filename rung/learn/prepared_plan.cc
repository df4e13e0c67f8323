#include "rung/learn/prepared_plan.h"

#include <algorithm>

#include "rung/base/parallel.h"
#include "rung/base/plural.h"
#include "rung/learn/device_stream.h"
#include "rung/learn/memory_forecast.h"
#include "rung/learn/quiet_torch.h"

namespace rung::learn {
namespace {

// The share of the machine's free memory that a run may plan with.
constexpr double kUsable = 0.9;
// A trial step larger than this is refused before it is run.
constexpr double kTrialShare = 0.25;

Result<torch::Device> device_of(const TrainingPlan& plan) {
  if (plan.device == "cuda") RUNG_CHECK(cuda_ready());
  if (plan.device == "cpu" || !cuda_ready()) return torch::Device(torch::kCPU);
  return torch::Device(torch::kCUDA, 0);
}

// In bytes; what no integer holds is told as the largest.
std::string gigabytes(double bytes) { return fmt::format("{:.2f} GB", std::min(bytes, 9e18) / 1e9); }

Result<PreparedPlan> lesson_and_model(const TrainingPlan& plan) {
  RUNG_CHECK(check_plan(plan));
  PreparedPlan out{.plan = plan};
  RUNG_TRY(Lesson lesson, Lesson::make(plan));
  out.lesson = std::make_unique<Lesson>(std::move(lesson));
  RUNG_TRY(const ModelSpec spec, out.lesson->model_spec());
  RUNG_TRY(Model model, Model::make(spec));
  if (plan.round_bits) RUNG_CHECK(model.roundable(ActivationRounding::Places::all));
  if (plan.carry_bits) RUNG_CHECK(model.roundable(ActivationRounding::Places::carried));
  out.model = std::make_unique<Model>(std::move(model));
  if (!plan.from.empty()) {
    RUNG_TRY(out.start, read_weights(plan.from));
    Parameters trial(out.model->layout(), {1}, {1.0}, torch::kCPU, torch::kFloat32);
    if (const auto loaded = out.model->load(*out.start, trial, 0); !loaded)
      return fail(loaded.error().code, "{} (in {})", loaded.error().message, plan.from);
    const Dimensions &given = out.start->architecture.dimensions, &own = spec.architecture.dimensions;
    // What no tensor shows.
    if (given.activation != own.activation || given.norm != own.norm || given.position != own.position ||
        given.causal != own.causal)
      return fail(ErrorCode::format,
                  "[train] {}: the same tensors, but another activation, norm, position code or direction",
                  plan.from);
  }
  return out;
}

Result<void> predict_memory(PreparedPlan& out, int workers) {
  Forecast& forecast = out.forecast;
  forecast.unfused = out.model->unfused(out.device.is_cuda());
  forecast.members = static_cast<std::int64_t>(members(out.plan).size());
  forecast.longest = out.lesson->longest();
  for (const ParameterSpec& parameter : out.model->kept()) forecast.parameters += parameter.size();
  const HostMemory host = host_memory();
  const bool cuda = out.device.is_cuda();
  forecast.device = cuda ? cuda_name() : "cpu";
  forecast.available = cuda ? cuda_memory().free : host.available;
  const double free = static_cast<double>(forecast.available), room = kUsable * free;
  const double trial = 2.0 * static_cast<double>(prompt_bytes(*out.model, forecast.longest)) +
                       20.0 * static_cast<double>(out.model->layout().size());
  if (trial > kTrialShare * std::min(room, kUsable * static_cast<double>(host.available)))
    return fail(ErrorCode::resource,
                "[train] one prompt of {} tokens needs more than {}; this machine has {}", forecast.longest,
                gigabytes(trial), gigabytes(free));
  const MemoryNeed need = measure_step(out.plan, *out.lesson, *out.model, out.device);
  forecast.together = cuda ? forecast.members
                           : std::min<std::int64_t>(forecast.members, workers > 0 ? workers : worker_count());
  const double each = static_cast<double>(need.step) + static_cast<double>(need.parameters);
  // What is there already: on a CPU libtorch itself, on a GPU the workspaces of its libraries, once for the
  // default stream and once more for the one on which steps are recorded.
  const double base =
      cuda ? 2.0 * static_cast<double>(cuda_memory().held) : static_cast<double>(host_memory().resident);
  const double bytes = each * static_cast<double>(forecast.together) + base;
  if (bytes > room + (cuda ? 0.0 : static_cast<double>(host.resident)))
    return fail(
        ErrorCode::resource,
        "[train] {} at once: {} needed ({} each), {} free on this machine; fewer members, a smaller batch or "
        "shorter prompts expected",
        counted(forecast.together, "member"), gigabytes(bytes), gigabytes(each), gigabytes(free));
  forecast.bytes = static_cast<std::int64_t>(bytes);
  return {};
}

}  // namespace

Result<std::shared_ptr<const PreparedPlan>> prepare(const TrainingPlan& plan, int workers) {
  quiet_torch();
  return without_exceptions([&]() -> Result<std::shared_ptr<const PreparedPlan>> {
    RUNG_TRY(PreparedPlan out, lesson_and_model(plan));
    RUNG_TRY(out.device, device_of(plan));
    RUNG_CHECK(predict_memory(out, workers));
    // Where it runs belongs to the plan: a resumed run stays where it began.
    out.plan.device = out.device.is_cuda() ? "cuda" : "cpu";
    return std::make_shared<const PreparedPlan>(std::move(out));
  });
}

const Forecast& forecast_of(const PreparedPlan& prepared) { return prepared.forecast; }

Result<Weights> untrained_weights(const PreparedPlan& prepared) {
  return without_exceptions([&]() -> Result<Weights> {
    return prepared.model->weights(
        Parameters(prepared.model->layout(), {1}, {1.0}, torch::kCPU, torch::kFloat32), 0);
  });
}

Result<Weights> untrained_weights(const TrainingPlan& plan) {
  RUNG_TRY(const PreparedPlan prepared, lesson_and_model(plan));
  return untrained_weights(prepared);
}

}  // namespace rung::learn
