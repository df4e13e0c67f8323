#include "rung/hierarchy/hierarchy.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

#include "rung/base/nearest_word.h"
#include "rung/base/parallel.h"
#include "rung/base/staged_file.h"
#include "rung/certificate/certificate.h"
#include "rung/hierarchy/evidence.h"
#include "rung/hierarchy/protocol_pair.h"
#include "rung/hierarchy/table.h"
#include "rung/store/provenance.h"

namespace rung {
namespace {

using nlohmann::ordered_json;

// Raised when the same recipe gives other evidence than before.
constexpr int kEdition = 1;

struct Job {
  const CellRecipe* recipe = nullptr;
  bool wanted = true, reused = false;
  ordered_json cell;      // as the document shows it
  ordered_json evidence;  // what is there before the cell is finished
  std::chrono::steady_clock::time_point start;
  double seconds = 0;
};

std::string name_of(const CellRecipe& recipe) { return recipe.row + "-" + recipe.column; }

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Result<void> write_whole(const std::string& path, const std::string& text) {
  RUNG_TRY(auto file, StagedFile::open(path, true));
  RUNG_CHECK(file.write(text));
  return file.commit();
}

Result<std::shared_ptr<const Task>> task_of(const HierarchyColumn& column, const TaskSizes& size) {
  RUNG_TRY(auto task, make_task(column.task, size));
  return std::shared_ptr<const Task>(std::move(task));
}

std::string definition_of(const HierarchyPlan& plan, const CellRecipe& recipe, bool train,
                          const std::string& version) {
  return sha256(fmt::format("{}\nedition {} of rung {}{}", recipe_text(plan, recipe), kEdition, version,
                            train ? "" : ", not trained"));
}

ordered_json blank_cell(const HierarchyPlan& plan, const CellRecipe& recipe, const std::string& state) {
  const HierarchyColumn& column = plan.column(recipe.column);
  ordered_json cell{{"row", recipe.row},
                    {"column", recipe.column},
                    {"arch", plan.row(recipe.row).arch},
                    {"task", column.task}};
  const auto task = task_of(column, column.size);
  if (task) cell["size"] = (*task)->size();
  cell["state"] = state;
  const ordered_json pending{
      {"state", "none"}, {"reason", "This cell has not been run yet."}, {"brief", "not run yet"}};
  cell["bound"] = {
      {"state", "inapplicable"}, {"reason", "This cell has not been run yet."}, {"brief", "not run yet"}};
  cell["further_bounds"] = ordered_json::array();
  for (const char* kind : {"construction", "certificate", "training"}) cell[kind] = pending;
  return cell;
}

// What is known of a cell for which nothing is trained here. Highlights are about weights that exist or do
// not.
ordered_json record_of(const HierarchyPlan& plan, const CellRecipe& recipe, const EvidenceContext& context) {
  const HierarchyColumn& column = plan.column(recipe.column);
  if (plan.in_table(recipe.row))
    if (auto shipped = shipped_evidence(recipe.row, column.task, column.size, context)) return *shipped;
  return absent(recipe.no_training);
}

// All of a cell but what is trained for it.
Result<ordered_json> make_cell(const HierarchyPlan& plan, const CellRecipe& recipe,
                               const EvidenceContext& context) {
  const HierarchyColumn& column = plan.column(recipe.column);
  ordered_json cell = blank_cell(plan, recipe, "done");
  const std::string name = name_of(recipe);
  RUNG_TRY(const auto task, task_of(column, column.size));
  std::optional<Weights> built, broken;
  cell["construction"] = absent(recipe.no_construction);
  if (recipe.construction) {
    RUNG_TRY(cell["construction"],
             construction_evidence(*recipe.construction, column.size, name, context, built));
  }
  cell["certificate"] = absent(recipe.no_certificate);
  std::shared_ptr<const Task> attacked = task;
  if (recipe.attack) {
    if (!recipe.attack->size.empty()) {
      RUNG_TRY(attacked, task_of(column, recipe.attack->size));
    }
    RUNG_TRY(cell["certificate"], certificate_evidence(*recipe.attack, attacked, name, context, broken));
  }
  std::vector<ordered_json> bounds;
  if (broken) {
    RUNG_TRY(ordered_json bound, bound_evidence(*broken, *attacked));
    bounds.push_back(std::move(bound));
  }
  if (built) {
    RUNG_TRY(ordered_json bound,
             recipe.asked ? bound_evidence(*recipe.asked, *task) : bound_evidence(*built, *task));
    bounds.insert(recipe.bound_of_broken ? bounds.end() : bounds.begin(), std::move(bound));
  }
  RUNG_REQUIRE(!bounds.empty(), "{}: a cell is about some model", name);
  cell["bound"] = bounds.front();
  for (std::size_t i = 1; i < bounds.size(); ++i) cell["further_bounds"].push_back(bounds[i]);
  cell["training"] = recipe.training ? absent({"Training was left out (--no-train).", "left out"})
                                     : record_of(plan, recipe, context);
  return cell;
}

// The cell as an earlier run left it, its certificate checked once more; nothing where it does not serve.
std::optional<ordered_json> reusable_cell(const std::string& path,
                                          const std::vector<std::string>& definitions,
                                          const EvidenceContext& context) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  ordered_json kept = ordered_json::parse(file, nullptr, false);
  if (!kept.is_object() || !kept.contains("cell")) return std::nullopt;
  if (std::find(definitions.begin(), definitions.end(), kept.value("definition", "")) == definitions.end())
    return std::nullopt;
  ordered_json cell = kept["cell"];
  try {
    if (cell.at("state") != "done" || cell.at("construction").at("state") == "failed" ||
        cell.at("training").value("retry", false))
      return std::nullopt;
    for (const auto& [part, field] :
         {std::pair{"construction", "model"}, {"certificate", "model"}, {"certificate", "file"}})
      if (cell.at(part).contains(field) && cell[part][field].is_string() &&
          !std::filesystem::exists(context.folder + "/" + cell[part][field].get<std::string>()))
        return std::nullopt;
    auto& certificate = cell.at("certificate");
    if (certificate.contains("file")) {
      if (!check_certificate(certificate, context)) return std::nullopt;
      if (certificate["state"] != "VERIFIED" && !context.checker.empty()) return std::nullopt;
    }
    return cell;
  } catch (const ordered_json::exception&) {
    return std::nullopt;
  }
}

Result<std::set<std::string>> wanted_cells(const HierarchyPlan& plan, const std::vector<std::string>& only,
                                           const std::vector<Job>& jobs) {
  std::set<std::string> wanted;
  std::set<std::string> words;
  for (const auto& job : jobs)
    for (const auto& word : {job.recipe->row, job.recipe->column, job.recipe->row + "/" + job.recipe->column})
      words.insert(word);
  for (const auto& highlight : plan.highlights) words.insert(highlight.id);
  for (const auto& asked : only) {
    const std::vector<std::string_view> known(words.begin(), words.end());
    if (!words.contains(asked))
      return fail(ErrorCode::parse, "[hierarchy] no row, column or cell {}; {}", rung::quoted(asked),
                  suggest(asked, known));
    for (const auto& job : jobs)
      if (asked == job.recipe->row || asked == job.recipe->column ||
          asked == job.recipe->row + "/" + job.recipe->column)
        wanted.insert(name_of(*job.recipe));
    for (const auto& highlight : plan.highlights)
      for (const auto& cell : highlight.cells)
        if (asked == highlight.id) wanted.insert(name_of(cell));
  }
  return wanted;
}

class Run {
 public:
  Run(const HierarchyPlan& plan, const HierarchyOptions& options) : plan_(plan), options_(options) {
    stamp(provenance_);
    for (const auto& cell : plan.cells) jobs_.push_back({&cell});
    for (const auto& highlight : plan.highlights)
      for (const auto& cell : highlight.cells) jobs_.push_back({&cell});
    for (auto& job : jobs_) job.cell = blank_cell(plan, *job.recipe, "pending");
  }

