// rung train, in rung-learn: flags to a plan, the run, and what came out.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/learn/length_tests.h"
#include "cli/learn/pieces.h"
#include "cli/terminal_line.h"
#include "cli/train.h"
#include "rung/base/json_fields.h"
#include "rung/base/nearest_word.h"
#include "rung/base/plural.h"
#include "rung/evaluation/evaluation.h"
#include "rung/evaluation/label.h"
#include "rung/learn/ensemble.h"
#include "rung/records/training_run.h"
#include "rung/spec/quantisable.h"

namespace rung::cli {
namespace {

using nlohmann::ordered_json;

Result<std::vector<double>> number_list(const std::string& text, const char* flag) {
  std::vector<double> out;
  for (const std::string& piece : pieces(text, ',')) {
    double value = 0;
    const auto [end, code] = std::from_chars(piece.data(), piece.data() + piece.size(), value);
    if (code != std::errc() || end != piece.data() + piece.size())
      return fail(ErrorCode::parse, "[train] {} {}: numbers separated by commas expected", flag,
                  rung::quoted(text));
    out.push_back(value);
  }
  return out;
}

// "n=8; n=16,M=3"
Result<std::vector<TaskSizes>> stage_list(const std::string& text, const char* flag) {
  std::vector<TaskSizes> stages;
  for (const std::string& stage : pieces(text, ';')) {
    TaskSizes sizes;
    for (const std::string& piece : pieces(stage, ',')) {
      const std::size_t equals = piece.find('=');
      std::int64_t value = 0;
      const char* first = piece.data() + std::min(piece.size(), equals + 1);
      const auto [end, code] = std::from_chars(first, piece.data() + piece.size(), value);
      if (equals == std::string::npos || code != std::errc() || end != piece.data() + piece.size())
        return fail(ErrorCode::parse, "[train] {} {}: stages such as \"n=8; n=16\" expected", flag,
                    rung::quoted(text));
      sizes[piece.substr(0, equals)] = value;
    }
    stages.push_back(std::move(sizes));
  }
  return stages;
}

Result<TrainingPlan> plan_of(const TrainFlags& flags) {
  TrainingPlan plan;
  plan.dimensions.norm = Norm::rms;
  if (flags.plan) {
    RUNG_TRY(plan, read_plan(*flags.plan));
  }
  if (!flags.architecture.line.empty())
    plan.arch = spelled_line(flags.architecture.line, UnsaidForm::released);
  {
    // Dimension flags over the file's, or over the defaults.
    const ArchitectureFlags& given = flags.architecture;
    const bool any = given.dims || given.width || given.heads || given.kv_heads || given.head_dim ||
                     given.value_dim || given.state || given.context || given.mlp || given.activation ||
                     given.norm || given.position || given.encoder;
    if (any) {
      RUNG_TRY(Dimensions dims, given.dimensions());
      if (flags.plan)
        return fail(ErrorCode::unsupported,
                    "[train] dimensions are given both in {} and by flags; one of the two expected",
                    *flags.plan);
      if (!given.norm && !given.dims) dims.norm = Norm::rms;
      plan.dimensions = dims;
    }
  }
  if (flags.task) plan.tasks = {{{*flags.task, flags.sizes.given_sizes(), flags.sizes.given_options()}, 1}};
  if (!flags.task && flags.sizes.any())
    return fail(ErrorCode::missing, "[train] sizes without a task: --task expected");
  if (!flags.plan && !flags.architecture.position && !flags.architecture.dims) place_by_tasks(plan);
  if (flags.curriculum) {
    RUNG_TRY(plan.curriculum, stage_list(*flags.curriculum, "--curriculum"));
  }
  if (flags.support) {
    RUNG_TRY(plan.support, stage_list(*flags.support, "--support"));
  }
  if (flags.variant) {
    RUNG_TRY(plan.variant, parse_variant(*flags.variant));
  }
  if (flags.supervision) {
    RUNG_TRY(plan.supervision, parse_word<Supervision>(*flags.supervision, "[train] supervision"));
  }
  if (flags.deep) {
    RUNG_TRY(const auto given, stage_list(*flags.deep, "--deep"));
    plan.deep.clear();
    for (const TaskSizes& each : given) {
      RUNG_TRY(const DeepReadout readout, deep_readout(each));
      plan.deep.push_back(readout);
    }
  }
  if (flags.embedding) {
    RUNG_TRY(plan.embedding, parse_word<TokenEmbedding>(*flags.embedding, "[train] embedding"));
  }
  if (flags.from) plan.from = *flags.from;
  if (flags.precision) {
    RUNG_TRY(plan.precision, parse_word<ComputeType>(*flags.precision, "[train] precision"));
  }
  if (flags.rates) {
    RUNG_TRY(plan.rates, number_list(*flags.rates, "--lr"));
  }
  if (flags.decays) {
    RUNG_TRY(plan.decays, number_list(*flags.decays, "--weight-decay"));
  }
  if (flags.scales) {
    RUNG_TRY(plan.scales, number_list(*flags.scales, "--init-scale"));
  }
  const auto set = [](auto& to, const auto& from) {
    if (from) to = *from;
  };
  set(plan.stage_steps, flags.stage_steps), set(plan.queries, flags.queries),
      set(plan.spacing, flags.spacing), set(plan.steps, flags.steps), set(plan.batch, flags.batch),
      set(plan.warmup, flags.warmup);
  set(plan.evaluate_every, flags.evaluate_every), set(plan.evaluate_count, flags.evaluate_count),
      set(plan.final_count, flags.final_count);
  set(plan.checkpoint_every, flags.checkpoint_every), set(plan.round_after, flags.round_after),
      set(plan.floor, flags.floor), set(plan.clip, flags.clip);
  set(plan.beta1, flags.beta1), set(plan.beta2, flags.beta2), set(plan.dropout, flags.dropout),
      set(plan.smoothing, flags.smoothing), set(plan.advance, flags.advance), set(plan.whole, flags.whole),
      set(plan.patience, flags.patience), set(plan.gain, flags.gain), set(plan.device, flags.device);
  if (flags.stop) plan.stop = *flags.stop;
  if (flags.parts) plan.parts = true;
  if (flags.carried_bits) plan.carried_bits = true;
  if (flags.round_bits) {
    if (*flags.round_bits < 2 || *flags.round_bits > kMostRoundBits)
      return fail(ErrorCode::range, "[train] --qat {}; 2 to {} bits expected", *flags.round_bits,
                  kMostRoundBits);
    plan.round_bits = static_cast<int>(*flags.round_bits);
  }
  if (flags.carry_bits) {
    if (*flags.carry_bits < 2 || *flags.carry_bits > kMostCarryBits)
      return fail(ErrorCode::range, "[train] --carry-bits {}; 2 to {} bits expected", *flags.carry_bits,
                  kMostCarryBits);
    plan.carry_bits = static_cast<int>(*flags.carry_bits);
  }
  if (flags.seeds || flags.seed) {
    const std::int64_t count = flags.seeds.value_or(1), first = flags.seed.value_or(1);
    if (count < 1 || count > kMaxMembers)
      return fail(ErrorCode::range, "[train] --seeds {}; 1 to {} expected", count, kMaxMembers);
    if (first < 0 || first > (std::int64_t{1} << 62) - count)
      return fail(ErrorCode::range, "[train] --seed {}; 0 to 2^62 expected", first);
    plan.seeds.clear();
    for (std::int64_t i = 0; i < count; ++i) plan.seeds.push_back(static_cast<std::uint64_t>(first + i));
  }
  // A run is resumed from wherever its plan is read again.
  if (std::error_code problem; std::filesystem::exists(plan.from, problem))
    plan.from = std::filesystem::absolute(plan.from).lexically_normal().string();
  RUNG_CHECK(check_plan(plan));
  return plan;
}

std::string default_folder() {
  const std::time_t now = std::time(nullptr);
  return fmt::format("rung-runs/{:%Y%m%d-%H%M%S}-{}", fmt::gmtime(now), getpid());
}

std::string duration(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

// One line that says how far the run is. A resumed one is measured from where it began again.
class TrainRunLine {
 public:
  void operator()(const learn::EnsembleProgress& p) {
    if (!first_) first_ = {p.steps_done, p.seconds};
    const double total = static_cast<double>(std::max<std::int64_t>(1, p.steps_total));
    std::string line = fmt::format("{:3.0f} %  {}/{} members  loss {:.4f}  accuracy {:.3f}",
                                   100 * static_cast<double>(p.steps_done) / total, p.members_done, p.members,
                                   p.loss, p.accuracy);
    if (p.stages > 1) line += fmt::format("  stage {:.1f} of {}", p.stage + 1, p.stages);
    // Nothing is known of the speed before some steps took some time.
    const double seconds = p.seconds - first_->second,
                 steps = static_cast<double>(p.steps_done - first_->first);
    if (seconds >= 1 && steps > 0)
      line += fmt::format("  {:.0f} tokens/s  at most {} left", p.tokens_per_second,
                          duration(seconds * (total - static_cast<double>(p.steps_done)) / steps));
    show_terminal_line(line);
  }

 private:
  std::optional<std::pair<std::int64_t, double>> first_;  // steps and seconds of the first call
};

// What the theory says of the plan's model on its task, before it is trained: of one task, at its own size.
struct Expected {
  std::optional<Label> label;
  std::string quantisable;  // empty: it will quantise; else why not
};

Result<Expected> expected_of(const TrainingPlan& plan, const learn::PreparedPlan& prepared) {
  Expected out;
  RUNG_TRY(const Weights weights, learn::untrained_weights(prepared));
  if (auto checked = quantisable(weights.architecture); !checked) out.quantisable = checked.error().message;
  if (plan.tasks.size() != 1) return out;
  const TaskRecord& record = plan.tasks.front().task;
  RUNG_TRY(const auto task, make_task(record.name, record.sizes, record.options));
  const auto machine = Machine::load(weights, {.positions = positions_needed(weights, *task)});
  if (!machine) return out;
  out.label = label_of(weights, **machine, *task, plan.variant);
  return out;
}

ordered_json expected_json(const Expected& expected) {
  ordered_json out{{"quantisable", expected.quantisable.empty()}};
  if (!expected.quantisable.empty()) out["quantisable_reason"] = expected.quantisable;
  if (expected.label) out.update(label_json(*expected.label));
  return out;
}

using MemberLengths = std::map<std::int64_t, std::vector<LengthTest>>;  // by member, those that are done

ordered_json document_of(const TrainingPlan& plan, const learn::EnsembleResult& result,
                         const std::string& folder, const Expected& expected, const MemberLengths& tested) {
  ordered_json members = ordered_json::array();
  for (const MemberResult& member : result.members) {
    ordered_json row{{"index", member.plan.index}, {"seed", member.plan.seed},
                     {"rate", member.plan.rate},   {"decay", member.plan.decay},
                     {"scale", member.plan.scale}, {"state", state_name(member.state)},
                     {"steps", member.steps}};
    if (!member.reason.empty()) row["reason"] = member.reason;
    if (const std::string note = learn::ending_note(plan, member.curve); !note.empty()) row["note"] = note;
    if (!member.of.empty())
      row.update({{"accuracy", member.accuracy()}, {"right", member.right}, {"answers", member.of}});
    if (member.carried_bits) row["carried_bits"] = *member.carried_bits;
    if (!member.curve.empty()) row["loss"] = member.curve.back().loss;
    row["file"] = member.file;
    row["curve"] = to_fields(member.curve);
    if (const auto found = tested.find(member.plan.index); found != tested.end())
      for (const LengthTest& test : found->second)
        row["lengths"].push_back({{"n", test.n},
                                  {"words", test.found.instances},
                                  {"answers", test.found.answers},
                                  {"right", test.found.right_answers},
                                  {"accuracy", test.found.accuracy()}});
    members.push_back(row);
  }
  ordered_json document{{"schema", "rung.train/1"},
                        {"folder", folder},
                        {"run", result.run},
                        {"stopped", result.stopped},
                        {"device", result.device},
                        {"seconds", result.seconds},
                        {"tokens_per_second", result.tokens_per_second},
                        {"predicted_bytes", result.predicted_bytes},
                        {"peak_bytes", result.peak_bytes},
                        {"plan", ordered_json::parse(plan_text(plan))}};
  document.update(expected_json(expected));
  document["members"] = members;
  return document;
}

void say_expected(std::FILE* to, const Expected& expected) {
  if (expected.label) {
    fmt::print(to, "label {}: {}\n", label_name(expected.label->letter), expected.label->reason);
    if (expected.label->ceiling < 1)
      fmt::print(to, "upper bound on accuracy {:.4f}: {}\n", expected.label->ceiling,
                 expected.label->ceiling_reason);
  }
  if (!expected.quantisable.empty()) fmt::print(to, "will not quantise: {}\n", expected.quantisable);
}

}  // namespace

Result<int> run_train(const TrainFlags& flags) {
  TrainingPlan plan;
  if (flags.resume) {
    RUNG_TRY(plan, read_plan(*flags.resume + "/plan.json"));
  } else {
    RUNG_TRY(plan, plan_of(flags));
  }
  if (flags.workers && (*flags.workers < 1 || *flags.workers > 1024))
    return fail(ErrorCode::range, "[train] --workers {}; 1 to 1024 expected", *flags.workers);
  const int workers = static_cast<int>(flags.workers.value_or(0));
  std::vector<std::int64_t> lengths;
  if (flags.lengths) {
    RUNG_TRY(lengths, lengths_of(*flags.lengths, plan));
  }
  RUNG_TRY(const auto prepared, learn::prepare(plan, workers));  // before anything large is made
  RUNG_TRY(const Expected expected, expected_of(plan, *prepared));
  const learn::Forecast& f = learn::forecast_of(*prepared);
  if (flags.dry_run) {
    if (flags.json) {
      ordered_json document({{"schema", "rung.train/1"},
                             {"dry_run", true},
                             {"device", f.device},
                             {"members", f.members},
                             {"together", f.together},
                             {"parameters", f.parameters},
                             {"longest_prompt", f.longest},
                             {"predicted_bytes", f.bytes},
                             {"available_bytes", f.available},
                             {"plan", ordered_json::parse(plan_text(plan))}});
      document.update(expected_json(expected));
      print_json(document);
      return 0;
    }
    fmt::print(
        "{} of {} parameters on {}, {} at once\nprompts of up to {} tokens, {} steps of {} "
        "prompts\n{:.2f} GB expected, {:.2f} GB free\n",
        counted(f.members, "member"), f.parameters, f.device, f.together, f.longest, plan.steps, plan.batch,
        static_cast<double>(f.bytes) / 1e9, static_cast<double>(f.available) / 1e9);
    say_expected(stdout, expected);
    return 0;
  }
  learn::EnsembleOptions options;
  options.body = expected_json(expected).dump();
  options.folder = flags.resume ? *flags.resume : flags.out.value_or(default_folder());
  options.resume = flags.resume.has_value();
  std::unique_ptr<Store> store;
  if (!flags.no_store) {
    RUNG_TRY(store, Store::open(store_path(flags.store)));
    options.store = store.get();
  }
  listen_for_interruption();
  options.stop = interrupted;
  const bool terminal = has_terminal_line() && !flags.quiet;
  if (terminal) options.progress = TrainRunLine();
  if (!flags.quiet) {
    say_expected(stderr, expected);
    fmt::print(
        stderr,
        "{} of {} parameters on {}, {} at once; prompts of {} tokens; {:.2f} GB expected of {:.2f} GB free\n",
        counted(f.members, "member"), f.parameters, f.device, f.together, f.longest,
        static_cast<double>(f.bytes) / 1e9, static_cast<double>(f.available) / 1e9);
    for (const std::string& name : f.unfused)
      fmt::print(stderr, "{} has no fused kernel: trained position by position\n", name);
  }
  RUNG_TRY(const learn::EnsembleResult result, learn::train(*prepared, options));
  if (terminal) clear_terminal_line();
  MemberLengths tested;
  for (const MemberResult& member : result.members)
    if (!lengths.empty() && member.state == RecordState::done) {
      RUNG_TRY(tested[member.plan.index], test_lengths(member.file, plan, lengths));
    }
  if (flags.json) {
    print_json(document_of(plan, result, options.folder, expected, tested));
  } else {
    fmt::print("{:>6} {:>6} {:>8} {:>8} {:>6} {:>8} {:>8} {:>9}  state\n", "member", "seed", "rate", "decay",
               "scale", "steps", "loss", "accuracy");
    for (const MemberResult& member : result.members) {
      const std::string note = member.reason.empty() ? learn::ending_note(plan, member.curve) : member.reason;
      fmt::print("{:>6} {:>6} {:>8} {:>8} {:>6} {:>8} {:>8} {:>9}  {}{}\n", member.plan.index,
                 member.plan.seed, member.plan.rate, member.plan.decay, member.plan.scale, member.steps,
                 member.curve.empty() ? "-" : fmt::format("{:.4f}", member.curve.back().loss),
                 member.of.empty() ? "-" : fmt::format("{:.4f}", member.accuracy()), state_name(member.state),
                 note.empty() ? "" : ": " + note);
    }
    if (!tested.empty()) {
      fmt::print("\naccuracy on words of so many letters\nmember");
      for (const std::int64_t n : lengths) fmt::print(" {:>8}", n);
      fmt::print("\n");
      for (const auto& [index, tests] : tested) {
        fmt::print("{:>6}", index);
        for (const LengthTest& test : tests) fmt::print(" {:>8.4f}", test.found.accuracy());
        fmt::print("\n");
      }
    }
    fmt::print("{} on {}: {:.0f} tokens/s; memory {:.2f} GB, {:.2f} GB expected\n", duration(result.seconds),
               result.device, result.tokens_per_second, static_cast<double>(result.peak_bytes) / 1e9,
               static_cast<double>(result.predicted_bytes) / 1e9);
    fmt::print("{}{}\n", options.folder, result.run.empty() ? "" : ", record " + result.run);
  }
  if (result.stopped) {
    fmt::print(stderr, "stopped; rung train --resume {} resumes it\n", options.folder);
    return 130;
  }
  // Nothing was learned at all: a negative outcome.
  return std::all_of(result.members.begin(), result.members.end(),
                     [](const auto& member) { return member.state == RecordState::failed; })
             ? 1
             : 0;
}

}  // namespace rung::cli
