#include "rung/learn/lesson.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "rung/base/nearest_word.h"
#include "rung/base/parallel.h"

namespace rung::learn {
namespace {

// Levels of log-linear attention are counted by the context.
bool has_levels(const Mixer& mixer) {
  return mixer.kind == MixerKind::loglinear ||
         std::any_of(mixer.parts.begin(), mixer.parts.end(),
                     [](const HeadGroup& part) { return has_levels(part.mixer); });
}

// Tokens that ask: the part of a prompt that may be asked again of the same beginning, because it is valid
// after any beginning. 0: the task has no such part.
std::int64_t question_length(const Task& task) {
  const std::string_view name = task.name();
  if (!task.built_in()) return 0;
  if (name == "eva" || name == "index" || name == "two-sum") return 1;
  if (name == "seqcomp" && task.options().empty()) {
    const SizeList sizes = task.size();
    return sizes.at("L") + 1;
  }
  return 0;
}

Result<void> merge_fields(std::vector<FieldSpec>& fields, const Task& task) {
  const std::vector<FieldSpec> given = task.fields();
  if (fields.empty()) return fields = given, Result<void>();
  if (given.size() != fields.size())
    return fail(ErrorCode::unsupported,
                "[train] task {} has {} fields, the others {}: they do not fit one model", task.name(),
                given.size(), fields.size());
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (given[f].name != fields[f].name || given[f].length != fields[f].length ||
        given[f].low != fields[f].low)
      return fail(ErrorCode::unsupported,
                  "[train] task {} has another field {}: the tasks do not fit one model", task.name(),
                  given[f].name);
    fields[f].size = std::max(fields[f].size, given[f].size);
  }
  return {};
}

// Appends the question of another instance, far along in the same stream, asked of this row's own beginning
// (the first prompt_length() tokens of `whole`).
void append_other_question(const Task& task, Variant variant, std::uint64_t seed, std::uint64_t index,
                           std::int64_t spacing, Prompt& whole, std::vector<std::int64_t>& right) {
  const std::int64_t base = task.prompt_length(), question = question_length(task);
  const Instance other = task.generate(variant, seed, index);
  Prompt asked_again = whole;
  for (std::size_t f = 0; f < whole.fields.size(); ++f) {
    asked_again.fields[f].resize(static_cast<std::size_t>(base));
    for (std::int64_t t = question; t < spacing; ++t) whole.fields[f].push_back(whole.fields[f].back());
    for (std::int64_t t = base - question; t < base; ++t) {
      const std::int64_t value = other.prompt.fields[f][static_cast<std::size_t>(t)];
      asked_again.fields[f][static_cast<std::size_t>(t)] = value;
      whole.fields[f].push_back(value);
    }
  }
  right.push_back(task.answer(asked_again).back());
}
constexpr std::uint64_t kFar = std::uint64_t{1} << 40;

// A stage of the support: its sizes by the names of the task's, in the task's own order (seqcomp's without L).
Result<kernels::InstanceSupport> support_of(const Task& task, const TaskSizes& given) {
  const auto drawn = instance_task(task);
  if (!drawn ||
      (drawn->kind != kernels::InstanceKind::evaluation && drawn->kind != kernels::InstanceKind::seqcomp))
    return fail(ErrorCode::unsupported,
                "[train] support: {} has none; eva, index or seqcomp in the hard order expected",
                task.name());
  kernels::InstanceSupport out = kernels::whole_support(*drawn);
  std::vector<std::string_view> names;
  const SizeList sizes = task.size();
  for (const auto& [name, value] : sizes)
    if (name != "L") names.push_back(name);
  for (const auto& [name, value] : given) {
    const auto place = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    if (place == names.size())
      return fail(ErrorCode::parse, "[train] support: {} has no size {}; {} expected", task.name(),
                  rung::quoted(name), fmt::join(names, ", "));
    if (value < 1 || value > out.size[place])
      return fail(ErrorCode::range, "[train] support: {} = {} of {}; 1 to {} expected", name, value,
                  task.name(), out.size[place]);
    out.size[place] = value;
  }
  if (task.name() == "eva") out.size[1] = out.size[0];  // its values are arguments
  return out;
}

constexpr std::int64_t kLargestOutput = 65536;  // logits

}  // namespace

