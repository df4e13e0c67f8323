#include "rung/hierarchy/hierarchy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

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
  return {.folder = folder, .checker = RUNG_CHECKER, .train = false};
}

ordered_json without_times(ordered_json json) {
  if (json.is_object()) {
    json.erase("seconds");
    for (auto& [name, value] : json.items()) value = without_times(value);
  } else if (json.is_array()) {
    for (auto& value : json) value = without_times(value);
  }
  return json;
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
    for (const char* column : {"eva", "two-sum", "seqcomp"})
      EXPECT_EQ(cells.count(std::string(row) + "/" + column), 1u) << row << " " << column;
  EXPECT_EQ(cells.size(), 24u);
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
  const ordered_json& document = *outcome->document;
  for (const auto& cell : document["cells"]) {
    const std::string where = cell["row"].get<std::string>() + " on " + cell["column"].get<std::string>();
    EXPECT_EQ(cell["state"], "done");
    for (const char* part : {"construction", "certificate", "training"})
      if (cell[part]["state"] == "none")
        EXPECT_FALSE(cell[part]["reason"].get<std::string>().empty()) << where;
    EXPECT_NE(cell["bound"]["state"], "inapplicable") << where;
    if (cell["construction"]["state"] != "none") {
      EXPECT_EQ(cell["construction"]["state"], "verified") << where;
      EXPECT_EQ(cell["construction"]["errors"], 0);
      EXPECT_GT(cell["construction"]["instances"], 0);
      EXPECT_FALSE(cell["construction"]["coordinates"].empty());
      EXPECT_TRUE(std::filesystem::exists(folder + "/" + cell["construction"]["model"].get<std::string>()));
    }
    if (cell["certificate"]["state"] != "none") {
      EXPECT_EQ(cell["certificate"]["state"], "VERIFIED") << where;
      EXPECT_EQ(cell["certificate"]["checker"]["exit"], 0);
      EXPECT_FALSE(cell["certificate"]["differ"].empty());
      EXPECT_NE(cell["certificate"]["answers"][0], cell["certificate"]["answers"][1]);
    }
    EXPECT_TRUE(std::filesystem::exists(folder + "/cells/" + cell["row"].get<std::string>() + "-" +
                                        cell["column"].get<std::string>() + ".json"));
  }
  std::ifstream file(folder + "/hierarchy.json");
  EXPECT_EQ(without_times(ordered_json::parse(file)), without_times(document));
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
  for (const auto& cell : (*stopped->document)["cells"])
    if (cell["state"] != "done") EXPECT_EQ(cell["bound"]["state"], "inapplicable");
  const auto resumed = run_hierarchy(plan, untrained(folder));
  ASSERT_TRUE(resumed);
  EXPECT_EQ(resumed->reused, stopped->done);
  EXPECT_EQ(resumed->done, plan.cells.size());
  EXPECT_EQ(without_times(*resumed->document), without_times(*whole->document));
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
  EXPECT_EQ(some->of, 3u);
  EXPECT_EQ(without_times(*some->document), without_times(*whole->document));
}

