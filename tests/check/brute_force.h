// Certificates found by looking at every prompt of a small task: the exact machine, the tasks and the writer,
// no attack.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rung/certificate/certificate.h"
#include "rung/exact/machine.h"
#include "rung/spec/weights.h"
#include "rung/tasks/task.h"

namespace rung {

struct Issued {
  std::string name;
  std::string certificate;  // the file's text
  std::string model;        // the file's bytes; empty: none
  std::optional<Weights> weights = {};
};

std::shared_ptr<const Task> task_of(const std::string& name, const TaskSizes& sizes,
                                    const std::map<std::string, std::string>& options = {});
std::unique_ptr<Machine> machine_of(const Weights& weights, const Task& task);
Readout last_readout(const Machine& machine, const Prompt& prompt);
// REQUIRES that both prompts end in the same activation.
EndAlike end_alike(const Machine& machine, const Task& task, const Prompt& first, const Prompt& second,
                   ClaimLabel label = ClaimLabel::found);
Issued issue(const std::string& name, const Weights* weights, const Task& task, Claim claim);

// A random model that can be asked the task.
Weights random_model(const std::string& line, const Task& task, std::int64_t width, int precision,
                     std::uint64_t seed, PositionCode position = PositionCode::table);

// The first of its kind in the order of the task's prompts. REQUIRES that there is one.
Issued wrong_answer(const std::string& name, const Weights& weights, const Task& task);
Issued fooling_pair(const std::string& name, const Weights& weights, const Task& task);
// Two different beginnings of `cut` positions with equal states and an answer that tells them apart; forced
// where an alphabet is given.
Issued brute_force_collision(const std::string& name, const Weights& weights, const Task& task,
                             std::int64_t cut, std::optional<std::int64_t> alphabet);

}  // namespace rung
