// Log-linear attention: the oldest bucket alone must hold its share of the table.
//
// Claim. At query position n the first 2^k tokens, k = ⌊lg n⌋, form one bucket in every log-linear layer
// until position 2^(k+1), and nothing else remembers them but the states of other recurrent layers at that
// cut. Later merges and gates are functions of those states. So with s_1 bits of one level (summed over
// layers, other recurrences in full)
//   Eva: s_1 >= 2^k lg n,   2-Sum-last: s_1 >= lg C(M or M-1, 2^k) (one filler value if n > 2^k),
//   L-SeqComp: s_1 >= 2^⌊lg N⌋ lg N with N = N_{L-1}.
// The count of all ~lg n states gives only Ω(n). Status: proved; any chain of thought; every arithmetic.
#include "rung/theory/horizon.h"
#include "rung/theory/recurrent_cut.h"
#include "rung/theory/theorem_groups.h"

namespace rung {
namespace {

bool log_linear(const Setting& setting) { return setting.word.total().levels(); }

std::optional<Verdict> log_linear_eva(const Theorem& theorem, const Setting& setting,
                                      const Question& question) {
  if (!log_linear(setting)) return std::nullopt;
  return cut_verdict(theorem, setting, question,
                     {.prefix = "f(0) .. f(2^k - 1), k = ⌊lg n⌋",
                      .symbolic = "2^⌊lg n⌋ lg n",
                      .classes = [](std::int64_t n) { return std::optional(log_linear_count(n)); },
                      .n = question.size("n")},
                     Crossing::oldest_bucket);
}

std::optional<Verdict> log_linear_index(const Theorem& theorem, const Setting& setting,
                                        const Question& question) {
  if (!log_linear(setting)) return std::nullopt;
  const std::int64_t sigma = question.size("sigma");
  return cut_verdict(
      theorem, setting, question,
      {.prefix = "f(0) .. f(2^k - 1), k = ⌊lg n⌋",
       .symbolic = "2^⌊lg n⌋ lg sigma",
       .classes = [=](std::int64_t n) { return std::optional(log_linear_index_count(n, sigma)); },
       .n = question.size("n")},
      Crossing::oldest_bucket);
}

std::optional<Verdict> log_linear_two_sum(const Theorem& theorem, const Setting& setting,
                                          const Question& question) {
  if (!log_linear(setting)) return std::nullopt;
  const Integer given = question.size("M");
  const bool follows = given == 2 * Integer(question.size("n")) + 1;
  auto v = cut_verdict(
      theorem, setting, question,
      {.prefix = "x_1 .. x_{2^k}, k = ⌊lg n⌋",
       .symbolic = "lg C(M',2^⌊lg n⌋)",
       .classes =
           [=](std::int64_t n) {
             return std::optional(log_linear_two_sum_count(n, follows ? 2 * Integer(n) + 1 : given));
           },
       .n = question.size("n")},
      Crossing::oldest_bucket);
  const Integer n = v.parameters["n"].integer();
  v.parameters["M"] = json_number(follows ? Integer(2 * n + 1) : given);
  return v;
}

std::optional<Verdict> log_linear_seqcomp(const Theorem& theorem, const Setting& setting,
                                          const Question& question) {
  if (!log_linear(setting)) return std::nullopt;
  const Integer N =
      question.fixed ? question.seqcomp.arguments(question.L - 1) : Integer(question.prompt) - 2 * question.L;
  if (N < 1) return std::nullopt;
  auto v = cut_verdict(theorem, setting, question,
                       {.prefix = "the first 2^k values of z_L, k = ⌊lg N⌋",
                        .symbolic = "2^⌊lg N⌋ lg N",
                        .classes = [](std::int64_t k) { return std::optional(log_linear_count(k)); },
                        .n = N.convert_to<std::int64_t>(),
                        .size_name = "N"},
                       Crossing::oldest_bucket);
  v.parameters["L"] = question.L;
  if (v.horizon) {
    v.horizon = *v.horizon + 1 + 2 * question.L;
    v.parameters["certified_from"] = v.horizon->convert_to<std::int64_t>();
  }
  return v;
}

}  // namespace

std::vector<Theorem> log_linear_theorems() {
  return {
      {.id = "log-linear-eva", .tasks = {"eva"}, .variants = kEveryPrompt, .evaluate = log_linear_eva},
      {.id = "log-linear-index", .tasks = {"index"}, .variants = kEveryPrompt, .evaluate = log_linear_index},
      {.id = "log-linear-two-sum",
       .tasks = {"two-sum"},
       .variants = kEveryPrompt,
       .evaluate = log_linear_two_sum},
      {.id = "log-linear-seqcomp",
       .tasks = {"seqcomp"},
       .options = kHardOrder,
       .variants = kEveryPrompt,
       .evaluate = log_linear_seqcomp},
  };
}

}  // namespace rung
