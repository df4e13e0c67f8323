// Every task's answer against a second formula, written from the definition and sharing nothing with the
// first: on all prompts of a small size, and on drawn prompts of a larger one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "rung/tasks/task.h"

namespace rung {
namespace {

using Numbers = std::vector<std::int64_t>;
using Formula = std::function<Numbers(const Prompt&, const SizeList& size)>;

struct ReferenceAnswersCase {
  std::string name;
  TaskSizes small, large;
  Formula formula;
  std::map<std::string, std::string> options = {};
};

Numbers yes_if(bool yes) { return {yes ? 1 : 0}; }

// Σ_i [i = x] f(i).
Numbers evaluate(const Prompt& p, const SizeList&) {
  const Numbers& t = p.fields[0];
  std::int64_t sum = 0;
  for (std::size_t i = 0; i + 1 < t.size(); ++i) sum += t[i] * (static_cast<std::int64_t>(i) == t.back());
  return {sum};
}

Numbers retrieve(const Prompt& p, const SizeList&) {
  std::map<std::int64_t, std::int64_t> memory;
  for (std::size_t i = 0; i < p.fields[0].size(); ++i)
    if (p.fields[2][i] == 0) memory[p.fields[0][i]] = p.fields[1][i];
  return {memory.at(p.fields[0].back())};
}

Numbers recall(const Prompt& p, const SizeList& size) {
  std::map<std::int64_t, std::int64_t> memory;
  Numbers answers;
  const std::size_t pairs = size["n"];
  for (std::size_t t = 0; t < p.fields[0].size(); ++t) {
    if (t >= 2 * pairs)
      answers.push_back(memory.at(p.fields[0][t]));
    else if (t % 2 == 1)
      memory[p.fields[0][t - 1]] = p.fields[0][t];
  }
  return answers;
}

// One pass from the left; what is no key of the memory is no question.
Numbers recall_with_gaps(const Prompt& p, const SizeList& size) {
  std::map<std::int64_t, std::int64_t> memory;
  Numbers answers;
  for (std::size_t t = 0; t + 1 < p.fields[0].size(); t += 2)
    if (t < 2 * static_cast<std::size_t>(size["n"]))
      memory[p.fields[0][t]] = p.fields[0][t + 1];
    else
      answers.push_back(memory.contains(p.fields[0][t]) ? memory[p.fields[0][t]] : -100);
  return answers;
}

Numbers two_sum_last(const Prompt& p, const SizeList& size) {
  const std::int64_t modulus = size["M"];
  std::set<std::int64_t> sums;
  for (std::size_t j = 0; j + 1 < p.fields[0].size(); ++j) sums.insert(p.fields[0][j] + p.fields[0].back());
  return yes_if(sums.contains(0) || sums.contains(modulus));
}

Numbers two_sum_exists(const Prompt& p, const SizeList& size) {
  const std::int64_t modulus = size["M"];
  const Numbers& x = p.fields[0];
  bool found = false;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < x.size(); ++j) found |= i != j && (x[i] + x[j]) % modulus == 0;
  return yes_if(found);
}

Numbers three_sum(const Prompt& p, const SizeList& size) {
  const std::int64_t modulus = size["M"];
  const Numbers& x = p.fields[0];
  bool found = false;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = i + 1; j < x.size(); ++j)
      for (std::size_t k = j + 1; k < x.size(); ++k) found |= (x[i] + x[j] + x[k]) % modulus == 0;
  return yes_if(found);
}

// Reads the prompt from its end: `=`, the w, z_0, then the tables one after another.
Numbers compose(const Prompt& p, const SizeList& size) {
  Numbers rest = p.fields[0];
  const std::int64_t levels = size["L"];
  const auto take = [&](std::int64_t count) {
    Numbers taken(rest.end() - count, rest.end());
    rest.resize(rest.size() - static_cast<std::size_t>(count));
    return taken;
  };
  take(1);
  const Numbers w = take(levels - 1);
  std::int64_t current = take(1)[0], domain = size["m"], previous = 0;
  for (std::int64_t l = 1; l <= levels; ++l) {
    const Numbers table = take(domain);
    const std::int64_t argument = l == 1 ? current : w[static_cast<std::size_t>(l - 2)] * previous + current;
    current = table[static_cast<std::size_t>(argument)];
    previous = domain;
    if (l < levels) domain *= size[fmt::format("n{}", l)];
  }
  EXPECT_TRUE(rest.empty());
  return {current};
}

