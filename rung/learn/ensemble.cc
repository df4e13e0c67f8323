#include "rung/learn/ensemble.h"

#include <ATen/Parallel.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "rung/base/json_text.h"
#include "rung/base/parallel.h"
#include "rung/base/staged_file.h"
#include "rung/learn/memory_forecast.h"
#include "rung/learn/quiet_torch.h"
#include "rung/learn/trainer.h"
#include "rung/store/provenance.h"

namespace rung::learn {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;
namespace fs = std::filesystem;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Prepared {
  std::unique_ptr<Lesson> lesson;
  std::unique_ptr<Model> model;
  torch::Device device{torch::kCPU};
  Forecast forecast;
};

Result<torch::Device> device_of(const TrainingPlan& plan) {
  if (plan.device == "cuda") RUNG_CHECK(cuda_ready());
  if (plan.device == "cpu" || !cuda_ready()) return torch::Device(torch::kCPU);
  return torch::Device(torch::kCUDA, 0);
}

std::string gigabytes(std::int64_t bytes) {
  return fmt::format("{:.2f} GB", static_cast<double>(bytes) / 1e9);
}

// The share of the machine's free memory that a run may plan with.
constexpr double kUsable = 0.9;
// A trial step larger than this is refused before it is run.
constexpr double kTrialShare = 0.25;

Result<Prepared> prepare(const TrainingPlan& plan, int workers) {
  RUNG_CHECK(check_plan(plan));
  Prepared out;
  RUNG_TRY(Lesson lesson, Lesson::make(plan));
  out.lesson = std::make_unique<Lesson>(std::move(lesson));
  RUNG_TRY(const ModelSpec spec, out.lesson->model_spec());
  RUNG_TRY(out.device, device_of(plan));
  RUNG_TRY(Model model, Model::make(spec));
  out.model = std::make_unique<Model>(std::move(model));
  Forecast& forecast = out.forecast;
  forecast.members = static_cast<std::int64_t>(members(plan).size());
  forecast.longest = out.lesson->longest();
  for (const ParameterSpec& parameter : out.model->layout().specs()) forecast.parameters += parameter.size();
  const HostMemory host = host_memory();
  const bool cuda = out.device.is_cuda();
  forecast.device = cuda ? cuda_name() : "cpu";
  forecast.available = cuda ? cuda_memory().free : host.available;
  const double room = kUsable * static_cast<double>(forecast.available);
  const double trial = 2.0 * static_cast<double>(prompt_bytes(*out.model, forecast.longest)) +
                       20.0 * static_cast<double>(out.model->layout().size());
  if (trial > kTrialShare * std::min(room, kUsable * static_cast<double>(host.available)))
    return fail(ErrorCode::resource,
                "[train] one prompt of {} tokens needs more than {}; this machine has {}", forecast.longest,
                gigabytes(static_cast<std::int64_t>(std::min(trial, 9e18))), gigabytes(forecast.available));
  const MemoryNeed need = measure_step(plan, *out.lesson, *out.model, out.device);
  forecast.together = cuda ? forecast.members
                           : std::min<std::int64_t>(forecast.members, workers > 0 ? workers : worker_count());
  const double each = static_cast<double>(need.step) + static_cast<double>(need.parameters);
  // What is there already: on a CPU libtorch itself, on a GPU the workspaces of its libraries, once for the
  // default stream and once more for the one on which steps are recorded.
  const double base =
      cuda ? 2.0 * static_cast<double>(cuda_memory().held) : static_cast<double>(host_memory().resident);
  const double bytes = each * static_cast<double>(forecast.together) + base;
  if (bytes > room + (cuda ? 0.0 : static_cast<double>(host.resident)))
    return fail(ErrorCode::resource,
                "[train] {} members at once need {} ({} each); this machine has {} free: fewer members, a "
                "smaller batch or shorter prompts expected",
                forecast.together, gigabytes(static_cast<std::int64_t>(std::min(bytes, 9e18))),
                gigabytes(static_cast<std::int64_t>(std::min(each, 9e18))), gigabytes(forecast.available));
  forecast.bytes = static_cast<std::int64_t>(bytes);
  return out;
}

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

// libtorch says what it cannot do by exceptions of many lines; the first says what.
template <class Body>
auto without_exceptions(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::exception& trouble) {
    const std::string text = trouble.what();
    return fail(ErrorCode::resource, "[train] {}", text.substr(0, text.find('\n')));
  }
}

