#include "rung/evaluation/probe.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "rung/base/json_text.h"
#include "rung/evaluation/label.h"
#include "rung/theory/ceiling.h"

namespace rung {
namespace {

struct ProbeText {
  std::string question, target;
};
ProbeText probe_text(const Task& task, const Instance& instance) {
  if (auto language = task.language(instance)) return {language->prompt, language->answer};
  return {task.text(instance.prompt), task.answer_text(instance.answer)};
}

Result<std::vector<nlohmann::json>> probe_lines(std::string_view text, std::string_view what) {
  std::vector<nlohmann::json> rows;
  for (std::size_t begin = 0, line = 1; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    RUNG_TRY(auto row, parse_json(text.substr(begin, end - begin), fmt::format("{} line {}", what, line)));
    if (!row.is_object() || !row.contains("id") || !row["id"].is_string())
      return fail(ErrorCode::parse, "[{} line {}] expected an object with \"id\", a string", what, line);
    rows.push_back(std::move(row));
    begin = end + 1;
  }
  return rows;
}

Result<std::string> probe_field(const nlohmann::json& row, const char* field, std::string_view what) {
  if (!row.contains(field) || !row[field].is_string())
    return fail(ErrorCode::parse, "[{}] id {} has no \"{}\", a string", what, row["id"].dump(), field);
  return row[field].get<std::string>();
}

// The words of a text in lower case, punctuation left out: " Timiton.\n" and "timiton" are one answer.
std::vector<std::string> plain_words(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || byte >= 0x80 || c == '-')
      words.back() += static_cast<char>(std::tolower(byte));
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool begins_with_target(const std::string& answer, const std::string& target) {
  const auto said = plain_words(answer), meant = plain_words(target);
  return !meant.empty() && said.size() >= meant.size() &&
         std::equal(meant.begin(), meant.end(), said.begin());
}

Result<ProbeGroup> probe_group(const nlohmann::json& row) {
  ProbeGroup group;
  RUNG_TRY(group.task, probe_field(row, "task", "prompts"));
  RUNG_TRY(const std::string variant, probe_field(row, "variant", "prompts"));
  RUNG_TRY(group.variant, parse_variant(variant));
  if (!row.contains("size") || !row["size"].is_object())
    return fail(ErrorCode::parse, "[prompts] id {} has no \"size\", an object", row["id"].dump());
  for (const auto& [name, value] : row["size"].items()) {
    if (!value.is_number_integer())
      return fail(ErrorCode::parse, "[prompts] id {}: size {} is not a whole number", row["id"].dump(), name);
    group.sizes[name] = value;
  }
  if (!row.contains("options")) return group;
  if (!row["options"].is_object())
    return fail(ErrorCode::parse, "[prompts] id {}: \"options\" is not an object", row["id"].dump());
  for (const auto& [name, value] : row["options"].items()) {
    if (!value.is_string())
      return fail(ErrorCode::parse, "[prompts] id {}: option {} is not a word", row["id"].dump(), name);
    group.options[name] = value;
  }
  return group;
}

}  // namespace

Result<std::string> probe_prompts(const Task& task, const ProbeOptions& options, std::uint64_t first_id) {
  if (!task.supports(options.variant))
    return fail(ErrorCode::unsupported, "[probe] {} at this size has no {} instances; see docs/tasks.md",
                task.name(), variant_name(options.variant));
  if (task.query_positions().size() != 1 || task.answer_spec().kind == AnswerSpec::Kind::vector)
    return fail(ErrorCode::unsupported,
                "[probe] {} asks for several numbers; expected a task with one answer", task.name());
  std::string rows;
  for (std::uint64_t i = 0; i < options.count; ++i) {
    std::string shots;
    for (std::uint64_t shot = 0; shot < options.shots; ++shot) {
      const auto [question, target] = probe_text(
          task, task.generate(options.variant, options.seed, options.count + i * options.shots + shot));
      shots += fmt::format("{}\nAnswer: {}\n\n", question, target);
    }
    const auto [question, target] = probe_text(task, task.generate(options.variant, options.seed, i));
    nlohmann::ordered_json row = {{"id", std::to_string(first_id + i)},
                                  {"prompt", shots + question + "\nAnswer:"},
                                  {"target", target},
                                  {"task", task.name()},
                                  {"size", nlohmann::ordered_json::parse(task.size().dump())}};
    if (const auto given = task.options(); !given.empty()) row["options"] = given;
    row["variant"] = variant_name(options.variant);
    rows += row.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  return rows;
}

Result<std::vector<ProbeGroup>> judge_answers(std::string_view prompts, std::string_view answers) {
  RUNG_TRY(const auto asked, probe_lines(prompts, "prompts"));
  RUNG_TRY(const auto given, probe_lines(answers, "answers"));
  std::map<std::string, std::string> said;
  for (const auto& row : given) {
    RUNG_TRY(const std::string answer, probe_field(row, "answer", "answers"));
    if (!said.emplace(row["id"].get<std::string>(), answer).second)
      return fail(ErrorCode::parse, "[answers] id {} is answered twice", row["id"].dump());
  }
  std::vector<ProbeGroup> groups;
  std::set<std::string> ids;
  for (const auto& row : asked) {
    const std::string id = row["id"];
    if (!ids.insert(id).second) return fail(ErrorCode::parse, "[prompts] id \"{}\" stands twice", id);
    RUNG_TRY(ProbeGroup group, probe_group(row));
    RUNG_TRY(const std::string target, probe_field(row, "target", "prompts"));
    auto known = std::find_if(groups.begin(), groups.end(), [&](const ProbeGroup& other) {
      return other.task == group.task && other.sizes == group.sizes && other.options == group.options &&
             other.variant == group.variant;
    });
    if (known == groups.end()) known = groups.insert(groups.end(), std::move(group));
    const auto answer = said.find(id);
    if (answer == said.end()) {
      ++known->missing;
    } else {
      ++known->answered;
      known->right += begins_with_target(answer->second, target) ? 1 : 0;
    }
  }
  for (const auto& [id, answer] : said)
    if (!ids.contains(id)) return fail(ErrorCode::parse, "[answers] id \"{}\" is not among the prompts", id);
  return groups;
}

std::optional<double> table_bits(const Task& task, Variant variant, double accuracy) {
  const auto alphabet = table_alphabet(task);
  if (!alphabet || *alphabet < 2 || variant != Variant::uniform) return std::nullopt;
  return effective_bits(task.size().at("n").value, *alphabet, accuracy);
}

}  // namespace rung
