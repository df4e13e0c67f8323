#include "rung/hierarchy/hierarchy.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "rung/base/json_text.h"
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

// Raised when the same recipe gives other evidence than before.
constexpr int kEdition = 2;

struct Job {
  const CellRecipe* recipe = nullptr;
  bool wanted = true, reused = false;
  HierarchyCell cell;                     // as the document shows it
  std::optional<HierarchyCell> evidence;  // what is there before the cell is finished
  std::chrono::steady_clock::time_point start;
  double seconds = 0;
};

std::string cell_name(const CellRecipe& recipe) { return recipe.row + "-" + recipe.column; }

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

const Absence kPending{"This cell has not been run yet.", "not run yet"};

HierarchyCell blank_cell(const HierarchyPlan& plan, const CellRecipe& recipe, CellState state) {
  const HierarchyColumn& column = plan.column(recipe.column);
  HierarchyCell cell{.row = recipe.row,
                     .column = recipe.column,
                     .arch = plan.row(recipe.row).arch,
                     .task = column.task,
                     .state = state,
                     .construction = absent<ConstructionEvidence>(kPending),
                     .certificate = absent<CertificateEvidence>(kPending),
                     .training = absent<TrainingEvidence>(kPending)};
  if (const auto task = task_of(column, column.size)) cell.size = (*task)->size();
  return cell;
}

// What is known of the cell from shipped records: all of its training where nothing is trained here. Highlights are about
// weights that exist or do not.
void show_records(HierarchyCell& cell, const HierarchyPlan& plan, const CellRecipe& recipe,
                  const EvidenceContext& context) {
  const HierarchyColumn& column = plan.column(recipe.column);
  ShippedEvidence shipped;
  if (plan.in_table(recipe.row)) shipped = shipped_evidence(recipe.row, column.task, column.size, context);
  if (!recipe.training)
    cell.training = shipped.best ? std::move(*shipped.best) : absent<TrainingEvidence>(recipe.no_training);
  cell.further_trainings = std::move(shipped.states);
}

// All of a cell but what is trained for it.
Result<HierarchyCell> make_cell(const HierarchyPlan& plan, const CellRecipe& recipe,
                                const EvidenceContext& context) {
  const HierarchyColumn& column = plan.column(recipe.column);
  HierarchyCell cell = blank_cell(plan, recipe, CellState::done);
  const std::string name = cell_name(recipe);
  RUNG_TRY(const auto task, task_of(column, column.size));
  std::optional<Weights> built, broken;
  cell.construction = absent<ConstructionEvidence>(recipe.no_construction);
  if (recipe.construction) {
    RUNG_TRY(cell.construction,
             construction_evidence(*recipe.construction, column.size, name, context, built));
  }
  cell.certificate = absent<CertificateEvidence>(recipe.no_certificate);
  std::shared_ptr<const Task> attacked = task;
  if (recipe.attack) {
    if (!recipe.attack->size.empty()) {
      RUNG_TRY(attacked, task_of(column, recipe.attack->size));
    }
    RUNG_TRY(cell.certificate, certificate_evidence(*recipe.attack, attacked, name, context, broken));
  }
  std::vector<BoundEvidence> bounds;
  if (broken) {
    RUNG_TRY(BoundEvidence bound, bound_evidence(*broken, *attacked));
    bounds.push_back(std::move(bound));
  }
  if (built) {
    RUNG_TRY(BoundEvidence bound,
             recipe.asked ? bound_evidence(*recipe.asked, *task) : bound_evidence(*built, *task));
    bounds.insert(recipe.bound_of_broken ? bounds.end() : bounds.begin(), std::move(bound));
  }
  RUNG_REQUIRE(!bounds.empty(), "{}: a cell is about some model", name);
  cell.bound = std::move(bounds.front());
  cell.further_bounds.assign(std::make_move_iterator(bounds.begin() + 1),
                             std::make_move_iterator(bounds.end()));
  if (recipe.training) cell.training = absent<TrainingEvidence>({"Training was left out.", "left out"});
  show_records(cell, plan, recipe, context);
  return cell;
}