class Run {
 public:
  Run(const TrainingPlan& plan, const EnsembleOptions& options, Prepared prepared)
      : plan_(plan), options_(options), prepared_(std::move(prepared)) {
    // Where it runs belongs to the plan: a resumed run goes on where it began.
    plan_.device = prepared_.device.is_cuda() ? "cuda" : "cpu";
    for (const MemberPlan& member : members(plan)) results_.push_back({.plan = member});
    record_ids_.resize(results_.size());
  }

  Result<EnsembleResult> go() {
    RUNG_CHECK(open_folder());
    RUNG_CHECK(open_records());
    const bool cuda = prepared_.device.is_cuda();
    const std::int64_t groups = cuda ? 1 : static_cast<std::int64_t>(results_.size());
    const int workers = static_cast<int>(std::min<std::int64_t>(groups, prepared_.forecast.together));
    std::vector<std::thread> threads;
    for (int worker = 0; worker < workers; ++worker)
      threads.emplace_back([this, worker, cuda, groups] {
        if (!cuda) {
          pin_to_core(worker);
          at::set_num_threads(1);
        }
        for (;;) {
          const std::int64_t group = next_group_++;
          if (group >= groups || failed_ || stopping()) return;
          if (auto done = train_group(group); !done) {
            const std::lock_guard lock(guard_);
            if (!error_) error_ = done.error();
            failed_ = true;
            return;
          }
        }
      });
    for (std::thread& thread : threads) thread.join();
    // Whatever went wrong, the records are closed, and the first error is the one that is told.
    const auto note = [this](const Result<void>& done) {
      if (!done && !error_) error_ = done.error();
    };
    if (!error_) note(write_curves());  // a run that cannot go on leaves the folder as it is, for --resume
    EnsembleResult result;
    result.run = run_id_;
    result.seconds = seconds_since(start_);
    result.tokens_per_second = static_cast<double>(tokens_) / std::max(1e-9, step_seconds());
    result.device = prepared_.forecast.device;
    result.predicted_bytes = prepared_.forecast.bytes;
    result.peak_bytes = cuda && !error_ ? cuda_memory().peak : host_memory().peak;
    result.stopped = std::any_of(results_.begin(), results_.end(), [](const MemberResult& member) {
      return member.state == MemberResult::State::stopped;
    });
    result.members = results_;
    note(close_records(result));
    if (error_) return *error_;
    return result;
  }

 private:
  bool stopping() const { return options_.stop && options_.stop(); }
  double step_seconds() const {
    return first_step_ == Clock::time_point{}
               ? 0
               : std::chrono::duration<double>(last_step_ - first_step_).count();
  }
  std::string path(const std::string& name) const { return (fs::path(options_.folder) / name).string(); }
  std::string member_path(std::int64_t index) const {
    return path(fmt::format("member-{}.safetensors", index));
  }

  Result<void> open_folder() {
    std::error_code code;
    const bool existed = fs::exists(path("plan.json"), code);
    if (existed && !options_.resume)
      return fail(ErrorCode::io, "[train] {} holds a run already; rung train `resume` {} goes on with it",
                  options_.folder, options_.folder);
    if (!existed && options_.resume)
      return fail(ErrorCode::io, "[train] {}: no plan.json, so no run to go on with", options_.folder);
    fs::create_directories(options_.folder, code);
    if (code)
      return fail(ErrorCode::io, "[train] cannot make the folder {}: {}", options_.folder, code.message());
    if (existed) remove_half_written();
    if (!existed) {
      RUNG_TRY(StagedFile file, StagedFile::open(path("plan.json"), false));
      RUNG_CHECK(file.write(plan_text(plan_) + "\n"));
      RUNG_CHECK(file.commit());
    }
    return {};
  }

