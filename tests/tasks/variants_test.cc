// What the variants promise beyond valid prompts: Zipf's law, different values, and the adversarial column of
// the tasks.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "rung/tasks/sampling.h"
#include "rung/tasks/task.h"

namespace rung {
namespace {

using Numbers = std::vector<std::int64_t>;

std::unique_ptr<Task> task(std::string_view name, const TaskSizes& sizes) {
  return std::move(*make_task(name, sizes));
}

TEST(Variants, are_parsed_by_name_and_refused_with_the_nearest_word) {
  EXPECT_EQ(*parse_variant("zipf"), Variant::zipf);
  const auto wrong = parse_variant("adverserial");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "[task] unknown variant \"adverserial\"; did you mean \"adversarial\"?");
}

TEST(Variants, zipf_follows_one_over_rank) {
  for (const std::int64_t bound : {1, 2, 3, 7, 8, 100}) {
    Random random(3);
    std::vector<int> seen(static_cast<std::size_t>(bound), 0);
    constexpr int kDraws = 40000;
    for (int i = 0; i < kDraws; ++i) ++seen.at(static_cast<std::size_t>(zipf(random, bound)));
    double harmonic = 0;
    for (std::int64_t r = 1; r <= bound; ++r) harmonic += 1.0 / static_cast<double>(r);
    for (std::size_t r = 0; r < seen.size(); ++r) {
      const double expected = kDraws / harmonic / static_cast<double>(r + 1);
      EXPECT_NEAR(seen[r], expected, 5 * std::sqrt(expected) + 1) << bound << " rank " << r;
    }
  }
}

TEST(Variants, zipf_needs_no_table_for_a_huge_alphabet) {
  Random random(3);
  for (int i = 0; i < 100; ++i) EXPECT_LT(zipf(random, std::int64_t{1} << 60), std::int64_t{1} << 60);
}

TEST(Variants, distinct_draws_every_ordered_choice_equally_often) {
  Random random(4);
  for (const std::int64_t bound : {3, 12}) {  // the dense and the sparse way
    std::map<Numbers, int> seen;
    const int choices = static_cast<int>(bound * (bound - 1));
    for (int i = 0; i < choices * 500; ++i) ++seen[distinct(random, 2, bound)];
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(choices));
    for (const auto& [values, count] : seen) EXPECT_NEAR(count, 500, 120);
  }
}

TEST(Variants, permutation_gives_different_values) {
  const auto eva = task("eva", {{"n", 30}});
  const auto seqcomp = task("seqcomp", {{"m", 5}, {"n1", 3}});
  for (std::uint64_t index = 0; index < 50; ++index) {
    const Numbers f = eva->generate(Variant::permutation, 1, index).prompt.fields[0];
    EXPECT_EQ(std::set<std::int64_t>(f.begin(), f.end() - 1).size(), 30u);
    const Numbers z = seqcomp->generate(Variant::permutation, 1, index).prompt.fields[0];
    EXPECT_EQ(std::set<std::int64_t>(z.begin(), z.begin() + 15).size(), 15u);
    EXPECT_EQ(std::set<std::int64_t>(z.begin() + 15, z.begin() + 20).size(), 5u);
  }
}

TEST(Variants, permutation_is_refused_where_values_must_repeat) {
  EXPECT_FALSE(task("index", {{"n", 3}, {"sigma", 2}})->supports(Variant::permutation));
  EXPECT_FALSE(task("two-sum", {{"n", 5}, {"M", 5}})->supports(Variant::permutation));
  EXPECT_FALSE(task("dyck", {})->supports(Variant::permutation));
}

// Places at which the two prompts of an adversarial pair differ.
std::size_t changed(const Task& of, std::uint64_t k) {
  const auto one = of.generate(Variant::adversarial, 9, 2 * k).prompt,
             two = of.generate(Variant::adversarial, 9, 2 * k + 1).prompt;
  std::size_t count = 0;
  for (std::size_t i = 0; i < one.fields[0].size(); ++i) count += one.fields[0][i] != two.fields[0][i];
  return count;
}

TEST(Variants, adversarial_pairs_of_decision_tasks_differ_in_one_place) {
  for (const auto* name :
       {"two-sum", "two-sum-exists", "three-sum", "equality", "disjointness", "dyck", "counting"})
    for (std::uint64_t k = 0; k < 50; ++k) EXPECT_LE(changed(*task(name, {}), k), 1u) << name;
}