Numbers mean(const Prompt& p, const SizeList& size) {
  const std::size_t q = size["q"], d = size["d"];
  const int finer = 2 + static_cast<int>(std::ceil(std::log2(static_cast<double>(q))));
  Numbers answers;
  for (std::size_t i = 0; i < static_cast<std::size_t>(p.positions); ++i)
    for (std::size_t c = 0; c < d; ++c) {
      double sum = 0;
      for (std::size_t j = 0; j < q; ++j)
        sum += static_cast<double>(p.fields[1][static_cast<std::size_t>(p.fields[0][i * q + j]) * d + c]);
      answers.push_back(
          static_cast<std::int64_t>(std::floor(std::ldexp(sum, finer) / static_cast<double>(q) + 0.5)));
    }
  return answers;
}

Numbers equal(const Prompt& p, const SizeList& size) {
  const std::ptrdiff_t n = size["n"];
  const Numbers a(p.fields[0].begin(), p.fields[0].begin() + n + 1),
      b(p.fields[0].begin() + n + 1, p.fields[0].end());
  return yes_if(a == b);
}

Numbers disjoint(const Prompt& p, const SizeList& size) {
  const std::size_t n = size["n"];
  std::set<std::size_t> members;
  for (std::size_t i = 0; i < n; ++i)
    if (p.fields[0][i] == 1) members.insert(i);
  std::size_t common = 0;
  for (std::size_t i = 0; i < n; ++i) common += p.fields[0][n + 1 + i] == 1 ? members.count(i) : 0;
  return yes_if(common == 0);
}

Numbers nearest(const Prompt& p, const SizeList& size) {
  const std::size_t n = size["n"], d = size["d"];
  std::map<double, std::int64_t> by_product;  // the first of equals stays
  for (std::size_t i = 0; i < n; ++i) {
    double product = 0;
    for (std::size_t c = 0; c < d; ++c)
      product +=
          static_cast<double>(p.fields[0][2 * i * d + c]) * static_cast<double>(p.fields[0][2 * n * d + c]);
    by_product.emplace(product, p.fields[1][2 * i + 1]);
  }
  return {by_product.rbegin()->second};
}

// Depth by counting, nesting by striking out neighbours that match until nothing changes.
Numbers nested(const Prompt& p, const SizeList& size) {
  const std::int64_t k = size["k"], limit = size["depth"];
  Numbers word = p.fields[0];
  std::int64_t depth = 0, deepest = 0;
  for (const auto b : word) deepest = std::max(deepest, depth += b < k ? 1 : -1);
  for (std::size_t i = 0; i + 1 < word.size();) {
    if (word[i] < k && word[i + 1] == word[i] + k) {
      word.erase(word.begin() + static_cast<std::ptrdiff_t>(i),
                 word.begin() + static_cast<std::ptrdiff_t>(i) + 2);
      i = 0;
    } else {
      ++i;
    }
  }
  return yes_if(word.empty() && deepest <= limit);
}

Numbers following(const Prompt& p, const SizeList& size) {
  const std::size_t c = size["c"];
  std::u32string s(p.fields[0].begin(), p.fields[0].end());
  const std::size_t at = s.rfind(s.substr(s.size() - (c - 1)), s.size() - c);
  return {static_cast<std::int64_t>(s[at + c - 1])};
}

Numbers at_least(const Prompt& p, const SizeList& size) {
  const std::ptrdiff_t n = size["n"];
  const std::int64_t sigma = size["sigma"];
  std::multiset<std::int64_t> symbols(p.fields[0].begin(), p.fields[0].begin() + n);
  const auto asked = p.fields[0][static_cast<std::size_t>(n)], k = p.fields[0].back() - sigma + 1;
  return yes_if(static_cast<std::int64_t>(symbols.count(asked)) >= k);
}

