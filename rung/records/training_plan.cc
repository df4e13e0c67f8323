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

Result<double> number_of(const json& value, const std::string& name) {
  if (!value.is_number()) return fail(ErrorCode::parse, "[train] {}: a number expected", name);
  return value.get<double>();
}
Result<std::int64_t> whole_of(const json& value, const std::string& name) {
  if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX))
    return fail(ErrorCode::parse, "[train] {}: a whole number expected", name);
  return value.get<std::int64_t>();
}
Result<std::string> word_of(const json& value, const std::string& name) {
  if (!value.is_string()) return fail(ErrorCode::parse, "[train] {}: a word expected", name);
  return value.get<std::string>();
}

template <class T>
Result<std::vector<T>> list_of(const json& value, const std::string& name,
                               Result<T> (*each)(const json&, const std::string&)) {
  std::vector<T> out;
  if (!value.is_array()) {
    RUNG_TRY(T one, each(value, name));
    return std::vector<T>{one};
  }
  for (const json& item : value) {
    RUNG_TRY(T one, each(item, name));
    out.push_back(one);
  }
  return out;
}

Result<std::uint64_t> seed_of(const json& value, const std::string& name) {
  RUNG_TRY(const std::int64_t seed, whole_of(value, name));
  if (seed < 0) return fail(ErrorCode::range, "[train] {} = {}; at least 0 expected", name, seed);
  return static_cast<std::uint64_t>(seed);
}

Result<TaskSizes> sizes_of(const json& value, const std::string& name) {
  if (!value.is_object()) return fail(ErrorCode::parse, "[train] {}: an object of sizes expected", name);
  TaskSizes sizes;
  for (const auto& [key, item] : value.items()) {
    RUNG_TRY(sizes[key], whole_of(item, name + "." + key));
  }
  return sizes;
}

Result<TaskShare> task_of(const json& value) {
  TaskShare share;
  if (value.is_string()) {
    share.task.name = value.get<std::string>();
    return share;
  }
  if (!value.is_object() || !value.contains("name"))
    return fail(ErrorCode::parse, "[train] tasks: a name, or an object with a name, expected");
  for (const auto& [key, item] : value.items()) {
    if (key == "name") {
      RUNG_TRY(share.task.name, word_of(item, "tasks.name"));
    } else if (key == "size") {
      RUNG_TRY(share.task.sizes, sizes_of(item, "tasks.size"));
    } else if (key == "weight") {
      RUNG_TRY(share.weight, number_of(item, "tasks.weight"));
    } else if (key == "options") {
      if (!item.is_object())
        return fail(ErrorCode::parse, "[train] tasks.options: an object of words expected");
      for (const auto& [option, word] : item.items()) {
        RUNG_TRY(share.task.options[option], word_of(word, "tasks.options." + option));
      }
    } else {
      return fail(ErrorCode::parse, "[train] tasks: unknown field {}; name, size, options or weight expected",
                  rung::quoted(key));
    }
  }
  return share;
}

using Reader = std::function<Result<void>(const json&)>;