void Batch::move_to(torch::Device device) {
  for (torch::Tensor& field : inputs.fields) field = field.to(device);
  inputs.wanted = inputs.wanted.to(device);
  targets = targets.to(device);
  if (between.defined()) between = between.to(device);
}

std::int64_t Lesson::chain_length(const Task& task) const {
  const Instance instance = task.generate(plan_.variant, 1, 0);
  const auto chain = task.chain_of_thought(instance.prompt);
  return chain ? static_cast<std::int64_t>(chain->size()) : 0;
}

Result<Lesson> Lesson::make(const TrainingPlan& plan) {
  Lesson lesson;
  lesson.plan_ = plan;
  bool first = true;
  for (std::size_t stage = 0; stage <= plan.curriculum.size(); ++stage) {
    std::vector<std::unique_ptr<Task>> tasks;
    for (const TaskShare& share : plan.tasks) {
      TaskSizes sizes = share.task.sizes;
      if (stage < plan.curriculum.size())
        for (const auto& [name, value] : plan.curriculum[stage]) sizes[name] = value;
      RUNG_TRY(std::unique_ptr<Task> task, make_task(share.task.name, sizes, share.task.options));
      if (!task->supports(plan.variant))
        return fail(ErrorCode::unsupported, "[train] {} at this size has no {} instances", task->name(),
                    variant_name(plan.variant));
      RUNG_CHECK(merge_fields(lesson.fields_, *task));
      const AnswerSpec answer = task->answer_spec();
      const bool vector = answer.kind == AnswerSpec::Kind::vector;
      if (!first && vector != (lesson.answer_.kind == AnswerSpec::Kind::vector))
        return fail(ErrorCode::unsupported, "[train] task {} answers with {}: the tasks do not fit one model",
                    task->name(), vector ? "vectors" : "tokens");
      if (!first && vector && !(answer == lesson.answer_))
        return fail(ErrorCode::unsupported,
                    "[train] the tasks answer with vectors of other sizes: they do not fit one model");
      if (first) lesson.answer_ = answer;
      lesson.outputs_ = std::max(lesson.outputs_, answer.kind == AnswerSpec::Kind::boolean ? 2 : answer.size);
      if (plan.spacing > 0 && plan.spacing < question_length(*task))
        return fail(ErrorCode::range, "[train] spacing = {}: a question of {} has {} tokens", plan.spacing,
                    task->name(), question_length(*task));
      if (plan.queries > 1 && question_length(*task) == 0)
        return fail(ErrorCode::unsupported,
                    "[train] queries = {}: the question of {} cannot be asked again of the same beginning",
                    plan.queries, task->name());
      if (plan.parts) {
        const auto drawn = learn::instance_task(*task);
        if (!drawn || drawn->kind != kernels::InstanceKind::seqcomp || plan.variant != Variant::uniform ||
            plan.supervision == Supervision::chain)
          return fail(ErrorCode::unsupported,
                      "[train] parts: uniform questions of seqcomp in the hard order, without a chain of "
                      "thought, expected; {} has no parts",
                      task->name());
        kernels::InstanceTask asked = *drawn;
        asked.parts = true;
        lesson.fields_[0].size =
            std::max(lesson.fields_[0].size, task->fields()[0].size + kernels::question_kinds(asked) - 1);
      }
      if (plan.supervision == Supervision::chain) {
        const std::int64_t length = lesson.chain_length(*task);
        if (length == 0)
          return fail(ErrorCode::unsupported, "[train] task {} has no chain of thought", task->name());
        if (!plan.dimensions.causal)
          return fail(
              ErrorCode::unsupported,
              "[train] an encoder would see the chain of thought that it is to write; a decoder expected");
        if (plan.queries > 1)
          return fail(ErrorCode::unsupported,
                      "[train] a chain of thought answers one question a prompt; queries = {}", plan.queries);
        lesson.chain_ = std::max(lesson.chain_, length);
        lesson.outputs_ = std::max(lesson.outputs_, task->fields()[0].size);
      }
      first = false;
      tasks.push_back(std::move(task));
    }
    lesson.stages_.push_back(std::move(tasks));
  }
  if (plan.supervision == Supervision::deep) {
    const auto drawn = learn::instance_task(*lesson.stages_.back().front());
    if (plan.tasks.size() != 1 || !lesson.asks_plainly() || !drawn ||
        drawn->kind != kernels::InstanceKind::seqcomp || drawn->levels < 2)
      return fail(
          ErrorCode::unsupported,
          "[train] supervision deep: uniform questions of seqcomp alone, in the hard order and of at least "
          "two functions, expected; {} has no values between",
          lesson.stages_.back().front()->name());
    for (const DeepReadout& readout : plan.deep)
      if (readout.value >= drawn->levels || std::max(readout.back, readout.token) > drawn->levels)
        return fail(
            ErrorCode::range,
            "[train] deep: value {}, token {}, back {}; values 1 to {}, and tokens and positions at most "
            "{} back expected",
            readout.value, readout.token, readout.back, drawn->levels - 1, drawn->levels);
  }
  if (!plan.support.empty()) {
    if (!lesson.asks_plainly())
      return fail(ErrorCode::unsupported,
                  "[train] support: uniform instances without a chain of thought expected");
    for (std::size_t stage = 0; stage <= plan.support.size(); ++stage)
      for (const auto& task : lesson.stages_.back()) {
        RUNG_TRY(const auto support,
                 support_of(*task, stage < plan.support.size() ? plan.support[stage] : TaskSizes()));
        lesson.supports_.resize(stage + 1);
        lesson.supports_[stage].push_back(support);
      }
  }
  if (lesson.outputs_ > kLargestOutput)
    return fail(ErrorCode::resource, "[train] {} possible answers; at most {} can be learned as logits",
                lesson.outputs_, kLargestOutput);
  return lesson;
}

