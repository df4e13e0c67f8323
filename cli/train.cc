// rung train: what gradient descent finds.
#include "cli/train.h"

#include <algorithm>
#include <memory>

#include "cli/command.h"

namespace rung::cli {

Command train_command() {
  auto flags = std::make_shared<TrainFlags>();
  Command command{.name = "train",
                  .summary = "train models of an architecture on a task, whole sweeps at once"};
  command.description =
      "Trains every combination of seeds, learning rates, weight decays and initial scales as one ensemble: "
      "on a CPU as one-thread workers pinned to cores, on a GPU as one batched program. Members are written "
      "as weights files that rung eval, rung quantise and rung export read, and recorded in the store (rung "
      "runs). Ctrl-C finishes the step, writes a checkpoint and says how to resume; a killed run is resumed "
      "from its last checkpoint to the same curve. Everything can also be given in a TOML or JSON file "
      "(--plan; docs/train.md); flags replace what the file says.";
  command.examples = {"rung train full --task eva --n 32 --width 32 --seeds 3 --stop-at 0.99",
                      "rung train 'gdelta*2' --task mqar --n 16 --lr 1e-3,3e-3,1e-2 --out runs/gdelta",
                      "rung train --plan sweep.toml --dry-run", "rung train --resume runs/gdelta"};
  flags->architecture.declare(command.options);
  // A trained model stores float32; widths of other formats belong to the commands that count bits.
  std::erase_if(command.options, [](const Option& option) {
    for (const char* name : {"--precision", "--acc-bits", "--state-dtype", "--conv-dtype", "--cache-dtype",
                             "--assume-defaults", "--config", "--vocab", "--outputs"})
      if (option.names.find(name) != std::string::npos) return true;
    return false;
  });
  for (Option& option : command.options) {
    if (option.names == "--norm") option.help = "none or rms (default: rms)";
    if (!option.names.starts_with("-")) option.required = false, option.help = "architecture line";
  }
  const auto add = [&](const char* names, const char* help, OptionTarget target, const char* group) {
    command.options.push_back({names, help, target, {.group = group}});
  };
  add("--plan", "a TOML or JSON file with the plan", &flags->plan, "Plan");
  add("--task", "the task; its sizes are flags of their own (--n, --m, ...)", &flags->task, "Plan");
  add("--curriculum", "earlier stages with other sizes: \"n=8; n=16\"", &flags->curriculum, "Plan");
  add("--stage-steps", "steps of each earlier stage (half of all, evenly split)", &flags->stage_steps,
      "Plan");
  add("--support", "earlier stages with fewer values, passed at each member's pace: \"m=4,n1=4; m=8,n1=8\"",
      &flags->support, "Plan");
  add("--advance", "accuracy on its stage with which a member moves on (0.95)", &flags->advance, "Plan");
  add("--whole", "share of every batch that is drawn from the whole task at once (0)", &flags->whole, "Plan");
  add("--variant", "uniform, permutation, zipf or adversarial (uniform)", &flags->variant, "Plan");
  add("--supervision", "answer, every-query, chain or deep (every-query)", &flags->supervision, "Plan");
  add("--deep", "supervision deep: what is read where: \"value=1,layer=2,back=0; token=1,layer=1; ...\"",
      &flags->deep, "Plan");
  add("--embedding",
      "tokens by a table of rows, or a linear map of their binary digits: table or binary (table)",
      &flags->embedding, "Plan");
  add("--from", "a weights file of the same architecture that members start with", &flags->from, "Plan");
  add("--queries", "questions a prompt (1)", &flags->queries, "Plan");
  add("--spacing", "positions from one question to the next (as many as it has tokens)", &flags->spacing,
      "Plan");
  add("--parts", "seqcomp: ask for parts of the chain too, in turn", &flags->parts, "Plan");
  add("--steps", "steps (5000)", &flags->steps, "Plan");
  add("--batch", "prompts a step and member (64)", &flags->batch, "Plan");
  add("--seeds", "how many seeds (1)", &flags->seeds, "Members");
  add("--seed", "the first seed (1)", &flags->seed, "Members");
  add("--lr", "learning rates, separated by commas (3e-3)", &flags->rates, "Members");
  add("--weight-decay", "weight decays, separated by commas (0.01)", &flags->decays, "Members");
  add("--init-scale", "initial scales, separated by commas (1)", &flags->scales, "Members");
  add("--warmup", "steps of linear warm-up (100)", &flags->warmup, "Optimiser");
  add("--floor", "the last learning rate as a share of the peak (0.05)", &flags->floor, "Optimiser");
  add("--clip", "largest norm of a gradient; 0: not clipped (1)", &flags->clip, "Optimiser");
  add("--beta1", "AdamW's first decay (0.9)", &flags->beta1, "Optimiser");
  add("--beta2", "AdamW's second decay (0.98)", &flags->beta2, "Optimiser");
  add("--dropout", "share of the branches' outputs dropped (0)", &flags->dropout, "Optimiser");
  add("--label-smoothing", "label smoothing (0)", &flags->smoothing, "Optimiser");
  add("--stop-at", "end a member after two evaluations at this accuracy", &flags->stop, "Optimiser");
  add("--patience",
      "evaluations in a row without a gain after which a member's rate falls to a quarter, until it ends",
      &flags->patience, "Optimiser");
  add("--gain", "accuracy above the best before that counts as a gain (0.01)", &flags->gain, "Optimiser");
  add("--precision", "fp32, tf32 or bf16 (fp32)", &flags->precision, "Numbers");
  add("--qat", "quantisation-aware: round activations to this many bits", &flags->round_bits, "Numbers");
  add("--carry-bits", "round only values fetched and states, to this many bits, in training and after it",
      &flags->carry_bits, "Numbers");
  add("--qat-after", "steps in floats before rounding starts (the first half)", &flags->round_after,
      "Numbers");
  add("--device", "auto, cpu or cuda (auto)", &flags->device, "Machine");
  add("--workers", "members at once on a CPU (its cores)", &flags->workers, "Machine");
  add("--eval-every", "steps between evaluations (100)", &flags->evaluate_every, "Evaluation");
  add("--eval-count", "instances of an evaluation (512)", &flags->evaluate_count, "Evaluation");
  add("--final-count", "fresh instances at the end (2000)", &flags->final_count, "Evaluation");
  add("--carried-bits", "also measure with how few bits of fetched values and states a member does as well",
      &flags->carried_bits, "Evaluation");
  add("--lengths", "automaton tasks: also tested on words of so many letters: 64,1024,65536", &flags->lengths,
      "Evaluation");
  add("--checkpoint-every", "steps between checkpoints (500)", &flags->checkpoint_every, "Output");
  add("--out", "the run's folder (rung-runs/ and the time)", &flags->out, "Output");
  add("--resume", "resume the run of this folder", &flags->resume, "Output");
  add("--store", "where records go ($RUNG_STORE, or rung-runs/runs.sqlite)", &flags->store, "Output");
  add("--no-store", "keep no records", &flags->no_store, "Output");
  add("--dry-run", "say what would run and how much memory it needs, and stop", &flags->dry_run, "Output");
  add("--quiet", "no progress on standard error", &flags->quiet, "Output");
  add("--json", "one JSON document", &flags->json, "Output");
  flags->sizes.declare(command);
  // A run that is resumed has its plan already, and a dry run keeps nothing.
  const std::vector<std::string> free = {"--resume",  "--workers", "--store", "--no-store",
                                         "--dry-run", "--quiet",   "--json",  "--lengths"};
  for (Option& option : command.options) {
    if (std::find(free.begin(), free.end(), option.names) == free.end())
      option.excludes.push_back("--resume");
    for (const char* kept : {"--out", "--store", "--no-store", "--quiet", "--lengths"})
      if (option.names == kept) option.excludes.push_back("--dry-run");
    if (option.names == "--store") option.excludes.push_back("--no-store");
    if (option.names == "--stage-steps") option.needs = {"--curriculum", "--plan"};
    if (option.names == "--support") option.excludes.push_back("--curriculum");
    if (option.names == "--deep") option.needs = {"--supervision", "--plan"};
    if (option.names == "--advance" || option.names == "--whole") option.needs = {"--support", "--plan"};
    if (option.names == "--gain") option.needs = {"--patience", "--plan"};
    if (option.names == "--qat-after") option.needs = {"--qat", "--carry-bits", "--plan"};
  }
  command.run = [flags] { return run_train(*flags); };
  return command;
}

}  // namespace rung::cli