// Every field of the file with its reader: the one list of names.
std::map<std::string, Reader> readers(TrainingPlan& plan) {
  const auto number = [](double& to, const char* name) -> Reader {
    return [&to, name](const json& value) -> Result<void> {
      RUNG_TRY(to, number_of(value, name));
      return {};
    };
  };
  const auto whole = [](std::int64_t& to, const char* name) -> Reader {
    return [&to, name](const json& value) -> Result<void> {
      RUNG_TRY(to, whole_of(value, name));
      return {};
    };
  };
  const auto numbers = [](std::vector<double>& to, const char* name) -> Reader {
    return [&to, name](const json& value) -> Result<void> {
      RUNG_TRY(to, list_of<double>(value, name, &number_of));
      return {};
    };
  };
  const auto optional_bits = [](std::optional<int>& to, const char* name, int most) -> Reader {
    return [&to, name, most](const json& value) -> Result<void> {
      if (value.is_null()) return to.reset(), Result<void>();
      RUNG_TRY(const std::int64_t bits, whole_of(value, name));
      if (bits < 2 || bits > most)
        return fail(ErrorCode::range, "[train] {} = {}; 2 to {} expected", name, bits, most);
      to = static_cast<int>(bits);
      return {};
    };
  };
  const auto stages = [](std::vector<TaskSizes>& to, const char* name) -> Reader {
    return [&to, name](const json& value) -> Result<void> {
      if (!value.is_array()) return fail(ErrorCode::parse, "[train] {}: a list of sizes expected", name);
      to.clear();
      for (const json& item : value) {
        RUNG_TRY(TaskSizes sizes, sizes_of(item, name));
        to.push_back(std::move(sizes));
      }
      return {};
    };
  };
  return {
      {"arch",
       [&](const json& value) -> Result<void> {
         RUNG_TRY(plan.arch, word_of(value, "arch"));
         return {};
       }},
      {"dimensions",
       [&](const json& value) -> Result<void> {
         RUNG_TRY(const ArchitectureFile file, read_architecture_text(value.dump(), "dimensions", false));
         plan.dimensions = file.dimensions;
         if (!value.contains("norm")) plan.dimensions.norm = Norm::rms;
         return {};
       }},
      {"tasks",
       [&](const json& value) -> Result<void> {
         plan.tasks.clear();
         for (const json& item : value.is_array() ? value : json::array({value})) {
           RUNG_TRY(TaskShare share, task_of(item));
           plan.tasks.push_back(std::move(share));
         }
         return {};
       }},
      {"curriculum", stages(plan.curriculum, "curriculum")},
      {"support", stages(plan.support, "support")},
      {"deep",
       [&](const json& value) -> Result<void> {
         std::vector<TaskSizes> given;
         RUNG_CHECK(stages(given, "deep")(value));
         plan.deep.clear();
         for (const TaskSizes& each : given) {
           RUNG_TRY(const DeepReadout readout, deep_readout(each));
           plan.deep.push_back(readout);
         }
         return {};
       }},
      {"from",
       [&](const json& value) -> Result<void> {
         RUNG_TRY(plan.from, word_of(value, "from"));
         return {};
       }},
      {"advance", number(plan.advance, "advance")},
      {"patience", whole(plan.patience, "patience")},
      {"gain", number(plan.gain, "gain")},
      {"whole", number(plan.whole, "whole")},
      {"variant",
       [&](const json& value) -> Result<void> {
         RUNG_TRY(const std::string word, word_of(value, "variant"));
         RUNG_TRY(plan.variant, parse_variant(word));
         return {};
       }},
      {"supervision",
       [&](const json& value) -> Result<void> {
         RUNG_TRY(const std::string word, word_of(value, "supervision"));
         RUNG_TRY(plan.supervision, parse_word<Supervision>(word, "[train] supervision"));
         return {};
       }},
      {"embedding",
       [&](const json& value) -> Result<void> {
         RUNG_TRY(const std::string word, word_of(value, "embedding"));
         RUNG_TRY(plan.embedding, parse_word<TokenEmbedding>(word, "[train] embedding"));
         return {};
       }},
      {"precision",
       [&](const json& value) -> Result<void> {
         RUNG_TRY(const std::string word, word_of(value, "precision"));
         RUNG_TRY(plan.precision, parse_word<ComputeType>(word, "[train] precision"));
         return {};
       }},
      {"device",
       [&](const json& value) -> Result<void> {
         RUNG_TRY(plan.device, word_of(value, "device"));
         return {};
       }},
      {"seeds",
       [&](const json& value) -> Result<void> {
         RUNG_TRY(plan.seeds, list_of<std::uint64_t>(value, "seeds", &seed_of));
         return {};
       }},
      {"stop",
       [&](const json& value) -> Result<void> {
         if (value.is_null()) return plan.stop.reset(), Result<void>();
         RUNG_TRY(plan.stop, number_of(value, "stop"));
         return {};
       }},
      {"round_bits", optional_bits(plan.round_bits, "round_bits", kMostRoundBits)},
      {"carry_bits", optional_bits(plan.carry_bits, "carry_bits", kMostCarryBits)},
      {"rates", numbers(plan.rates, "rates")},
      {"decays", numbers(plan.decays, "decays")},
      {"scales", numbers(plan.scales, "scales")},
      {"stage_steps", whole(plan.stage_steps, "stage_steps")},
      {"floor", number(plan.floor, "floor")},
      {"clip", number(plan.clip, "clip")},
      {"beta1", number(plan.beta1, "beta1")},
      {"beta2", number(plan.beta2, "beta2")},
      {"dropout", number(plan.dropout, "dropout")},
      {"smoothing", number(plan.smoothing, "smoothing")},
      {"queries", whole(plan.queries, "queries")},
      {"spacing", whole(plan.spacing, "spacing")},
      {"carried_bits",
       [&](const json& value) -> Result<void> {
         if (!value.is_boolean())
           return fail(ErrorCode::parse, "[train] carried_bits: true or false expected");
         plan.carried_bits = value.get<bool>();
         return {};
       }},
      {"parts",
       [&](const json& value) -> Result<void> {
         if (!value.is_boolean()) return fail(ErrorCode::parse, "[train] parts: true or false expected");
         plan.parts = value.get<bool>();
         return {};
       }},
      {"steps", whole(plan.steps, "steps")},
      {"batch", whole(plan.batch, "batch")},
      {"warmup", whole(plan.warmup, "warmup")},
      {"evaluate_every", whole(plan.evaluate_every, "evaluate_every")},
      {"evaluate_count", whole(plan.evaluate_count, "evaluate_count")},
      {"final_count", whole(plan.final_count, "final_count")},
      {"checkpoint_every", whole(plan.checkpoint_every, "checkpoint_every")},
      {"round_after", whole(plan.round_after, "round_after")},
  };
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
  const auto whole = [](const char* name, std::int64_t value, std::int64_t low,
                        std::int64_t high) -> Result<void> {
    if (value < low || value > high)
      return fail(ErrorCode::range, "[train] {} = {}; {} to {} expected", name, value, low, high);
    return {};
  };
  const auto real = [](const char* name, double value, double low, double high) -> Result<void> {
    if (!(value >= low && value <= high))
      return fail(ErrorCode::range, "[train] {} = {}; {} to {} expected", name, value, low, high);
    return {};
  };
  constexpr std::int64_t kMany = 1'000'000'000;
  if (plan.arch.empty())
    return fail(ErrorCode::missing, "[train] no architecture: give a line such as full*2");
  if (plan.tasks.empty())
    return fail(ErrorCode::missing, "[train] no task: give `task`, or tasks in the file");
  RUNG_CHECK(whole("steps", plan.steps, 1, kMany));
  RUNG_CHECK(whole("batch", plan.batch, 1, 1 << 20));
  RUNG_CHECK(whole("warmup", plan.warmup, 0, kMany));
  RUNG_CHECK(whole("queries", plan.queries, 1, 4096));
  RUNG_CHECK(whole("spacing", plan.spacing, 0, 4096));
  if (plan.spacing > 0 && plan.queries == 1)
    return fail(ErrorCode::unsupported, "[train] spacing = {}: several questions a prompt expected",
                plan.spacing);
  RUNG_CHECK(whole("evaluate_every", plan.evaluate_every, 1, kMany));
  RUNG_CHECK(whole("evaluate_count", plan.evaluate_count, 1, 1 << 24));
  RUNG_CHECK(whole("final_count", plan.final_count, 1, 1 << 24));
  RUNG_CHECK(whole("checkpoint_every", plan.checkpoint_every, 1, kMany));
  RUNG_CHECK(whole("round_after", plan.round_after, -1, kMany));
  if (plan.round_bits) RUNG_CHECK(whole("round_bits", *plan.round_bits, 2, kMostRoundBits));
  if (plan.carry_bits) RUNG_CHECK(whole("carry_bits", *plan.carry_bits, 2, kMostCarryBits));
  if (plan.round_bits && plan.carry_bits)
    return fail(ErrorCode::range, "[train] carry_bits = {}: round_bits rounds that too; one of them expected",
                *plan.carry_bits);
  RUNG_CHECK(whole("stage_steps", plan.stage_steps, 0, kMany));
  if (stage_at(plan, plan.steps - 1) != plan.curriculum.size())
    return fail(ErrorCode::range,
                "[train] {} stages of {} steps leave none of the {} steps for the tasks' own sizes",
                plan.curriculum.size(), plan.stage_steps, plan.steps);
  if (!plan.curriculum.empty() && !plan.support.empty())
    return fail(ErrorCode::unsupported,
                "[train] curriculum and support are both given; one of the two expected");
  RUNG_CHECK(real("advance", plan.advance, 0, 1));
  RUNG_CHECK(real("whole", plan.whole, 0, 1));
  if (plan.whole > 0 && plan.support.empty())
    return fail(ErrorCode::unsupported, "[train] whole needs support");
  if (!plan.deep.empty() && plan.supervision != Supervision::deep)
    return fail(ErrorCode::unsupported, "[train] deep readouts: supervision deep expected, {} given",
                name_of(plan.supervision));
  for (const DeepReadout& readout : plan.deep) {
    RUNG_CHECK(whole("deep.value", readout.value, 1, kMany));
    RUNG_CHECK(whole("deep.layer", readout.layer, 1, kMany));
    RUNG_CHECK(whole("deep.back", readout.back, 0, kMany));
    RUNG_CHECK(whole("deep.token", readout.token, 0, kMany));
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
  RUNG_CHECK(real("floor", plan.floor, 0, 1));
  RUNG_CHECK(real("clip", plan.clip, 0, 1e6));
  RUNG_CHECK(real("beta1", plan.beta1, 0, 0.9999));
  RUNG_CHECK(real("beta2", plan.beta2, 0, 0.99999));
  RUNG_CHECK(real("dropout", plan.dropout, 0, 0.95));
  RUNG_CHECK(real("smoothing", plan.smoothing, 0, 0.95));
  if (plan.stop) RUNG_CHECK(real("stop", *plan.stop, 0, 1));
  RUNG_CHECK(whole("patience", plan.patience, 0, kMany));
  RUNG_CHECK(real("gain", plan.gain, 0, 1));
  if (plan.patience > 0 && plan.floor == 0)
    return fail(ErrorCode::range, "[train] floor = 0: patience needs floor > 0");
  double total = 0;
  for (const TaskShare& share : plan.tasks) {
    RUNG_CHECK(real("weight", share.weight, 0, 1e6));
    total += share.weight;
  }
  if (!(total > 0)) return fail(ErrorCode::range, "[train] all tasks have weight 0");
  for (const double rate : plan.rates) RUNG_CHECK(real("rate", rate, 1e-9, 100));
  for (const double decay : plan.decays) RUNG_CHECK(real("decay", decay, 0, 100));
  for (const double scale : plan.scales) RUNG_CHECK(real("scale", scale, 1e-6, 1e6));
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
