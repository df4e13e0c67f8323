// Sums against recurrent stacks: the state must determine the set of values seen.
//
// Claim, 2-Sum-last. The answers to all x_{n+1} determine the set of x_1 .. x_n: s >= lg of the sum of C(M,
// j) over 1 <= j <= n. (About n lg n + 1.44 n at M = n^2, only Θ(n) at M = O(n): a bitmap of M bits
// suffices.) Claim, 2-Sum-exists. With n-1 values in 1..⌊(M-1)/2⌋ no pair sums to 0; the last value -v asks
// whether v was seen. Claim, 3-Sum. n-2 values strictly between M/6 and M/3, then b = -v, then 0: triples
// that avoid (a, b, 0) never sum to 0 mod M (two of the values sum to more than M/3 and less than 2M/3, three
// to less than M), and (a, b, 0) does iff a = v. Status: proved; any chain of thought; every arithmetic.

#include "rung/theory/horizon.h"
#include "rung/theory/recurrent_cut.h"
#include "rung/theory/theorem_groups.h"
#include "rung/theory/three_sum_values.h"

namespace rung {
namespace {

// The task's modulus at another n: its default rule, or the number given.
Integer modulus_at(const Question& question, std::int64_t n, const Modulus& rule) {
  const Integer given = question.size("M");
  return given == rule.at(question.size("n")) ? rule.at(n) : given;
}

std::optional<Verdict> recurrent_two_sum(const Theorem& theorem, const Setting& setting,
                                         const Question& question) {
  const Modulus rule{Modulus::Rule::twice_plus_one};
  auto v = cut_verdict(
      theorem, setting, question,
      {.prefix = "x_1 .. x_n",
       .symbolic = "lg sum C(M,1..n)",
       .classes =
           [&](std::int64_t n) { return std::optional(two_sum_count(n, modulus_at(question, n, rule))); },
       .n = question.size("n")});
  v.parameters["M"] = json_number(modulus_at(question, v.parameters["n"].integer(), rule));
  return v;
}

std::optional<Verdict> two_sum_exists(const Theorem& theorem, const Setting& setting,
                                      const Question& question) {
  const Modulus rule{Modulus::Rule::twice_plus_one};
  auto v = cut_verdict(theorem, setting, question,
                       {.prefix = "x_1 .. x_{n-1}",
                        .symbolic = "lg sum C(M',1..n-1)",
                        .classes = [&](std::int64_t n) -> std::optional<Count> {
                          const Integer values = lower_half(modulus_at(question, n, rule));
                          if (n < 2 || values < 1) return std::nullopt;
                          return two_sum_count(n - 1, values);
                        },
                        .n = question.size("n")});
  v.parameters["M"] = json_number(modulus_at(question, v.parameters["n"].integer(), rule));
  return v;
}

std::optional<Verdict> recurrent_three_sum(const Theorem& theorem, const Setting& setting,
                                           const Question& question) {
  const Integer given = question.size("M"), own = question.size("n");
  const bool square = given == own * own + 1;
  auto v = cut_verdict(theorem, setting, question,
                       {.prefix = "x_1 .. x_{n-2}",
                        .symbolic = "lg sum C(M',1..n-2)",
                        .classes = [&](std::int64_t n) -> std::optional<Count> {
                          const Integer M = square ? Integer(n) * n + 1 : given, values = three_sum_values(M);
                          if (n < 3 || values < 1) return std::nullopt;
                          return two_sum_count(n - 2, values);
                        },
                        .n = question.size("n")});
  const Integer n = v.parameters["n"].integer();
  v.parameters["M"] = json_number(square ? Integer(n * n + 1) : given);
  return v;
}

}  // namespace

std::vector<Theorem> recurrent_sum_theorems() {
  return {
      {.id = "recurrent-two-sum",
       .tasks = {"two-sum"},
       .variants = kEveryPrompt,
       .evaluate = recurrent_two_sum},
      {.id = "recurrent-two-sum-exists",
       .tasks = {"two-sum-exists"},
       .variants = kEveryPrompt,
       .evaluate = two_sum_exists},
      {.id = "recurrent-three-sum", .tasks = {"three-sum"}, .evaluate = recurrent_three_sum},
  };
}

}  // namespace rung
