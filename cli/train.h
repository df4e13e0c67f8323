// The flags of `rung train`, shared by rung, which knows them for --help and the man page, and rung-learn,
// which trains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/architecture_flags.h"
#include "cli/task_flags.h"

namespace rung::cli {

struct TrainFlags {
  ArchitectureFlags architecture;
  TaskFlags sizes;
  std::optional<std::string> plan, task, curriculum, support, variant, supervision, deep, embedding, from,
      rates, decays, scales, precision, device, out, resume, store, lengths;
  std::optional<std::int64_t> queries, spacing, steps, batch, seeds, seed, warmup, evaluate_every,
      evaluate_count, final_count, checkpoint_every, round_bits, carry_bits, round_after, stage_steps,
      patience, workers;
  std::optional<double> floor, clip, beta1, beta2, dropout, smoothing, stop, gain, advance, whole;
  bool parts = false, carried_bits = false, no_store = false, dry_run = false, quiet = false, json = false;
};

// In rung: hands over to rung-learn, which stands beside it. In rung-learn: trains.
Result<int> run_train(const TrainFlags& flags);

}  // namespace rung::cli
