#include "tests/witness/task_tree.h"

#include <algorithm>
#include <functional>
#include <map>

#include "rung/capacity/prefix_tree.h"

namespace rung {
namespace {

class TreeMaker {
 public:
  TreeMaker(const Task& task, std::int64_t most_prompts, std::size_t most_nodes,
            std::optional<Variant> variant)
      : task_(task), fields_(task.fields()), most_prompts_(most_prompts), most_nodes_(most_nodes) {
    if (variant) draw(*variant);
    tree_.length = task.prompt_length();
    tree_.levels.resize(static_cast<std::size_t>(tree_.length) + 1);
    tree_.rows.resize(static_cast<std::size_t>(tree_.length));
    known_.resize(tree_.levels.size());
    tokens_.resize(tree_.rows.size());
    query_of_.assign(tree_.rows.size(), -1);
    const auto queries = task.query_positions();
    for (std::size_t q = 0; q < queries.size(); ++q)
      query_of_[static_cast<std::size_t>(queries[q])] = static_cast<int>(q);
    queries_ = queries.size();
    tree_.reads_last_only = queries == std::vector{tree_.length - 1};
  }

  std::optional<TaskTree> make() {
    Prompt prompt = task_.empty_prompt();
    std::vector<int> answers;
    if (!fold(prompt, answers)) return std::nullopt;
    for (std::size_t t = tree_.levels.size(); t-- > 0;) set_conflicts(t);
    return std::move(tree_);
  }

 private:
  // Prompts are drawn until none is new for a long time.
  void draw(Variant variant) {
    constexpr std::uint64_t kPatience = 40;
    std::set<std::vector<std::int64_t>> prompts;
    for (std::uint64_t i = 0, last_new = 0; i < kPatience * (last_new + 25); ++i) {
      const Prompt prompt = task_.generate(variant, 1, i).prompt;
      if (!prompts.insert(prefix_of(prompt, prompt.positions)).second) continue;
      last_new = i;
      if (static_cast<std::int64_t>(prompts.size()) > most_prompts_) break;
      for (std::int64_t t = 0; t <= prompt.positions; ++t) drawn_.insert(prefix_of(prompt, t));
    }
  }
  std::vector<std::int64_t> prefix_of(const Prompt& prompt, std::int64_t positions) const {
    std::vector<std::int64_t> prefix{positions};
    for (std::size_t f = 0; f < fields_.size(); ++f)
      prefix.insert(prefix.end(), prompt.fields[f].begin(),
                    prompt.fields[f].begin() + positions * fields_[f].length);
    return prefix;
  }

  // The node of a prefix; `answers` becomes those of some completion. False: a limit, or no causal task.
  std::optional<int> fold(Prompt& prompt, std::vector<int>& answers) {
    const auto depth = static_cast<std::size_t>(prompt.positions);
    if (prompt.positions == tree_.length) {
      if (++tree_.prompts > most_prompts_) return std::nullopt;
      const auto given = task_.answer(prompt);
      if (queries_ == 0 || given.size() % queries_ != 0) return std::nullopt;
      const std::size_t each = given.size() / queries_;
      answers.clear();
      for (std::size_t q = 0; q < queries_; ++q)
        answers.push_back(answer_id({given.begin() + static_cast<std::ptrdiff_t>(q * each),
                                     given.begin() + static_cast<std::ptrdiff_t>((q + 1) * each)}));
      return node(depth, {});
    }
    const std::int64_t choices = task_.choices(prompt);
    if (choices < 1) return std::nullopt;
    std::vector<TaskTree::Edge> edges;
    std::vector<int> first;
    for (std::int64_t c = 0; c < choices; ++c) {
      task_.extend(prompt, c);
      if (!drawn_.empty() && !drawn_.contains(prefix_of(prompt, prompt.positions))) {
        task_.retract(prompt);
        continue;
      }
      const int token = token_id(depth, prompt);
      const auto child = fold(prompt, answers);
      task_.retract(prompt);
      if (!child) return std::nullopt;
      if (first.empty()) first = answers;
      for (std::size_t t = 0; t < depth; ++t)  // what was read before may not depend on this token
        if (query_of_[t] >= 0 &&
            answers[static_cast<std::size_t>(query_of_[t])] != first[static_cast<std::size_t>(query_of_[t])])
          return std::nullopt;
      const int query = query_of_[depth];
      edges.push_back({token, query >= 0 ? answers[static_cast<std::size_t>(query)] : -1, *child});
    }
    if (edges.empty()) return std::nullopt;  // drawn, but no prompt of the enumeration
    answers = first;
    std::sort(edges.begin(), edges.end(), [](const auto& a, const auto& b) { return a.token < b.token; });
    return node(depth, std::move(edges));
  }

