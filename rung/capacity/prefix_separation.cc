// Claim: two prefixes must reach different states if a common continuation has different answers.
// separated_nodes returns the size of a set in which every pair has one.
#include <map>
#include <utility>

#include "rung/capacity/prefix_nodes.h"

namespace rung {
namespace {

class Separation {
 public:
  explicit Separation(const PrefixNodes& tree)
      : tree_(tree), decided_(static_cast<std::size_t>(tree.length)) {}

  bool separated(std::size_t depth, std::uint64_t a, std::uint64_t b) {
    if (a == b) return false;
    if (a > b) std::swap(a, b);
    if (const auto known = decided_[depth].find({a, b}); known != decided_[depth].end()) return known->second;
    const bool answer = compare(depth, a, b);
    decided_[depth].emplace(std::pair{a, b}, answer);
    return answer;
  }

 private:
  bool compare(std::size_t depth, std::uint64_t a, std::uint64_t b) {
    std::map<std::vector<std::int64_t>, const Continuation*> after_a;
    const auto first = read_continuations(tree_, depth, a), second = read_continuations(tree_, depth, b);
    for (const auto& continuation : first) after_a[continuation.token] = &continuation;
    for (const auto& continuation : second) {
      const auto common = after_a.find(continuation.token);
      if (common == after_a.end()) continue;
      if (common->second->answer != continuation.answer) return true;
      if (!tree_.is_last(depth) && separated(depth + 1, common->second->child, continuation.child))
        return true;
    }
    return false;
  }

  const PrefixNodes& tree_;
  std::vector<std::map<std::pair<std::uint64_t, std::uint64_t>, bool>> decided_;
};

}  // namespace

std::vector<Continuation> read_continuations(const PrefixNodes& tree, std::size_t depth, std::uint64_t id) {
  const auto row = tree.nodes[depth]->row(id);
  std::vector<Continuation> result;
  std::size_t at = 0;
  const bool usual = read_varint(row, at) == 0;
  while (at < row.size()) {
    Continuation next;
    if (usual) {
      const auto begin = tree.usual[depth].begin() + static_cast<std::ptrdiff_t>(result.size() * tree.width);
      next.token.assign(begin, begin + static_cast<std::ptrdiff_t>(tree.width));
    } else {
      for (std::size_t i = 0; i < tree.width; ++i) next.token.push_back(unzigzag(read_varint(row, at)));
    }
    if (tree.reads_answer(depth))
      for (std::size_t i = 0; i < tree.answer_group; ++i) next.answer.push_back(read_varint(row, at));
    if (!tree.is_last(depth)) next.child = read_varint(row, at);
    result.push_back(std::move(next));
  }
  return result;
}

std::int64_t separated_nodes(const PrefixNodes& tree, std::size_t depth) {
  Separation separation(tree);
  std::vector<std::uint64_t> chosen;
  for (const std::uint64_t id : tree.nodes[depth]->ids()) {
    bool apart = true;
    for (const std::uint64_t other : chosen) apart = apart && separation.separated(depth, other, id);
    if (apart) chosen.push_back(id);
  }
  return static_cast<std::int64_t>(chosen.size());
}

}  // namespace rung
