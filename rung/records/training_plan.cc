#include "rung/records/training_plan.h"

#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "rung/base/json_text.h"
#include "rung/base/nearest_word.h"
#include "rung/base/toml_text.h"
#include "rung/spec/dimensions_file.h"
#include "rung/tasks/task_list.h"

namespace rung {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::int64_t kMany = 1'000'000'000;

// Every number of a plan with its name and range.
template <class Plan, class Visit>
void visit_numbers(Plan& plan, const Visit& visit) {
  visit("steps", plan.steps, 1, kMany);
  visit("batch", plan.batch, 1, 1 << 20);
  visit("warmup", plan.warmup, 0, kMany);
  visit("queries", plan.queries, 1, 4096);
  visit("spacing", plan.spacing, 0, 4096);
  visit("evaluate_every", plan.evaluate_every, 1, kMany);
  visit("evaluate_count", plan.evaluate_count, 1, 1 << 24);
  visit("final_count", plan.final_count, 1, 1 << 24);
  visit("checkpoint_every", plan.checkpoint_every, 1, kMany);
  visit("round_after", plan.round_after, -1, kMany);
  visit("round_bits", plan.round_bits, 2, kMostRoundBits);
  visit("carry_bits", plan.carry_bits, 2, kMostCarryBits);
  visit("stage_steps", plan.stage_steps, 0, kMany);
  visit("advance", plan.advance, 0, 1);
  visit("whole", plan.whole, 0, 1);
  visit("floor", plan.floor, 0, 1);
  visit("clip", plan.clip, 0, 1e6);
  visit("beta1", plan.beta1, 0, 0.9999);
  visit("beta2", plan.beta2, 0, 0.99999);
  visit("dropout", plan.dropout, 0, 0.95);
  visit("smoothing", plan.smoothing, 0, 0.95);
  visit("stop", plan.stop, 0, 1);
  visit("patience", plan.patience, 0, kMany);
  visit("gain", plan.gain, 0, 1);
}

template <class T, class Low, class High>
Result<void> in_range(const char* name, const T& value, Low low, High high) {
  if (!(value >= static_cast<T>(low) && value <= static_cast<T>(high)))
    return fail(ErrorCode::range, "[train] {} = {}; {} to {} expected", name, value, low, high);
  return {};
}
template <class T, class Low, class High>
Result<void> in_range(const char* name, const std::optional<T>& value, Low low, High high) {
  return value ? in_range(name, *value, low, high) : Result<void>();
}

// The readers: a value of the file into a field of the plan.
Result<void> read(const json& value, const std::string& name, double& to) {
  if (!value.is_number()) return fail(ErrorCode::parse, "[train] {}: a number expected", name);
  to = value.get<double>();
  return {};
}
Result<void> read(const json& value, const std::string& name, std::int64_t& to) {
  if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX))
    return fail(ErrorCode::parse, "[train] {}: a whole number expected", name);
  to = value.get<std::int64_t>();
  return {};
}
Result<void> read(const json& value, const std::string& name, std::uint64_t& to) {
  std::int64_t whole = 0;
  RUNG_CHECK(read(value, name, whole));
  if (whole < 0) return fail(ErrorCode::range, "[train] {} = {}; at least 0 expected", name, whole);
  to = static_cast<std::uint64_t>(whole);
  return {};
}
Result<void> read(const json& value, const std::string& name, int& to) {
  std::int64_t whole = 0;
  RUNG_CHECK(read(value, name, whole));
  RUNG_CHECK(in_range(name.c_str(), whole, -(1 << 30), 1 << 30));
  to = static_cast<int>(whole);
  return {};
}
Result<void> read(const json& value, const std::string& name, bool& to) {
  if (!value.is_boolean()) return fail(ErrorCode::parse, "[train] {}: true or false expected", name);
  to = value.get<bool>();
  return {};
}
Result<void> read(const json& value, const std::string& name, std::string& to) {
  if (!value.is_string()) return fail(ErrorCode::parse, "[train] {}: a word expected", name);
  to = value.get<std::string>();
  return {};
}
Result<void> read(const json& value, const std::string& name, Variant& to) {
  std::string word;
  RUNG_CHECK(read(value, name, word));
  RUNG_TRY(to, parse_variant(word));
  return {};
}
template <class T>
requires NamedWord<T> Result<void> read(const json& value, const std::string& name, T& to) {
  std::string word;
  RUNG_CHECK(read(value, name, word));
  RUNG_TRY(to, parse_word<T>(word, "[train] " + name));
  return {};
}
template <class T>
Result<void> read(const json& value, const std::string& name, std::optional<T>& to) {
  if (value.is_null()) return to.reset(), Result<void>();
  return read(value, name, to.emplace());
}
Result<void> read(const json& value, const std::string& name, TaskSizes& to) {
  if (!value.is_object()) return fail(ErrorCode::parse, "[train] {}: an object of sizes expected", name);
  for (const auto& [key, item] : value.items()) RUNG_CHECK(read(item, name + "." + key, to[key]));
  return {};
}
Result<void> read(const json& value, const std::string& name, std::vector<TaskSizes>& to) {
  if (!value.is_array()) return fail(ErrorCode::parse, "[train] {}: a list of sizes expected", name);
  to.clear();
  for (const json& item : value) RUNG_CHECK(read(item, name, to.emplace_back()));
  return {};
}
Result<void> read(const json& value, const std::string& name, std::vector<DeepReadout>& to) {
  std::vector<TaskSizes> given;
  RUNG_CHECK(read(value, name, given));
  to.clear();
  for (const TaskSizes& each : given) {
    RUNG_TRY(const DeepReadout readout, deep_readout(each));
    to.push_back(readout);
  }
  return {};
}
Result<void> read(const json& value, const std::string& name, TaskShare& to) {
  if (value.is_string()) return read(value, name, to.task.name);
  if (!value.is_object() || !value.contains("name"))
    return fail(ErrorCode::parse, "[train] {}: a name, or an object with a name, expected", name);
  for (const auto& [key, item] : value.items()) {
    const std::string inner = name + "." + key;
    if (key == "name") {
      RUNG_CHECK(read(item, inner, to.task.name));
    } else if (key == "size") {
      RUNG_CHECK(read(item, inner, to.task.sizes));
    } else if (key == "weight") {
      RUNG_CHECK(read(item, inner, to.weight));
    } else if (key == "options") {
      if (!item.is_object()) return fail(ErrorCode::parse, "[train] {}: an object of words expected", inner);
      for (const auto& [option, word] : item.items())
        RUNG_CHECK(read(word, inner + "." + option, to.task.options[option]));
    } else {
      return fail(ErrorCode::parse, "[train] {}: unknown field {}; name, size, options or weight expected",
                  name, rung::quoted(key));
    }
  }
  return {};
}
// One value may stand for a list of it.
template <class T>
Result<void> read(const json& value, const std::string& name, std::vector<T>& to) {
  to.clear();
  for (const json& item : value.is_array() ? value : json::array({value}))
    RUNG_CHECK(read(item, name, to.emplace_back()));
  return {};
}
Result<void> read(const json& value, const std::string& name, Dimensions& to) {
  RUNG_TRY(const ArchitectureFile file, read_architecture_text(value.dump(), name, false));
  to = file.dimensions;
  if (!value.contains("norm")) to.norm = Norm::rms;
  return {};
}

