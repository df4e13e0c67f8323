#include "rung/learn/ensemble.h"

#include <ATen/Parallel.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <span>
#include <thread>

#include "rung/learn/device_stream.h"
#include "rung/learn/memory_forecast.h"
#include "rung/learn/plateau.h"
#include "rung/learn/prepared_plan.h"
#include "rung/learn/run_folder.h"
#include "rung/learn/run_progress.h"
#include "rung/learn/run_records.h"
#include "rung/learn/trainer.h"

namespace rung::learn {
namespace {

void pin_to_core(int worker) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  const int cores = CPU_COUNT(&allowed);
  int wanted = cores > 0 ? worker % cores : 0;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &allowed) && wanted-- == 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(core, &one);
      pthread_setaffinity_np(pthread_self(), sizeof one, &one);
      return;
    }
}

// The members in groups that are trained together: on a GPU one group, on a CPU one per member.
class Run {
 public:
  Run(const PreparedPlan& prepared, const EnsembleOptions& options, RunFolder folder)
      : prepared_(prepared),
        options_(options),
        folder_(std::move(folder)),
        records_(prepared, options),
        progress_(prepared.forecast.members, prepared.plan, options.progress) {
    for (const MemberPlan& member : members(prepared.plan)) results_.push_back({.plan = member});
  }

  Result<EnsembleResult> go() {
    RUNG_CHECK(records_.open(folder_, members(prepared_.plan)));
    run_groups();
    // Whatever went wrong, the records are closed, and the first error is the one that is told.
    const auto note = [this](const Result<void>& done) {
      if (!done && !error_) error_ = done.error();
    };
    // What was trained and could not be written is not done: its checkpoint or the next run makes its file.
    if (error_)
      for (MemberResult& member : results_)
        if (std::error_code code; !std::filesystem::exists(member.file, code))
          member = {.plan = member.plan, .curve = member.curve, .steps = member.steps};
    // A run that failed leaves the folder as it is, for --resume.
    if (!error_) note(folder_.write_curves(results_));
    EnsembleResult result;
    result.run = records_.run();
    result.seconds = progress_.seconds();
    result.tokens_per_second = progress_.tokens_per_second();
    result.device = prepared_.forecast.device;
    result.predicted_bytes = prepared_.forecast.bytes;
    result.peak_bytes = cuda() && !error_ ? cuda_memory().peak : host_memory().peak;
    result.stopped = std::any_of(results_.begin(), results_.end(), [](const MemberResult& member) {
      return member.state == RecordState::stopped;
    });
    result.members = results_;
    note(records_.close(result, error_));
    if (error_) return *error_;
    return result;
  }

 private:
  bool cuda() const { return prepared_.device.is_cuda(); }
  bool stopping() const { return failed_ || (options_.stop && options_.stop()); }

  void run_groups() {
    const std::int64_t groups = cuda() ? 1 : static_cast<std::int64_t>(results_.size());
    const int workers = static_cast<int>(std::min<std::int64_t>(groups, prepared_.forecast.together));
    std::atomic<std::int64_t> next{0};
    std::vector<std::thread> threads;
    for (int worker = 0; worker < workers; ++worker)
      threads.emplace_back([&, worker] {
        if (!cuda()) {
          pin_to_core(worker);
          at::set_num_threads(1);
        }
        for (std::int64_t group = next++; group < groups && !stopping(); group = next++)
          if (auto done = train_group(group); !done) {
            const std::lock_guard lock(guard_);
            if (!error_) error_ = done.error();
            failed_ = true;
          }
      });
    for (std::thread& thread : threads) thread.join();
  }

  // The members of a group, whose indices are those of results_.
  std::span<MemberResult> group_members(std::int64_t group) {
    return cuda() ? std::span(results_) : std::span(results_).subspan(static_cast<std::size_t>(group), 1);
  }

  // Whether an earlier run of this folder finished the whole group.
  Result<bool> adopt(std::int64_t group) {
    const auto own = group_members(group);
    std::vector<MemberResult> earlier;
    for (const MemberResult& member : own) {
      auto finished = folder_.finished(member.plan);
      if (!finished) return false;
      earlier.push_back(std::move(*finished));
    }
    std::move(earlier.begin(), earlier.end(), own.begin());
    // That run may have ended between a member's file and its record.
    for (const MemberResult& member : own) RUNG_CHECK(records_.close_member(member));
    remove_checkpoint(group);
    progress_.member_done(static_cast<std::int64_t>(own.size()));
    progress_.skip(prepared_.plan.steps * static_cast<std::int64_t>(own.size()));
    return true;
  }