Result<ModelSpec> Lesson::model_spec() const {
  ModelSpec spec;
  RUNG_TRY(spec.architecture.stack, parse_stack(plan_.arch));
  spec.architecture.dimensions = plan_.dimensions;
  Dimensions& dims = spec.architecture.dimensions;
  if (!free_length()) dims.context = std::max(dims.context, longest());
  dims.vocabulary = fields_[0].size;
  dims.outputs = outputs_;
  dims.precision.format = NumberFormat::fp32;
  dims.precision.bits = 32;
  dims.precision.fraction = 0;
  spec.fields = fields_;
  spec.embedding = plan_.embedding;
  const bool vector = answer_.kind == AnswerSpec::Kind::vector;
  spec.output = {vector ? OutputSpec::Kind::vector : OutputSpec::Kind::logits, outputs_,
                 vector ? answer_.fraction : 0};
  if (plan_.supervision == Supervision::chain) spec.decode.steps = chain_;
  if (plan_.supervision == Supervision::deep) {
    const kernels::InstanceTask task = *instance_task(stages_.size() - 1, 0);
    const auto layers = static_cast<std::int64_t>(spec.architecture.stack.layers.size());
    std::vector<DeepReadout> places = plan_.deep;
    for (std::int64_t l = 1; plan_.deep.empty() && l < task.levels; ++l)
      places.push_back({l, std::max<std::int64_t>(1, layers - task.levels + l), 0});
    for (const DeepReadout& place : places) {
      if (place.layer > layers)
        return fail(ErrorCode::range, "[train] deep: layer {} of {}", place.layer, layers);
      spec.readouts.push_back({place, place.token > 0 ? fields_[0].size : task.domain[place.value - 1]});
    }
  }
  if (stages_.back().size() == 1) spec.task = task_record_text(*stages_.back().front());
  return spec;
}

std::size_t Lesson::task_at(std::int64_t step) const {
  if (plan_.tasks.size() == 1) return 0;
  // The golden-ratio sequence is spread evenly and needs no memory of earlier steps.
  double total = 0;
  for (const TaskShare& share : plan_.tasks) total += share.weight;
  const double golden = 0.6180339887498949,
               place = std::fmod(static_cast<double>(step) * golden, 1.0) * total;
  double sum = 0;
  for (std::size_t i = 0; i < plan_.tasks.size(); ++i)
    if ((sum += plan_.tasks[i].weight) > place) return i;
  return plan_.tasks.size() - 1;
}

std::int64_t Lesson::spacing(const Task& task) const {
  return plan_.spacing > 0 ? plan_.spacing : question_length(task);
}