using Reader = std::function<Result<void>(const json&)>;

// Every field of the file with its reader: the one list of names.
std::map<std::string, Reader> readers(TrainingPlan& plan) {
  std::map<std::string, Reader> out;
  const auto field = [&out](const char* name, auto& to) {
    out[name] = [&to, name](const json& value) { return read(value, name, to); };
  };
  visit_numbers(plan, [&](const char* name, auto& to, auto, auto) { field(name, to); });
  field("arch", plan.arch);
  field("dimensions", plan.dimensions);
  field("tasks", plan.tasks);
  field("curriculum", plan.curriculum);
  field("support", plan.support);
  field("deep", plan.deep);
  field("from", plan.from);
  field("variant", plan.variant);
  field("supervision", plan.supervision);
  field("embedding", plan.embedding);
  field("precision", plan.precision);
  field("device", plan.device);
  field("seeds", plan.seeds);
  field("rates", plan.rates);
  field("decays", plan.decays);
  field("scales", plan.scales);
  field("carried_bits", plan.carried_bits);
  field("parts", plan.parts);
  return out;
}

Result<TrainingPlan> plan_from(const json& document, const std::string& where) {
  if (!document.is_object()) return fail(ErrorCode::parse, "[train] {}: an object expected", where);
  TrainingPlan plan;
  plan.dimensions.norm = Norm::rms;
  const auto fields = readers(plan);
  for (const auto& [key, value] : document.items()) {
    if (key == "schema") continue;
    const auto found = fields.find(key);
    if (found == fields.end()) {
      std::vector<std::string_view> names;
      for (const auto& [name, reader] : fields) names.push_back(name);
      return fail(ErrorCode::parse, "[train] {}: unknown field {}; {}", where, rung::quoted(key),
                  suggest(key, names));
    }
    if (auto read = found->second(value); !read)
      return fail(read.error().code, "{} (in {})", read.error().message, where);
  }
  // A plan that rung wrote says its schema, and the form of every mixer; 0.2 and earlier left out the plain ones.
  plan.arch = spelled_line(plan.arch, document.contains("schema") ? UnsaidForm::plain : UnsaidForm::released);
  if (!document.contains("dimensions") || !document["dimensions"].contains("position")) place_by_tasks(plan);
  RUNG_CHECK(check_plan(plan));
  return plan;
}

}  // namespace