  // What a killed program was writing (rung/base/staged_file.h): NAME.part-PID-..., of a process that is no
  // more.
  void remove_half_written() const {
    std::error_code code;
    for (const fs::directory_entry& entry : fs::directory_iterator(options_.folder, code)) {
      const std::string name = entry.path().filename().string();
      const std::size_t mark = name.rfind(".part-");
      if (mark == std::string::npos) continue;
      const long process = std::strtol(name.c_str() + mark + 6, nullptr, 10);
      if (process == getpid() ||
          (process > 0 && ::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH))
        fs::remove(entry.path(), code);
    }
  }

  json record_body() const {
    json body = json::parse(plan_text(plan_));
    body.erase("schema");
    std::vector<std::string> names;
    for (std::size_t which = 0; which < prepared_.lesson->tasks(); ++which)
      names.emplace_back(prepared_.lesson->task(prepared_.lesson->stages() - 1, which).name());
    body["task"] = fmt::format("{}", fmt::join(names, "+"));
    body["size"] = json::object();
    if (names.size() == 1)
      for (const auto& [name, value] : prepared_.lesson->task(prepared_.lesson->stages() - 1, 0).size())
        body["size"][name] = value.value;
    body["folder"] = fs::absolute(options_.folder).string();
    body["parameters"] = prepared_.forecast.parameters;
    body.update(json::parse(options_.body));
    return body;
  }

  Record member_record(const MemberResult& member) const {
    json body = record_body();
    for (const char* shared : {"seeds", "rates", "decays", "scales"}) body.erase(shared);
    body.update({{"member", member.plan.index},
                 {"rate", member.plan.rate},
                 {"decay", member.plan.decay},
                 {"scale", member.plan.scale}});
    Record record;
    record.kind = "member";
    record.parent = run_id_;
    record.seed = static_cast<std::int64_t>(member.plan.seed);
    record.device = prepared_.forecast.device;
    record.libraries = torch_libraries();
    record.body = body.dump();
    return record;
  }

  Result<void> open_records() {
    if (!options_.store) return {};
    std::error_code code;
    bool known = false;
    if (fs::exists(path("records.json"), code)) {
      RUNG_TRY(const std::string text, read_text_file(path("records.json"), "train"));
      RUNG_TRY(const json ids, parse_json(text, "train"));
      known = ids.is_object() && ids.contains("run") && ids["run"].is_string() && ids.contains("members") &&
              ids["members"].is_array() && ids["members"].size() == results_.size() &&
              std::all_of(ids["members"].begin(), ids["members"].end(),
                          [](const json& id) { return id.is_string(); });
      if (known) {
        run_id_ = ids["run"].get<std::string>();
        record_ids_ = ids["members"].get<std::vector<std::string>>();
        RUNG_TRY(const auto found, options_.store->find(run_id_));
        if (found) return options_.store->update({{run_id_, RecordState::running, "{}"}});
      }
    }
    if (!known) {
      // The ids first, then the records: killed between the two, a run that goes on does not write them
      // twice.
      run_id_ = fresh_id();
      for (std::string& id : record_ids_) id = fresh_id();
      RUNG_TRY(StagedFile file, StagedFile::open(path("records.json"), true));
      RUNG_CHECK(file.write(json{{"run", run_id_}, {"members", record_ids_}}.dump() + "\n"));
      RUNG_CHECK(file.commit());
    }
    std::vector<Record> records(1);
    Record& run = records.front();
    run.id = run_id_;
    run.kind = "run";
    run.device = prepared_.forecast.device;
    run.libraries = torch_libraries();
    run.body = record_body().dump();
    for (std::size_t e = 0; e < results_.size(); ++e) {
      records.push_back(member_record(results_[e]));
      records.back().id = record_ids_[e];
    }
    RUNG_CHECK(options_.store->append(std::move(records)));
    return {};
  }