  Result<HierarchyOutcome> go() {
    std::set<std::string> wanted;
    if (!options_.only.empty()) {
      RUNG_TRY(wanted, wanted_cells(plan_, options_.only, jobs_));
      for (auto& job : jobs_) job.wanted = wanted.contains(name_of(*job.recipe));
    }
    std::error_code code;
    for (const char* folder : {"cells", "models", "certificates", "training"}) {
      std::filesystem::create_directories(options_.folder + "/" + folder, code);
      if (code)
        return fail(ErrorCode::io, "[hierarchy] {}/{} cannot be made: {}", options_.folder, folder,
                    code.message());
    }
    context_ = {.folder = options_.folder,
                .checker = options_.checker,
                .trainer = options_.trainer,
                .results = options_.results,
                .stop = options_.stop};
    std::vector<Job*> order;
    for (auto& job : jobs_)
      if (job.wanted) order.push_back(&job);
    // The long ones first: highlights.
    std::stable_partition(order.begin(), order.end(),
                          [&](const Job* job) { return !plan_.in_table(job->recipe->row); });
    outcome_.of = order.size();
    start_ = std::chrono::steady_clock::now();
    keep_others();
    RUNG_CHECK(write_document());
    if (options_.only.empty()) RUNG_CHECK(write_protocols(options_.folder, options_.stop));
    parallel_for(static_cast<std::int64_t>(order.size()), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) run_job(*order[static_cast<std::size_t>(i)]);
    });
    train_all(order);
    if (error_) return *error_;
    RUNG_CHECK(write_document());
    outcome_.stopped = outcome_.done < outcome_.of;
    outcome_.document = std::make_shared<const ordered_json>(document());
    return outcome_;
  }

 private:
  bool stopping() const { return options_.stop && options_.stop(); }
  bool trained(const Job& job) const { return job.recipe->training && options_.train; }

  void run_job(Job& job) {
    {
      const std::lock_guard lock(guard_);
      if (error_) return;
    }
    if (stopping()) return;
    job.start = std::chrono::steady_clock::now();
    std::optional<ordered_json> kept;
    if (!options_.fresh) kept = kept_cell(job);
    job.reused = kept.has_value();
    Result<ordered_json> made =
        kept ? Result<ordered_json>(std::move(*kept)) : make_cell(plan_, *job.recipe, context_);
    const std::lock_guard lock(guard_);
    job.seconds = seconds_since(job.start);
    if (stopping()) {  // what a stopped search says is no evidence
      job.cell["state"] = "stopped";
      return;
    }
    if (!made) {
      if (!error_) error_ = made.error();
      return;
    }
    job.evidence = std::move(*made);
    if (job.reused || !trained(job)) finish(job);
  }

  // What an earlier run left of the cell; one that was trained serves where training is left out, too.
  std::optional<ordered_json> kept_cell(const Job& job) const {
    std::vector<std::string> definitions{definition_of(plan_, *job.recipe, true, provenance_.version)};
    if (!trained(job)) definitions.push_back(definition_of(plan_, *job.recipe, false, provenance_.version));
    auto kept = reusable_cell(path_of(job), definitions, context_);
    // A record may have come or gone meanwhile.
    if (kept && !job.recipe->training) (*kept)["training"] = record_of(plan_, *job.recipe, context_);
    return kept;
  }

  // Cells that --only passes over stay in the document as they are.
  void keep_others() {
    parallel_for(static_cast<std::int64_t>(jobs_.size()), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        Job& job = jobs_[static_cast<std::size_t>(i)];
        if (job.wanted || stopping()) continue;
        if (auto kept = kept_cell(job)) job.cell = std::move(*kept);
      }
    });
  }

  // One after the other, each on all cores; time that one does not use is there for the next.
  void train_all(const std::vector<Job*>& order) {
    std::vector<Job*> waiting;
    for (Job* job : order)
      if (!job->evidence.is_null() && !job->reused && trained(*job)) waiting.push_back(job);
    double left = options_.training_seconds;
    for (std::size_t i = 0; i < waiting.size() && !error_; ++i) {
      Job& job = *waiting[i];
      if (stopping()) return;
      const auto start = std::chrono::steady_clock::now();
      const HierarchyColumn& column = plan_.column(job.recipe->column);
      context_.training_seconds = std::max(0.0, left) / static_cast<double>(waiting.size() - i);
      const auto task = task_of(column, column.size);
      auto made = task ? training_evidence(*job.recipe->training, **task, name_of(*job.recipe), context_)
                       : Result<ordered_json>(task.error());
      left -= seconds_since(start);
      job.seconds += seconds_since(start);
      if (stopping()) {
        job.cell["state"] = "stopped";
        return;
      }
      if (!made) {
        error_ = made.error();
        return;
      }
      job.evidence["training"] = std::move(*made);
      finish(job);
    }
  }

  // REQUIRES guard_ held, or no other thread.
  void finish(Job& job) {
    job.cell = std::move(job.evidence);
    ++outcome_.done;
    outcome_.reused += job.reused;
    note_troubles(job);
    Result<void> written;
    if (!job.reused)
      written = write_whole(
          path_of(job),
          ordered_json{{"definition", definition_of(plan_, *job.recipe, options_.train, provenance_.version)},
                       {"cell", job.cell}}
                  .dump(1) +
              "\n");
    if (written) written = write_document();
    if (!written && !error_) error_ = written.error();
    if (options_.progress)
      options_.progress({outcome_.done, outcome_.of, job.recipe->row, job.recipe->column, job.reused,
                         job.seconds, cell_summary(job.cell)});
  }

  std::string path_of(const Job& job) const {
    return options_.folder + "/cells/" + name_of(*job.recipe) + ".json";
  }

  void note_troubles(const Job& job) {
    const auto& construction = job.cell["construction"];
    const auto& certificate = job.cell["certificate"];
    if (construction["state"] == "failed")
      outcome_.troubles.push_back(fmt::format("{} on {}: the construction failed: {}", job.recipe->row,
                                              job.recipe->column, construction["reason"].get<std::string>()));
    if (certificate["state"] == "unverified" && !context_.checker.empty())
      outcome_.troubles.push_back(fmt::format("{} on {}: {}", job.recipe->row, job.recipe->column,
                                              certificate["reason"].get<std::string>()));
  }

  ordered_json document() const {
    ordered_json json;
    json["schema"] = "rung.hierarchy/1";
    json["version"] = provenance_.version;
    json["machine"] = {{"host", provenance_.host}, {"workers", worker_count()}};
    json["seconds"] = seconds_since(start_);
    json["precision"] = "exact integers (mode X); trained models in fp32";
    json["columns"] = ordered_json::array();
    json["rows"] = ordered_json::array();
    json["cells"] = ordered_json::array();
    json["highlights"] = ordered_json::array();
    std::set<std::string> columns;
    for (const auto& cell : plan_.cells) columns.insert(cell.column);
    for (const auto& column : plan_.columns) {
      if (!columns.contains(column.id)) continue;
      const auto task = task_of(column, column.size);
      RUNG_REQUIRE(task.ok(), "{}", task.error().message);
      json["columns"].push_back({{"id", column.id},
                                 {"title", column.title},
                                 {"task", column.task},
                                 {"size", (*task)->size()},
                                 {"prompt_tokens", (*task)->prompt_length()},
                                 {"what", column.what}});
    }
    for (const auto& row : plan_.rows)
      if (plan_.in_table(row.id))
        json["rows"].push_back(
            {{"id", row.id}, {"title", row.title}, {"arch", row.arch}, {"what", row.what}});
    std::size_t next = 0;
    for (; next < plan_.cells.size(); ++next) json["cells"].push_back(jobs_[next].cell);
    for (const auto& highlight : plan_.highlights) {
      ordered_json cells = ordered_json::array();
      for (std::size_t i = 0; i < highlight.cells.size(); ++i, ++next) {
        cells.push_back(jobs_[next].cell);
        cells.back()["title"] = plan_.row(highlight.cells[i].row).title;
        cells.back()["what"] = plan_.row(highlight.cells[i].row).what;
      }
      json["highlights"].push_back(
          {{"id", highlight.id}, {"title", highlight.title}, {"what", highlight.what}, {"cells", cells}});
    }
    return json;
  }
  Result<void> write_document() const {
    return write_whole(options_.folder + "/hierarchy.json", document().dump(1) + "\n");
  }

  const HierarchyPlan& plan_;
  const HierarchyOptions& options_;
  Record provenance_;
  EvidenceContext context_;
  std::vector<Job> jobs_;
  std::chrono::steady_clock::time_point start_;
  std::mutex guard_;  // of what follows, and of jobs' cells
  std::optional<Error> error_;
  HierarchyOutcome outcome_;
};

}  // namespace

Result<HierarchyOutcome> run_hierarchy(const HierarchyPlan& plan, const HierarchyOptions& options) {
  RUNG_REQUIRE(!options.folder.empty(), "a folder is named");
  return Run(plan, options).go();
}

}  // namespace rung
