// Tables read through a recurrent state: Eva, Index, Retrieval, associative recall (MQAR), and the last table
// of L-SeqComp.
//
// Claim. After the table everything later depends on it through the tuple of layer states, s bits in all; two
// tables with equal states and an argument where they differ give one answer. So s >= (entries) lg(values),
// tight: linear attention with d = ⌈√n⌉ reaches n lg n at n = 4^k. Status: proved; any chain of thought;
// every arithmetic.
#include <algorithm>

#include "rung/theory/horizon.h"
#include "rung/theory/recurrent_cut.h"
#include "rung/theory/theorem_groups.h"

namespace rung {
namespace {

std::optional<Verdict> recurrent_eva(const Theorem& theorem, const Setting& setting,
                                     const Question& question) {
  return cut_verdict(theorem, setting, question,
                     {.prefix = "f(0) .. f(n-1)",
                      .symbolic = "n lg n",
                      .classes = [](std::int64_t n) { return std::optional(eva_count(n)); },
                      .n = question.size("n")});
}

std::optional<Verdict> recurrent_index(const Theorem& theorem, const Setting& setting,
                                       const Question& question) {
  const std::int64_t sigma = question.size("sigma");
  return cut_verdict(theorem, setting, question,
                     {.prefix = "f(0) .. f(n-1)",
                      .symbolic = "n lg sigma",
                      .classes = [=](std::int64_t n) { return std::optional(index_count(n, sigma)); },
                      .n = question.size("n")});
}

// Keys fixed and different, values free: the pairs are a table of n entries. Values default to n of them.
std::optional<Verdict> pairs(const Theorem& theorem, const Setting& setting, const Question& question) {
  const std::int64_t n = question.size("n"), sigma = question.size("sigma");
  const bool follows = sigma == n;  // the default: as many values as pairs
  const bool drawn =
      question.task == "mqar" && question.size("M") != 2 * n;  // keys given: no more entries than keys
  const std::int64_t keys = drawn ? question.size("M") : std::int64_t{1} << 62;
  auto v = cut_verdict(
      theorem, setting, question,
      {.prefix = "the n pairs, keys fixed",
       .symbolic = follows ? "n lg n" : "n lg sigma",
       .classes =
           [=](std::int64_t k) { return std::optional(index_count(std::min(k, keys), follows ? k : sigma)); },
       .n = n,
       .tokens_each = question.task == "mqar" ? 2 : 1});
  // The checked statement has a key of its own for every pair.
  if (keys < n && v.status == Status::checked) v.status = Status::proved;
  return v;
}

// The cut after z_L: (w, i) can ask for each of the N_{L-1} values. Without sizes: m = n_1 = .. = 1, all in
// z_L.
std::optional<Verdict> recurrent_seqcomp(const Theorem& theorem, const Setting& setting,
                                         const Question& question) {
  const Integer N =
      question.fixed ? question.seqcomp.arguments(question.L - 1) : Integer(question.prompt) - 2 * question.L;
  if (N < 1) return std::nullopt;
  auto v = cut_verdict(theorem, setting, question,
                       {.prefix = "the values of z_L",
                        .symbolic = "N lg N",
                        .classes = [](std::int64_t k) { return std::optional(seqcomp_count(k)); },
                        .n = N.convert_to<std::int64_t>(),
                        .size_name = "N"});
  v.parameters["L"] = question.L;
  if (v.horizon) {  // for L-SeqComp sizes are prompts: the smallest one that is certified
    v.horizon = *v.horizon + 1 + 2 * question.L;
    v.parameters["certified_from"] = v.horizon->convert_to<std::int64_t>();
  }
  return v;
}

}  // namespace

std::vector<Theorem> recurrent_table_theorems() {
  return {
      {.id = "recurrent-eva", .tasks = {"eva"}, .variants = kEveryPrompt, .evaluate = recurrent_eva},
      {.id = "recurrent-index", .tasks = {"index"}, .variants = kEveryPrompt, .evaluate = recurrent_index},
      {.id = "recurrent-recall",
       .tasks = {"retrieval", "mqar"},
       .options = kNoGaps,
       .variants = kEveryPrompt,
       .evaluate = pairs},
      {.id = "recurrent-seqcomp",
       .tasks = {"seqcomp"},
       .options = kHardOrder,
       .variants = kEveryPrompt,
       .evaluate = recurrent_seqcomp},
  };
}

}  // namespace rung
