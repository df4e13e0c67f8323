// The constructions of automaton tasks, by name: each hands its task to one of the forms
// (automaton_forms.h).
#include "rung/constructions/automaton_forms.h"
#include "rung/tasks/user_task.h"

namespace rung {
namespace {

// The task of a request: its own options are those that the construction does not take for itself.
Result<SharedTask> automaton_task_of(const ConstructionRequest& request, std::string_view name) {
  std::map<std::string, std::string> options = request.options;
  options.erase("by");
  options.erase("file");
  RUNG_TRY(auto task, make_task(name, request.sizes, options));
  if (!task->automaton())
    return fail(ErrorCode::unsupported, "[build] {} is not an automaton task", task->name());
  return SharedTask(std::move(task));
}

Result<Construction> build_by(const ConstructionRequest& request, const SharedTask& task,
                              std::string_view by) {
  if (by == "rnn") return build_automaton_rnn(request, task, AutomatonCell::relu);
  if (by == "elman") return build_automaton_rnn(request, task, AutomatonCell::table);
  if (by == "gru") return build_automaton_rnn(request, task, AutomatonCell::gated);
  if (by == "delta" || by == "gdelta") return build_automaton_delta(request, task, by == "gdelta");
  if (by == "cascade") return build_automaton_cascade(request, task);
  if (by == "full") return build_parity_full(request, task);
  RUNG_REQUIRE(by == "mamba2", "by={}", by);
  return build_flipflop_mamba2(request, task);
}

Result<Construction> build_named_automaton(const ConstructionRequest& request) {
  RUNG_TRY(const SharedTask task, automaton_task_of(request, request.name));
  return build_by(request, task, request.option("by", request.name == "flipflop" ? "mamba2" : "delta"));
}

// What is built where no file is named: does the word end in aa? By the delta rule: is the number of a's
// odd?
constexpr std::string_view kOddAutomaton =
    R"({"alphabet": ["a", "b"], "states": ["even", "odd"], "start": "even",
  "transitions": {"even": {"a": "odd", "b": "even"}, "odd": {"a": "even", "b": "odd"}}, "accepting": ["odd"]})";
constexpr std::string_view kExampleAutomaton =
    R"({"alphabet": ["a", "b"], "states": ["b", "a", "aa"], "start": "b",
  "transitions": {"b": {"a": "a", "b": "b"}, "a": {"a": "aa", "b": "b"}, "aa": {"a": "aa", "b": "b"}},
  "accepting": ["aa"]})";

Result<Construction> build_automaton_file(const ConstructionRequest& request) {
  const std::string file = request.option("file", "");
  SharedTask task;
  if (file.empty()) {
    const bool permutes = request.option("by", "rnn").ends_with("delta");
    std::map<std::string, std::string> options;
    if (request.options.contains("read")) options["read"] = request.options.at("read");
    RUNG_TRY(auto made,
             read_automaton_task(permutes ? "odd" : "ends-in-aa",
                                 permutes ? kOddAutomaton : kExampleAutomaton, request.sizes, options));
    task = std::move(made);
  } else {
    RUNG_TRY(task, automaton_task_of(request, file));
  }
  return build_by(request, task, request.option("by", "rnn"));
}

ConstructionWord::Option form_option(std::vector<std::string_view> words) {
  return {"by", "the mixer that follows the automaton (elman: rnn with a table)", std::move(words)};
}
// The weights answer at every letter, wherever the task asks.
ConstructionWord::Option read_option() { return {"read", "where answers are read", {"last", "all"}}; }

}  // namespace

ConstructionWord parity_construction() {
  return {.name = "parity",
          .summary = "one delta layer exchanges two entries; rnn: relu cells; full: counting up to n",
          .task = "parity",
          .options = {form_option({"delta", "gdelta", "rnn", "elman", "gru", "full"}), read_option()},
          .build = build_named_automaton};
}
ConstructionWord modulo_construction() {
  return {.name = "modulo",
          .summary = "one delta layer rotates m entries; rnn: relu cells",
          .task = "modulo",
          .options = {form_option({"delta", "gdelta", "rnn", "elman", "gru"}), read_option()},
          .build = build_named_automaton};
}
ConstructionWord group_construction() {
  return {.name = "group",
          .summary = "one delta layer moves entries as the letters move points; rnn: relu cells",
          .task = "group",
          .options = {form_option({"delta", "gdelta", "rnn", "elman", "gru"}),
                      {"name", "the group", {}},
                      {"letters", "all elements, or generators", {"all", "generators"}},
                      read_option()},
          .build = build_named_automaton};
}
ConstructionWord flipflop_construction() {
  return {
      .name = "flipflop",
      .summary = "one state space entry is set or held; rnn: relu cells; cascade: as any aperiodic automaton",
      .task = "flipflop",
      .options = {form_option({"mamba2", "rnn", "elman", "gru", "cascade"}), read_option()},
      .build = build_named_automaton};
}
ConstructionWord automaton_construction() {
  return {.name = "automaton",
          .summary =
              "a user's automaton: rnn (any), delta (letters permute), cascade (aperiodic, up to 6 states)",
          .task = "automaton",
          .options = {form_option({"rnn", "elman", "gru", "delta", "gdelta", "cascade"}),
                      {"file", "the automaton (an example where none is named)", {}},
                      read_option()},
          .build = build_automaton_file};
}

}  // namespace rung
