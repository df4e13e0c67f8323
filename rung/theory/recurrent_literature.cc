// The cited rows against recurrent stacks, each with an explicit count in place of the literature's Ω: a
// family of prefixes that some continuation tells apart, pair by pair.
//
// - Equality, disjointness: all 2^n strings a (b = a, or the complement of another string, parts them).
// - Nearest neighbour: the corners of a cube as points, one label of sigma each; the query is one of the
// points.
// - c-gram: u b for every context u of c-1 symbols from one part of the alphabet, b from the other; the query
// repeats u. The
//   separator b keeps contexts from overlapping.
// - k-hop: pairs a b with different a; the continuation walks k-1 hops through k-1 further symbols and lands
// on a.
// - Counting: the vector of counts, C(n+σ-1, σ-1) of them; with k fixed, the set of symbols that reached k.
// - IsTree: c centres, every other vertex hangs on one of them: c^(n-c) forests with different partitions; if
// u, v lie in one
//   block of the second but not of the first, a spanning tree of the first's blocks through the edge uv closes a cycle in the second.
// - q-sparse average, read at the last position: vectors with entries ±1; two that differ have a q-subset
// whose means differ by
//   2/q, above twice the tolerance 1/4q, as soon as n-1 >= 2q.
// Literature: Bhattamishra et al. 2406.09347 (equality, disjointness, nearest neighbour), Wen, Dang, Lyu
// 2402.18510 (c-gram, counting, IsTree), Sanford, Hsu, Telgarsky 2306.02896 (q-sparse average). Status:
// proved; any chain of thought; every arithmetic.
#include <algorithm>
#include <cmath>

#include "rung/tasks/nearest_points.h"
#include "rung/theory/recurrent_cut.h"
#include "rung/theory/theorem_groups.h"