// One evidence, checked as it is, with another answer, and with another model.
TEST(certificate_evidence, is_never_called_verified_when_the_checker_rejects_it) {
  const std::string folder = fresh_folder("rejected");
  HierarchyOptions options = untrained(folder);
  options.only = {"linear/eva"};
  const auto outcome = run_hierarchy(small_plan(), options);
  ASSERT_TRUE(outcome);
  ordered_json evidence;
  for (const auto& cell : (*outcome->document)["cells"])
    if (cell["row"] == "linear" && cell["column"] == "eva") evidence = cell["certificate"];
  ASSERT_EQ(evidence["state"], "VERIFIED");
  const EvidenceContext context{.folder = folder, .checker = RUNG_CHECKER};
  ASSERT_TRUE(check_certificate(evidence, context));
  EXPECT_EQ(evidence["state"], "VERIFIED");

  const std::string path = folder + "/certificates/linear-eva.json";
  std::string text;
  {
    std::ifstream file(path);
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  const auto corrupt = [&](const std::string& changed) {
    std::ofstream(path) << changed;
    ordered_json checked = evidence;
    EXPECT_TRUE(check_certificate(checked, context));
    return checked;
  };
  ordered_json certificate = ordered_json::parse(text);
  ordered_json swapped = certificate;
  const std::string dumped = swapped.dump();
  for (const std::string& changed :
       {std::string("{}"), std::string(""), dumped.substr(0, dumped.size() / 2)}) {
    const ordered_json checked = corrupt(changed);
    EXPECT_EQ(checked["state"], "unverified") << changed.substr(0, 40);
    EXPECT_NE(checked["checker"]["exit"], 0);
    EXPECT_FALSE(checked["reason"].get<std::string>().empty());
  }
  corrupt(text);
  // Another model under the same certificate.
  std::filesystem::copy_file(folder + "/models/linear-eva-built.safetensors",
                             folder + "/models/linear-eva-broken.safetensors",
                             std::filesystem::copy_options::overwrite_existing);
  ASSERT_TRUE(check_certificate(evidence, context));
  EXPECT_EQ(evidence["state"], "unverified");
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
  EXPECT_NE(hierarchy_table(*missing->document, {}).find("unverified: rung-check is"), std::string::npos);
  options.checker = "/bin/false";
  const auto rejected = run_hierarchy(small_plan(), options);
  ASSERT_TRUE(rejected);
  EXPECT_EQ(rejected->troubles.size(), 1u);
  EXPECT_EQ(hierarchy_table(*rejected->document, {}).find("VERIFIED f"), std::string::npos);
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
ordered_json swollen(ordered_json json, const std::string& name = "") {
  static const std::set<std::string> kept = {"state", "id", "row", "column", "tag", "label", "schema"};
  if (json.is_object())
    for (auto& [key, value] : json.items()) value = swollen(value, key);
  else if (json.is_array())
    for (auto& value : json) value = swollen(value, name);
  else if (json.is_string() && !kept.contains(name))
    return "größere Wörter, " + std::string(150, 'x') + " " + json.get<std::string>() +
           json.get<std::string>();
  else if (json.is_number())
    return -123456789.123456789;
  return json;
}

TEST(hierarchy_table, says_where_what_is_built_is_larger_than_what_cannot) {
  std::ifstream file(RUNG_SOURCE_DIR "/tests/cases/report/hierarchy/hierarchy.json");
  ordered_json document = ordered_json::parse(file);
  for (auto& cell : document["cells"]) cell["bound"]["arch"] = "linear(heads=1,dim=1)";
  EXPECT_NE(hierarchy_table(document, {}).find("larger: p="), std::string::npos);
  for (auto& cell : document["cells"])
    if (cell["construction"].contains("arch")) cell["bound"]["arch"] = cell["construction"]["arch"];
  EXPECT_EQ(hierarchy_table(document, {}).find("larger: p="), std::string::npos);
}

TEST(hierarchy_table, fits_a_hundred_columns_whatever_the_cells_say) {
  const auto outcome = run_hierarchy(hierarchy_plan(), [] {
    HierarchyOptions options = untrained(fresh_folder("table"));
    options.only = {"full/eva", "linear/eva", "sparse/two-sum"};
    return options;
  }());
  ASSERT_TRUE(outcome) << outcome.error().message;
  for (const ordered_json& document : {*outcome->document, swollen(*outcome->document)}) {
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
  const std::string plain = hierarchy_table(*outcome->document, {.colour = false}),
                    painted = hierarchy_table(*outcome->document, {.colour = true});
  EXPECT_NE(painted.find("\033["), std::string::npos);
  EXPECT_NE(plain.find("VERIFIED forced"), std::string::npos);
  EXPECT_NE(plain.find("impossible 64 > 36 bits"), std::string::npos);
}

}  // namespace
}  // namespace rung
