// Claim: after a complete walk the nodes at depth t are exactly the different rows at cut t (prefix_tree.h).
// Invariant: fold(depth) returns the node of `prefix_` and leaves `prefix_` as it found it. The top of the
// tree is cut into subtrees which the workers fold into shared tables; the top is folded last, from their
// results in order.
#include "rung/capacity/prefix_tree.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>

#include "rung/base/parallel.h"
#include "rung/base/require.h"
#include "rung/capacity/prefix_nodes.h"
#include "rung/capacity/shared_fold.h"
#include "rung/ranks/task_queue.h"

namespace rung {
namespace {

constexpr std::int64_t kSequentialPrompts = std::int64_t{1}
                                            << 16;           // below: one worker, so the node order is fixed
constexpr std::int64_t kSubtrees = 512;                      // at least so many are handed to workers
constexpr std::size_t kMostSubtrees = std::size_t{1} << 18;  // where later paths branch more than the first
constexpr std::int64_t kPromptsPerReport = 4096;
constexpr std::int64_t kBytesPerChoice = 64;   // of a node while it is being folded
constexpr std::int64_t kSeparableNodes = 512;  // shapes are compared pair by pair up to here

struct Shared {
  const Task& task;
  TreeLimits limits;
  PrefixNodes tree;
  std::vector<std::int64_t> queries;
  std::mutex shapes_mutex;
  std::atomic<std::int64_t> prompts{0};
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> acausal{-1};  // a query position whose answer depends on later tokens
  std::atomic<bool> endless{false};       // a position that cannot be enumerated
  FreshRows* fresh = nullptr;             // told of every new row; one thread then

  Shared(const Task& t, const TreeLimits& l) : task(t), limits(l) {}
};

using Node = FoldedNode;
using Folded = FoldedSubtree;

class Walk {
 public:
  Walk(Shared& shared, Prompt prefix)
      : shared_(shared),
        tree_(shared.tree),
        prefix_(std::move(prefix)),
        levels_(static_cast<std::size_t>(tree_.length)) {
    for (const std::int64_t position : shared.queries)
      early_.push_back(position + 1 < tree_.length ? std::optional<std::vector<std::int64_t>>()
                                                   : std::nullopt);
    has_early_ = shared.queries.size() > 1 || shared.queries.front() + 1 < tree_.length;
  }
  ~Walk() { report(); }
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  // The prefixes of the given depth, in canonical order.
  std::vector<Prompt> collect(std::int64_t depth) {
    std::vector<Prompt> found;
    collected_ = &found;
    stop_depth_ = depth;
    fold(prefix_.positions);
    return found;
  }
  Folded fold_subtree() { return {fold(prefix_.positions), answers_}; }
  // The tree above `subtrees`, which are those of `depth` in canonical order.
  Node fold_top(std::int64_t depth, const std::vector<Folded>& subtrees) {
    stop_depth_ = depth;
    subtrees_ = &subtrees;
    return fold(prefix_.positions);
  }

 private:
  // What is known of the continuations of the prefix at one depth.
  struct Level {
    std::vector<std::int64_t> tokens, answers;
    std::vector<Node> children;
    std::vector<std::uint8_t> row;
  };