  std::optional<int> node(std::size_t depth, std::vector<TaskTree::Edge> edges) {
    std::vector<int> key;
    for (const auto& edge : edges) key.insert(key.end(), {edge.token, edge.answer, edge.child});
    auto& nodes = tree_.levels[depth].nodes;
    const auto [found, fresh] = known_[depth].emplace(std::move(key), static_cast<int>(nodes.size()));
    if (fresh) nodes.push_back(std::move(edges));
    if (nodes.size() > most_nodes_) return std::nullopt;
    return found->second;
  }

  int token_id(std::size_t position, const Prompt& prompt) {
    std::vector<std::int64_t> row;
    for (std::size_t f = 0; f < fields_.size(); ++f)
      row.insert(row.end(), prompt.fields[f].end() - fields_[f].length, prompt.fields[f].end());
    const auto [found, fresh] = tokens_[position].emplace(row, static_cast<int>(tree_.rows[position].size()));
    if (fresh) tree_.rows[position].push_back(std::move(row));
    return found->second;
  }

  int answer_id(std::vector<std::int64_t> answer) {
    const auto [found, fresh] = answer_ids_.emplace(answer, static_cast<int>(tree_.answers.size()));
    if (fresh) tree_.answers.push_back(std::move(answer));
    return found->second;
  }

  void set_conflicts(std::size_t depth) {
    auto& level = tree_.levels[depth];
    const std::size_t count = level.nodes.size();
    level.conflicts.assign(count, std::vector<bool>(count, false));
    for (std::size_t a = 0; a < count; ++a)
      for (std::size_t b = a + 1; b < count; ++b)
        level.conflicts[a][b] = level.conflicts[b][a] = conflict(depth, level.nodes[a], level.nodes[b]);
    std::vector<std::size_t> apart;  // greedily
    for (std::size_t a = 0; a < count; ++a)
      if (std::all_of(apart.begin(), apart.end(), [&](std::size_t b) { return level.conflicts[a][b]; }))
        apart.push_back(a);
    level.told_apart = static_cast<std::int64_t>(apart.size());
  }

  bool conflict(std::size_t depth, const std::vector<TaskTree::Edge>& a,
                const std::vector<TaskTree::Edge>& b) const {
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
      if (a[i].token != b[j].token) {
        ++(a[i].token < b[j].token ? i : j);
        continue;
      }
      if (a[i].answer != b[j].answer) return true;
      if (tree_.levels[depth + 1]
              .conflicts[static_cast<std::size_t>(a[i].child)][static_cast<std::size_t>(b[j].child)])
        return true;
      ++i, ++j;
    }
    return false;
  }

