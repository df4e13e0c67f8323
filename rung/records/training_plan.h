// What a training run is told: by flags, or by a TOML or JSON file with the same names (docs/train.md lists
// them). Everything needed to repeat the run is here; plan_text gives it back as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rung/base/words.h"
#include "rung/spec/architecture.h"
#include "rung/tasks/task.h"
#include "rung/tasks/task_record.h"

namespace rung {

struct TaskShare {
  TaskRecord task;
  double weight = 1;  // share of the steps
};

enum class Supervision {
  answer,       // the last answer of a prompt alone
  every_query,  // every answer
  chain,        // the chain of thought, token by token, and the answer
  deep,         // every answer, and the values between of a composition, read from inside the model
};

// Supervision::deep: i_value of a composition, or one of the question's own tokens, is read from the stream behind a
// layer, by a linear map of its own that is no part of the model.
struct DeepReadout {
  std::int64_t value = 1;  // 1 .. L - 1
  std::int64_t layer = 1;  // behind the layer-th, counted from 1
  std::int64_t back = 0;   // positions before the question's last one
  // 1 .. L: in place of a value, the token that stands so many positions before the question's last one.
  std::int64_t token = 0;
  bool operator==(const DeepReadout&) const = default;
};

// How tokens enter: a row of a table for each value, or a linear map of the value's binary digits.
enum class TokenEmbedding { table, binary };

enum class ComputeType { fp32, tf32, bf16 };

template <>
inline constexpr auto kWords<Supervision> = std::to_array<std::string_view>({"answer", "every-query", "chain",
                                                                             "deep"});
template <>
inline constexpr auto kWords<TokenEmbedding> = std::to_array<std::string_view>({"table", "binary"});
template <>
inline constexpr auto kWords<ComputeType> = std::to_array<std::string_view>({"fp32", "tf32", "bf16"});

struct TrainingPlan {
  std::string arch;
  Dimensions dimensions;  // its context, vocabulary and outputs are made to fit the tasks
  std::vector<TaskShare> tasks;
  // Earlier stages: sizes that replace those of the tasks, each for stage_steps steps (0: the first half of
  // the run, evenly split). By steps and not by accuracy, so that a member's run does not depend on the
  // others'.
  std::vector<TaskSizes> curriculum;
  std::int64_t stage_steps = 0;
  // Or earlier stages at the tasks' own sizes, drawn from a part of them (the first so many starts, choices and
  // values; what a stage does not name is whole). Every member has its own stage: it moves on when an evaluation
  // of its stage reaches `advance`.
  std::vector<TaskSizes> support;
  double advance = 0.95;
  double whole = 0;  // share of every batch that is drawn from the whole task at once
  Variant variant = Variant::uniform;
  Supervision supervision = Supervision::every_query;
  std::vector<DeepReadout> deep;  // empty: i_l at the question's last position, L - l layers before the last
  TokenEmbedding embedding = TokenEmbedding::table;
  std::string from;          // a weights file whose numbers every member starts with; empty: random
  std::int64_t queries = 1;  // questions a prompt, about the same tables
  bool parts = false;        // seqcomp: the questions ask for parts of the chain in turn
  std::int64_t spacing = 0;  // positions from one question to the next; 0: as many as it has tokens

  std::int64_t steps = 5000, batch = 64;
  std::vector<std::uint64_t> seeds{1};
  std::vector<double> rates{3e-3}, decays{0.01},
      scales{1};  // learning rate, weight decay, initial scale: members are all combinations
  std::int64_t warmup = 100;
  double floor = 0.05, clip = 1, beta1 = 0.9, beta2 = 0.98;
  double dropout = 0, smoothing = 0;
  std::optional<double> stop;  // ends a member when two evaluations in a row reach this accuracy
  // Or when it has learned what it will (rung/learn/plateau.h): evaluations in a row that are not `gain` above the
  // best before them. 0: the rate follows a cosine, and members end with the steps.
  std::int64_t patience = 0;
  double gain = 0.01;
  std::int64_t evaluate_every = 100, evaluate_count = 512, final_count = 2000, checkpoint_every = 500;
  ComputeType precision = ComputeType::fp32;
  std::optional<int> round_bits;  // quantisation-aware: activations of p bits
  std::optional<int> carry_bits;  // or only what one position has of the others: values fetched and states
  std::int64_t round_after = -1;  // steps in floats before rounding starts; -1: the first half
  bool carried_bits = false;  // measure with how few bits of fetched values and states a member does as well
  std::string device = "auto";  // auto, cpu, cuda
};

// ENSURES: every number in its range; one-line errors. Sizes of tasks are checked by make_task.
Result<void> check_plan(const TrainingPlan& plan);
// No positions where every task is an automaton's: for plans that say nothing about positions.
void place_by_tasks(TrainingPlan& plan);

// Unknown fields are errors.
Result<TrainingPlan> read_plan(const std::string& path);
Result<TrainingPlan> parse_plan(const std::string& json, const std::string& where);
std::string plan_text(const TrainingPlan& plan);
// {"value", "layer", "back"}; what is left out is as above.
Result<DeepReadout> deep_readout(const TaskSizes& given);

// One member of the ensemble.
struct MemberPlan {
  std::int64_t index = 0;
  std::uint64_t seed = 1;
  double rate = 0, decay = 0, scale = 1;
};
std::vector<MemberPlan> members(const TrainingPlan& plan);
// The stage of the curriculum that a step belongs to; curriculum.size() is the last, the tasks' own sizes.
std::size_t stage_at(const TrainingPlan& plan, std::int64_t step);
// Whether activations, or what is carried of them, are rounded.
bool rounds_at(const TrainingPlan& plan, std::int64_t step);
inline constexpr int kMostRoundBits = 24, kMostCarryBits = 16;
inline constexpr std::int64_t kMaxMembers = 100'000;

}  // namespace rung