  Node fold(std::int64_t depth) {
    if (depth == stop_depth_) return take_subtree();
    if (depth == tree_.length) return read_answers();
    const auto at = static_cast<std::size_t>(depth);
    const std::int64_t choices = shared_.task.choices(prefix_);
    if (choices < 1) shared_.endless = shared_.stop = true;
    if (choices > tree_.memory.bytes / kBytesPerChoice) shared_.stop = true;
    Level& level = levels_[at];
    level.tokens.clear();
    level.answers.clear();
    level.children.clear();
    const std::int64_t query = tree_.query_at[at];
    if (tree_.is_last(at) && stop_depth_ < 0 &&
        !has_early_) {  // the innermost loop, without what it does not need
      for (std::int64_t choice = 0; choice < choices; ++choice) {
        if (shared_.stop.load(std::memory_order_relaxed)) return {};
        shared_.task.extend(prefix_, choice);
        append_token(level.tokens, at);
        read_answers();
        append_answer(level.answers, static_cast<std::size_t>(query));
        retract(at);
      }
      return choices < 1 ? Node{} : intern(at);
    }
    for (std::int64_t choice = 0; choice < choices; ++choice) {
      if (shared_.stop.load(std::memory_order_relaxed)) return {};
      shared_.task.extend(prefix_, choice);
      append_token(level.tokens, at);
      if (query >= 0) early_[static_cast<std::size_t>(query)].reset();
      const Node child = fold(depth + 1);
      if (!tree_.is_last(at)) level.children.push_back(child);
      if (query >= 0 && !collected_) append_answer(level.answers, static_cast<std::size_t>(query));
      retract(at);
    }
    return collected_ || shared_.stop.load(std::memory_order_relaxed) ? Node{} : intern(at);
  }

  Node intern(std::size_t at) {
    Level& level = levels_[at];
    const bool usual =
        level.tokens == tree_.usual[at] &&
        std::all_of(level.children.begin(), level.children.end(), [](Node n) { return n.shape == 0; });
    const std::size_t choices = level.tokens.size() / tree_.width;
    level.row.assign(1, usual ? 0 : 1);
    std::size_t answer = 0;
    for (std::size_t choice = 0; choice < choices; ++choice) {
      if (!usual) append_token_of(level.row, level, choice);
      if (tree_.reads_answer(at))
        for (std::size_t i = 0; i < tree_.answer_group; ++i)
          append_varint(level.row, zigzag(level.answers[answer++]));
      if (!tree_.is_last(at)) append_varint(level.row, level.children[choice].id);
    }
    const RowTable::Entry entry = tree_.nodes[at]->intern(level.row);
    if (usual) {
      if (entry.fresh && shared_.fresh) shared_.fresh->add_node(at, {entry.id, 0}, level.row);
      return {entry.id, 0};
    }
    std::vector<std::uint8_t> shape;
    for (std::size_t choice = 0; choice < choices; ++choice) {
      append_token_of(shape, level, choice);
      if (!tree_.is_last(at)) append_varint(shape, level.children[choice].shape);
    }
    const RowTable::Entry shape_entry = tree_.shapes[at]->intern(shape);
    const std::uint64_t shape_id = shape_entry.id + 1;
    if (shape_entry.fresh && shared_.fresh) shared_.fresh->add_shape(at, shape_id, shape);
    if (entry.fresh && shared_.fresh) shared_.fresh->add_node(at, {entry.id, shape_id}, level.row);
    if (entry.fresh) {
      const std::scoped_lock lock(shared_.shapes_mutex);
      ++tree_.nodes_of_shape[at][shape_id];
    }
    return {entry.id, shape_id};
  }

  Node read_answers() {
    answers_ = shared_.task.answer(prefix_);
    RUNG_REQUIRE(answers_.size() == shared_.queries.size() * tree_.answer_group, "{} answers with {} numbers",
                 shared_.task.name(), answers_.size());
    if (has_early_) check_early_answers();
    if (++unreported_ == kPromptsPerReport) report();
    return {};
  }

  Node take_subtree() {
    if (collected_) {
      collected_->push_back(prefix_);
      if (collected_->size() > kMostSubtrees) shared_.stop = true;
      return {};
    }
    const Folded& subtree = (*subtrees_)[taken_++];
    answers_ = subtree.answers;
    if (has_early_) check_early_answers();
    return subtree.node;
  }

  // An answer read before the end must not change while the tokens up to it stay.
  void check_early_answers() {
    for (std::size_t q = 0; q < early_.size(); ++q) {
      // Of a subtree that was folded elsewhere, the answers inside it are its own affair.
      if (shared_.queries[q] + 1 == tree_.length || shared_.queries[q] >= prefix_.positions) continue;
      const auto begin = answers_.begin() + static_cast<std::ptrdiff_t>(q * tree_.answer_group);
      const auto end = begin + static_cast<std::ptrdiff_t>(tree_.answer_group);
      if (!early_[q]) {
        early_[q].emplace(begin, end);
      } else if (!std::equal(begin, end, early_[q]->begin())) {
        shared_.acausal = shared_.queries[q];
        shared_.stop = true;
      }
    }
  }

