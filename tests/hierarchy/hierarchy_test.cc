#include "rung/hierarchy/hierarchy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "rung/base/json_text.h"
#include "rung/hierarchy/evidence.h"
#include "rung/hierarchy/table.h"

namespace rung {
namespace {

using nlohmann::ordered_json;

std::string fresh_folder(const std::string& name) {
  const std::string folder = std::string(RUNG_BINARY_DIR) + "/hierarchy-" + name;
  std::filesystem::remove_all(folder);
  return folder;
}

// A row, a column and a highlight of the real plan: cells that take milliseconds.
HierarchyPlan small_plan() {
  HierarchyPlan plan = hierarchy_plan();
  std::erase_if(plan.cells, [](const CellRecipe& cell) {
    return !(cell.row == "full" || cell.row == "linear" || cell.row == "sparse") || cell.column == "seqcomp";
  });
  plan.highlights.clear();
  return plan;
}

HierarchyOptions untrained(const std::string& folder) {
  return {.folder = folder, .checker = RUNG_CHECKER, .untrained = true};
}

// Sizes are read back in the order of their names.
nlohmann::json without_times(nlohmann::json json) {
  if (json.is_object()) {
    json.erase("seconds");
    for (auto& [name, value] : json.items()) value = without_times(value);
  } else if (json.is_array()) {
    for (auto& value : json) value = without_times(value);
  }
  return json;
}

nlohmann::json without_times(const HierarchyDocument& document) {
  return without_times(nlohmann::json(hierarchy_json(document)));
}

std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

TEST(hierarchy_plan, has_every_mechanism_on_every_task_once) {
  const HierarchyPlan& plan = hierarchy_plan();
  std::multiset<std::string> cells;
  for (const auto& cell : plan.cells) cells.insert(cell.row + "/" + cell.column);
  for (const char* row : {"full", "linear", "delta", "mamba2", "loglinear", "sparse", "hybrid", "headwise"})
    for (const char* column : {"eva", "two-sum", "seqcomp", "parity", "tracked-recall"})
      EXPECT_EQ(cells.count(std::string(row) + "/" + column), 1u) << row << " " << column;
  EXPECT_EQ(cells.size(), 40u);
}

TEST(hierarchy_plan, answers_every_question_or_says_why_not) {
  const HierarchyPlan& plan = hierarchy_plan();
  std::vector<CellRecipe> all = plan.cells;
  for (const auto& highlight : plan.highlights)
    all.insert(all.end(), highlight.cells.begin(), highlight.cells.end());
  for (const auto& cell : all) {
    EXPECT_TRUE(cell.construction || cell.attack)
        << cell.row << " on " << cell.column << " is about no model";
    for (const auto& [answered, absence] :
         {std::pair<bool, const Absence&>{cell.construction.has_value(), cell.no_construction},
          {cell.attack.has_value(), cell.no_certificate},
          {cell.training.has_value(), cell.no_training}}) {
      EXPECT_EQ(answered, absence.reason.empty()) << cell.row << " on " << cell.column;
      EXPECT_LE(absence.brief.size(), kBriefColumns);
      if (!answered) EXPECT_FALSE(absence.brief.empty());
    }
  }
}

TEST(hierarchy_plan, trains_eva_with_16_entries_in_every_row) {
  for (const auto& cell : hierarchy_plan().cells)
    EXPECT_EQ(cell.training.has_value(), cell.column == "eva") << cell.row;
  EXPECT_EQ(hierarchy_plan().column("eva").size.at("n"), 16);
}

// By what is shipped. Of the three states the least is too small by a theorem, and the largest is not.
TEST(hierarchy_plan, has_a_shipped_record_for_every_cell_and_three_states_of_recurrent_rows) {
  EvidenceContext context;
  context.results = {RUNG_SOURCE_DIR "/results"};
  const auto& plan = hierarchy_plan();
  for (const CellRecipe& recipe : plan.cells) {
    const auto& column = plan.column(recipe.column);
    const std::string cell = recipe.row + "/" + recipe.column;
    const auto [best, states] = shipped_evidence(recipe.row, column.task, column.size, context);
    if (!recipe.training) EXPECT_TRUE(best.has_value()) << cell;
    // With a chain of thought one full layer composes; the rows answer at once.
    if (best) EXPECT_FALSE(best->record->file.starts_with("cot-")) << cell << ": " << best->record->file;
    const bool recurrent =
        std::set<std::string>{"linear", "delta", "mamba2", "loglinear"}.contains(recipe.row);
    const bool counted = std::set<std::string>{"eva", "two-sum", "seqcomp"}.contains(recipe.column);
    if (!recurrent || !counted) continue;
    ASSERT_EQ(states.size(), 3u) << cell;
    for (const TrainingEvidence& state : states) {
      EXPECT_TRUE(state.ceiling.has_value()) << cell;
      EXPECT_TRUE(state.curves.empty()) << cell;
    }
    EXPECT_EQ(states.front().label, LabelClass::C) << cell << ": too small a state";
    EXPECT_NE(states.back().label, LabelClass::C) << cell;
  }
  EXPECT_TRUE(shipped_evidence("full", "eva", {{"n", 16}}, context).states.empty());
}

TEST(hierarchy_plan, tells_recipes_apart) {
  const HierarchyPlan& plan = hierarchy_plan();
  std::set<std::string> texts;
  for (const auto& cell : plan.cells) texts.insert(recipe_text(plan, cell));
  EXPECT_EQ(texts.size(), plan.cells.size());
  CellRecipe changed = plan.cells[1];
  changed.attack->precision += 1;
  EXPECT_FALSE(texts.contains(recipe_text(plan, changed)));
  HierarchyPlan larger = plan;
  for (auto& column : larger.columns) column.size.begin()->second += 1;
  EXPECT_FALSE(texts.contains(recipe_text(larger, plan.cells[1])));
}

TEST(hierarchy, fills_cells_with_evidence_and_keeps_them) {
  const std::string folder = fresh_folder("whole");
  const HierarchyPlan plan = small_plan();
  const auto outcome = run_hierarchy(plan, untrained(folder));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->done, plan.cells.size());
  EXPECT_FALSE(outcome->stopped);
  EXPECT_TRUE(outcome->troubles.empty());
  for (const HierarchyCell& cell : outcome->document.cells) {
    const std::string where = cell.row + " on " + cell.column;
    EXPECT_EQ(cell.state, CellState::done);
    if (cell.construction.state == Evidence::none) EXPECT_FALSE(cell.construction.reason.empty()) << where;
    if (cell.certificate.state == Evidence::none) EXPECT_FALSE(cell.certificate.reason.empty()) << where;
    if (cell.training.state == TrainingState::none) EXPECT_FALSE(cell.training.reason.empty()) << where;
    EXPECT_NE(cell.bound.state, Outcome::open) << where;
    EXPECT_FALSE(cell.bound.theorem.empty()) << where;
    if (cell.construction.state != Evidence::none) {
      EXPECT_EQ(cell.construction.state, Evidence::verified) << where;
      EXPECT_EQ(cell.construction.errors, 0u);
      EXPECT_GT(cell.construction.instances, 0u);
      EXPECT_FALSE(cell.construction.coordinates.empty());
      EXPECT_TRUE(std::filesystem::exists(folder + "/" + cell.construction.model.value()));
    }
    if (cell.certificate.state != Evidence::none) {
      EXPECT_EQ(cell.certificate.state, Evidence::verified) << where;
      EXPECT_EQ(cell.certificate.checker.value().exit, 0);
      if (cell.certificate.kind == "wrong-word" || cell.certificate.kind == "wrong-answer") continue;
      EXPECT_FALSE(cell.certificate.differ.empty()) << where;
      EXPECT_NE(cell.certificate.answers.at(0), cell.certificate.answers.at(1));
    }
    EXPECT_TRUE(std::filesystem::exists(folder + "/cells/" + cell.row + "-" + cell.column + ".json"));
  }
  const auto text = read_text_file(folder + "/hierarchy.json", "test");
  ASSERT_TRUE(text);
  EXPECT_EQ(without_times(nlohmann::json::parse(*text)), without_times(outcome->document));
  // What is read back is what was written.
  const auto read = parse_hierarchy(*text, "hierarchy.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(without_times(*read), without_times(outcome->document));
}

TEST(hierarchy, stopped_and_gone_on_with_gives_the_same_document) {
  const HierarchyPlan plan = small_plan();
  const auto whole = run_hierarchy(plan, untrained(fresh_folder("once")));
  ASSERT_TRUE(whole);
  const std::string folder = fresh_folder("twice");
  HierarchyOptions options = untrained(folder);
  std::atomic<std::size_t> finished = 0;
  options.progress = [&](const CellProgress&) { ++finished; };
  options.stop = [&] { return finished >= 2; };
  const auto stopped = run_hierarchy(plan, options);
  ASSERT_TRUE(stopped) << stopped.error().message;
  EXPECT_TRUE(stopped->stopped);
  EXPECT_GE(stopped->done, 2u);
  EXPECT_LT(stopped->done, plan.cells.size());
  for (const HierarchyCell& cell : stopped->document.cells)
    if (cell.state != CellState::done) EXPECT_EQ(cell.bound.state, Outcome::open);
  const auto resumed = run_hierarchy(plan, untrained(folder));
  ASSERT_TRUE(resumed);
  EXPECT_EQ(resumed->reused, stopped->done);
  EXPECT_EQ(resumed->done, plan.cells.size());
  EXPECT_EQ(without_times(resumed->document), without_times(whole->document));
}

TEST(hierarchy, runs_a_cell_again_when_its_recipe_changed_or_a_file_is_gone) {
  HierarchyPlan plan = small_plan();
  const std::string folder = fresh_folder("changed");
  ASSERT_TRUE(run_hierarchy(plan, untrained(folder)));
  auto again = run_hierarchy(plan, untrained(folder));
  EXPECT_EQ(again->reused, plan.cells.size());
  auto& linear = *std::find_if(plan.cells.begin(), plan.cells.end(), [](const CellRecipe& cell) {
    return cell.row == "linear" && cell.column == "eva";
  });
  linear.attack->precision = 5;
  again = run_hierarchy(plan, untrained(folder));
  EXPECT_EQ(again->reused, plan.cells.size() - 1);
  std::filesystem::remove(folder + "/certificates/linear-two-sum.json");
  again = run_hierarchy(plan, untrained(folder));
  EXPECT_EQ(again->reused, plan.cells.size() - 1);
  EXPECT_TRUE(std::filesystem::exists(folder + "/certificates/linear-two-sum.json"));
  HierarchyOptions fresh = untrained(folder);
  fresh.fresh = true;
  EXPECT_EQ(run_hierarchy(plan, fresh)->reused, 0u);
}

TEST(hierarchy, keeps_the_cells_that_only_passes_over) {
  const HierarchyPlan plan = small_plan();
  HierarchyOptions options = untrained(fresh_folder("only"));
  const auto whole = run_hierarchy(plan, options);
  options.only = {"linear/eva", "sparse"};
  const auto some = run_hierarchy(plan, options);
  ASSERT_TRUE(some) << some.error().message;
  EXPECT_EQ(some->of, 5u);
  EXPECT_EQ(without_times(some->document), without_times(whole->document));
}

// One evidence, checked as it is, with another answer, and with another model.
TEST(certificate_evidence, is_never_called_verified_when_the_checker_rejects_it) {
  const std::string folder = fresh_folder("rejected");
  HierarchyOptions options = untrained(folder);
  options.only = {"linear/eva"};
  const auto outcome = run_hierarchy(small_plan(), options);
  ASSERT_TRUE(outcome);
  CertificateEvidence evidence;
  for (const HierarchyCell& cell : outcome->document.cells)
    if (cell.row == "linear" && cell.column == "eva") evidence = cell.certificate;
  ASSERT_EQ(evidence.state, Evidence::verified);
  const EvidenceContext context{.folder = folder, .checker = RUNG_CHECKER};
  ASSERT_TRUE(check_certificate(evidence, context));
  EXPECT_EQ(evidence.state, Evidence::verified);

  const std::string path = folder + "/certificates/linear-eva.json";
  std::string text;
  {
    std::ifstream file(path);
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  const auto corrupt = [&](const std::string& changed) {
    std::ofstream(path) << changed;
    CertificateEvidence checked = evidence;
    EXPECT_TRUE(check_certificate(checked, context));
    return checked;
  };
  // Another answer: rejected. No certificate at all: nothing can be checked.
  ordered_json swapped = ordered_json::parse(text);
  swapped["claim"]["activation"][0] = swapped["claim"]["activation"][0].get<std::int64_t>() + 1;
  for (const auto& [changed, state] : {std::pair{swapped.dump(), Evidence::refuted},
                                       {std::string("{}"), Evidence::unverified},
                                       {std::string(), Evidence::unverified},
                                       {text.substr(0, text.size() / 2), Evidence::unverified}}) {
    const CertificateEvidence checked = corrupt(changed);
    EXPECT_EQ(checked.state, state) << changed.substr(0, 40) << " " << checked.reason;
    EXPECT_NE(checked.checker.value().exit, 0);
    EXPECT_FALSE(checked.reason.empty());
  }
  corrupt(text);
  // Another model under the same certificate.
  std::filesystem::copy_file(folder + "/models/linear-eva-built.safetensors",
                             folder + "/models/linear-eva-broken.safetensors",
                             std::filesystem::copy_options::overwrite_existing);
  ASSERT_TRUE(check_certificate(evidence, context));
  EXPECT_NE(evidence.state, Evidence::verified);
  // The cell is not taken over as it stands: it is made again.
  const auto again = run_hierarchy(small_plan(), options);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->reused, 0u);
  EXPECT_TRUE(again->troubles.empty());
}

TEST(certificate_evidence, is_unverified_without_a_checker_and_trouble_with_one_that_rejects) {
  HierarchyOptions options = untrained(fresh_folder("unchecked"));
  options.only = {"linear/eva"};
  options.checker = "";
  const auto missing = run_hierarchy(small_plan(), options);
  ASSERT_TRUE(missing) << missing.error().message;
  EXPECT_TRUE(missing->troubles.empty());
  EXPECT_NE(hierarchy_table(missing->document, {}).find("unverified: rung-check is"), std::string::npos);
  options.checker = "/bin/false";
  const auto rejected = run_hierarchy(small_plan(), options);
  ASSERT_TRUE(rejected);
  EXPECT_EQ(rejected->troubles.size(), 1u);
  EXPECT_EQ(hierarchy_table(rejected->document, {}).find("verified f"), std::string::npos);
  EXPECT_NE(hierarchy_table(rejected->document, {}).find("refuted: rung-check ended"), std::string::npos);
}

TEST(hierarchy, refuses_words_that_name_no_cell) {
  HierarchyOptions options = untrained(fresh_folder("words"));
  options.only = {"linaer"};
  const auto outcome = run_hierarchy(small_plan(), options);
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("did you mean \"linear\""), std::string::npos)
      << outcome.error().message;
}

// The same document with every text replaced by a long one.
void swell(std::string& text) { text = "größere Wörter, " + std::string(150, 'x') + " " + text + text; }

HierarchyDocument swollen(HierarchyDocument document) {
  for (auto& column : document.columns) swell(column.title);
  for (auto& row : document.rows) swell(row.title);
  for (auto& highlight : document.highlights) {
    swell(highlight.title), swell(highlight.what);
    document.cells.insert(document.cells.end(), highlight.cells.begin(), highlight.cells.end());
  }
  for (HierarchyCell& cell : document.cells) {
    for (std::string* text :
         {&cell.arch, &cell.task, &cell.bound.arch, &cell.construction.brief, &cell.construction.reason,
          &cell.construction.arch, &cell.certificate.brief, &cell.certificate.reason, &cell.training.brief})
      swell(*text);
    for (auto& [name, value] : cell.bound.numbers.entries)
      if (value) value = -123456789.123456789;
    cell.training.accuracy = -123456789.123456789;
  }
  for (auto& highlight : document.highlights)
    for (HierarchyCell& cell : highlight.cells) swell(cell.title), swell(cell.construction.arch);
  return document;
}

HierarchyDocument earlier_document() {
  const auto text = read_text_file(RUNG_SOURCE_DIR "/tests/cases/earlier/hierarchy.json", "test");
  return parse_hierarchy(text.value(), "hierarchy.json").value();
}

TEST(hierarchy_table, says_where_what_is_built_is_larger_than_what_cannot) {
  HierarchyDocument document = earlier_document();
  EXPECT_NE(hierarchy_table(document, {}).find("larger: p="), std::string::npos);
  for (HierarchyCell& cell : document.cells)
    if (!cell.construction.arch.empty()) cell.bound.arch = cell.construction.arch;
  EXPECT_EQ(hierarchy_table(document, {}).find("larger: p="), std::string::npos);
}

TEST(hierarchy_table, fits_a_hundred_columns_whatever_the_cells_say) {
  const auto outcome = run_hierarchy(hierarchy_plan(), [] {
    HierarchyOptions options = untrained(fresh_folder("table"));
    options.only = {"full/eva", "linear/eva", "sparse/two-sum"};
    return options;
  }());
  ASSERT_TRUE(outcome) << outcome.error().message;
  for (const HierarchyDocument& document :
       {outcome->document, swollen(outcome->document), swollen(earlier_document())}) {
    const std::string table = hierarchy_table(document, {.colour = false});
    EXPECT_EQ(table.find('\033'), std::string::npos);
    std::size_t begin = 0, lines = 0;
    for (std::size_t end; (end = table.find('\n', begin)) != std::string::npos; begin = end + 1, ++lines) {
      const std::string line = table.substr(begin, end - begin);
      EXPECT_LE(columns(line), kTableColumns) << line;
      EXPECT_FALSE(line.ends_with(' ')) << line;
    }
    EXPECT_EQ(begin, table.size());
    EXPECT_GT(lines, 40u);
  }
  const std::string plain = hierarchy_table(outcome->document, {.colour = false}),
                    painted = hierarchy_table(outcome->document, {.colour = true});
  EXPECT_NE(painted.find("\033["), std::string::npos);
  EXPECT_NE(plain.find("verified forced"), std::string::npos);
  EXPECT_NE(plain.find("impossible 64 > 36 bits"), std::string::npos);
}

// A trainer that says what it was asked, and answers.
TrainFunction trainer_that(TrainingReply reply, TrainingOrder* asked = nullptr) {
  return [=](const TrainingOrder& order) -> Result<TrainingReply> {
    if (asked) *asked = order;
    return reply;
  };
}

MemberRecord trained_member(RecordState state, double accuracy) {
  MemberRecord member;
  member.state = state;
  member.accuracy = accuracy;
  member.right = {static_cast<std::uint64_t>(1000 * accuracy)};
  member.answers = {1000};
  member.curve = {{50, 0, 1.0, {accuracy / 2}}, {100, 0, 0.5, {accuracy}}};
  return member;
}

TEST(training_evidence, hands_over_a_plan_and_reads_the_record_back) {
  TrainingRun run;
  run.state = RecordState::done;
  run.label = Label{LabelClass::C, "impossible (recurrent-eva, checked)", 0.7, "32 bits of state"};
  run.members = {trained_member(RecordState::done, 0.5), trained_member(RecordState::done, 0.6)};
  TrainingOrder asked;
  EvidenceContext context{.folder = fresh_folder("trained"),
                          .train = trainer_that({.run = run, .seconds = 2}, &asked),
                          .training_seconds = 7};
  const auto task = std::move(*make_task("eva", {{"n", 16}}));
  const auto evidence = training_evidence({.arch = "linear", .seeds = 2}, *task, "linear-eva", context);
  ASSERT_TRUE(evidence) << evidence.error().message;
  EXPECT_EQ(asked.plan.arch, "linear");
  EXPECT_EQ(asked.plan.seeds, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(asked.plan.tasks.at(0).task.sizes.at("n"), 16);
  EXPECT_TRUE(check_plan(asked.plan));
  EXPECT_EQ(asked.seconds, 7);
  EXPECT_EQ(evidence->state, TrainingState::trained);
  EXPECT_NEAR(evidence->accuracy, 0.55, 1e-12);
  EXPECT_LT(*evidence->low, 0.55);
  EXPECT_GT(*evidence->high, 0.55);
  EXPECT_EQ(evidence->label, LabelClass::C);
  EXPECT_EQ(evidence->ceiling, 0.7);
  EXPECT_EQ(evidence->curves.at(1), (AccuracyCurve{{50, 0.3}, {100, 0.6}}));
  EXPECT_FALSE(evidence->retry);
  EXPECT_EQ(evidence->command,
            "rung train linear --task eva --n 16 --width 32 --steps 400 --batch 64 --seeds 2 --lr 0.005 "
            "--eval-every 50 --stop-at 0.995 --device cpu");
}

TEST(training_evidence, of_a_run_that_was_cut_short_is_tried_again) {
  const auto task = std::move(*make_task("eva", {{"n", 16}}));
  const auto evidence_of = [&](TrainingReply reply) {
    EvidenceContext context{.folder = fresh_folder("cut"), .train = trainer_that(std::move(reply))};
    return training_evidence({.arch = "linear"}, *task, "linear-eva", context).value();
  };
  TrainingRun stopped;
  stopped.state = RecordState::stopped;
  stopped.members = {trained_member(RecordState::stopped, 0.4)};
  const TrainingEvidence part = evidence_of({.run = stopped});
  EXPECT_EQ(part.state, TrainingState::trained);
  EXPECT_TRUE(part.retry);
  stopped.members = {MemberRecord{.state = RecordState::stopped}};
  for (const TrainingReply& reply :
       {TrainingReply{.run = stopped}, {.interrupted = true}, {.complaint = "no memory"}}) {
    const TrainingEvidence none = evidence_of(reply);
    EXPECT_EQ(none.state, TrainingState::none);
    EXPECT_TRUE(none.retry);
    EXPECT_FALSE(none.reason.empty());
  }
  EXPECT_FALSE(training_evidence({.arch = "linear"}, *task, "x", {}).value().retry);
}

}  // namespace
}  // namespace rung
