#include "rung/theory/inquiry.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rung/spec/nearest_word.h"

namespace rung {
namespace {

// What one theorem says, whatever the others do. Errors: unknown ids.
Result<Verdict> inquire_one(const std::string& id, const Setting& setting, const Question& question) {
  std::vector<std::string_view> ids;
  for (const auto& theorem : theorems()) {
    ids.push_back(theorem.id);
    if (theorem.id != id) continue;
    const bool speaks = theorem.evaluate && std::find(theorem.tasks.begin(), theorem.tasks.end(),
                                                      question.task) != theorem.tasks.end();
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

Result<Findings> inquire(const Inquiry& inquiry, const ChosenArchitecture& chosen) {
  SettingOptions options;
  options.context = inquiry.architecture.context;
  options.sum_bits = inquiry.sum_bits;
  options.chain_of_thought = inquiry.chain_of_thought;
  options.assume_exact = inquiry.assume_exact;
  options.storage = chosen.bits;
  options.assumes = chosen.assumes;
  options.count = [&chosen](const StorageBits& bits) {
    ChosenArchitecture copy = chosen;
    copy.bits = bits;
    return copy.count();
  };
  Findings findings{.form = inquiry.form};
  RUNG_TRY(findings.setting, make_setting(chosen.architecture, options));
  const Setting& setting = findings.setting;
  bool composed = false;
  const bool all = inquiry.task == "all";
  for (const auto& word : task_words()) {
    if (!all && word.name != inquiry.task) continue;
    RUNG_TRY(const Question question,
             make_question(word.name, inquiry.sizes, setting.context, all, inquiry.form));
    if (question.prompt > setting.context && options.context)
      return fail(ErrorCode::range,
                  "[bound] {} of these sizes has a prompt of {} tokens; --context {} is shorter", word.name,
                  question.prompt, setting.context);
    if (inquiry.theorem) {
      RUNG_TRY(Verdict one, inquire_one(*inquiry.theorem, setting, question));
      findings.verdicts.push_back(std::move(one));
      continue;
    }
    findings.verdicts.push_back(decide(setting, question));
    const bool usual =
        !question.variant && std::all_of(word.options.begin(), word.options.end(), [&](const auto& o) {
          return question.options.at(std::string(o.name)) == o.words.front();
        });
    composed =
        composed || (word.name == "seqcomp" && !question.fixed && !inquiry.sizes.contains("L") && usual);
  }
  if (findings.verdicts.empty()) {
    RUNG_TRY(const auto unknown, find_task_word(inquiry.task));
    return fail(ErrorCode::parse, "[bound] no task {}", unknown->name);
  }
  if (composed) findings.pattern = summarise_pattern(setting);
  return findings;
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
                    {"tasks", t.tasks},
                    {"file", t.file},
                    {"test", t.test}});
  return {{"schema", "rung.bound-list/1"}, {"theorems", list}};
}

nlohmann::ordered_json findings_document(const Findings& findings) {
  const Setting& setting = findings.setting;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& verdict : findings.verdicts) list.push_back(verdict_json(verdict));
  nlohmann::ordered_json document = {
      {"schema", "rung.bound/1"},
      {"architecture", format_stack(setting.architecture.stack)},
      {"word", setting.word.text},
      {"layers", setting.layers.size()},
      {"state_bits", json_number(setting.word.total().after(setting.context))},
      {"precision", format_precision(setting.architecture.dimensions.precision)},
      {"acc_bits", setting.word.given_entries ? nlohmann::ordered_json(setting.entry_bits) : nullptr},
      {"sum_bits", setting.sum_bits ? nlohmann::ordered_json(*setting.sum_bits) : nullptr},
      {"context", setting.context},
      {"causal", setting.causal()},
      {"chain_of_thought", setting.chain_of_thought},
      {"options", findings.form.options},
      {"variant",
       findings.form.variant ? nlohmann::ordered_json(variant_name(*findings.form.variant)) : nullptr},
      {"verdicts", list}};
  if (findings.pattern) document["pattern"] = pattern_json(setting, *findings.pattern);
  return document;
}

}  // namespace rung
