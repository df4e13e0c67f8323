#include "tests/witness/weight_search.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "rung/base/random.h"
#include "tests/exact/hand_made.h"

namespace rung {
namespace {

struct Reached {
  CellState state;
  int node;
  bool operator==(const Reached&) const = default;
};

class WeightSearch {
 public:
  WeightSearch(const TaskTree& tree, const Cell& cell, const SearchOptions& options)
      : tree_(tree), cell_(cell), options_(options), random_(options.seed) {
    for (const auto& rows : tree.rows) result_.actions.emplace_back(rows.size(), -1);
    if (!options.positions)  // one action a token, wherever it stands
      for (std::size_t t = 0; t < tree.rows.size(); ++t)
        for (std::size_t x = 0; x < tree.rows[t].size(); ++x) places_[tree.rows[t][x]].push_back({t, x});
  }

  SearchResult run() {
    std::vector<Reached> start{{CellState{}, 0}};
    const bool solved = at_position(0, start);
    result_.outcome = solved ? Searched::solved : out_of_budget_ ? Searched::gave_up : Searched::exhausted;
    return std::move(result_);
  }

 private:
  bool at_position(std::size_t t, const std::vector<Reached>& now) {
    if (t == tree_.rows.size()) return true;
    std::vector<Reached> next;
    return at_token(t, 0, now, next);
  }

  bool at_token(std::size_t t, std::size_t x, const std::vector<Reached>& now, std::vector<Reached>& next) {
    if (x == tree_.rows[t].size()) {
      std::vector<Reached> reached;
      for (const auto& r : next)
        if (std::find(reached.begin(), reached.end(), r) == reached.end()) reached.push_back(r);
      return at_position(t + 1, reached);
    }
    const int given = result_.actions[t][x];
    if (given >= 0) return with_action(t, x, given, now, next);
    bool reads = false;
    for (const auto& node : tree_.levels[t].nodes)
      for (const auto& edge : node) reads = reads || edge.answer >= 0;
    std::vector<int> order(static_cast<std::size_t>(reads ? cell_.reading_actions() : cell_.actions()));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    random_.shuffle(order);
    for (const int action : order) {
      if (out_of_budget_) return false;
      assign(t, x, action);
      if (with_action(t, x, action, now, next)) return true;
      assign(t, x, -1);
    }
    return false;
  }

  void assign(std::size_t t, std::size_t x, int action) {
    if (options_.positions) {
      result_.actions[t][x] = action;
      return;
    }
    for (const auto& [position, token] : places_[tree_.rows[t][x]]) result_.actions[position][token] = action;
  }

  bool with_action(std::size_t t, std::size_t x, int action, const std::vector<Reached>& now,
                   std::vector<Reached>& next) {
    if (++result_.tried > options_.budget) {
      out_of_budget_ = true;
      return false;
    }
    const std::size_t before = next.size();
    std::vector<decltype(readings_)::iterator> fresh;
    const auto& level = tree_.levels[t];
    const auto& conflicts = tree_.levels[t + 1].conflicts;
    // Without positions a pair of token and state is one reading, wherever it stands.
    const std::vector<std::int64_t> place =
        options_.positions
            ? std::vector<std::int64_t>{static_cast<std::int64_t>(t), static_cast<std::int64_t>(x)}
            : tree_.rows[t][x];
    bool fits = true;
    for (std::size_t i = 0; i < now.size() && fits; ++i) {
      const auto& edges = level.nodes[static_cast<std::size_t>(now[i].node)];
      const auto edge = std::find_if(edges.begin(), edges.end(),
                                     [&](const auto& e) { return e.token == static_cast<int>(x); });
      if (edge == edges.end()) continue;
      if (edge->answer >= 0) {
        const CellState seen = cell_.read(now[i].state, action, static_cast<std::int64_t>(t));
        const auto [reading, added] = readings_.emplace(std::pair{place, seen}, edge->answer);
        if (added) fresh.push_back(reading);
        fits = reading->second == edge->answer;
      }
      if (!fits || t + 1 == tree_.rows.size()) continue;
      const Reached reached{cell_.step(now[i].state, action, static_cast<std::int64_t>(t)), edge->child};
      for (const auto& other : next)
        if (other.state == reached.state &&
            conflicts[static_cast<std::size_t>(other.node)][static_cast<std::size_t>(reached.node)]) {
          fits = false;
          break;
        }
      if (fits) next.push_back(reached);
    }
    if (fits && at_token(t, x + 1, now, next)) return true;
    next.resize(before);
    for (const auto& reading : fresh) readings_.erase(reading);
    return false;
  }

