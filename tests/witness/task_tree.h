// All prompts of a tiny task, folded into what a reader must keep apart. Written anew, from the task's own
// enumeration alone: rung/capacity/prefix_tree.h counts the same classes with other code.
//
// A node at depth t is a class of prefixes of t tokens with the same continuations and answers. Two nodes
// conflict when some common continuation is answered differently: a state that stands for both is wrong.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "rung/tasks/task.h"

namespace rung {

struct TaskTree {
  struct Edge {
    int token = 0;    // index into rows[depth]
    int answer = -1;  // what is read at this token, an index into answers; -1: nothing
    int child = 0;    // node of the next depth
  };
  struct Level {
    std::vector<std::vector<Edge>> nodes;
    std::vector<std::vector<bool>> conflicts;  // symmetric
    std::int64_t told_apart = 1;               // nodes that pairwise conflict: states that every reader needs
  };
  std::int64_t length = 0, prompts = 0;
  std::vector<Level> levels;                                 // 0 .. length
  std::vector<std::vector<std::vector<std::int64_t>>> rows;  // [position][token]: the numbers of its fields
  std::vector<std::vector<std::int64_t>> answers;
  bool reads_last_only = false;  // the last position is the only one where an answer is read

  // States that suffice at every cut, and states that are needed at some.
  std::int64_t upper() const, lower() const;
};

// Nothing where the task has more prompts or nodes than the limits, or an answer that depends on later
// tokens. With a variant: of the prompts that it draws.
std::optional<TaskTree> make_task_tree(const Task& task, std::int64_t most_prompts, std::size_t most_nodes,
                                       std::optional<Variant> variant = {});

// A tiny task with its tree.
struct TinyTask {
  std::string name;
  TaskSizes sizes;
  std::map<std::string, std::string> options;
  std::optional<Variant> variant;  // absent: all prompts
  std::shared_ptr<const Task> task;
  TaskTree tree;
};
// Every built-in task at every tiny size with every word of its options, and every variant that draws fewer
// prompts than there are, up to the limits; the smallest first.
std::vector<TinyTask> tiny_tasks(std::int64_t most_prompts, std::size_t most_nodes);

}  // namespace rung