  Result<void> train_group(std::int64_t group) {
    if (options_.resume) {
      RUNG_TRY(const bool adopted, adopt(group));
      if (adopted) return {};
    }
    return without_exceptions([&]() -> Result<void> {
      const auto own = group_members(group);
      const std::int64_t size = static_cast<std::int64_t>(own.size());
      const TrainingPlan& plan = prepared_.plan;
      std::vector<MemberPlan> plans;
      for (const MemberResult& member : own) plans.push_back(member.plan);
      Trainer trainer(plan, *prepared_.lesson, *prepared_.model, plans, prepared_.device);
      const std::string checkpoint = folder_.checkpoint_path(group);
      if (options_.resume && folder_.has(checkpoint)) {
        RUNG_CHECK(trainer.restore(checkpoint));
        progress_.skip(trainer.step_count() * size);
      } else if (prepared_.start) {
        RUNG_CHECK(trainer.start_from(*prepared_.start));
      }
      while (!trainer.finished()) {
        if (stopping()) {
          RUNG_CHECK(trainer.save(checkpoint));
          keep(trainer, own);
          return {};
        }
        const std::int64_t tokens = trainer.tokens_per_step();
        trainer.step();
        const std::int64_t step = trainer.step_count();
        if (step % plan.evaluate_every == 0 || step == plan.steps) {
          trainer.evaluate();
          tell_news(trainer, group);
        }
        if (step % plan.checkpoint_every == 0 && !trainer.finished()) RUNG_CHECK(trainer.save(checkpoint));
        progress_.step(trainer, tokens, size);
      }
      keep(trainer, own);
      RUNG_CHECK(trainer.save(checkpoint));  // what was trained is not trained again, whatever happens next
      RUNG_CHECK(finish(trainer, own));
      remove_checkpoint(group);
      return {};
    });
  }

  static void keep(const Trainer& trainer, std::span<MemberResult> own) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      const MemberProgress& from = trainer.progress()[i];
      own[i].state = from.state == RecordState::running ? RecordState::stopped : from.state;
      own[i].reason = from.reason;
      own[i].steps = from.steps;
      own[i].curve = from.curve;
    }
  }

  Result<void> finish(Trainer& trainer, std::span<MemberResult> own) {
    const std::vector<FinalScore> scores = trainer.final_scores();
    for (std::size_t i = 0; i < own.size(); ++i) {
      MemberResult& member = own[i];
      if (member.state == RecordState::done)
        member.right = scores[i].right, member.of = scores[i].of,
        member.carried_bits = scores[i].carried_bits;
      auto notes = folder_.notes(member);
      notes.insert(options_.notes.begin(), options_.notes.end());
      member.file = folder_.member_path(member.plan.index);
      RUNG_CHECK(write_weights(member.file, trainer.weights(static_cast<std::int64_t>(i), notes)));
      RUNG_CHECK(records_.close_member(member));
      progress_.member_done();
    }
    return {};
  }

  void tell_news(const Trainer& trainer, std::int64_t group) {
    if (!options_.store || !progress_.news_due(group)) return;
    std::vector<RunRecords::News> news;
    const auto own = group_members(group);
    for (std::size_t i = 0; i < own.size(); ++i)
      news.push_back({own[i].plan.index, trainer.progress()[i].steps, &trainer.progress()[i].curve});
    records_.tell(news);
  }

  void remove_checkpoint(std::int64_t group) const {
    std::error_code code;
    std::filesystem::remove(folder_.checkpoint_path(group), code);
  }

  const PreparedPlan& prepared_;
  const EnsembleOptions& options_;
  RunFolder folder_;
  RunRecords records_;
  RunProgress progress_;
  std::vector<MemberResult> results_;
  std::atomic<bool> failed_{false};
  std::mutex guard_;
  std::optional<Error> error_;
};

}  // namespace

std::string ending_note(const TrainingPlan& plan, const std::vector<CurvePoint>& curve) {
  if (curve.empty()) return "";
  const CurvePoint& last = curve.back();
  const auto stages = static_cast<std::int64_t>(plan.support.size()) + 1;
  if (stages > 1 && last.stage == 0) return fmt::format("stayed at the first of {} stages", stages);
  if (stages > 1 && last.stage + 1 < stages) return fmt::format("at stage {} of {}", last.stage + 1, stages);
  const bool learned =
      plan.stop && *std::min_element(last.accuracy.begin(), last.accuracy.end()) >= *plan.stop;
  if (plan.patience > 0 && last.step >= plan.steps && !learned && !pace(plan, curve).at_rest)
    return "had not come to rest at the last step";
  return "";
}

Result<EnsembleResult> train(const PreparedPlan& prepared, const EnsembleOptions& options) {
  return without_exceptions([&]() -> Result<EnsembleResult> {
    RUNG_TRY(RunFolder folder, RunFolder::open(options.folder, prepared.plan, options.resume));
    return Run(prepared, options, std::move(folder)).go();
  });
}

}  // namespace rung::learn