  void append_token(std::vector<std::int64_t>& tokens, std::size_t at) const {
    if (tree_.width == 1) return tokens.push_back(prefix_.fields[0][at]);
    for (std::size_t f = 0; f < prefix_.fields.size(); ++f) {
      const auto length = static_cast<std::size_t>(tree_.field_length[f]);
      const std::int64_t* begin = prefix_.fields[f].data() + at * length;
      tokens.insert(tokens.end(), begin, begin + length);
    }
  }
  void append_token_of(std::vector<std::uint8_t>& row, const Level& level, std::size_t choice) const {
    for (std::size_t i = 0; i < tree_.width; ++i)
      append_varint(row, zigzag(level.tokens[choice * tree_.width + i]));
  }
  void append_answer(std::vector<std::int64_t>& answers, std::size_t query) const {
    if (answers_.empty()) return;  // stopped before a prompt was complete
    const auto begin = answers_.begin() + static_cast<std::ptrdiff_t>(query * tree_.answer_group);
    if (tree_.answer_group == 1) return answers.push_back(*begin);
    answers.insert(answers.end(), begin, begin + static_cast<std::ptrdiff_t>(tree_.answer_group));
  }
  // Task::retract without its division.
  void retract(std::size_t at) {
    for (std::size_t f = 0; f < prefix_.fields.size(); ++f)
      prefix_.fields[f].resize(at * static_cast<std::size_t>(tree_.field_length[f]));
    prefix_.positions = static_cast<std::int64_t>(at);
  }
  void report() {
    const std::int64_t total = shared_.prompts += unreported_;
    unreported_ = 0;
    if (total > shared_.limits.prompts || tree_.memory.exceeded()) shared_.stop = true;
  }

