// rung lab: experiments that test the theory.
#include "cli/lab.h"

#include <memory>

#include "cli/command.h"

namespace rung::cli {

Command lab_command() {
  auto flags = std::make_shared<LabFlags>();
  Command command{.name = "lab",
                  .summary = "run an experiment that tests the theory, and decide its predictions"};
  command.description =
      "An experiment declares its configurations and its predictions before anything is run. Every "
      "configuration is labelled by the bounds: C certified impossible, K constructible, G gap. Then it is "
      "run, with a sweep of learning rates where it is trained, and every prediction is held, failed or "
      "undecided. A configuration in the gap, or one that merely failed to train, neither confirms nor "
      "refutes a theorem. A stopped run is resumed with --resume. Under mpirun or srun the configurations "
      "are handed out to all ranks (docs/cluster.md). docs/lab.md has the experiments and the form of a "
      "file. Exit code 1 when a prediction that is a theorem failed.";
  command.examples = {"rung lab --list",
                      "rung lab constructions",
                      "rung lab capacity --size small --seeds 3 --json",
                      "rung lab depth --dry-run",
                      "rung lab depth --resume",
                      "rung lab --file my.toml --out runs/mine",
                      "mpirun -n 4 rung lab capacity --out runs/capacity"};
  const std::string listed = "--list", dry = "--dry-run", whole = "an experiment";
  const auto add = [&](const char* names, const char* help, OptionTarget target,
                       std::vector<std::string> forms) {
    command.options.push_back({names, help, target, {.forms = std::move(forms)}});
  };
  add("NAME", "the experiment (--list)", &flags->name, {whole, dry});
  add("--file", "an experiment of your own, TOML or JSON", &flags->file, {whole, dry});
  command.options.push_back({"--size",
                             "small: minutes on two cores; gpu (small)",
                             &flags->size,
                             {.choices = {"small", "gpu"}, .forms = {whole, dry}}});
  add("--seeds", "how many seeds (as the experiment says)", &flags->seeds, {whole, dry});
  add("--out", "its folder (rung-runs/lab/NAME-SIZE)", &flags->out, {whole});
  add("--only", "configurations to run now, by id, with * and commas; --resume runs the others", &flags->only,
      {whole});
  add("--resume", "resume what is in the folder", &flags->resume, {whole});
  add("--list", "the experiments", &flags->list, {listed});
  add("--dry-run", "label every configuration, and stop", &flags->dry_run, {dry});
  add("--workers", "members at once on a CPU (its cores)", &flags->workers, {whole});
  add("--store", "where records go ($RUNG_STORE, or rung-runs/runs.sqlite)", &flags->store, {whole});
  add("--no-store", "keep no records", &flags->no_store, {whole});
  add("--quiet", "no progress on standard error", &flags->quiet, {whole});
  add("--json", "one JSON document", &flags->json, {});
  for (Option& option : command.options)
    if (option.names == "--store") option.excludes = {"--no-store"};
  command.form = [flags, listed, dry, whole] { return flags->list ? listed : flags->dry_run ? dry : whole; };
  command.run = [flags] { return run_lab(*flags); };
  command.spreads = true;
  return command;
}

}  // namespace rung::cli
