// The tasks of docs/tasks.md: fields, rules, reference answers, and the tree of prompts of
// docs/certificate_v1.md.
#pragma once

#include <map>

#include "check/model.h"

namespace rung_check {

class Task {
 public:
  using Sizes = std::map<std::string, std::int64_t>;
  virtual ~Task() = default;

  std::string name;
  Sizes size;
  std::map<std::string, std::string> options;
  std::vector<Field> fields;
  std::int64_t length = 0;  // T, positions
  Row queries;              // answer positions, increasing
  // What is asked for: a number below answer_size; or, where vector is set, answer_size numbers over
  // 2^fraction, of which an answer within 1/tolerance counts as right.
  std::int64_t answer_size = 0, fraction = 0, tolerance = 0;
  bool vector = false;

  // Rejected where a complete prompt is no instance of the task.
  void check(const Prompt& prompt) const;
  // One answer per query position. REQUIRES check(prompt).
  virtual std::vector<Row> answers(const Prompt& prompt) const = 0;

  // Automaton tasks: the state after a letter; states are answers, and 0 is the first. Malformed: others.
  virtual std::int64_t follow(std::int64_t state, std::int64_t letter) const;

  // How many values the position after `prefix` can take; 0: too many to number, or not enumerable.
  virtual std::int64_t choices(const Prompt& prefix) const;
  virtual void extend(Prompt& prefix, std::int64_t choice) const;

 protected:
  struct Range {
    std::int64_t low = 0, count = 0;
  };
  // The values of position t, where they depend on t alone (tasks of one field).
  virtual Range range(std::int64_t position) const;
  virtual void rules(const Prompt& prompt) const;
};

// Malformed: unknown names, sizes out of range. OutOfResources: prompts of more than 2^24 numbers.
std::unique_ptr<Task> make_task(const std::string& name, const Task::Sizes& size,
                                const std::map<std::string, std::string>& options, Budget& budget);

// Every field's numbers at one position.
Row row_at(const Task& task, const Prompt& prompt, std::int64_t position);

// Whether two reference answers cannot both be right, and whether the model's answer is wrong.
bool differ(const Task& task, const Row& a, const Row& b);
bool wrong(const Task& task, const Output& output, const Row& given, const Row& reference);

}  // namespace rung_check