  Shared& shared_;
  PrefixNodes& tree_;
  Prompt prefix_;
  std::vector<Level> levels_;
  std::vector<std::int64_t> answers_;  // of the last complete prompt
  std::vector<std::optional<std::vector<std::int64_t>>>
      early_;  // by query: its answer since its token was set
  bool has_early_ = false;
  std::int64_t unreported_ = 0;
  std::int64_t stop_depth_ = -1;
  std::vector<Prompt>* collected_ = nullptr;
  const std::vector<Folded>* subtrees_ = nullptr;
  std::size_t taken_ = 0;
};

// The number of choices along the first path, by depth; a 0 ends it.
std::vector<std::int64_t> first_path(const Task& task) {
  std::vector<std::int64_t> choices;
  Prompt prefix = task.empty_prompt();
  while (prefix.positions < task.prompt_length()) {
    choices.push_back(task.choices(prefix));
    if (choices.back() < 1) break;
    task.extend(prefix, 0);
  }
  return choices;
}

// REQUIRES: the first path is enumerable and within the limits.
void lay_out(Shared& shared) {
  const Task& task = shared.task;
  PrefixNodes& tree = shared.tree;
  tree.length = task.prompt_length();
  for (const FieldSpec& field : task.fields()) {
    tree.field_length.push_back(field.length);
    tree.width += static_cast<std::size_t>(field.length);
  }
  const AnswerSpec answer = task.answer_spec();
  if (answer.kind == AnswerSpec::Kind::vector) tree.answer_group = static_cast<std::size_t>(answer.size);
  shared.queries = task.query_positions();
  const auto depths = static_cast<std::size_t>(tree.length);
  tree.query_at.assign(depths, -1);
  for (std::size_t q = 0; q < shared.queries.size(); ++q)
    tree.query_at[static_cast<std::size_t>(shared.queries[q])] = static_cast<std::int64_t>(q);
  tree.memory.bytes = shared.limits.bytes;
  tree.nodes_of_shape.resize(depths);
  tree.usual.resize(depths);
  Prompt prefix = task.empty_prompt();
  for (std::size_t at = 0; at < depths; ++at) {
    tree.nodes.push_back(std::make_unique<RowTable>(tree.memory));
    tree.shapes.push_back(std::make_unique<RowTable>(tree.memory));
    for (std::int64_t choice = 0, choices = task.choices(prefix); choice < choices; ++choice) {
      task.extend(prefix, choice);
      for (std::size_t f = 0; f < prefix.fields.size(); ++f)
        tree.usual[at].insert(tree.usual[at].end(), prefix.fields[f].end() - tree.field_length[f],
                              prefix.fields[f].end());
      task.retract(prefix);
    }
    task.extend(prefix, 0);
  }
}

constexpr const char* kSubtreeBoard = "subtrees";
constexpr std::int64_t kPrefixTreePieces = 512;  // that the subtrees are handed out in, at most

// On a rank that does not lead: subtrees as they are handed out, each thread into tables of its own.
void help_fold(const Task& task, const TreeLimits& limits, const std::vector<Prompt>& tops) {
  QueueWorker worker(*limits.ranks, kSubtreeBoard);
  parallel_for(worker_count(), 1, [&](std::int64_t hand, std::int64_t) {
    Shared shared(task, limits);
    lay_out(shared);
    FreshRows fresh;
    shared.fresh = &fresh;
    std::int64_t told = 0;
    while (const auto item = worker.draw()) {
      FoldReport report;
      report.hand = static_cast<std::uint64_t>(hand);
      char* end = nullptr;
      const std::size_t first = std::strtoull(item->order.c_str(), &end, 10),
                        last = std::strtoull(end, nullptr, 10);
      for (std::size_t i = first; i < last && !shared.stop && !worker.closed(); ++i)
        report.subtrees.push_back(Walk(shared, tops[i]).fold_subtree());
      report.prompts = shared.prompts - told;
      told = shared.prompts;
      report.stopped = shared.stop || report.subtrees.size() < last - first;
      report.endless = shared.endless;
      report.acausal = shared.acausal;
      if (!report.stopped) report.rows = fresh.take();
      worker.hand_in(*item, pack_report(report));
    }
  });
}

// On rank 0: hands out, folds on a thread of its own, and merges what comes in.
void lead_fold(Shared& shared, const std::vector<Prompt>& tops, std::int64_t depth,
               std::vector<Folded>& folded, const std::function<void(double)>& progress) {
  Ranks& ranks = *shared.limits.ranks;
  TaskQueue queue(ranks, kSubtreeBoard);
  const auto count = static_cast<std::int64_t>(tops.size()), items = std::min(count, kPrefixTreePieces);
  for (std::int64_t i = 0; i < items; ++i)
    queue.post(fmt::format("{} {}", count * i / items, count * (i + 1) / items));
  std::jthread own([&] {
    QueueWorker worker(ranks, kSubtreeBoard);
    parallel_for(worker_count(), 1, [&](std::int64_t, std::int64_t) {
      while (const auto item = worker.draw()) {
        char* end = nullptr;
        const std::size_t first = std::strtoull(item->order.c_str(), &end, 10),
                          last = std::strtoull(end, nullptr, 10);
        for (std::size_t i = first; i < last && !shared.stop; ++i)
          folded[i] = Walk(shared, tops[i]).fold_subtree();
        worker.hand_in(*item, "");
      }
    });
  });
  RowMerge merge(shared.tree, shared.shapes_mutex);
  std::int64_t done = 0;
  while (queue.open() > 0) {
    if (shared.stop) queue.close();
    const auto event = queue.collect(0.2);
    if (!event) continue;
    if (progress) progress(static_cast<double>(++done) / static_cast<double>(items));
    if (event->rank == 0) continue;
    FoldReport report = unpack_report(event->text);
    if (report.endless) shared.endless = true;
    if (report.acausal >= 0) shared.acausal = report.acausal;
    shared.prompts += report.prompts;
    if (report.stopped || shared.prompts > shared.limits.prompts || shared.tree.memory.exceeded())
      shared.stop = true;
    if (shared.stop) continue;
    merge.merge(event->rank, report, static_cast<std::size_t>(depth));
    const std::int64_t first = count * static_cast<std::int64_t>(event->number) / items;
    std::move(report.subtrees.begin(), report.subtrees.end(), folded.begin() + first);
  }
  queue.close();
}

std::vector<RowCount> count_rows(const PrefixNodes& tree, bool fixed_order) {
  std::vector<RowCount> cuts;
  for (std::size_t at = 0; at < tree.nodes.size(); ++at) {
    const std::int64_t nodes = tree.nodes[at]->size();
    std::int64_t usual = nodes, most = 0;
    for (const auto& [shape, count] : tree.nodes_of_shape[at]) {
      usual -= count;
      most = std::max(most, count);
    }
    RowCount count{.position = static_cast<std::int64_t>(at), .lower = std::max(usual, most), .upper = nodes};
    if (count.lower < nodes && fixed_order && nodes <= kSeparableNodes)
      count.lower = std::max(count.lower, separated_nodes(tree, at));
    cuts.push_back(count);
  }
  cuts.push_back({.position = tree.length});  // nothing is left to answer
  return cuts;
}

}  // namespace

std::int64_t estimated_prompts(const Task& task) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  std::int64_t product = 1;
  Prompt prefix = task.empty_prompt();
  while (prefix.positions < task.prompt_length()) {
    const std::int64_t choices = task.choices(prefix);
    if (choices < 1 || product > kMost / choices) return kMost;
    product *= choices;
    task.extend(prefix, 0);
  }
  return product;
}