  Result<void> close_member(const MemberResult& member) {
    if (!options_.store) return {};
    json body = json::object();
    // A member that was not reached keeps what an earlier run recorded of it.
    if (member.steps > 0) body.update({{"steps_done", member.steps}, {"curve", curve_json(member.curve)}});
    if (!member.curve.empty()) body["loss"] = member.curve.back().loss;
    if (!member.of.empty())
      body.update({{"accuracy", member.accuracy()},
                   {"right", member.right},
                   {"answers", member.of},
                   {"file", member.file}});
    if (!member.reason.empty()) body["reason"] = member.reason;
    if (member.state == MemberResult::State::stopped && error_) body["reason"] = error_->message;
    const RecordState state = member.state == MemberResult::State::done     ? RecordState::done
                              : member.state == MemberResult::State::failed ? RecordState::failed
                                                                            : RecordState::stopped;
    return options_.store->finish(record_ids_[static_cast<std::size_t>(member.plan.index)], state,
                                  body.dump());
  }

  // Of a member that this run did not train to its end: an earlier run may have.
  Result<void> close_if_open(const MemberResult& member) {
    RUNG_TRY(const auto found,
             options_.store->find(record_ids_[static_cast<std::size_t>(member.plan.index)]));
    if (found && (found->state == RecordState::done || found->state == RecordState::failed)) return {};
    return close_member(member);
  }

  Result<void> close_records(const EnsembleResult& result) {
    if (!options_.store) return {};
    double best = 0;
    std::int64_t done = 0, failed = 0;
    for (const MemberResult& member : results_) {
      if (member.state == MemberResult::State::stopped) RUNG_CHECK(close_if_open(member));
      done += member.state == MemberResult::State::done,
          failed += member.state == MemberResult::State::failed;
      best = std::max(best, member.accuracy());
    }
    json body{{"seconds", result.seconds},
              {"tokens_per_second", result.tokens_per_second},
              {"peak_bytes", result.peak_bytes},
              {"predicted_bytes", result.predicted_bytes},
              {"members_done", done},
              {"members_failed", failed},
              {"accuracy", best}};
    if (error_) body["reason"] = error_->message;
    return options_.store->finish(run_id_,
                                  result.stopped || error_  ? RecordState::stopped
                                  : done == 0 && failed > 0 ? RecordState::failed
                                                            : RecordState::done,
                                  body.dump());
  }

  // A member that an earlier run of this folder finished: its results are in its file.
  bool adopt_finished(MemberResult& member) const {
    std::error_code code;
    if (!fs::exists(member_path(member.plan.index), code)) return false;
    const auto weights = read_weights(member_path(member.plan.index));
    if (!weights || !weights->notes.contains("training") || !weights->notes.contains("plan") ||
        weights->notes.at("plan") != plan_text(plan_))
      return false;
    const auto text = parse_json(weights->notes.at("training"), "train");
    if (!text || !text->is_object()) return false;
    try {
      const json& saved = *text;
      member.right = saved.at("right").get<std::vector<std::uint64_t>>();
      member.of = saved.at("answers").get<std::vector<std::uint64_t>>();
      member.steps = saved.at("steps").get<std::int64_t>();
      member.state = saved.at("state") == "failed" ? MemberResult::State::failed : MemberResult::State::done;
      member.reason = saved.value("reason", "");
      member.curve = curve_of(saved.at("curve"));
    } catch (const json::exception&) {
      return false;
    }
    member.file = member_path(member.plan.index);
    return true;
  }

