#include "tests/witness/comparisons.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "rung/constructions/verification.h"
#include "rung/evaluation/evaluation.h"
#include "rung/theory/verdict_unit.h"
#include "tests/constructions/padding.h"
#include "tests/witness/buildings.h"
#include "tests/witness/generator.h"

namespace rung {
namespace {

// A building makes no more bits than this.
constexpr int kMostBits = 12;

const TinyTask& drawn(Random& random, const std::vector<TinyTask>& tasks) {
  return tasks[random.below(tasks.size())];
}

std::string named(const Verdict& verdict) {
  return fmt::format("{} {} by {}", status_name(verdict.status), outcome_name(verdict.outcome),
                     verdict.theorem);
}

// Bits that cross the cut after t tokens, buckets merged: what a recurrent stack can remember there.
Integer bits_at(const StateBits& state, std::size_t t) {
  if (t == 0) return 0;
  Integer bits = state.fixed + state.growing * std::bit_width(t - 1);
  for (int level = 0; t >> level > 0; ++level)  // a bucket of 2^level tokens for every set bit
    if (t >> level & 1) bits += state.per_level + state.level_growing * level;
  return bits;
}
bool holds(const Integer& bits, std::int64_t classes) {
  return bits >= 62 || std::int64_t{1} << bits.convert_to<int>() >= classes;
}

// The architecture of a file, as flags.
WitnessCase case_of(const Building& building, const TinyTask& task) {
  const Dimensions& d = building.made.weights.architecture.dimensions;
  WitnessCase given;
  given.task = task.name;
  given.sizes = task.sizes;
  given.options = task.options;
  given.variant = task.variant;
  auto& a = given.architecture;
  a.line = format_stack(building.made.weights.architecture.stack);
  a.width = d.width;
  a.heads = d.heads;
  if (d.kv_heads > 0) a.kv_heads = d.kv_heads;
  if (d.head_dim > 0) a.head_dim = d.head_dim;
  if (d.value_dim > 0) a.value_dim = d.value_dim;
  a.state = d.state;
  a.position = std::string(position_name(d.position));
  a.precision = format_precision(d.precision);
  a.encoder = !d.causal;
  given.chain_of_thought = building.made.weights.decode.steps > 0;
  return given;
}

// What a verdict promises, built with exactly the architecture's sizes and run on every prompt. Errors: it
// cannot be built, errs, or (unsupported) is an architecture that nothing evaluates.
Result<void> built_at(const Answered& answered, const Verdict& verdict, const TinyTask& task,
                      std::uint64_t seed) {
  RUNG_TRY(const Construction made, build_possible(answered.setting, answered.question, verdict, seed));
  Weights same;  // a file says elsewhere how sums are kept
  same.architecture = answered.setting.architecture;
  RUNG_CHECK(separate_accumulator(same));
  if (made.weights.architecture.stack != same.architecture.stack)
    return fail(ErrorCode::range, "built with other layers");
  const auto& own = made.weights.architecture.dimensions;
  const auto& asked = answered.setting.architecture.dimensions;
  if (own.width != asked.width || own.precision != asked.precision || own.position != asked.position)
    return fail(ErrorCode::range, "built with other dimensions");
  RUNG_TRY(const Verification run,
           verify(made, {.budget = 4 * task.tree.prompts + 1000, .stop_at_first_error = true}));
  if (!run.passed()) return fail(ErrorCode::range, "errs: {}", show_failure(*made.task, *run.failure));
  if (run.mode != VerificationMode::exhaustive) return fail(ErrorCode::range, "not all prompts were run");
  return {};
}

// The case with one number smaller, or without its position code.
void shrink(Random& random, WitnessCase& given) {
  auto& a = given.architecture;
  switch (random.below(4)) {
    case 0:
      if (a.width && *a.width > 1) *a.width -= random.between(1, std::min<std::int64_t>(3, *a.width - 1));
      return;
    case 1: {
      const auto precision = parse_precision(*a.precision);
      if (precision && precision->bits > 2) a.precision = fmt::format("{}", precision->bits - 1);
      return;
    }
    case 2:
      a.position = random.below(2) ? "none" : "rope";
      return;
    default: {
      auto stack = parse_stack(a.line);
      if (!stack) return;
      std::vector<MixerOption*> numbers;
      for (auto& mixer : stack->layers)
        for (auto& option : mixer.options)
          if (std::holds_alternative<std::int64_t>(option.value) && std::get<std::int64_t>(option.value) > 1)
            numbers.push_back(&option);
      if (numbers.empty()) return;
      --std::get<std::int64_t>(numbers[random.below(numbers.size())]->value);
      a.line = format_stack(*stack);
    }
  }
}

// Up to three times more of something.
WitnessCase grown(Random& random, WitnessCase given) {
  for (std::uint64_t i = 0, n = random.below(4); i < n; ++i) {
    std::string what;
    if (auto more = enlarged(random, given, what)) given = std::move(*more);
  }
  return given;
}

}  // namespace

Tally compare_with_capacity(const Theory& theory, const std::vector<TinyTask>& tasks,
                            const Drawing& drawing) {
  Tally tally;
  for (std::int64_t i = 0; i < drawing.cases; ++i) {
    Random random(drawing.seed, static_cast<std::uint64_t>(i));
    const TinyTask& task = drawn(random, tasks);
    const WitnessCase given = random_recurrence(random, task);
    const auto answered = theory(given);
    if (!answered) continue;
    const Word& word = answered->setting.word;
    if (word.full_letters() > 0 || word.uncovered() || !answered->setting.causal()) continue;
    // A theorem about which updates a layer can make holds however many bits there are.
    const auto counts = [](const Verdict& v) {
      return v.outcome == Outcome::impossible && verdict_unit(v) == "bits";
    };
    const auto counted = std::find_if(answered->verdicts.begin(), answered->verdicts.end(), counts);
    const Verdict* impossible = counted == answered->verdicts.end() ? nullptr : &*counted;
    const Verdict* possible = answered->says(Outcome::possible, true);
    if (!impossible && !possible) continue;
    ++tally.compared;
    const StateBits state = word.total();
    bool enough = true, short_of = false;
    for (std::size_t t = 0; t + 1 < task.tree.levels.size(); ++t) {
      const auto& level = task.tree.levels[t];
      enough = enough && holds(bits_at(state, t), static_cast<std::int64_t>(level.nodes.size()));
      short_of = short_of || !holds(bits_at(state, t), level.told_apart);
    }
    if (impossible && enough)
      tally.add(given, fmt::format("{}; {} classes fit into {} state bits", named(*impossible),
                                   task.tree.upper(), state.after(task.tree.length).str()));
    if (possible && short_of)
      tally.add(given, fmt::format("{}; {} classes do not fit into {} state bits", named(*possible),
                                   task.tree.lower(), state.after(task.tree.length).str()));
  }
  return tally;
}

Tally compare_with_build(const Theory& theory, const std::vector<TinyTask>& tasks, const Drawing& drawing) {
  Tally tally;
  for (std::int64_t i = 0; i < drawing.cases; ++i) {
    Random random(drawing.seed, static_cast<std::uint64_t>(i));
    const TinyTask& task = drawn(random, tasks);
    const auto& files = buildings(task, kMostBits);
    WitnessCase given = random_case(random, task);
    if (!files.empty() && random.below(8) != 0) {  // near the boundary: a file's own sizes, a little off
      given = case_of(files[random.below(files.size())], task);
      for (std::uint64_t k = random.below(3); k > 0; --k) shrink(random, given);
      given = grown(random, given);
      static constexpr const char* kFloats[] = {"bf16", "fp16", "e4m3", "e5m2", "fp32"};
      if (random.below(8) == 0) given.architecture.precision = kFloats[random.below(5)];
    }
    const auto answered = theory(given);
    if (!answered) continue;
    const Verdict* possible = answered->says(Outcome::possible, true);
    const Verdict* impossible = answered->says(Outcome::impossible);
    if (!possible && !impossible) continue;
    ++tally.compared;
    std::string why = files.empty() ? "nothing is built for this task" : "";
    const Building* fitting = nullptr;
    for (const auto& file : files) {
      const auto reason = misfit(file, answered->setting);
      if (!reason)
        fitting = &file;
      else if (why.empty() || file.request.options.empty())
        why = fmt::format("{}: {}", file.line(), *reason);
    }
    if (possible && (!fitting || random.below(4) == 0)) {
      const auto built = built_at(*answered, *possible, task, random.next());
      if (!built && (!fitting || built.error().code != ErrorCode::unsupported))
        tally.add(given,
                  fmt::format("{}; {}; no file fits ({})", named(*possible), built.error().message, why));
    }
    if (impossible && fitting)
      tally.add(given, fmt::format("{}; {} fits", named(*impossible), fitting->line()));
  }
  return tally;
}

std::vector<SearchedCell> search_cells(const std::vector<TinyTask>& tasks, std::int64_t budget) {
  std::vector<std::shared_ptr<const Cell>> cells;
  for (const int p : {2, 3}) {
    for (const bool relu : {false, true})
      for (const auto read : {LinearRead::unnormalised, LinearRead::normalised})
        cells.push_back(linear_cell({.p = p, .relu = relu, .read = read}));
    for (const auto accumulator : {Accumulator::wrap, Accumulator::round})
      for (const int bits : {1, 2, 3})
        cells.push_back(linear_cell({.p = p, .accumulator = accumulator, .bits = bits}));
    cells.push_back(linear_cell({.p = p, .accumulator = Accumulator::round, .bits = 2, .shift = 1}));
    cells.push_back(log_linear_cell(p));
    for (const auto kind : {GatedShape::Kind::delta, GatedShape::Kind::gdelta, GatedShape::Kind::mamba2})
      cells.push_back(gated_cell({.kind = kind, .p = p, .bits = p, .shift = 1}));
    for (const int reach : {2, 3}) {
      cells.push_back(buffer_cell(BufferKind::window, p, reach));
      cells.push_back(buffer_cell(BufferKind::chunk, p, reach));
      cells.push_back(buffer_cell(BufferKind::conv, p, reach));
    }
  }
  cells.push_back(linear_cell({.p = 2, .dim = 2}));
  cells.push_back(linear_cell({.p = 2, .vdim = 2}));
  for (const auto kind : {GatedShape::Kind::delta, GatedShape::Kind::mamba2})
    cells.push_back(gated_cell({.kind = kind, .p = 2, .dim = 2, .bits = 2}));
  cells.push_back(beside(linear_cell({.p = 2}), linear_cell({.p = 2})));
  cells.push_back(beside(linear_cell({.p = 2}), gated_cell({.kind = GatedShape::Kind::delta, .p = 2})));
  for (const auto& table : std::vector<std::vector<int>>{
           {0, 0, 0, 1, 1, 1, 1}, {1, 1, 1, 2, 4, 4, 8}, {0, 0, 1, 0, 2, 0, 3}, {0, 1, 0, 1, 0, 1, 1}})
    for (const int scale : {1, 2}) cells.push_back(softmax_cell({.table = table, .scale = scale}));
  std::vector<SearchedCell> searched;
  for (const auto& task : tasks)
    for (const auto& cell : cells) {
      if (!cell->channels().empty() && cell->reads_output() && !task.tree.reads_last_only) continue;
      if (task.tree.length > 12) continue;
      for (const bool positions : {true, false})
        searched.push_back({cell, &task, positions,
                            search_weights(task.tree, *cell, {.budget = budget, .positions = positions})});
    }
  return searched;
}

Tally compare_with_search(const Theory& theory, const std::vector<SearchedCell>& searched,
                          const Drawing& drawing) {
  Tally tally;
  for (std::int64_t i = 0; i < drawing.cases; ++i) {
    Random random(drawing.seed, static_cast<std::uint64_t>(i));
    const SearchedCell& one = searched[random.below(searched.size())];
    if (one.result.outcome == Searched::gave_up) continue;
    WitnessCase given;
    given.task = one.task->name;
    given.sizes = one.task->sizes;
    given.options = one.task->options;
    given.variant = one.task->variant;
    auto& a = given.architecture;
    a.line = one.cell->asked();
    a.acc_bits = one.cell->entry_bits;
    a.precision = fmt::format("{}", one.cell->p);
    a.position = one.positions ? (random.below(2) ? "table" : "binary") : "none";
    a.width = random.between(1, 16);
    a.head_dim = 1;
    if (one.result.outcome == Searched::solved) {
      given.chain_of_thought = random.below(4) == 0;
      if (one.cell->reads_output() && random.below(2)) {
        const auto most =
            static_cast<std::uint64_t>(largest_entry(one.task->tree, *one.cell, one.result.actions));
        given.sum_bits = std::bit_width(most) + 1 + static_cast<std::int64_t>(random.below(3));
      }
      given = grown(random, given);
      const auto answered = theory(given);
      if (!answered) continue;
      ++tally.compared;
      if (const Verdict* impossible = answered->says(Outcome::impossible))
        tally.add(given, fmt::format("{}; some weights of {} at {} bits solve it", named(*impossible),
                                     one.cell->line, one.cell->p));
      continue;
    }
    if (!one.cell->complete) continue;
    const auto answered = theory(given);
    if (!answered) continue;
    ++tally.compared;
    if (const Verdict* possible = answered->says(Outcome::possible, true))
      tally.add(given, fmt::format("{}; none of its weights solves it", named(*possible)));
  }
  return tally;
}

Tally compare_with_eval(const Theory& theory, const std::vector<TinyTask>& tasks, const std::string& folder,
                        const Drawing& drawing) {
  Tally tally;
  struct Right {
    const TinyTask* task;
    const Building* file;
  };
  std::vector<Right> right;
  constexpr std::int64_t kInMemory = 40;  // files that are read back from memory, for one from disk
  std::int64_t seen = 0;
  for (const auto& task : tasks)
    for (const auto& file : buildings(task, kMostBits)) {
      const std::string path = folder + "/witness.safetensors";
      const WitnessCase given = case_of(file, task);
      const auto refuse = [&](const std::string& why) { tally.add(given, file.line() + ": " + why); };
      const bool on_disk = seen++ % kInMemory == 0;
      if (on_disk)
        if (const auto written = write_weights(path, file.made.weights); !written) {
          refuse(written.error().message);
          continue;
        }
      const auto weights = on_disk ? read_weights(path)
                                   : weights_from_tensors(tensors_from_weights(file.made.weights), "a file");
      if (!weights) {
        refuse(weights.error().message);
        continue;
      }
      const auto machine = Machine::load(*weights, {.positions = positions_needed(*weights, *task.task)});
      if (const auto fit = check_fit(*weights, *task.task); !machine || !fit) {
        refuse(machine ? fit.error().message : machine.error().message);
        continue;
      }
      const auto found = evaluate(**machine, *weights, *task.task, {.exhaustive = true});
      ++tally.compared;
      if (!found || found->right_instances != found->instances || found->instances == 0)
        refuse("verified, but its evaluation has wrong answers");
      else
        right.push_back({&task, &file});
    }
  for (std::int64_t i = 0; i < drawing.cases && !right.empty(); ++i) {
    Random random(drawing.seed, static_cast<std::uint64_t>(i));
    const Right& one = right[random.below(right.size())];
    const WitnessCase given = grown(random, case_of(*one.file, *one.task));
    const auto answered = theory(given);
    if (!answered) continue;
    ++tally.compared;
    if (const Verdict* impossible = answered->says(Outcome::impossible))
      tally.add(given, fmt::format("{}; {} answers every prompt", named(*impossible), one.file->line()));
  }
  return tally;
}

Tally compare_with_itself(const Theory& theory, const std::vector<TinyTask>& tasks, const Drawing& drawing) {
  Tally tally;
  for (std::int64_t i = 0; i < drawing.cases; ++i) {
    Random random(drawing.seed, static_cast<std::uint64_t>(i));
    const TinyTask& task = drawn(random, tasks);
    WitnessCase given = random.below(2) ? random_case(random, task) : random_recurrence(random, task);
    if (random.below(4) == 0) {  // larger sizes than the other witnesses reach
      for (auto& [name, value] : given.sizes)
        if (name == "n" || name == "m") value *= random.between(1, 1000);
    }
    const auto answered = theory(given);
    if (!answered || answered->verdicts.empty()) continue;
    const Verdict& printed = answered->verdicts.front();
    if (const Verdict* impossible = answered->says(Outcome::impossible, true))
      if (const Verdict* possible = answered->says(Outcome::possible, true))
        tally.add(given, fmt::format("{}, and {}", named(*impossible), named(*possible)));
    if (printed.outcome == Outcome::possible) {
      std::string what;
      const auto more = enlarged(random, given, what);
      if (!more) continue;
      const auto larger = theory(*more);
      if (!larger) continue;
      ++tally.compared;
      if (const Verdict* impossible = larger->says(Outcome::impossible))
        tally.add(*more, fmt::format("{}; {} with less ({}): {}", named(*impossible), named(printed), what,
                                     given.line()));
    } else if (printed.outcome == Outcome::impossible) {
      WitnessCase longer = given;
      for (auto& [name, value] : longer.sizes)
        if (name == "n" || name == "m") value += random.between(1, 3);
      const auto later = theory(longer);
      if (!later) continue;
      ++tally.compared;
      if (const Verdict* possible = later->says(Outcome::possible))
        tally.add(longer, fmt::format("{}; {} on a shorter prompt: {}", named(*possible), named(printed),
                                      given.line()));
    }
  }
  return tally;
}

}  // namespace rung
