#include "cli/training_process.h"

#include <filesystem>

#include "rung/base/json_text.h"
#include "rung/base/parallel.h"
#include "rung/base/staged_file.h"
#include "rung/hierarchy/child_process.h"

namespace rung::cli {

Result<TrainingReply> train_by(const std::string& trainer, const TrainingOrder& order) {
  const std::string plan = order.folder + ".plan.json", records = order.folder + ".records.jsonl",
                    errors = order.folder + ".errors";
  std::error_code ignored;
  std::filesystem::remove(records, ignored);
  RUNG_TRY(StagedFile file, StagedFile::open(plan, true));
  RUNG_CHECK(file.write(plan_text(order.plan) + "\n"));
  RUNG_CHECK(file.commit());
  RUNG_TRY(const ChildRun child,
           run_child({trainer, "train", "--plan", plan, "--out", order.folder, "--store", records,
                      "--workers", std::to_string(worker_count()), "--quiet"},
                     {.errors = errors, .seconds = order.seconds, .stop = order.stop}));
  TrainingReply reply{.run = {}, .seconds = child.seconds, .interrupted = child.interrupted, .complaint = {}};
  if (const auto text = read_text_file(errors, "train")) reply.complaint = text->substr(0, text->find('\n'));
  if (std::filesystem::exists(records, ignored)) {
    RUNG_TRY(const auto store, Store::open(records, Store::Access::read));
    RUNG_TRY(const auto runs, store->query({.kind = "run"}));
    if (!runs.empty()) {
      RUNG_TRY(reply.run, training_run(*store, runs.front()));
    }
  }
  for (const std::string& path : {plan, records, errors}) std::filesystem::remove(path, ignored);
  return reply;
}

}  // namespace rung::cli