std::int64_t Lesson::length(std::size_t stage, std::size_t which) const {
  const Task& task = *stages_[stage][which];
  std::int64_t length = task.prompt_length() + (plan_.queries - 1) * spacing(task);
  if (plan_.supervision == Supervision::chain) length += chain_length(task) - 1;
  return length;
}

bool Lesson::asks_plainly() const {
  if (plan_.variant != Variant::uniform || plan_.supervision == Supervision::chain) return false;
  if (plan_.supervision != Supervision::answer) return true;
  for (const auto& stage : stages_)
    for (const auto& task : stage)
      if (task->asked() != 1) return false;
  return true;
}

std::optional<kernels::InstanceTask> Lesson::instance_task(std::size_t stage, std::size_t which) const {
  const Task& task = *stages_[stage][which];
  if (plan_.supervision == Supervision::answer && task.asked() != 1) return std::nullopt;
  auto out = learn::instance_task(task, plan_.variant);
  if (!out) return out;
  if (plan_.supervision == Supervision::chain) {
    out->thoughts = true;
    return kernels::instances_fit(*out) ? out : std::nullopt;
  }
  out->questions = plan_.queries - 1, out->parts = plan_.parts, out->spacing = plan_.spacing;
  return out;
}

bool Lesson::free_length() const {
  if (plan_.dimensions.position != PositionCode::none || plan_.dimensions.context > 0) return false;
  const auto stack = parse_stack(plan_.arch);
  if (!stack || std::any_of(stack->layers.begin(), stack->layers.end(), has_levels)) return false;
  return std::all_of(stages_.back().begin(), stages_.back().end(),
                     [](const auto& task) { return task->automaton() != nullptr; });
}

std::int64_t Lesson::longest() const {
  std::int64_t most = 0;
  for (std::size_t stage = 0; stage < stages_.size(); ++stage)
    for (std::size_t which = 0; which < stages_[stage].size(); ++which)
      most = std::max(most, length(stage, which));
  // A chain of thought reads its own last token too when it is run.
  return most + (plan_.supervision == Supervision::chain ? 1 : 0);
}