  Result<void> train_group(std::int64_t group) {
    const bool cuda = prepared_.device.is_cuda();
    std::vector<MemberPlan> plans;
    std::vector<std::size_t> places;
    for (std::size_t e = 0; e < results_.size(); ++e)
      if (cuda || static_cast<std::int64_t>(e) == group) {
        plans.push_back(results_[e].plan);
        places.push_back(e);
      }
    if (options_.resume) {
      bool all = true;
      for (const std::size_t e : places) all = adopt_finished(results_[e]) && all;
      if (all) {
        // The run may have ended between a member's file and its record.
        for (const std::size_t e : places) RUNG_CHECK(close_member(results_[e]));
        std::error_code code;
        fs::remove(path(fmt::format("checkpoint-{}.safetensors", group)), code);
        const std::lock_guard lock(guard_);
        done_members_ += static_cast<std::int64_t>(places.size());
        skipped_steps_ += plan_.steps * static_cast<std::int64_t>(places.size());
        return {};
      }
      for (const std::size_t e : places) results_[e] = {.plan = results_[e].plan};
    }
    return without_exceptions([&]() -> Result<void> {
      Trainer trainer(plan_, *prepared_.lesson, *prepared_.model, plans, prepared_.device);
      const std::string checkpoint = path(fmt::format("checkpoint-{}.safetensors", group));
      std::error_code code;
      if (options_.resume && fs::exists(checkpoint, code)) {
        RUNG_CHECK(trainer.restore(checkpoint));
        skipped_steps_ += trainer.step_count() * static_cast<std::int64_t>(places.size());
      }
      while (!trainer.finished()) {
        if (stopping() || failed_) {
          RUNG_CHECK(trainer.save(checkpoint));
          keep(trainer, places);
          return {};
        }
        const std::int64_t tokens = trainer.tokens_per_step();
        trainer.step();
        const std::int64_t step = trainer.step_count();
        if (step % plan_.evaluate_every == 0 || step == plan_.steps) {
          trainer.evaluate();
          tell_news(trainer, places);
        }
        if (step % plan_.checkpoint_every == 0 && !trainer.finished()) RUNG_CHECK(trainer.save(checkpoint));
        report(trainer, tokens, static_cast<std::int64_t>(places.size()));
      }
      keep(trainer, places);
      RUNG_CHECK(
          trainer.save(checkpoint));  // what was trained is not trained again, whatever happens from here on
      const std::vector<FinalScore> scores = trainer.final_scores();
      for (std::size_t i = 0; i < places.size(); ++i) {
        MemberResult& member = results_[places[i]];
        if (member.state == MemberResult::State::done)
          member.right = scores[i].right, member.of = scores[i].of;
        json training{{"state", member.state == MemberResult::State::done ? "done" : "failed"},
                      {"seed", member.plan.seed},
                      {"rate", member.plan.rate},
                      {"decay", member.plan.decay},
                      {"scale", member.plan.scale},
                      {"steps", member.steps},
                      {"right", member.right},
                      {"answers", member.of},
                      {"curve", curve_json(member.curve)}};
        if (!member.reason.empty()) training["reason"] = member.reason;
        std::map<std::string, std::string> notes = options_.notes;
        notes["training"] = training.dump();
        notes["plan"] = plan_text(plan_);
        member.file = member_path(member.plan.index);
        RUNG_CHECK(write_weights(member.file, trainer.weights(static_cast<std::int64_t>(i), notes)));
        RUNG_CHECK(close_member(member));
        const std::lock_guard lock(guard_);
        ++done_members_;
      }
      fs::remove(checkpoint, code);
      return {};
    });
  }

