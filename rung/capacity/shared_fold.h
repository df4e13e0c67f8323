// The prefix tree of prefix_tree.h folded by several ranks: each folds subtrees into tables of its own, and
// hands in the rows that it had not handed in before; rank 0 interns them in its tables, where children have
// their ids of rank 0.
//
// Invariant: a row is handed in before any row that has it as a child, by the same hand (a thread of a rank,
// with tables of its own), in one stream; so every child's id is known when it is needed.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "rung/capacity/prefix_nodes.h"

namespace rung {

struct FoldedNode {
  std::uint64_t id = 0;
  std::uint64_t shape = 0;
};
// A folded subtree, with the answers of one prompt in it.
struct FoldedSubtree {
  FoldedNode node;
  std::vector<std::int64_t> answers;
};

// The rows and shapes that one hand has interned anew, in that order.
class FreshRows {
 public:
  void add_shape(std::size_t depth, std::uint64_t shape, std::span<const std::uint8_t> row) {
    add(depth, 1, shape, 0, row);
  }
  void add_node(std::size_t depth, FoldedNode node, std::span<const std::uint8_t> row) {
    add(depth, 0, node.id, node.shape, row);
  }
  // All since the last call.
  std::vector<std::uint8_t> take() { return std::exchange(bytes_, {}); }

 private:
  void add(std::size_t depth, std::uint64_t is_shape, std::uint64_t id, std::uint64_t shape,
           std::span<const std::uint8_t> row);
  std::vector<std::uint8_t> bytes_;
};

// What a hand has to say of a range of subtrees.
struct FoldReport {
  std::uint64_t hand = 0;  // of its rank
  std::int64_t prompts = 0;
  bool stopped = false, endless = false;
  std::int64_t acausal = -1;
  std::vector<FoldedSubtree> subtrees;
  std::vector<std::uint8_t> rows;  // of FreshRows
};
std::string pack_report(const FoldReport& report);
// REQUIRES text of pack_report.
FoldReport unpack_report(const std::string& text);

// Rank 0's tables, and what the ids of each hand are there.
class RowMerge {
 public:
  RowMerge(PrefixNodes& tree, std::mutex& shapes) : tree_(tree), shapes_(shapes) {}
  // REQUIRES the reports of one hand in the order of their making. The report's subtrees get ids of rank 0.
  void merge(int rank, FoldReport& report, std::size_t depth);

 private:
  struct Ids {
    std::vector<std::map<std::uint64_t, std::uint64_t>> nodes, shapes;  // by depth
  };
  std::vector<std::uint8_t> node_row(const Ids& ids, std::size_t depth,
                                     std::span<const std::uint8_t> row) const;
  std::vector<std::uint8_t> shape_row(const Ids& ids, std::size_t depth,
                                      std::span<const std::uint8_t> row) const;

  PrefixNodes& tree_;
  std::mutex& shapes_;
  std::map<std::pair<int, std::uint64_t>, Ids> hands_;
};

}  // namespace rung
