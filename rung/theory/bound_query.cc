#include "rung/theory/bound_query.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rung/base/nearest_word.h"
#include "rung/tasks/user_task.h"

namespace rung {
namespace {

// What one theorem says, whatever the others do. Errors: unknown ids.
Result<Verdict> inquire_one(const std::string& id, const Setting& setting, const Question& question) {
  std::vector<std::string_view> ids;
  for (const auto& theorem : theorems()) {
    ids.push_back(theorem.id);
    if (theorem.id != id) continue;
    const bool speaks = theorem.evaluate && speaks_about(theorem, question);
    if (speaks)
      if (auto verdict = apply(theorem, setting, question)) return *verdict;
    Verdict none = verdict_of(theorem, question);
    none.require(!theorem.evaluate ? "a statement with numbers"
                 : speaks          ? "a statement about such architectures"
                                   : "a statement about this task",
                 false, theorem.evaluate ? "" : "quoted, never evaluated");
    return none;
  }
  return fail(ErrorCode::parse, "[bound] unknown theorem {}; {}", rung::quoted(id), suggest(id, ids));
}

}  // namespace

std::string bound_observes(const ChosenArchitecture& chosen) {
  return std::to_string(chosen.count().state_bits);
}

Result<BoundReport> answer_query(const BoundQuery& query, const ChosenArchitecture& chosen) {
  SettingOptions options;
  options.context = query.architecture.context;
  options.sum_bits = query.sum_bits;
  options.chain_of_thought = query.chain_of_thought;
  options.assume_exact = query.assume_exact;
  options.storage = chosen.bits;
  options.assumes = chosen.assumes;
  options.count = [&chosen](const StorageBits& bits) { return chosen.count(bits); };
  BoundReport report{.form = query.form};
  RUNG_TRY(report.setting, make_setting(chosen.architecture, options));
  // A model of a task that exists at every length has no positions unless it was told otherwise.
  std::optional<Setting> unplaced;
  const bool told = query.architecture.position || query.architecture.dims || chosen.released;
  const auto setting_for = [&](const Question& question) -> Result<const Setting*> {
    const bool every_length = question.followed || question.task == "tracked-recall";
    if (query.position_period && !every_length)
      return fail(ErrorCode::unsupported,
                  "[bound] `position-period` is about tasks of every length; {} is none", question.task);
    if (!every_length || (told && !query.position_period)) return &report.setting;
    if (!unplaced) {
      Architecture without = chosen.architecture;
      if (!told) without.dimensions.position = PositionCode::none;
      options.position_period = query.position_period;
      RUNG_TRY(Setting made, make_setting(without, options));
      made.assumes.push_back(
          query.position_period
              ? fmt::format("positions that repeat after {} tokens, and no others", *query.position_period)
              : "no positions, as usual for a task of every length");
      unplaced = std::move(made);
    }
    return &*unplaced;
  };
  const auto ask = [&](const Question& question) -> Result<void> {
    if (question.prompt > report.setting.context && options.context)
      return fail(ErrorCode::range,
                  "[bound] {} of these sizes has a prompt of {} tokens; `context` {} is shorter",
                  question.task, question.prompt, report.setting.context);
    RUNG_TRY(const Setting* setting, setting_for(question));
    if (query.theorem) {
      RUNG_TRY(Verdict one, inquire_one(*query.theorem, *setting, question));
      report.verdicts.push_back(std::move(one));
    } else {
      report.verdicts.push_back(decide(*setting, question));
    }
    return {};
  };
  bool composed = false;
  const bool all = query.task == "all";
  if (is_user_task(query.task)) {
    RUNG_TRY(const Question question,
             make_question(query.task, query.sizes, report.setting.context, false, query.form));
    RUNG_CHECK(ask(question));
  }
  for (const auto& word : task_words()) {
    if (!all && word.name != query.task) continue;
    RUNG_TRY(const Question question,
             make_question(word.name, query.sizes, report.setting.context, all, query.form));
    RUNG_CHECK(ask(question));
    if (query.theorem) continue;
    const bool usual =
        !question.variant && std::all_of(word.options.begin(), word.options.end(), [&](const auto& o) {
          return question.options.at(std::string(o.name)) == o.words.front();
        });
    composed = composed || (word.name == "seqcomp" && !question.fixed && !query.sizes.contains("L") && usual);
  }
  if (report.verdicts.empty()) {
    RUNG_TRY(const auto unknown, find_task_word(query.task));
    return fail(ErrorCode::parse, "[bound] no task {}", unknown->name);
  }
  if (composed) report.pattern = summarise_pattern(report.setting);
  if (!query.theorem && query.sizes.empty() && (all || query.task == "eva" || query.task == "index"))
    report.measured = measured_recall(report.setting);
  return report;
}

nlohmann::ordered_json theorems_document() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& t : theorems())
    list.push_back({{"id", t.id},
                    {"title", t.title},
                    {"statement", t.statement},
                    {"source", source_name(t.source)},
                    {"reference", t.reference},
                    {"status", status_name(t.status)},
                    {"formal", t.formal},
                    {"tasks", t.tasks},
                    {"file", t.file},
                    {"test", t.test}});
  return {{"schema", "rung.bound-list/2"}, {"theorems", list}};
}

nlohmann::ordered_json bound_document(const BoundReport& report) {
  const Setting& setting = report.setting;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& verdict : report.verdicts) list.push_back(verdict_json(verdict));
  nlohmann::ordered_json document = {
      {"schema", "rung.bound/2"},
      {"architecture", format_spelled_stack(setting.architecture.stack)},
      {"word", setting.word.text},
      {"layers", setting.layers.size()},
      {"state_bits", json_number(setting.word.total().after(setting.context))},
      {"precision", format_precision(setting.architecture.dimensions.precision)},
      {"acc_bits", setting.word.given_entries ? nlohmann::ordered_json(setting.entry_bits) : nullptr},
      {"sum_bits", setting.sum_bits ? nlohmann::ordered_json(*setting.sum_bits) : nullptr},
      {"context", setting.context},
      {"causal", setting.causal()},
      {"chain_of_thought", setting.chain_of_thought},
      {"options", report.form.options},
      {"variant", report.form.variant ? nlohmann::ordered_json(variant_name(*report.form.variant)) : nullptr},
      {"verdicts", list}};
  if (report.pattern) document["pattern"] = pattern_json(setting, *report.pattern);
  if (report.measured) document["measured"] = measured_json(*report.measured);
  return document;
}

}  // namespace rung