Result<DeepReadout> deep_readout(const TaskSizes& given) {
  DeepReadout out;
  const std::map<std::string_view, std::int64_t*> fields{
      {"value", &out.value}, {"layer", &out.layer}, {"back", &out.back}, {"token", &out.token}};
  if (given.contains("value") && given.contains("token"))
    return fail(ErrorCode::parse, "[train] deep: value and token in one readout; one of the two expected");
  for (const auto& [name, number] : given) {
    const auto found = fields.find(name);
    if (found == fields.end())
      return fail(ErrorCode::parse, "[train] deep: unknown field {}; value or token, layer or back expected",
                  rung::quoted(name));
    *found->second = number;
  }
  return out;
}

void place_by_tasks(TrainingPlan& plan) {
  for (const TaskShare& share : plan.tasks) {
    const auto task = make_task(share.task.name, share.task.sizes, share.task.options);
    if (!task || !(*task)->automaton()) return;
  }
  if (!plan.tasks.empty()) plan.dimensions.position = PositionCode::none;
}

Result<void> check_plan(const TrainingPlan& plan) {
  if (plan.arch.empty())
    return fail(ErrorCode::missing, "[train] no architecture: give a line such as full*2");
  if (plan.tasks.empty())
    return fail(ErrorCode::missing, "[train] no task: give `task`, or tasks in the file");
  Result<void> numbers;
  visit_numbers(plan, [&](const char* name, const auto& value, auto low, auto high) {
    if (numbers) numbers = in_range(name, value, low, high);
  });
  RUNG_CHECK(numbers);
  if (plan.spacing > 0 && plan.queries == 1)
    return fail(ErrorCode::unsupported, "[train] spacing = {}: several questions a prompt expected",
                plan.spacing);
  if (plan.round_bits && plan.carry_bits)
    return fail(ErrorCode::range, "[train] carry_bits = {}: round_bits rounds that too; one of them expected",
                *plan.carry_bits);
  if (stage_at(plan, plan.steps - 1) != plan.curriculum.size())
    return fail(ErrorCode::range,
                "[train] {} stages of {} steps leave none of the {} steps for the tasks' own sizes",
                plan.curriculum.size(), plan.stage_steps, plan.steps);
  if (!plan.curriculum.empty() && !plan.support.empty())
    return fail(ErrorCode::unsupported,
                "[train] curriculum and support are both given; one of the two expected");
  if (plan.whole > 0 && plan.support.empty())
    return fail(ErrorCode::unsupported, "[train] whole needs support");
  if (!plan.deep.empty() && plan.supervision != Supervision::deep)
    return fail(ErrorCode::unsupported, "[train] deep readouts: supervision deep expected, {} given",
                name_of(plan.supervision));
  for (const DeepReadout& readout : plan.deep) {
    RUNG_CHECK(in_range("deep.value", readout.value, 1, kMany));
    RUNG_CHECK(in_range("deep.layer", readout.layer, 1, kMany));
    RUNG_CHECK(in_range("deep.back", readout.back, 0, kMany));
    RUNG_CHECK(in_range("deep.token", readout.token, 0, kMany));
  }
  if (!plan.from.empty() && plan.scales != std::vector<double>{1})
    return fail(ErrorCode::unsupported,
                "[train] from: a file's numbers are taken as they are; scale 1 expected");
  const std::optional<int> rounded = plan.round_bits ? plan.round_bits : plan.carry_bits;
  if (rounded && !rounds_at(plan, plan.steps - 1))
    return fail(ErrorCode::range, "[train] round_after = {}: rounding would start after the last of {} steps",
                plan.round_after, plan.steps);
  constexpr int kBf16Bits = 8;  // of a bfloat16's significand
  if (rounded && *rounded > kBf16Bits && plan.precision == ComputeType::bf16)
    return fail(ErrorCode::range, "[train] {} = {}: bf16 holds whole numbers of {} bits; fp32 expected",
                plan.round_bits ? "round_bits" : "carry_bits", *rounded, kBf16Bits);
  if (plan.patience > 0 && plan.floor == 0)
    return fail(ErrorCode::range, "[train] floor = 0: patience needs floor > 0");
  double total = 0;
  for (const TaskShare& share : plan.tasks) {
    RUNG_CHECK(in_range("weight", share.weight, 0, 1e6));
    total += share.weight;
  }
  if (!(total > 0)) return fail(ErrorCode::range, "[train] all tasks have weight 0");
  for (const double rate : plan.rates) RUNG_CHECK(in_range("rate", rate, 1e-9, 100));
  for (const double decay : plan.decays) RUNG_CHECK(in_range("decay", decay, 0, 100));
  for (const double scale : plan.scales) RUNG_CHECK(in_range("scale", scale, 1e-6, 1e6));
  if (plan.device != "auto" && plan.device != "cpu" && plan.device != "cuda")
    return fail(ErrorCode::parse, "[train] device {}; auto, cpu or cuda expected", rung::quoted(plan.device));
  const double count = static_cast<double>(plan.seeds.size()) * static_cast<double>(plan.rates.size()) *
                       static_cast<double>(plan.decays.size()) * static_cast<double>(plan.scales.size());
  if (count < 1 || count > static_cast<double>(kMaxMembers))
    return fail(ErrorCode::range, "[train] {} members; 1 to {} expected", count, kMaxMembers);
  return {};
}

