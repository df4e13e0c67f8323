// The nodes of a folded prefix tree (prefix_tree.h) and how their rows are written.
//
// A row is a byte string: flag; then per continuation, in the task's order: its token (all fields; only with
// flag 1), the answer read there (where the depth is a query position), the child's id (above the last
// depth). Numbers are varints. Flag 0: the tokens are those of the first path (`usual`), and so are all
// below. So equal rows mean equal trees, and different rows different ones.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "rung/capacity/row_table.h"
#include "rung/tasks/task.h"

namespace rung {

struct PrefixNodes {
  std::int64_t length = 0;                       // tokens of a prompt
  std::vector<std::int64_t> field_length;        // numbers per position, by field
  std::size_t width = 0;                         // numbers per position
  std::size_t answer_group = 1;                  // numbers per answer
  std::vector<std::int64_t> query_at;            // by depth: the query read at that position, or -1
  std::vector<std::vector<std::int64_t>> usual;  // by depth: tokens of all choices on the first path
  MemoryLimit memory;
  std::vector<std::unique_ptr<RowTable>> nodes;   // by depth
  std::vector<std::unique_ptr<RowTable>> shapes;  // by depth; shape 0 is the usual one and is in no table
  std::vector<std::map<std::uint64_t, std::int64_t>> nodes_of_shape;  // by depth: all shapes but 0

  bool reads_answer(std::size_t depth) const { return query_at[depth] >= 0; }
  bool is_last(std::size_t depth) const { return static_cast<std::int64_t>(depth) + 1 == length; }
};

struct Continuation {
  std::vector<std::int64_t> token;    // `width` numbers
  std::vector<std::uint64_t> answer;  // encoded; empty where none is read
  std::uint64_t child = 0;            // 0 at the last depth
};
std::vector<Continuation> read_continuations(const PrefixNodes& tree, std::size_t depth, std::uint64_t id);

// Nodes at `depth` that are pairwise told apart by a continuation both allow, chosen greedily in the order of
// the table. A lower bound of what a machine must keep apart. REQUIRES at most a few thousand nodes at that
// depth.
std::int64_t separated_nodes(const PrefixNodes& tree, std::size_t depth);

}  // namespace rung