  const Task& task_;
  std::vector<FieldSpec> fields_;
  std::int64_t most_prompts_;
  std::size_t most_nodes_, queries_ = 0;
  std::vector<int> query_of_;  // position -> index of its query, or -1
  TaskTree tree_;
  std::vector<std::map<std::vector<int>, int>> known_;
  std::vector<std::map<std::vector<std::int64_t>, int>> tokens_;
  std::map<std::vector<std::int64_t>, int> answer_ids_;
  std::set<std::vector<std::int64_t>> drawn_;  // with a variant: its prompts and their prefixes
};

// What a tiny size may be, by name.
std::vector<std::int64_t> tiny_values(std::string_view task, std::string_view name) {
  if (name == "n" && task != "seqcomp") return {1, 2, 3, 4, 5, 6};
  if (name == "M") return {1, 2, 3, 4, 5, 7};
  if (name == "L") return {1, 2};
  if (name == "m") return {1, 2, 3, 4};
  if (name == "n1") return {1, 2};
  if (name == "k" && task == "counting") return {0, 1, 2};
  if (name == "sigma" || name == "k" || name == "queries") return {1, 2, 3};
  if (name == "c") return {2, 3};
  if (name == "D" || name == "q" || name == "d" || name == "depth") return {1, 2};
  if (name == "f") return {task == "nearest" ? 1 : 0};
  return {};  // other names of a size, margins
}

}  // namespace

std::int64_t TaskTree::upper() const {
  std::size_t most = 1;
  for (const auto& level : levels) most = std::max(most, level.nodes.size());
  return static_cast<std::int64_t>(most);
}
std::int64_t TaskTree::lower() const {
  std::int64_t most = 1;
  for (const auto& level : levels) most = std::max(most, level.told_apart);
  return most;
}

std::optional<TaskTree> make_task_tree(const Task& task, std::int64_t most_prompts, std::size_t most_nodes,
                                       std::optional<Variant> variant) {
  if (task.prompt_length() > kLongestTree || estimated_prompts(task) > 4 * most_prompts) return std::nullopt;
  return TreeMaker(task, most_prompts, most_nodes, variant).make();
}

std::vector<TinyTask> tiny_tasks(std::int64_t most_prompts, std::size_t most_nodes) {
  std::vector<TinyTask> found;
  for (const auto& word : task_words()) {
    const std::function<void(std::size_t, TaskSizes)> with_sizes = [&](std::size_t i, TaskSizes sizes) {
      if (i < word.sizes.size()) {
        const auto values = tiny_values(word.name, word.sizes[i].name);
        if (values.empty()) return with_sizes(i + 1, sizes);
        for (const std::int64_t value : values) {
          sizes[std::string(word.sizes[i].name)] = value;
          with_sizes(i + 1, sizes);
        }
        return;
      }
      if (word.name == "seqcomp" && sizes["L"] == 1) {
        if (sizes["n1"] != 1) return;
        sizes.erase("n1");
      }
      std::vector<std::map<std::string, std::string>> all_options{{}};
      for (const auto& option : word.options) {
        std::vector<std::map<std::string, std::string>> more;
        for (const auto& options : all_options)
          for (std::size_t k = 0; k < option.words.size() && !(option.open && k == 2); ++k) {
            more.push_back(options);
            more.back()[std::string(option.name)] = option.words[k];
          }
        all_options = std::move(more);
      }
      for (const auto& options : all_options) {
        auto task = make_task(word.name, sizes, options);
        if (!task) continue;
        auto tree = make_task_tree(**task, most_prompts, most_nodes);
        if (!tree) continue;
        const std::shared_ptr<const Task> shared = std::move(*task);
        for (const Variant variant : {Variant::permutation, Variant::adversarial}) {
          if (!shared->supports(variant)) continue;
          auto drawn = make_task_tree(*shared, most_prompts, most_nodes, variant);
          if (drawn && drawn->prompts < tree->prompts)
            found.push_back({std::string(word.name), sizes, options, variant, shared, std::move(*drawn)});
        }
        found.push_back({std::string(word.name), sizes, options, std::nullopt, shared, std::move(*tree)});
      }
    };
    with_sizes(0, {});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.tree.prompts < b.tree.prompts; });
  return found;
}

}  // namespace rung