namespace rung {
namespace {

std::optional<Verdict> recurrent_strings(const Theorem& theorem, const Setting& setting,
                                         const Question& question) {
  return cut_verdict(theorem, setting, question,
                     {.prefix = "a",
                      .symbolic = "n",
                      .classes = [](std::int64_t n) { return std::optional(Count::power(2, n)); },
                      .n = question.size("n")});
}

std::optional<Verdict> recurrent_nearest(const Theorem& theorem, const Setting& setting,
                                         const Question& question) {
  const std::int64_t d = question.size("d"), sigma = question.size("sigma"), f = question.size("f");
  const bool cube = corners_keep_margin(d, f, question.size("margin"));
  const std::int64_t corners = d >= 62 ? std::int64_t{1} << 62 : std::int64_t{1} << d;
  auto v = cut_verdict(theorem, setting, question,
                       {.prefix = "the n labelled points",
                        .symbolic = "min(n, 2^d - 1) lg sigma",
                        .classes = [=](std::int64_t n) -> std::optional<Count> {
                          if (!cube) return std::nullopt;
                          return Count::power(sigma, std::min(n, n > corners ? corners - 1 : corners));
                        },
                        .n = question.size("n"),
                        .tokens_each = 2});
  v.parameters["d"] = d;
  v.parameters["sigma"] = sigma;
  return v;
}

// The best split of the alphabet into keys (a of them) and values (the rest): places lg(values).
struct Split {
  std::int64_t places = 0, values = 1;
};
template <class Places>
Split best_split(std::int64_t alphabet, const Places& places) {
  Split best;
  double most = 0;
  const auto visit = [&](std::int64_t a) {
    if (a < 1 || alphabet - a < 2) return;
    const std::int64_t p = places(a);
    if (const double bits = static_cast<double>(p) * std::log2(static_cast<double>(alphabet - a));
        bits > most)
      most = bits, best = {p, alphabet - a};
  };
  for (std::int64_t a = 1; a <= 64; ++a) visit(a);
  for (double a = 64; a < static_cast<double>(alphabet); a *= 1.05) visit(static_cast<std::int64_t>(a));
  return best;
}
std::optional<Count> split_count(const Split& split) {
  if (split.places < 1 || split.values < 2) return std::nullopt;
  return Count::power(split.values, split.places);
}

std::optional<Verdict> cgram(const Theorem& theorem, const Setting& setting, const Question& question) {
  const std::int64_t c = question.size("c"), sigma = question.size("sigma");
  auto v = cut_verdict(theorem, setting, question,
                       {.prefix = "u b for every context u",
                        .symbolic = "(contexts) lg(symbols left)",
                        .classes =
                            [=](std::int64_t n) {
                              const std::int64_t room = (n - (c - 1)) / c;
                              return split_count(best_split(sigma, [&](std::int64_t a) {
                                std::int64_t contexts = 1;
                                for (std::int64_t k = 1; k < c && contexts < room && a > 1; ++k)
                                  contexts *= std::min(a, room);
                                return std::min(contexts, room);
                              }));
                            },
                        .n = question.size("n")});
  v.parameters["c"] = c;
  v.parameters["sigma"] = sigma;
  return v;
}

std::optional<Verdict> khop(const Theorem& theorem, const Setting& setting, const Question& question) {
  const std::int64_t k = question.size("k"), sigma = question.size("sigma");
  auto v = cut_verdict(theorem, setting, question,
                       {.prefix = "pairs a b with different a",
                        .symbolic = "(pairs) lg(symbols left)",
                        .classes =
                            [=](std::int64_t n) {
                              const std::int64_t room = (n - (2 * k - 1)) / 2;
                              return split_count(best_split(
                                  sigma - (k - 1), [&](std::int64_t a) { return std::min(a, room); }));
                            },
                        .n = question.size("n")});
  v.parameters["k"] = k;
  v.parameters["sigma"] = sigma;
  return v;
}

std::optional<Verdict> recurrent_counting(const Theorem& theorem, const Setting& setting,
                                          const Question& question) {
  const std::int64_t sigma = question.size("sigma"), k = question.size("k");
  auto v = cut_verdict(
      theorem, setting, question,
      {.prefix = "the string",
       .symbolic = k == 0 ? "lg C(n+sigma-1,sigma-1)" : "lg sum C(sigma-1,0..n/k)",
       .classes =
           [=](std::int64_t n) {
             if (k == 0) return std::optional(Count::binomial(Integer(n) + sigma - 1, Integer(sigma) - 1));
             return std::optional(Count::subsets_or_empty(Integer(sigma) - 1, std::min(n / k, sigma - 1)));
           },
       .n = question.size("n")});
  v.parameters["sigma"] = sigma;
  return v;
}

std::int64_t best_centres(std::int64_t n) {  // maximises (n-c) lg c: c (1 + ln c) = n
  std::int64_t best = 1;
  double most = 0;
  for (double c = 2; c < static_cast<double>(n); c = std::max(c + 1, c * 1.02)) {
    const auto whole = static_cast<std::int64_t>(c);
    if (const double bits = static_cast<double>(n - whole) * std::log2(static_cast<double>(whole));
        bits > most)
      most = bits, best = whole;
    else if (whole > 64)
      break;  // unimodal
  }
  return best;
}

std::optional<Verdict> istree(const Theorem& theorem, const Setting& setting, const Question& question) {
  auto v = cut_verdict(theorem, setting, question,
                       {.prefix = "n - c edges, each vertex to one of c centres",
                        .symbolic = "(n-c) lg c",
                        .classes =
                            [](std::int64_t n) {
                              const std::int64_t c = best_centres(n);
                              return std::optional(Count::power(c, n - c));
                            },
                        .n = question.size("n"),
                        .tokens_each = 2});
  v.parameters["c"] = best_centres(v.parameters["n"].integer());
  return v;
}

std::optional<Verdict> recurrent_sparse_average(const Theorem& theorem, const Setting& setting,
                                                const Question& question) {
  const std::int64_t q = question.size("q"), d = question.size("d");
  auto v = cut_verdict(theorem, setting, question,
                       {.prefix = "the first n-1 positions",
                        .symbolic = "(n-1) d",
                        .classes = [=](std::int64_t n) -> std::optional<Count> {
                          if (n - 1 < 2 * q) return std::nullopt;
                          return Count::power(2, Integer(n - 1) * d);
                        },
                        .n = question.size("n")});
  v.parameters["q"] = q;
  v.parameters["d"] = d;
  v.parameters["read"] = question.options.at("read");
  return v;
}

}  // namespace

std::vector<Theorem> recurrent_literature_theorems() {
  return {
      {.id = "recurrent-strings",
       .tasks = {"equality", "disjointness"},
       .variants = kEveryPrompt,
       .evaluate = recurrent_strings},
      {.id = "recurrent-nearest", .tasks = {"nearest"}, .evaluate = recurrent_nearest},
      {.id = "recurrent-cgram", .tasks = {"cgram"}, .variants = kEveryPrompt, .evaluate = cgram},
      {.id = "recurrent-khop",
       .tasks = {"khop"},
       .options = kHopForms,
       .variants = kEveryPrompt,
       .evaluate = khop},
      {.id = "recurrent-counting",
       .tasks = {"counting"},
       .variants = kEveryPrompt,
       .evaluate = recurrent_counting},
      {.id = "recurrent-istree", .tasks = {"istree"}, .variants = kEveryPrompt, .evaluate = istree},
      {.id = "recurrent-sparse-average",
       .tasks = {"sparse-average"},
       .options = kEveryReading,
       .variants = kEveryPrompt,
       .evaluate = recurrent_sparse_average},
  };
}

}  // namespace rung