TEST(Variants, adversarial_eva_is_constant_except_at_the_query) {
  const auto eva = task("eva", {{"n", 9}});
  for (std::uint64_t index = 0; index < 100; ++index) {
    Numbers f = eva->generate(Variant::adversarial, 1, index).prompt.fields[0];
    const auto x = static_cast<std::size_t>(f.back());
    f.pop_back();
    EXPECT_EQ(std::count(f.begin(), f.end(), f[x]), 1);
    EXPECT_EQ(std::set<std::int64_t>(f.begin(), f.end()).size(), 2u);
  }
}

TEST(Variants, adversarial_retrieval_surrounds_the_key_at_hamming_distance_one) {
  const auto retrieval = task("retrieval", {{"n", 9}, {"D", 8}});
  for (std::uint64_t index = 0; index < 50; ++index) {
    const Numbers keys = retrieval->generate(Variant::adversarial, 1, index).prompt.fields[0];
    for (std::size_t i = 0; i + 1 < keys.size(); ++i)
      EXPECT_LE(std::popcount(static_cast<std::uint64_t>(keys[i] ^ keys.back())), 1);
  }
  // One key more than there are neighbours: the last stands at distance 2.
  const Numbers keys =
      task("retrieval", {{"n", 10}, {"D", 8}})->generate(Variant::adversarial, 1, 0).prompt.fields[0];
  int far = 0;
  for (std::size_t i = 0; i < 10; ++i)
    far += std::popcount(static_cast<std::uint64_t>(keys[i] ^ keys.back())) == 2;
  EXPECT_EQ(far, 1);
}

TEST(Variants, adversarial_mqar_repeats_its_keys) {
  const auto mqar = task("mqar", {{"n", 8}});
  for (std::uint64_t index = 0; index < 50; ++index) {
    const Numbers tokens = mqar->generate(Variant::adversarial, 1, index).prompt.fields[0];
    std::map<std::int64_t, int> keys;
    for (std::size_t i = 0; i < 8; ++i) ++keys[tokens[2 * i]];
    for (const auto& [key, count] : keys) EXPECT_EQ(count, 2);
  }
}

TEST(Variants, adversarial_two_sum_stays_one_beside_the_match) {
  const auto two_sum = task("two-sum", {{"n", 12}, {"M", 40}});
  for (std::uint64_t index = 0; index < 50; ++index) {
    const Numbers x = two_sum->generate(Variant::adversarial, 1, index).prompt.fields[0];
    for (std::size_t j = 0; j < 12; ++j) {
      const auto gap = (x[j] + x[12]) % 40;
      EXPECT_TRUE(gap == 1 || gap == 39 || gap == 0) << gap;
    }
  }
}

TEST(Variants, adversarial_counting_is_at_the_threshold) {
  const auto counting = task("counting", {{"n", 12}});
  for (std::uint64_t index = 0; index < 50; ++index) {
    const Numbers t = counting->generate(Variant::adversarial, 1, index).prompt.fields[0];
    EXPECT_EQ(std::count(t.begin(), t.begin() + 12, t[12]),
              t[13] - 4 + 1 - static_cast<std::int64_t>(index % 2));
  }
}

TEST(Variants, adversarial_istree_leaves_two_components_and_one_simple_cycle) {
  for (const std::int64_t n : {4, 5, 9, 30}) {
    const auto istree = task("istree", {{"n", n}});
    for (std::uint64_t k = 0; k < 50; ++k) {
      const Numbers t = istree->generate(Variant::adversarial, 1, 2 * k + 1).prompt.fields[0];
      std::vector<std::size_t> component(static_cast<std::size_t>(n));
      for (std::size_t v = 0; v < component.size(); ++v) component[v] = v;
      std::set<std::set<std::int64_t>> edges;
      for (std::size_t e = 0; e < t.size(); e += 2) {
        edges.insert({t[e], t[e + 1]});
        const auto from = component[static_cast<std::size_t>(t[e])],
                   to = component[static_cast<std::size_t>(t[e + 1])];
        std::replace(component.begin(), component.end(), from, to);
      }
      EXPECT_EQ(std::set<std::size_t>(component.begin(), component.end()).size(), 2u);
      EXPECT_EQ(edges.size(), t.size() / 2) << "a repeated edge is a shorter cycle than the task promises";
    }
  }
}

TEST(Variants, adversarial_cgram_contexts_differ_from_the_true_one_in_at_most_one_place) {
  const auto cgram =
      task("cgram", {{"n", 19}, {"c", 4}, {"sigma", 9}});  // 16 symbols: four blocks; then the context
  for (std::uint64_t index = 0; index < 50; ++index) {
    const Numbers s = cgram->generate(Variant::adversarial, 1, index).prompt.fields[0];
    int exact = 0;
    for (std::size_t block = 0; block < 16; block += 4) {
      int differences = 0;
      for (std::size_t i = 0; i < 3; ++i) differences += s[block + i] != s[16 + i];
      EXPECT_LE(differences, 1);
      exact += differences == 0;
    }
    EXPECT_EQ(exact, 1);
  }
}

