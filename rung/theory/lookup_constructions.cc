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
  constexpr auto file = "rung/theory/lookup_constructions.cc", test = "tests/constructions/possible_test.cc";
  using enum Source;
  using enum Status;
  return {
      {.id = "eva-full",
       .title = "One retrieval head solves Eva",
       .statement = "One full layer with one head of dimension 2D, D = ⌈lg(n+1)⌉, answers Eva at p bits "
                    "wherever some β of p "
                    "bits and some table E over scores of p bits have Σ_h C(D,h) E[-2βh] < E[0]: p = 2, 3, "
                    "4, 5, 6 up to D = "
                    "3, 5, 11, 23, 46 (block-sparse and token-selecting layers too, as a sketch).",
       .source = paper,
       .reference = "precision sharpened from O(log n)",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"eva"},
       .variants = kEveryVariant,
       .evaluate = eva},
      {.id = "index-full",
       .title = "One retrieval head solves Index",
       .statement = "As eva-full, sigma values; or without positions behind a recurrence that counts.",
       .source = ours,
       .reference = "as eva-full",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"index"},
       .variants = kEveryVariant,
       .evaluate = index},
      {.id = "retrieval-full",
       .title = "One retrieval head fetches by key",
       .statement = "Pairs with different D-bit keys: one head of dimension 2D.",
       .source = ours,
       .reference = "as eva-full",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"retrieval"},
       .variants = kEveryVariant,
       .evaluate = retrieval},
      {.id = "recall-full",
       .title = "Three full layers recall what followed",
       .statement =
           "Layer 1 fetches the c-1 tokens before (1 for key-value pairs), layer 2 counts equal keys, "
           "layer 3 matches key and count: the last of several matches, at p = 2 lg n + O(1) bits.",
       .source = ours,
       .reference = "induction heads",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"mqar", "cgram"},
       .variants = kEveryVariant,
       .evaluate = recall},
      {.id = "compare-full",
       .title = "Two full layers compare two strings",
       .statement = "Layer 1: b_i fetches a_i and sets a flag; layer 2: is there a flag.",
       .source = ours,
       .reference = "presence test",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"equality", "disjointness"},
       .variants = kEveryVariant,
       .evaluate = compare},
      {.id = "counting-full",
       .title = "Two full layers count",
       .statement = "A blank with the score of a match: y = cnt/(cnt+1), read to 2 lg n fraction bits.",
       .source = ours,
       .reference = "counting blank",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"counting"},
       .variants = kEveryVariant,
       .evaluate = counting},
      {.id = "two-sum-full",
       .title = "One full layer solves 2-Sum-last, two solve 2-Sum-exists",
       .statement = "2-Sum-last: head dimension 2⌈lg M⌉ with β > log n, or dimension 3 with about 2 lg M + "
                    "lg log 16n bits. 2-Sum-exists: dimension 3, and two heads in the first layer.",
       .source = literature,
       .reference = "Sanford, Hsu, Telgarsky 2306.02896; blank token and self-match repaired",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"two-sum", "two-sum-exists"},
       .variants = kEveryVariant,
       .evaluate = two_sum},
      {.id = "two-sum-slots",
       .title = "A sparse layer with a head for every place of a block",
       .statement =
           "H = B slot heads (B + 1 where B does not divide n), each keeping one token of every block: "
           "H d p = 2 B ⌈lg M⌉ p, behind a layer whose MLP writes codes.",
       .source = ours,
       .reference = "tightness of the sparse bound",
       .status = measured,
       .file = file,
       .test = test,
       .tasks = {"two-sum"},
       .variants = kEveryVariant,
       .evaluate = two_sum_slots},
      {.id = "eva-linear",
       .title = "A linear state that is the table",
       .statement =
           "Unnormalised linear attention with r value coordinates and ⌈n/r⌉ key features stores f, n lg n "
           "bits at n = 4^k (r > 1: behind a layer whose MLP writes products); so do its log-linear form, "
           "the "
           "delta rule and SSD with r = 1.",
       .source = ours,
       .reference = "tightness of recurrent-eva",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"eva", "index"},
       .variants = kEveryVariant,
       .evaluate = table},
      {.id = "dyck-automaton",
       .title = "Dyck-(k,D) by a stack automaton",
       .statement =
           "D⌈lg k⌉+⌈lg(D+1)⌉+1 state bits suffice: one hidden number of a cell whose table is the stack's "
           "transition.",
       .source = ours,
       .reference = "bounded stack",
       .status = proved,
       .file = file,
       .test = test,
       .tasks = {"dyck"},
       .variants = kEveryVariant,
       .evaluate = dyck},
      {.id = "nearest-full",
       .title = "Nearest neighbour in two full layers",
       .statement =
           "Layer 1: the label token copies its point; layer 2: scores log(4n)/γ times the dot product.",
       .source = ours,
       .reference = "fraction bits measured to n = 1024",
       .status = measured,
       .file = file,
       .test = test,
       .tasks = {"nearest"},
       .variants = kEveryVariant,
       .evaluate = nearest},
      {.id = "sparse-average-full",
       .title = "q-sparse averages by one full layer",
       .statement =
           "Random ±1 keys of dimension at most 10 q² log n, behind a layer whose MLP sums them; O(q log n) "
           "is proved by Sanford, Hsu, Telgarsky 2306.02896.",
       .source = literature,
       .reference = "Sanford, Hsu, Telgarsky 2306.02896; constant measured",
       .status = measured,
       .file = file,
       .test = test,
       .tasks = {"sparse-average"},
       .options = {{"read", {"last", "all"}}},
       .variants = kEveryVariant,
       .evaluate = sparse_average},
  };
}

}  // namespace rung