// Kirchhoff: the number of spanning trees is a cofactor of the Laplacian; n-1 edges with exactly one are a
// tree.
Numbers one_spanning_tree(const Prompt& p, const SizeList& size) {
  const std::size_t n = size["n"];
  std::vector<std::vector<double>> laplacian(n, std::vector<double>(n, 0));
  for (std::size_t e = 0; e < n - 1; ++e) {
    const auto u = static_cast<std::size_t>(p.fields[0][2 * e]),
               v = static_cast<std::size_t>(p.fields[0][2 * e + 1]);
    if (u == v) continue;
    laplacian[u][u] += 1, laplacian[v][v] += 1, laplacian[u][v] -= 1, laplacian[v][u] -= 1;
  }
  double determinant = 1;
  for (std::size_t i = 0; i + 1 < n; ++i) {
    std::size_t pivot = i;
    for (std::size_t r = i; r + 1 < n; ++r)
      if (std::abs(laplacian[r][i]) > std::abs(laplacian[pivot][i])) pivot = r;
    if (std::abs(laplacian[pivot][i]) < 1e-9) return yes_if(false);
    if (pivot != i) std::swap(laplacian[pivot], laplacian[i]), determinant = -determinant;
    determinant *= laplacian[i][i];
    for (std::size_t r = i + 1; r + 1 < n; ++r)
      for (std::size_t c = n - 1; c-- > i;)
        laplacian[r][c] -= laplacian[i][c] * laplacian[r][i] / laplacian[i][i];
  }
  return yes_if(std::abs(determinant - 1) < 0.5);
}

// find(i) = max{ j <= i : X_{j-1} = X_i }, places counted from 1.
Numbers hop(const Prompt& p, const SizeList& size) {
  const std::int64_t k = size["k"], sigma = size["sigma"];
  const auto symbol = [&](std::int64_t i) { return p.fields[0][static_cast<std::size_t>(i - 1)]; };
  Numbers answers;
  for (std::int64_t i = 1; i <= p.positions; ++i) {
    std::int64_t at = i;
    for (std::int64_t step = 0; step < k && at != 0; ++step) {
      std::int64_t best = 0;
      for (std::int64_t j = 2; j <= at; ++j)
        if (symbol(j - 1) == symbol(at)) best = j;
      at = best;
    }
    answers.push_back(at == 0 ? sigma : symbol(at));
  }
  return answers;
}
Numbers last_hop(const Prompt& p, const SizeList& size) { return {hop(p, size).back()}; }

// Ones counted from the end, two by two.
Numbers parity_of_ones(const Prompt& p, const SizeList&) {
  const Numbers& t = p.fields[0];
  return {std::count(t.begin() + 1, t.end(), 1) & 1};
}
Numbers parity_everywhere(const Prompt& p, const SizeList&) {
  Numbers parities;
  for (std::size_t i = 1; i < p.fields[0].size(); ++i)
    parities.push_back(
        std::count(p.fields[0].begin() + 1, p.fields[0].begin() + 1 + static_cast<std::ptrdiff_t>(i), 1) % 2);
  return parities;
}

Numbers sum_modulo(const Prompt& p, const SizeList& size) {
  return {std::accumulate(p.fields[0].begin() + 1, p.fields[0].end(), std::int64_t{0}) % size["m"].value};
}

