// IsTree: the n-1 edges u_1 v_1 … u_{n-1} v_{n-1} of a graph on n vertices → 1 iff it is a tree; read at the
// last vertex. Loops and repeated edges are allowed (and make it no tree). Answers are balanced by a coin. 1:
// a tree drawn evenly (its Prüfer word), edges shuffled and turned; 0: endpoints drawn until the graph is no
// tree. Adversarial: a tree, or the same with one edge moved so that two components and one cycle remain (n ≥
// 4: a cycle of 3 or more vertices).
#include <algorithm>
#include <numeric>
#include <queue>

#include "rung/tasks/sampling.h"
#include "rung/tasks/task_list.h"
#include "rung/tasks/token_task.h"

namespace rung {
namespace {

using Edges = std::vector<std::pair<std::int64_t, std::int64_t>>;

class IsTreeTask final : public TokenTask {
 public:
  explicit IsTreeTask(std::int64_t n) : n_(n) {}

  std::string_view name() const override { return "istree"; }
  SizeList size() const override { return {{"n", n_}}; }
  AnswerSpec answer_spec() const override { return boolean_answer(); }
  std::int64_t prompt_length() const override { return 2 * (n_ - 1); }
  bool supports(Variant variant) const override { return variant != Variant::permutation; }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "istree {}", variant_name(variant));
    Draw drawn(variant, seed, index);
    Random& random = drawn.random;
    if (variant == Variant::adversarial) {
      Edges edges = tree(random, variant);
      const Edges broken = move_one_edge(random, edges);
      return edge_list(drawn.flipped ? broken : edges, !drawn.flipped);
    }
    if (coin(random)) return edge_list(tree(random, variant), true);
    Edges edges(static_cast<std::size_t>(n_ - 1));
    do
      for (auto& [u, v] : edges) {
        u = draw(random, variant, n_);
        v = draw(random, variant, n_);
      }
    while (connected(edges));
    return edge_list(edges, false);
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    Edges edges;
    for (std::int64_t e = 0; e < n_ - 1; ++e)
      edges.emplace_back(prompt.token(2 * e), prompt.token(2 * e + 1));
    return {connected(edges) ? 1 : 0};  // n-1 edges that connect n vertices are a tree
  }

  std::string text(const Prompt& prompt) const override {
    std::string out;
    for (std::int64_t e = 0; e < n_ - 1; ++e)
      out += fmt::format("{}{}-{}", e > 0 ? " " : "", prompt.token(2 * e), prompt.token(2 * e + 1));
    return out;
  }

 protected:
  std::int64_t vocabulary() const override { return n_; }
  Range range(std::int64_t) const override { return {0, n_}; }

 private:
  static Instance edge_list(const Edges& edges, bool yes) {
    std::vector<std::int64_t> tokens;
    for (const auto& [u, v] : edges) {
      tokens.push_back(u);
      tokens.push_back(v);
    }
    return token_instance(std::move(tokens), {yes ? 1 : 0});
  }

  // Union-find with halved paths.
  bool connected(const Edges& edges) const {
    std::vector<std::int64_t> parent(static_cast<std::size_t>(n_));
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&](std::int64_t v) {
      auto at = [&](std::int64_t i) -> std::int64_t& { return parent[static_cast<std::size_t>(i)]; };
      while (at(v) != v) v = at(v) = at(at(v));
      return v;
    };
    std::int64_t components = n_;
    for (const auto& [u, v] : edges) {
      const std::int64_t a = root(u), b = root(v);
      if (a == b) continue;
      parent[static_cast<std::size_t>(a)] = b;
      --components;
    }
    return components == 1;
  }

  // From a Prüfer word of n-2 labels (Zipf: labels of small number have many neighbours).
  Edges tree(Random& random, Variant variant) const {
    std::vector<std::int64_t> word(static_cast<std::size_t>(n_ - 2)), left(static_cast<std::size_t>(n_), 1);
    for (auto& label : word) ++left[static_cast<std::size_t>(label = draw(random, variant, n_))];
    std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> leaves;
    for (std::int64_t v = 0; v < n_; ++v)
      if (left[static_cast<std::size_t>(v)] == 1) leaves.push(v);
    Edges edges;
    for (const auto label : word) {
      edges.emplace_back(leaves.top(), label);
      leaves.pop();
      if (--left[static_cast<std::size_t>(label)] == 1) leaves.push(label);
    }
    const std::int64_t last = leaves.top();
    leaves.pop();
    edges.emplace_back(last, leaves.top());
    random.shuffle(edges);
    for (auto& [u, v] : edges)
      if (coin(random)) std::swap(u, v);
    return edges;
  }

  // Takes an edge away and joins two vertices of the larger component that are not neighbours; with n = 3 the
  // edge that is left is doubled, with n = 2 the edge becomes a loop.
  Edges move_one_edge(Random& random, Edges edges) const {
    if (n_ == 2) {
      edges[0].second = edges[0].first;
      return edges;
    }
    for (;;) {
      const std::size_t moved = random.below(edges.size());
      const auto component = larger_component(edges, moved);
      if (component.size() == 2 && n_ > 3) continue;  // n = 4 cut in the middle
      const auto u = component[random.below(component.size())];
      const auto v = component[random.below(component.size())];
      const auto joins = [&](const auto& edge) {
        return (edge.first == u && edge.second == v) || (edge.first == v && edge.second == u);
      };
      if (u == v || (n_ > 3 && std::any_of(edges.begin(), edges.end(), joins))) continue;
      edges[moved] = {u, v};
      return edges;
    }
  }

  std::vector<std::int64_t> larger_component(const Edges& edges, std::size_t without) const {
    std::vector<std::vector<std::int64_t>> neighbours(static_cast<std::size_t>(n_));
    for (std::size_t e = 0; e < edges.size(); ++e) {
      if (e == without) continue;
      neighbours[static_cast<std::size_t>(edges[e].first)].push_back(edges[e].second);
      neighbours[static_cast<std::size_t>(edges[e].second)].push_back(edges[e].first);
    }
    std::vector<bool> reached(static_cast<std::size_t>(n_), false);
    std::vector<std::int64_t> found = {edges[without].first};
    reached[static_cast<std::size_t>(found[0])] = true;
    for (std::size_t next = 0; next < found.size(); ++next)
      for (const auto v : neighbours[static_cast<std::size_t>(found[next])])
        if (!reached[static_cast<std::size_t>(v)]) {
          reached[static_cast<std::size_t>(v)] = true;
          found.push_back(v);
        }
    if (2 * static_cast<std::int64_t>(found.size()) < n_) {
      found.clear();
      for (std::int64_t v = 0; v < n_; ++v)
        if (!reached[static_cast<std::size_t>(v)]) found.push_back(v);
    }
    return found;
  }

  std::int64_t n_;
};

}  // namespace

TaskWord istree_word() {
  return {
      .name = "istree",
      .summary = "n-1 edges u v on n vertices -> 1 iff they are a tree",
      .sizes = {{"n", "vertices", 6, 2, kMaxPromptLength / 2}},
      .make = [](const TaskSizes& sizes, const TaskOptions&) { return new_task<IsTreeTask>(sizes.at("n")); }};
}

}  // namespace rung