Result<TrainingPlan> parse_plan(const std::string& text, const std::string& where) {
  const auto document = parse_json(text, "train");
  if (!document) return fail(document.error().code, "{} (in {})", document.error().message, where);
  return plan_from(*document, where);
}

Result<TrainingPlan> read_plan(const std::string& path) {
  RUNG_TRY(const std::string text, read_text_file(path, "train"));
  if (path.ends_with(".toml")) {
    RUNG_TRY(const json document, parse_toml(text, path, "train"));
    return plan_from(document, path);
  }
  return parse_plan(text, path);
}

std::string plan_text(const TrainingPlan& plan) {
  ordered_json out{{"schema", "rung.plan/1"},
                   {"arch", spelled_line(plan.arch, UnsaidForm::released)},
                   {"dimensions", ordered_json::parse(dimensions_text(plan.dimensions))}};
  ordered_json tasks = ordered_json::array();
  for (const TaskShare& share : plan.tasks) {
    ordered_json task{{"name", share.task.name}, {"size", share.task.sizes}, {"weight", share.weight}};
    if (!share.task.options.empty()) task["options"] = share.task.options;
    tasks.push_back(task);
  }
  out["tasks"] = tasks;
  out["curriculum"] = ordered_json::array();
  for (const TaskSizes& sizes : plan.curriculum) out["curriculum"].push_back(ordered_json(sizes));
  if (!plan.support.empty()) {  // a plan without is the text that it was before there were any
    out["support"] = ordered_json::array();
    for (const TaskSizes& sizes : plan.support) out["support"].push_back(ordered_json(sizes));
    out["advance"] = plan.advance;
    if (plan.whole > 0) out["whole"] = plan.whole;
  }
  if (!plan.deep.empty()) {
    out["deep"] = ordered_json::array();
    for (const DeepReadout& readout : plan.deep)
      out["deep"].push_back(
          {{readout.token > 0 ? "token" : "value", readout.token > 0 ? readout.token : readout.value},
           {"layer", readout.layer},
           {"back", readout.back}});
  }
  if (plan.patience > 0) out["patience"] = plan.patience, out["gain"] = plan.gain;
  if (plan.spacing > 0) out["spacing"] = plan.spacing;
  if (plan.embedding != TokenEmbedding::table) out["embedding"] = name_of(plan.embedding);
  if (!plan.from.empty()) out["from"] = plan.from;
  if (plan.carried_bits) out["carried_bits"] = true;
  if (plan.carry_bits) out["carry_bits"] = *plan.carry_bits;
  out.update({{"stage_steps", plan.stage_steps},
              {"variant", variant_name(plan.variant)},
              {"supervision", name_of(plan.supervision)},
              {"queries", plan.queries},
              {"parts", plan.parts},
              {"steps", plan.steps},
              {"batch", plan.batch},
              {"seeds", plan.seeds},
              {"rates", plan.rates},
              {"decays", plan.decays},
              {"scales", plan.scales},
              {"warmup", plan.warmup},
              {"floor", plan.floor},
              {"clip", plan.clip},
              {"beta1", plan.beta1},
              {"beta2", plan.beta2},
              {"dropout", plan.dropout},
              {"smoothing", plan.smoothing},
              {"evaluate_every", plan.evaluate_every},
              {"evaluate_count", plan.evaluate_count},
              {"final_count", plan.final_count},
              {"checkpoint_every", plan.checkpoint_every},
              {"precision", name_of(plan.precision)},
              {"round_after", plan.round_after},
              {"device", plan.device}});
  out["stop"] = plan.stop ? ordered_json(*plan.stop) : ordered_json(nullptr);
  out["round_bits"] = plan.round_bits ? ordered_json(*plan.round_bits) : ordered_json(nullptr);
  return out.dump(2);
}

std::size_t stage_at(const TrainingPlan& plan, std::int64_t step) {
  if (plan.curriculum.empty()) return 0;
  const auto stages = static_cast<std::int64_t>(plan.curriculum.size());
  const std::int64_t each =
      plan.stage_steps > 0 ? plan.stage_steps : std::max<std::int64_t>(1, plan.steps / (2 * stages));
  return static_cast<std::size_t>(std::min(step / each, stages));
}

bool rounds_at(const TrainingPlan& plan, std::int64_t step) {
  return (plan.round_bits || plan.carry_bits) &&
         step >= (plan.round_after < 0 ? plan.steps / 2 : plan.round_after);
}

std::vector<MemberPlan> members(const TrainingPlan& plan) {
  std::vector<MemberPlan> out;
  for (const double scale : plan.scales)
    for (const double decay : plan.decays)
      for (const double rate : plan.rates)
        for (const std::uint64_t seed : plan.seeds)
          out.push_back({static_cast<std::int64_t>(out.size()), seed, rate, decay, scale});
  return out;
}

}  // namespace rung
