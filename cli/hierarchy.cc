// rung hierarchy, and rung with no arguments: the table whose every cell just ran.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/training_process.h"
#include "rung/base/program_path.h"
#include "rung/hierarchy/hierarchy.h"
#include "rung/hierarchy/table.h"
#include "rung/report/document.h"

namespace rung::cli {
namespace {

constexpr int kInterrupted = 130;
const std::string kFolder = "rung-runs/hierarchy";

struct HierarchyFlags {
  std::string out = kFolder;
  std::vector<std::string> only;
  bool fresh = false, no_train = false, json = false;
};

void hierarchy_show_progress(const CellProgress& cell) {
  fmt::print(stderr, "[{:>2}/{}] {} on {}: {}{}\n", cell.done, cell.of, cell.row, cell.column, cell.line,
             cell.reused ? " (reused)" : fmt::format(" ({:.1f} s)", cell.seconds));
}

Result<int> run_hierarchy(const HierarchyFlags& flags) {
  listen_for_interruption();
  HierarchyOptions options{.folder = flags.out,
                           .checker = find_program("rung-check"),
                           .results = report::shipped_results(),
                           .fresh = flags.fresh,
                           .untrained = flags.no_train,
                           .only = flags.only,
                           .progress = hierarchy_show_progress,
                           .stop = interrupted};
  if (const std::string trainer = find_program("rung-learn"); !trainer.empty())
    options.train = [trainer](const TrainingOrder& order) { return train_by(trainer, order); };
  RUNG_TRY(const HierarchyOutcome outcome, run_hierarchy(hierarchy_plan(), options));
  if (flags.json) {
    print_json(hierarchy_json(outcome.document));
  } else {
    const bool colour = isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
    fmt::print("{}\n", hierarchy_table(outcome.document, {.colour = colour}));
    fmt::print("{} of {} cells{}, in {}\n", outcome.done, outcome.of,
               outcome.reused > 0 ? fmt::format(", {} of them reused", outcome.reused) : "", flags.out);
    fmt::print("as a web page with all evidence: rung report{}\n",
               flags.out == kFolder ? "" : " --hierarchy " + flags.out);
  }
  for (const auto& trouble : outcome.troubles) fmt::print(stderr, "rung: [hierarchy] {}\n", trouble);
  if (outcome.stopped) {
    fmt::print(stderr,
               "stopped: {} of {} cells are done and kept in {}; the same command resumes from there\n",
               outcome.done, outcome.of, flags.out);
    return kInterrupted;
  }
  return outcome.troubles.empty() ? 0 : 1;
}

}  // namespace

Command hierarchy_command() {
  auto flags = std::make_shared<HierarchyFlags>();
  Command command{.name = "hierarchy",
                  .summary = "every mechanism against every task: bound, built, broken, trained"};
  command.description =
      "For full, linear, delta, mamba2, log-linear and sparse attention and for layer-wise and head-wise "
      "hybrids, against Eva, 2-Sum, L-SeqComp, Parity and tracked recall: the bound with its numbers, the "
      "construction, built and verified, two inputs that a model cannot tell apart, verified by rung-check, "
      "and what training reaches (docs/hierarchy.md). A finished cell is kept and reused; Ctrl-C leaves what "
      "is done. rung without arguments is this command. Exit code 1 when a construction failed its "
      "verification or a certificate was rejected, 130 after Ctrl-C.";
  command.examples = {"rung hierarchy", "rung hierarchy --only linear --only seqcomp",
                      "rung hierarchy --fresh --no-train --json"};
  command.options = {
      {"--out", "the folder (rung-runs/hierarchy)", &flags->out},
      {"--only", "a row, a column, ROW/COLUMN or a highlight; may be repeated", &flags->only},
      {"--fresh", "run every cell again", &flags->fresh},
      {"--no-train", "leave training out", &flags->no_train},
      {"--json", "one JSON document, schema rung.hierarchy/2", &flags->json},
  };
  command.run = [flags] { return run_hierarchy(*flags); };
  return command;
}

}  // namespace rung::cli
