// Constructions for the tasks other than L-SeqComp: a verdict is `possible` when an architecture has every resource of
// a file that `rung build` writes (constructions_cost.h, construction_fit.h).
//
// Eva, Index, Retrieval: one retrieval head. 2-Sum-last: one head with the query code of (M-x) mod M and the last token
// as blank, or cosines (d = 3, many bits). 2-Sum-exists: cosines and a second layer. Equality, disjointness, counting: a
// second layer on top. Associative recall and c-gram: three layers, keys may repeat. Eva and Index by a recurrence: the
// function as entries of the state, n lg n bits at n = 4^k. Dyck-(k,D): the stack as one number of a recurrent cell.
#include <algorithm>

#include "rung/theory/construction_fit.h"
#include "rung/theory/theorem_groups.h"

namespace rung {
namespace {

using Use = LayerCost::Use;

// Sizes at which no file can be written at all.
Verdict nothing_built(const Theorem& theorem, const Question& question, const char* why) {
  Verdict v = verdict_of(theorem, question);
  for (const auto& [name, value] : question.sizes) v.parameters[name] = value;
  v.require("the construction exists at these sizes", false, why);
  return v;
}

Verdict built(const Theorem& theorem, const Setting& setting, const Question& question,
              std::vector<ConstructionCost> costs, std::vector<std::string> argument) {
  Verdict v = verdict_of_fit(theorem, setting, question, best_fit(setting, std::move(costs)));
  v.argument = std::move(argument);
  return v;
}

std::vector<std::string> lookup_argument(int address) {
  return {
      fmt::format("Every key has a code of {} bits; the querying token scores -2 beta (Hamming distance).",
                  address),
      "All others together weigh less than the target, so each bit is decoded by y > 1/2, whatever they "
      "hold."};
}

constexpr const char* kTooManyBits = "more than 48 bits a number, or 62 digits a code";

std::optional<Verdict> eva(const Theorem& t, const Setting& s, const Question& q) {
  const std::int64_t n = q.size("n");
  return built(t, s, q, {eva_full_cost(n)}, lookup_argument(address_bits(n + 1)));
}
std::optional<Verdict> index(const Theorem& t, const Setting& s, const Question& q) {
  const std::int64_t n = q.size("n"), sigma = q.size("sigma");
  return built(t, s, q, {index_lookup_cost(n, sigma), index_counter_cost(n, sigma)},
               lookup_argument(address_bits(n + 1)));
}
std::optional<Verdict> retrieval(const Theorem& t, const Setting& s, const Question& q) {
  const int D = static_cast<int>(q.size("D"));
  return built(t, s, q, {retrieval_cost(q.size("n"), D, q.size("sigma"))}, lookup_argument(D));
}
std::optional<Verdict> recall(const Theorem& t, const Setting& s, const Question& q) {
  const auto cost = q.task == "cgram"
                        ? cgram_cost(q.size("n"), q.size("c"), q.size("sigma"))
                        : mqar_cost(q.size("n"), q.size("M"), q.size("sigma"), q.size("queries"));
  if (!cost) return nothing_built(t, q, kTooManyBits);
  return built(t, s, q, {*cost},
               {"Layer 1: every candidate fetches its key (c-1 symbols of it).",
                "Layer 2: it counts the candidates up to itself with that key, and an asking token those "
                "that it seeks.",
                "Layer 3: key and count together belong to one candidate: the last match."});
}
std::optional<Verdict> compare(const Theorem& t, const Setting& s, const Question& q) {
  auto cost = equality_cost(q.size("n"));
  cost.construction = q.task;
  return built(
      t, s, q, {cost},
      {"Layer 1: b_i fetches a_i and sets a flag.",
       "Layer 2: flagged tokens outweigh all others together; the last token reads whether there is one."});
}
std::optional<Verdict> counting(const Theorem& t, const Setting& s, const Question& q) {
  const auto cost = counting_cost(q.size("n"), q.size("sigma"));
  if (!cost) return nothing_built(t, q, kTooManyBits);
  return built(t, s, q, {*cost},
               {"Layer 1: the token a is its own blank: y = V count/(count+1), and neighbouring counts do "
                "not overlap.",
                "Layer 2: the last token reads the count at a."});
}

std::optional<Verdict> two_sum(const Theorem& t, const Setting& s, const Question& q) {
  const std::int64_t n = q.size("n"), M = q.size("M");
  std::vector<ConstructionCost> costs;
  if (q.task == "two-sum") costs.push_back(two_sum_binary_cost(n, M));
  const auto cosines = q.task == "two-sum" ? two_sum_cosines_cost(n, M) : two_sum_exists_cost(n, M);
  if (cosines) costs.push_back(*cosines);
  if (costs.empty()) return nothing_built(t, q, kTooManyBits);
  return built(
      t, s, q, std::move(costs),
      {"The last token queries the code of (M - x) mod M, or the angle; itself it is the blank.",
       "A match outweighs the blank, and without a match the blank outweighs all n others together."});
}

std::optional<Verdict> two_sum_slots(const Theorem& t, const Setting& s, const Question& q) {
  std::vector<ConstructionCost> costs;
  const std::int64_t n = q.size("n");
  for (const auto& layer : s.layers)
    if (layer.mixer.kind == MixerKind::sparse && costs.empty() &&
        layer.mixer.block <= std::min<std::int64_t>(n, 1 << 16))
      costs.push_back(two_sum_slots_cost(n, q.size("M"), layer.mixer.block));
  if (costs.empty()) return std::nullopt;
  return built(t, s, q, std::move(costs), {});
}

// The shapes of the recurrent layers decide how the table lies in the state.
std::optional<Verdict> table(const Theorem& t, const Setting& s, const Question& q) {
  const std::int64_t n = q.size("n");
  const bool eva = q.task == "eva";
  const std::optional<std::int64_t> values = eva ? std::nullopt : std::optional(q.size("sigma"));
  std::vector<ConstructionCost> costs{eva_table_cost(Use::table, n, eva_linear_cost(n).value_dim(), values)};
  const auto offer = [&](const MixerShape& m) {
    const bool buckets = m.kind == MixerKind::loglinear;
    if (m.kind == MixerKind::linear || (buckets && eva)) {
      const std::int64_t rows = std::min(n, (n + m.key_dim - 1) / m.key_dim);
      costs.push_back(eva_table_cost(buckets ? Use::buckets : Use::table, n, rows, values));
    } else if (eva && (m.kind == MixerKind::delta || m.kind == MixerKind::mamba2)) {
      costs.push_back(eva_table_cost(m.kind == MixerKind::delta ? Use::delta : Use::ssd, n, 1));
    }
  };
  for (std::size_t i = 0; i < s.layers.size(); ++i) {
    if (i > 0 && s.architecture.stack.layers[i] == s.architecture.stack.layers[i - 1]) continue;
    const MixerShape& m = s.layers[i].mixer;
    if (m.kind == MixerKind::heads)
      for (const auto& part : m.parts) offer(part);
    else
      offer(m);
  }
  return built(
      t, s, q, std::move(costs),
      {"Every argument has an entry of the state of its own, written once; the last token reads it."});
}

std::optional<Verdict> dyck(const Theorem& t, const Setting& s, const Question& q) {
  const auto cost = dyck_cost(q.size("k"), q.size("depth"));
  if (!cost) return nothing_built(t, q, "the table of the cell would have more than 2^24 entries");
  Verdict v =
      built(t, s, q, {*cost},
            {"The state is the packed stack; the table of the cell pushes, pops, or is dead for good."});
  v.assumes.push_back("a cell with a table of its own (mode X)");
  return v;
}

std::optional<Verdict> nearest(const Theorem& t, const Setting& s, const Question& q) {
  if (q.size("margin") < 1) return nothing_built(t, q, "no margin");
  return built(t, s, q, {nearest_cost(q.size("n"), q.size("d"), q.size("sigma"), q.size("f"))}, {});
}

std::optional<Verdict> sparse_average(const Theorem& t, const Setting& s, const Question& q) {
  return built(t, s, q,
               {sparse_average_cost(q.size("n"), q.size("q"), q.size("d"), q.size("f"),
                                    q.options.at("read") == "all")},
               {});
}

}  // namespace

std::vector<Theorem> lookup_constructions() {
  return {
      {.id = "eva-full", .tasks = {"eva"}, .variants = kEveryVariant, .evaluate = eva},
      {.id = "index-full", .tasks = {"index"}, .variants = kEveryVariant, .evaluate = index},
      {.id = "retrieval-full", .tasks = {"retrieval"}, .variants = kEveryVariant, .evaluate = retrieval},
      {.id = "recall-full",
       .tasks = {"mqar", "cgram"},
       .options = kNoGaps,
       .variants = kEveryVariant,
       .evaluate = recall},
      {.id = "compare-full",
       .tasks = {"equality", "disjointness"},
       .variants = kEveryVariant,
       .evaluate = compare},
      {.id = "counting-full", .tasks = {"counting"}, .variants = kEveryVariant, .evaluate = counting},
      {.id = "two-sum-full",
       .tasks = {"two-sum", "two-sum-exists"},
       .variants = kEveryVariant,
       .evaluate = two_sum},
      {.id = "two-sum-slots", .tasks = {"two-sum"}, .variants = kEveryVariant, .evaluate = two_sum_slots},
      {.id = "eva-linear", .tasks = {"eva", "index"}, .variants = kEveryVariant, .evaluate = table},
      {.id = "dyck-automaton", .tasks = {"dyck"}, .variants = kEveryVariant, .evaluate = dyck},
      {.id = "nearest-full", .tasks = {"nearest"}, .variants = kEveryVariant, .evaluate = nearest},
      {.id = "sparse-average-full",
       .tasks = {"sparse-average"},
       .options = kEveryReading,
       .variants = kEveryVariant,
       .evaluate = sparse_average},
  };
}

}  // namespace rung