Result<FoldedTree> fold_prefix_tree(const Task& task, const TreeLimits& limits,
                                    const std::function<void(double)>& progress) {
  const std::int64_t estimate = estimated_prompts(task);
  RUNG_REQUIRE(task.prompt_length() <= kLongestTree && estimate <= limits.prompts,
               "length={} prompts={} limit={}", task.prompt_length(), estimate, limits.prompts);
  const auto choices = first_path(task);
  if (*std::max_element(choices.begin(), choices.end()) > limits.bytes / kBytesPerChoice) return FoldedTree{};
  const bool sequential = estimate <= kSequentialPrompts;
  if (sequential && limits.ranks && !limits.ranks->leads()) return FoldedTree{};
  Shared shared(task, limits);
  lay_out(shared);

  std::int64_t depth = 0;
  for (std::int64_t subtrees = 1; !sequential && depth < shared.tree.length && subtrees < kSubtrees; ++depth)
    subtrees *= choices[static_cast<std::size_t>(depth)];
  const std::vector<Prompt> tops = Walk(shared, task.empty_prompt()).collect(depth);
  std::vector<Folded> folded(tops.size());
  std::atomic<std::int64_t> done{0};
  const bool several = limits.ranks && !limits.ranks->alone() && !sequential;
  if (several && !limits.ranks->leads()) {
    help_fold(task, limits, tops);
    return FoldedTree{};
  }
  if (several)
    lead_fold(shared, tops, depth, folded, progress);
  else
    parallel_for(static_cast<std::int64_t>(tops.size()), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (shared.stop) return;
        const auto at = static_cast<std::size_t>(i);
        folded[at] = Walk(shared, tops[at]).fold_subtree();
        if (progress) progress(static_cast<double>(++done) / static_cast<double>(tops.size()));
      }
    });
  if (!shared.stop) Walk(shared, task.empty_prompt()).fold_top(depth, folded);

  if (shared.endless)
    return fail(ErrorCode::unsupported, "[capacity] the prompts of {} cannot be enumerated", task.name());
  if (shared.acausal >= 0)
    return fail(ErrorCode::unsupported,
                "[capacity] the answer of {} at position {} depends on later tokens; no machine that reads "
                "once gives it",
                task.name(), shared.acausal.load());
  FoldedTree result{.complete = !shared.stop, .prompts = shared.prompts, .cuts = {}};
  if (result.complete) result.cuts = count_rows(shared.tree, sequential);
  return result;
}

}  // namespace rung