Batch Lesson::draw(const Draw& draw) const {
  const Task& task = *stages_[draw.stage][draw.which];
  const bool chained = plan_.supervision == Supervision::chain,
             vector = answer_.kind == AnswerSpec::Kind::vector;
  const std::int64_t extra = draw.teaching && !chained ? plan_.queries - 1 : 0, spacing = this->spacing(task),
                     base = task.prompt_length();
  const std::int64_t chain = chained ? chain_length(task) : 0;
  const std::int64_t length = base + extra * spacing + (chained ? chain - 1 : 0);
  const std::int64_t members = static_cast<std::int64_t>(draw.seeds.size()), rows = members * draw.count;

  std::vector<std::int64_t> wanted = task.query_positions();
  const std::vector<std::int64_t> may_ask = wanted;
  const std::int64_t asked = task.asked();
  const bool last_only = draw.teaching && plan_.supervision == Supervision::answer;
  // Questions that stand elsewhere in every prompt: the positions of each row.
  const bool moving = asked < static_cast<std::int64_t>(wanted.size());
  if (moving) wanted.resize(static_cast<std::size_t>(asked));
  if (last_only) wanted = {wanted.back()};
  for (std::int64_t i = 0; i < extra; ++i) wanted.push_back(base + (i + 1) * spacing - 1);
  if (chained) {
    wanted.clear();
    for (std::int64_t i = 0; i < chain; ++i) wanted.push_back(base - 1 + i);
  }
  const std::int64_t answers = static_cast<std::int64_t>(wanted.size()), numbers = vector ? answer_.size : 1;

  Batch batch;
  batch.answers = answers;
  batch.tolerance = std::ldexp(answer_.tolerance, answer_.fraction);
  std::vector<std::int64_t*> starts;
  for (const FieldSpec& field : fields_) {
    std::vector<std::int64_t> shape{members, draw.count, length};
    if (field.length > 1) shape.push_back(field.length);
    batch.inputs.fields.push_back(torch::zeros(shape, torch::kLong));
    starts.push_back(batch.inputs.fields.back().data_ptr<std::int64_t>());
  }
  torch::Tensor targets = torch::empty({rows * answers * numbers}, torch::kLong);
  auto* const first_target = targets.data_ptr<std::int64_t>();
  const bool deep = draw.teaching && plan_.supervision == Supervision::deep;
  if (deep)
    batch.between = torch::empty({task.size().at("L") - 1, members, draw.count * answers}, torch::kLong);
  auto* const first_between = deep ? batch.between.data_ptr<std::int64_t>() : nullptr;
  if (moving) batch.inputs.wanted = torch::empty({members, draw.count, answers}, torch::kLong);
  auto* const first_wanted = moving ? batch.inputs.wanted.data_ptr<std::int64_t>() : nullptr;
  auto drawn = instance_task(draw.stage, draw.which);
  if (drawn && !draw.teaching) drawn->questions = 0, drawn->parts = false;
  const std::int64_t first_whole = draw.teaching ? whole_rows(draw.count) : 0;
  const auto draw_row = [&](std::int64_t row) {
    const std::uint64_t seed = draw.seeds[static_cast<std::size_t>(row / draw.count)];
    const auto index = static_cast<std::uint64_t>(draw.first + row % draw.count);
    if (drawn) {  // as a kernel would: the task's own, from its support
      const auto member = static_cast<std::size_t>(row / draw.count);
      std::vector<std::int32_t> tokens(static_cast<std::size_t>(kernels::instance_tokens(*drawn))),
          scratch(static_cast<std::size_t>(kernels::instance_scratch(*drawn)));
      kernels::draw_instance(*drawn,
                             draw.supports.empty() || row % draw.count < first_whole
                                 ? kernels::whole_support(*drawn)
                                 : support(draw.supports[member], draw.which),
                             seed, index, tokens.data(), first_target + row * answers, scratch.data(),
                             {deep ? first_between + row * answers : nullptr, rows * answers},
                             moving ? first_wanted + row * answers : nullptr);
      for (std::size_t f = 0; f < fields_.size(); ++f)
        std::transform(tokens.begin() + static_cast<std::ptrdiff_t>(f) * length,
                       tokens.begin() + static_cast<std::ptrdiff_t>(f + 1) * length, starts[f] + row * length,
                       [&](std::int32_t token) { return token - fields_[f].low; });
      return;
    }
    const Instance instance = task.generate(plan_.variant, seed, index);
    std::vector<std::int64_t> right = instance.answer;
    if (moving) {
      std::vector<std::int64_t> places;
      for (std::size_t i = 0; i < may_ask.size(); ++i)
        if (right[i] != kNotAsked) places.push_back(may_ask[i]);
      std::erase(right, kNotAsked);
      std::copy(places.end() - answers, places.end(), first_wanted + row * answers);
    }
    if (last_only) right.erase(right.begin(), right.begin() + (asked - 1) * numbers);
    Prompt whole = instance.prompt;
    for (std::int64_t i = 0; i < extra; ++i)
      append_other_question(task, plan_.variant, seed, index + kFar * static_cast<std::uint64_t>(i + 1),
                            spacing, whole, right);
    if (chained) {
      right = *task.chain_of_thought(instance.prompt);
      for (std::int64_t i = 0; i + 1 < chain; ++i)
        for (std::size_t f = 0; f < fields_.size(); ++f)
          whole.fields[f].insert(whole.fields[f].end(), static_cast<std::size_t>(fields_[f].length),
                                 f == 0 ? right[static_cast<std::size_t>(i)] : fields_[f].low);
    }
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      const std::int64_t low = fields_[f].length == 1 ? fields_[f].low : 0;
      std::int64_t* to = starts[f] + row * length * fields_[f].length;
      for (const std::int64_t value : whole.fields[f]) *to++ = value - low;
    }
    RUNG_REQUIRE(static_cast<std::int64_t>(right.size()) == answers * numbers, "{} answers of {}",
                 right.size(), answers * numbers);
    std::copy(right.begin(), right.end(), first_target + row * answers * numbers);
  };
  if (draw.parallel)
    parallel_for(rows, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) draw_row(row);
    });
  else
    for (std::int64_t row = 0; row < rows; ++row) draw_row(row);
  if (!moving) batch.inputs.wanted = torch::tensor(wanted, torch::kLong);
  if (vector)
    batch.targets = targets.view({members, draw.count * answers, numbers}).to(torch::kFloat32);
  else
    batch.targets = targets.view({members, draw.count * answers});
  return batch;
}

}  // namespace rung::learn