  const TaskTree& tree_;
  const Cell& cell_;
  SearchOptions options_;
  Random random_;
  SearchResult result_;
  std::map<std::vector<std::int64_t>, std::vector<std::pair<std::size_t, std::size_t>>> places_;
  std::map<std::pair<std::vector<std::int64_t>, CellState>, int> readings_;  // (place, state) -> answer
  bool out_of_budget_ = false;
};

// Every prompt: the tokens, and at each the answer that is read there.
void every_prompt(
    const TaskTree& tree,
    const std::function<void(const std::vector<int>& tokens, const std::vector<int>& answers)>& visit) {
  std::vector<int> tokens, answers;
  const std::function<void(std::size_t, int)> walk = [&](std::size_t depth, int node) {
    if (depth == tree.rows.size()) return visit(tokens, answers);
    for (const auto& edge : tree.levels[depth].nodes[static_cast<std::size_t>(node)]) {
      tokens.push_back(edge.token);
      answers.push_back(edge.answer);
      walk(depth + 1, edge.child);
      tokens.pop_back();
      answers.pop_back();
    }
  };
  walk(0, 0);
}

}  // namespace

SearchResult search_weights(const TaskTree& tree, const Cell& cell, const SearchOptions& options) {
  return WeightSearch(tree, cell, options).run();
}

std::int64_t largest_entry(const TaskTree& tree, const Cell& cell,
                           const std::vector<std::vector<int>>& actions) {
  std::int64_t most = 0;
  every_prompt(tree, [&](const auto& tokens, const auto&) {
    CellState state{};
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      state = cell.step(state, actions[t][static_cast<std::size_t>(tokens[t])], static_cast<std::int64_t>(t));
      for (const auto entry : state) most = std::max<std::int64_t>(most, std::abs(entry));
    }
  });
  return most;
}

Result<bool> machine_agrees(const TaskTree& tree, const Cell& cell,
                            const std::vector<std::vector<int>>& actions, bool positions) {
  std::vector<std::pair<std::string, std::int64_t>> channels;
  for (const auto& channel : cell.channels()) channels.push_back({channel.name, channel.rows});
  RUNG_REQUIRE(!channels.empty(), "{} has no channels", cell.line);
  HandMade layer(cell.line, channels, std::max<std::int64_t>(tree.length, 2));
  auto& weights = layer.weights;
  weights.architecture.dimensions.precision = {NumberFormat::fixed, cell.p, 0};
  weights.architecture.dimensions.accumulator_bits = cell.entry_bits;
  weights.accumulator = cell.accumulator;
  cell.furnish(layer);
  RUNG_TRY(const auto machine, Machine::load(weights, {.positions = tree.length}));
  // (position if it is seen, token, state of the machine) -> answer.
  std::map<std::tuple<std::size_t, std::vector<std::int64_t>, std::vector<std::vector<std::int64_t>>>, int>
      seen;
  bool apart = true;
  std::optional<Error> failure;
  every_prompt(tree, [&](const auto& tokens, const auto& answers) {
    if (failure) return;
    auto session = machine->start();
    if (!session) {
      failure = session.error();
      return;
    }
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      auto row = cell.row(actions[t][static_cast<std::size_t>(tokens[t])]);
      row.resize(static_cast<std::size_t>(weights.architecture.dimensions.width), 0);
      auto done = (*session)->append(row, answers[t] >= 0);
      if (!done) {
        failure = done.error();
        return;
      }
      if (answers[t] < 0) continue;
      auto read = cell.reads_output() ? std::vector<std::vector<std::int64_t>>{(**done).activation}
                                      : (*session)->state();
      const auto& token = tree.rows[t][static_cast<std::size_t>(tokens[t])];
      const auto [found, fresh] =
          seen.emplace(std::tuple{positions ? t : 0, token, std::move(read)}, answers[t]);
      if (!fresh && found->second != answers[t]) apart = false;
    }
  });
  if (failure) return *failure;
  return apart;
}

}  // namespace rung