// The cell as an earlier run left it, its certificate checked once more; nothing where it does not serve.
std::optional<HierarchyCell> reusable_cell(const std::string& path,
                                           const std::vector<std::string>& definitions,
                                           const EvidenceContext& context) {
  const auto text = read_text_file(path, "hierarchy");
  if (!text) return std::nullopt;
  auto kept = parse_kept_cell(*text, path);
  if (!kept || std::find(definitions.begin(), definitions.end(), kept->definition) == definitions.end())
    return std::nullopt;
  HierarchyCell& cell = kept->cell;
  if (cell.state != CellState::done || cell.construction.state == Evidence::refuted || cell.training.retry)
    return std::nullopt;
  for (const std::string& file :
       {cell.construction.model.value_or(""), cell.certificate.model, cell.certificate.file})
    if (!file.empty() && !std::filesystem::exists(context.folder + "/" + file)) return std::nullopt;
  if (!cell.certificate.file.empty()) {
    if (!check_certificate(cell.certificate, context)) return std::nullopt;
    if (cell.certificate.state != Evidence::verified && !context.checker.empty()) return std::nullopt;
  }
  return std::move(cell);
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
      return fail(
          ErrorCode::parse, "[hierarchy] no row, column or cell {}; {}", rung::quoted(asked),
          suggest(asked, known, "a row, a column or both expected, such as linear, eva or linear/eva"));
    for (const auto& job : jobs)
      if (asked == job.recipe->row || asked == job.recipe->column ||
          asked == job.recipe->row + "/" + job.recipe->column)
        wanted.insert(cell_name(*job.recipe));
    for (const auto& highlight : plan.highlights)
      for (const auto& cell : highlight.cells)
        if (asked == highlight.id) wanted.insert(cell_name(cell));
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
    for (auto& job : jobs_) job.cell = blank_cell(plan, *job.recipe, CellState::pending);
  }

  Result<HierarchyOutcome> go() {
    std::set<std::string> wanted;
    if (!options_.only.empty()) {
      RUNG_TRY(wanted, wanted_cells(plan_, options_.only, jobs_));
      for (auto& job : jobs_) job.wanted = wanted.contains(cell_name(*job.recipe));
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
                .train = options_.train,
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
    outcome_.document = document();
    return outcome_;
  }

 private:
  bool stopping() const { return options_.stop && options_.stop(); }
  bool trained(const Job& job) const { return job.recipe->training && !options_.untrained; }

  void run_job(Job& job) {
    {
      const std::lock_guard lock(guard_);
      if (error_) return;
    }
    if (stopping()) return;
    job.start = std::chrono::steady_clock::now();
    std::optional<HierarchyCell> kept;
    if (!options_.fresh) kept = kept_cell(job);
    job.reused = kept.has_value();
    Result<HierarchyCell> made =
        kept ? Result<HierarchyCell>(std::move(*kept)) : make_cell(plan_, *job.recipe, context_);
    const std::lock_guard lock(guard_);
    job.seconds = seconds_since(job.start);
    if (stopping()) {  // what a stopped search says is no evidence
      job.cell.state = CellState::stopped;
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
  std::optional<HierarchyCell> kept_cell(const Job& job) const {
    std::vector<std::string> definitions{definition_of(plan_, *job.recipe, true, provenance_.version)};
    if (!trained(job)) definitions.push_back(definition_of(plan_, *job.recipe, false, provenance_.version));
    auto kept = reusable_cell(path_of(job), definitions, context_);
    // A record may have come or gone meanwhile.
    if (kept) show_records(*kept, plan_, *job.recipe, context_);
    return kept;
  }

  // Cells that are passed over stay in the document as they are.
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
      if (job->evidence && !job->reused && trained(*job)) waiting.push_back(job);
    double left = options_.training_seconds;
    for (std::size_t i = 0; i < waiting.size() && !error_; ++i) {
      Job& job = *waiting[i];
      if (stopping()) return;
      const auto start = std::chrono::steady_clock::now();
      const HierarchyColumn& column = plan_.column(job.recipe->column);
      context_.training_seconds = std::max(0.0, left) / static_cast<double>(waiting.size() - i);
      const auto task = task_of(column, column.size);
      auto made = task ? training_evidence(*job.recipe->training, **task, cell_name(*job.recipe), context_)
                       : Result<TrainingEvidence>(task.error());
      left -= seconds_since(start);
      job.seconds += seconds_since(start);
      if (stopping()) {
        job.cell.state = CellState::stopped;
        return;
      }
      if (!made) {
        error_ = made.error();
        return;
      }
      job.evidence->training = std::move(*made);
      finish(job);
    }
  }

  // REQUIRES guard_ held, or no other thread.
  void finish(Job& job) {
    job.cell = std::move(*job.evidence);
    ++outcome_.done;
    outcome_.reused += job.reused;
    note_troubles(job);
    Result<void> written;
    if (!job.reused)
      written = write_whole(
          path_of(job),
          kept_cell_text(
              {definition_of(plan_, *job.recipe, !options_.untrained, provenance_.version), job.cell}));
    if (written) written = write_document();
    if (!written && !error_) error_ = written.error();
    if (options_.progress)
      options_.progress({outcome_.done, outcome_.of, job.recipe->row, job.recipe->column, job.reused,
                         job.seconds, cell_summary(job.cell)});
  }

  std::string path_of(const Job& job) const {
    return options_.folder + "/cells/" + cell_name(*job.recipe) + ".json";
  }

  void note_troubles(const Job& job) {
    const auto note = [&](const std::string& what) {
      outcome_.troubles.push_back(fmt::format("{} on {}: {}", job.recipe->row, job.recipe->column, what));
    };
    const auto& [construction, certificate] = std::tie(job.cell.construction, job.cell.certificate);
    if (construction.state == Evidence::refuted) note("the construction failed: " + construction.reason);
    const bool checked = !context_.checker.empty();
    if (checked && (certificate.state == Evidence::unverified || certificate.state == Evidence::refuted))
      note(certificate.reason);
  }

  HierarchyDocument document() const {
    HierarchyDocument out{.version = provenance_.version,
                          .machine = {provenance_.host, worker_count()},
                          .seconds = seconds_since(start_),
                          .precision = "exact integers (mode X); trained models in fp32"};
    std::set<std::string> columns;
    for (const auto& cell : plan_.cells) columns.insert(cell.column);
    for (const auto& column : plan_.columns) {
      if (!columns.contains(column.id)) continue;
      const auto task = task_of(column, column.size);
      RUNG_REQUIRE(task.ok(), "{}", task.error().message);
      out.columns.push_back(
          {column.id, column.title, column.task, (*task)->size(), (*task)->prompt_length(), column.what});
    }
    for (const auto& row : plan_.rows)
      if (plan_.in_table(row.id)) out.rows.push_back({row.id, row.title, row.arch, row.what});
    std::size_t next = 0;
    for (; next < plan_.cells.size(); ++next) out.cells.push_back(jobs_[next].cell);
    for (const auto& highlight : plan_.highlights) {
      out.highlights.push_back({highlight.id, highlight.title, highlight.what, {}});
      for (std::size_t i = 0; i < highlight.cells.size(); ++i, ++next) {
        HierarchyCell& cell = out.highlights.back().cells.emplace_back(jobs_[next].cell);
        cell.title = plan_.row(highlight.cells[i].row).title;
        cell.what = plan_.row(highlight.cells[i].row).what;
      }
    }
    return out;
  }
  Result<void> write_document() const {
    return write_whole(options_.folder + "/hierarchy.json", hierarchy_json(document()).dump(1) + "\n");
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