// What a prompt of nearest must keep, written down here once more: unit vectors but for rounding, and the
// margin.
TEST(Variants, nearest_refuses_what_is_no_unit_vector_and_what_is_closer_than_the_margin) {
  const auto nearest = task("nearest", {{"n", 2}, {"d", 4}, {"sigma", 2}, {"f", 2}, {"margin", 1}});
  const auto prompt = [](Numbers first, Numbers second, Numbers query) {
    Numbers vectors;
    for (const Numbers& v : {first, Numbers(4, 0), second, Numbers(4, 0), query})
      vectors.insert(vectors.end(), v.begin(), v.end());
    return Prompt{5, {vectors, {2, 0, 2, 1, 2}}};
  };
  const Numbers up{4, 0, 0, 0}, side{0, 4, 0, 0}, corner{2, 2, 2, 2}, long_one{3, 2, 2, 2}, zero(4, 0);
  EXPECT_TRUE(nearest->validate(prompt(up, side, up)));
  EXPECT_TRUE(nearest->validate(prompt(corner, side, corner)));
  EXPECT_TRUE(nearest->validate(prompt(long_one, side, up)));  // 21: within 16 ± 9
  EXPECT_FALSE(nearest->validate(prompt(zero, side, up)));
  EXPECT_FALSE(nearest->validate(prompt(up, side, zero)));
  EXPECT_FALSE(nearest->validate(prompt({2, 1, 1, 0}, side, up)));  // 6
  EXPECT_FALSE(nearest->validate(prompt({4, 3, 1, 0}, side, up)));  // 26
  EXPECT_TRUE(nearest->validate(prompt({4, 3, 0, 0}, side, up)));   // 25
  EXPECT_FALSE(nearest->validate(prompt(up, up, up)));              // no lead at all
  EXPECT_TRUE(nearest->validate(prompt(up, {3, 3, 0, 0}, up)));     // 16 - 12: the margin, in units of 1/16
  EXPECT_FALSE(nearest->validate(prompt({3, 3, 0, 0}, {3, 2, 2, 0}, {3, 2, 2, 0})));  // 17 over 15
}

TEST(Variants, nearest_draws_prompts_of_the_task_at_every_size) {
  for (const std::int64_t f : {1, 2, 3, 8, 20})
    for (const std::int64_t d : {1, 2, 3, 4, 15, 16, 64})
      for (const std::int64_t n : {1, 2, 9}) {
        if (d > std::int64_t{1} << (2 * f - 2)) continue;
        for (const std::int64_t margin : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << (f - 1)}) {
          const auto nearest = task("nearest", {{"n", n}, {"d", d}, {"f", f}, {"margin", margin}});
          for (const Variant variant : {Variant::uniform, Variant::zipf, Variant::adversarial})
            for (std::uint64_t index = 0; index < 20; ++index) {
              const auto valid = nearest->validate(nearest->generate(variant, 3, index).prompt);
              ASSERT_TRUE(valid) << valid.error().message << " f=" << f << " d=" << d << " n=" << n
                                 << " margin=" << margin;
            }
        }
      }
}

TEST(Variants, nearest_keeps_its_margin) {
  for (const std::int64_t d : {1, 2, 3, 17})
    for (const std::int64_t n : {1, 2, 30}) {
      const auto nearest = task("nearest", {{"n", n}, {"d", d}, {"f", 10}});
      const std::int64_t margin = nearest->size()["margin"] << 10;
      EXPECT_GT(margin, 0);
      for (const Variant variant : {Variant::uniform, Variant::zipf, Variant::adversarial})
        for (std::uint64_t index = 0; index < 20; ++index) {
          const Numbers v = nearest->generate(variant, 2, index).prompt.fields[0];
          Numbers products;
          for (std::int64_t i = 0; i < n; ++i) {
            products.push_back(0);
            for (std::int64_t c = 0; c < d; ++c)
              products.back() +=
                  v[static_cast<std::size_t>(2 * i * d + c)] * v[static_cast<std::size_t>(2 * n * d + c)];
          }
          std::sort(products.rbegin(), products.rend());
          if (n > 1) {
            EXPECT_GE(products[0] - products[1], margin) << d << " " << n;
          }
        }
    }
}

}  // namespace
}  // namespace rung