  void keep(const Trainer& trainer, const std::vector<std::size_t>& places) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const MemberProgress& from = trainer.progress()[i];
      MemberResult& to = results_[places[i]];
      to.state = from.state == MemberState::done     ? MemberResult::State::done
                 : from.state == MemberState::failed ? MemberResult::State::failed
                                                     : MemberResult::State::stopped;
      to.reason = from.reason;
      to.steps = from.steps;
      to.curve = from.curve;
    }
  }

  // For those who watch the store. Rarer as the run grows older, so that a store of JSON lines stays small;
  // one that cannot be written now is reported when the member ends.
  void tell_news(const Trainer& trainer, const std::vector<std::size_t>& places) {
    if (!options_.store) return;
    constexpr double kSecondsBetween = 2, kShareOfTheRun = 0.01;
    {
      const std::lock_guard lock(guard_);
      auto& last = last_news_[places.front()];
      if (last != Clock::time_point{} &&
          seconds_since(last) < std::max(kSecondsBetween, kShareOfTheRun * seconds_since(start_)))
        return;
      last = Clock::now();
    }
    std::vector<RecordUpdate> updates;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const MemberProgress& member = trainer.progress()[i];
      json body{{"steps_done", member.steps}, {"curve", curve_json(member.curve)}, {"news", utc_now()}};
      if (!member.curve.empty()) body["loss"] = member.curve.back().loss;
      updates.push_back({record_ids_[places[i]], RecordState::running, body.dump()});
    }
    static_cast<void>(options_.store->update(std::move(updates)).ok());
  }

  void report(const Trainer& trainer, std::int64_t tokens, std::int64_t size) {
    const auto now = Clock::now();
    const std::lock_guard lock(guard_);
    if (first_step_ == Clock::time_point{}) first_step_ = now;
    last_step_ = now;
    tokens_ += tokens;
    steps_ += size;
    if (!options_.progress || std::chrono::duration<double>(now - last_report_).count() < 0.2) return;
    last_report_ = now;
    EnsembleProgress progress;
    progress.members = static_cast<std::int64_t>(results_.size()), progress.members_done = done_members_;
    progress.steps_done = steps_ + skipped_steps_, progress.steps_total = plan_.steps * progress.members;
    progress.loss = trainer.recent_loss(), progress.accuracy = trainer.recent_accuracy();
    progress.tokens_per_second = static_cast<double>(tokens_) / std::max(1e-9, step_seconds());
    progress.seconds = seconds_since(start_);
    options_.progress(progress);
  }

  Result<void> write_curves() {
    std::string text = "member,seed,rate,decay,scale,step,stage,loss";
    for (std::size_t which = 0; which < prepared_.lesson->tasks(); ++which)
      text += fmt::format(",accuracy_{}", which);
    text += "\n";
    for (const MemberResult& member : results_)
      for (const CurvePoint& row : member.curve) {
        text += fmt::format("{},{},{},{},{},{},{},{}", member.plan.index, member.plan.seed, member.plan.rate,
                            member.plan.decay, member.plan.scale, row.step, row.stage, row.loss);
        for (const double accuracy : row.accuracy) text += fmt::format(",{}", accuracy);
        text += "\n";
      }
    RUNG_TRY(StagedFile file, StagedFile::open(path("curves.csv"), true));
    RUNG_CHECK(file.write(text));
    return file.commit();
  }

  TrainingPlan plan_;
  EnsembleOptions options_;
  Prepared prepared_;
  std::vector<MemberResult> results_;
  std::vector<std::string> record_ids_;
  std::string run_id_;
  std::atomic<std::int64_t> next_group_{0};
  std::atomic<bool> failed_{false};
  std::mutex guard_;
  std::optional<Error> error_;
  Clock::time_point start_ = Clock::now(), first_step_{}, last_step_{}, last_report_{};
  std::map<std::size_t, Clock::time_point> last_news_;
  std::atomic<std::int64_t> skipped_steps_{0};
  std::int64_t tokens_ = 0, steps_ = 0, done_members_ = 0;
};

}  // namespace

double MemberResult::accuracy() const {
  double lowest = of.empty() ? 0 : 1;
  for (std::size_t i = 0; i < of.size(); ++i)
    lowest = std::min(lowest,
                      static_cast<double>(right[i]) / static_cast<double>(std::max<std::uint64_t>(1, of[i])));
  return lowest;
}

Result<Forecast> forecast(const TrainingPlan& plan, int workers) {
  quiet_torch();
  return without_exceptions([&]() -> Result<Forecast> {
    RUNG_TRY(Prepared prepared, prepare(plan, workers));
    return prepared.forecast;
  });
}

Result<Weights> untrained_weights(const TrainingPlan& plan) {
  RUNG_CHECK(check_plan(plan));
  RUNG_TRY(Lesson lesson, Lesson::make(plan));
  RUNG_TRY(const ModelSpec spec, lesson.model_spec());
  RUNG_TRY(Model model, Model::make(spec));
  return without_exceptions([&]() -> Result<Weights> {
    return model.weights(Parameters(model.layout(), {1}, {1.0}, torch::kCPU, torch::kFloat32), 0);
  });
}

Result<EnsembleResult> train(const TrainingPlan& plan, const EnsembleOptions& options) {
  quiet_torch();
  return without_exceptions([&]() -> Result<EnsembleResult> {
    RUNG_TRY(Prepared prepared, prepare(plan, options.workers));
    if (options.say) {
      const Forecast& f = prepared.forecast;
      options.say(fmt::format(
          "{} members of {} parameters on {}, {} at once; prompts of {} tokens; {} expected of {} free",
          f.members, f.parameters, f.device, f.together, f.longest, gigabytes(f.bytes),
          gigabytes(f.available)));
    }
    return Run(plan, options, std::move(prepared)).go();
  });
}

}  // namespace rung::learn