// S_3 by its permutation matrices, multiplied from the last letter to the first.
Numbers product_of_matrices(const Prompt& p, const SizeList&) {
  static constexpr int kLists[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  using Matrix = std::array<std::array<int, 3>, 3>;  // row x has its 1 where x goes
  Matrix whole{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  for (std::size_t t = p.fields[0].size() - 1; t >= 1; --t) {
    Matrix next{};
    for (std::size_t x = 0; x < 3; ++x) next[x] = whole[static_cast<std::size_t>(kLists[p.fields[0][t]][x])];
    whole = next;
  }
  for (std::int64_t element = 0; element < 6; ++element) {
    bool same = true;
    for (std::size_t x = 0; x < 3; ++x)
      same = same && whole[x][static_cast<std::size_t>(kLists[element][x])] == 1;
    if (same) return {element};
  }
  return {-1};
}

Numbers last_written(const Prompt& p, const SizeList&) {
  for (auto letter = p.fields[0].rbegin(); letter != p.fields[0].rend() - 1; ++letter)
    if (*letter != 0) return {*letter - 1};
  return {0};
}

// Where each place's mark goes, by exchanging entries of a list of places; 0's is asked for.
Numbers tracked_by_exchanges(const Prompt& p, const SizeList& size) {
  const std::size_t n = size["n"];
  std::vector<std::size_t> at(n);  // which mark stands at each place
  std::iota(at.begin(), at.end(), 0);
  std::map<std::size_t, std::int64_t> value;
  for (std::size_t t = 0; t < p.fields[0].size(); ++t) {
    const auto key = static_cast<std::size_t>(p.fields[0][t]);
    if (p.fields[2][t] == 0) value[key] = p.fields[1][t];
    if (p.fields[2][t] == 1 && key > 0) std::swap(at[key - 1], at[key]);
  }
  return {value.at(static_cast<std::size_t>(std::find(at.begin(), at.end(), 0) - at.begin()))};
}
Numbers tracked_by_sum(const Prompt& p, const SizeList& size) {
  std::int64_t steps = 0;
  std::map<std::int64_t, std::int64_t> value;
  for (std::size_t t = 0; t < p.fields[0].size(); ++t) {
    if (p.fields[2][t] == 0) value[p.fields[0][t]] = p.fields[1][t];
    if (p.fields[2][t] == 1) steps += p.fields[0][t];
  }
  return {value.at(steps % size["n"].value)};
}
Numbers tracked_by_bits(const Prompt& p, const SizeList&) {
  std::map<std::int64_t, std::int64_t> turned, value;
  for (std::size_t t = 0; t < p.fields[0].size(); ++t) {
    if (p.fields[2][t] == 0) value[p.fields[0][t]] = p.fields[1][t];
    if (p.fields[2][t] == 1 && p.fields[0][t] > 0) ++turned[p.fields[0][t]];
  }
  std::int64_t place = 0;
  for (const auto& [bit, times] : turned) place += times % 2 << (bit - 1);
  return {value.at(place)};
}

// The symbol that stands so many places before its blank.
Numbers copied(const Prompt& p, const SizeList& size) {
  Numbers answers;
  for (std::size_t t = size["n"]; t < p.fields[0].size(); ++t)
    answers.push_back(p.fields[0][t - static_cast<std::size_t>(size["n"])]);
  return answers;
}
Numbers copied_symbols(const Prompt& p, const SizeList& size) {
  Numbers symbols = p.fields[0];
  std::erase_if(symbols, [&](std::int64_t token) { return token >= size["sigma"]; });
  return symbols;
}

std::vector<ReferenceAnswersCase> reference_answers_cases() {
  return {
      {"eva", {{"n", 4}}, {{"n", 64}}, evaluate},
      {"index", {{"n", 5}}, {{"n", 50}, {"sigma", 7}}, evaluate},
      {"retrieval", {{"n", 3}, {"D", 2}, {"sigma", 3}}, {{"n", 40}, {"D", 12}}, retrieve},
      {"mqar", {{"n", 3}, {"M", 2}, {"sigma", 2}, {"queries", 2}}, {{"n", 30}, {"queries", 9}}, recall},
      {"mqar",
       {{"n", 2}, {"M", 3}, {"sigma", 3}, {"queries", 3}},
       {{"n", 16}, {"M", 4095}, {"sigma", 4096}, {"queries", 112}},
       recall_with_gaps,
       {{"gaps", "0.01"}}},
      {"two-sum", {{"n", 4}, {"M", 6}}, {{"n", 64}}, two_sum_last},
      {"two-sum-exists", {{"n", 4}, {"M", 6}}, {{"n", 64}}, two_sum_exists},
      {"three-sum", {{"n", 4}, {"M", 8}}, {{"n", 20}}, three_sum},
      {"seqcomp",
       {{"L", 2}, {"m", 2}, {"n1", 2}},
       {{"L", 4}, {"m", 3}, {"n1", 2}, {"n2", 3}, {"n3", 4}},
       compose},
      {"sparse-average",
       {{"n", 3}, {"q", 2}, {"d", 1}, {"f", 0}},
       {{"n", 30}, {"q", 5}, {"d", 3}, {"f", 7}},
       mean},
      {"equality", {{"n", 4}}, {{"n", 33}}, equal},
      {"disjointness", {{"n", 4}}, {{"n", 33}}, disjoint},
      {"nearest", {}, {{"n", 20}, {"d", 5}, {"sigma", 9}, {"f", 12}}, nearest},
      {"dyck", {{"n", 6}, {"k", 2}, {"depth", 2}}, {{"n", 40}, {"k", 3}, {"depth", 5}}, nested},
      {"cgram", {{"n", 7}, {"c", 3}, {"sigma", 3}}, {{"n", 60}, {"c", 3}, {"sigma", 6}}, following},
      {"counting", {{"n", 5}, {"sigma", 2}}, {{"n", 50}}, at_least},
      {"istree", {{"n", 4}}, {{"n", 20}}, one_spanning_tree},
      {"khop", {{"n", 7}, {"k", 2}, {"sigma", 3}}, {{"n", 60}, {"k", 4}, {"sigma", 5}}, last_hop},
      {"khop", {{"n", 6}, {"k", 3}, {"sigma", 2}}, {{"n", 60}, {"k", 3}}, hop, {{"read", "all"}}},
      {"khop",
       {{"n", 7}, {"k", 2}, {"sigma", 3}},
       {{"n", 100}, {"k", 16}},
       hop,
       {{"read", "all"}, {"neighbours", "different"}}},
      {"parity", {{"n", 6}}, {{"n", 90}}, parity_of_ones},
      {"parity", {{"n", 5}}, {{"n", 40}}, parity_everywhere, {{"read", "all"}}},
      {"modulo", {{"n", 4}, {"m", 3}}, {{"n", 70}, {"m", 11}}, sum_modulo},
      {"group", {{"n", 4}}, {{"n", 60}}, product_of_matrices},
      {"flipflop", {{"n", 5}}, {{"n", 60}, {"k", 7}}, last_written},
      {"tracked-recall", {{"n", 3}, {"sigma", 2}, {"w", 3}}, {{"n", 20}, {"w", 60}}, tracked_by_exchanges},
      {"tracked-recall",
       {{"n", 3}, {"sigma", 2}, {"w", 3}},
       {{"n", 20}, {"w", 60}},
       tracked_by_sum,
       {{"group", "cyclic"}}},
      {"tracked-recall",
       {{"n", 2}, {"sigma", 2}, {"w", 4}},
       {{"n", 16}, {"w", 60}},
       tracked_by_bits,
       {{"group", "xor"}}},
      {"copy", {{"n", 4}, {"sigma", 3}}, {{"n", 40}, {"sigma", 50}}, copied},
      {"selective-copy", {{"n", 2}, {"m", 5}, {"sigma", 2}}, {{"n", 20}, {"sigma", 30}}, copied_symbols},
  };
}

TEST(ReferenceAnswers, have_a_second_formula_for_every_task) {
  std::set<std::string> covered;
  for (const auto& c : reference_answers_cases()) covered.insert(c.name);
  for (const auto& word : task_words()) EXPECT_TRUE(covered.contains(std::string(word.name))) << word.name;
}

TEST(ReferenceAnswers, agree_with_the_second_formula_on_every_small_prompt) {
  for (const auto& c : reference_answers_cases()) {
    const auto task = std::move(*make_task(c.name, c.small, c.options));
    if (task->choices(task->empty_prompt()) == 0) continue;
    const auto size = task->size();
    std::uint64_t wrong = 0;
    enumerate(*task, [&](const Instance& instance) {
      wrong += instance.answer != c.formula(instance.prompt, size);
      return true;
    });
    EXPECT_EQ(wrong, 0u) << c.name;
  }
}

TEST(ReferenceAnswers, agree_with_the_second_formula_on_drawn_prompts) {
  for (const auto& c : reference_answers_cases()) {
    const auto task = std::move(*make_task(c.name, c.large, c.options));
    const auto size = task->size();
    for (const Variant variant :
         {Variant::uniform, Variant::permutation, Variant::zipf, Variant::adversarial}) {
      if (!task->supports(variant)) continue;
      for (std::uint64_t index = 0; index < 300; ++index) {
        const Instance instance = task->generate(variant, 17, index);
        ASSERT_EQ(instance.answer, c.formula(instance.prompt, size))
            << c.name << " " << variant_name(variant) << ": " << task->text(instance.prompt);
      }
    }
  }
}

TEST(ReferenceAnswers, change_when_the_function_value_at_the_query_changes) {
  const auto task = std::move(*make_task("eva", {{"n", 4}}));
  EXPECT_EQ(task->answer({5, {{3, 1, 0, 2, 1}}}), Numbers{1});
  EXPECT_EQ(task->answer({5, {{3, 2, 0, 2, 1}}}), Numbers{2});
}

}  // namespace
}  // namespace rung
