// Instances drawn by the kernel's own source are those of the tasks, bit for bit.
#include "rung/learn/kernels/task_instances.h"

#include <gtest/gtest.h>

#include <set>

#include "rung/tasks/gap_law.h"
#include "rung/tasks/task.h"
#include "tests/learn/kernels/instance_case.h"

namespace rung::kernels {
namespace {

Variant variant_of(const InstanceTask& task) {
  return task.variant == InstanceVariant::zipf          ? Variant::zipf
         : task.variant == InstanceVariant::permutation ? Variant::permutation
                                                        : Variant::uniform;
}

TEST(TaskInstances, are_those_of_the_tasks) {
  for (const InstanceCase& given : instance_cases()) {
    const auto task = make_task(given.name, given.sizes, given.options);
    ASSERT_TRUE(task.ok()) << given.name;
    const std::int64_t length = instance_tokens(given.task), answers = instance_answers(given.task);
    ASSERT_EQ(instance_length(given.task), (*task)->prompt_length()) << given.name;
    ASSERT_TRUE(instances_fit(given.task));
    const std::uint64_t seeds[] = {1, 0xFEEDFACECAFEBEEFULL, 0};
    const std::int64_t batch = 40;
    for (const std::int64_t step : {0, 1, 1000000007}) {
      std::vector<std::int32_t> tokens(3 * batch * length);
      std::vector<std::int64_t> targets(3 * batch * answers), places(targets.size());
      task_instances(given.task, {3, batch, seeds, &step, tokens.data(), targets.data(), nullptr, 0, nullptr,
                                  places.data()});
      for (std::int64_t row = 0; row < 3 * batch; ++row) {
        Instance expected =
            (*task)->generate(variant_of(given.task), seeds[row / batch], step * batch + row % batch);
        const std::vector<std::int64_t> drawn(tokens.begin() + row * length,
                                              tokens.begin() + (row + 1) * length);
        std::vector<std::int64_t> fields;
        for (const auto& field : expected.prompt.fields)
          fields.insert(fields.end(), field.begin(), field.end());
        ASSERT_EQ(drawn, fields) << given.name << " row " << row;
        if (given.task.kind == InstanceKind::gapped_mqar) {
          const auto may_ask = (*task)->query_positions();
          for (std::size_t i = 0, found = 0; i < may_ask.size(); ++i)
            if (expected.answer[i] != kNotAsked)
              ASSERT_EQ(places[row * answers + static_cast<std::int64_t>(found++)], may_ask[i]) << given.name;
          std::erase(expected.answer, kNotAsked);
        }
        ASSERT_EQ((std::vector<std::int64_t>(targets.begin() + row * answers,
                                             targets.begin() + (row + 1) * answers)),
                  expected.answer)
            << given.name << " row " << row;
      }
    }
  }
}

TEST(TaskInstances, stand_at_gaps_by_the_law_that_the_task_draws_them_by) {
  for (const char* power : {"0.01", "0.5", "1"}) {
    const auto task =
        make_task("mqar", {{"n", 16}, {"M", 63}, {"sigma", 64}, {"queries", 112}}, {{"gaps", power}});
    ASSERT_TRUE(task.ok());
    const InstanceTask drawn{.kind = InstanceKind::gapped_mqar,
                             .n = 16,
                             .sigma = 64,
                             .keys = 63,
                             .queries = 112,
                             .gap_weights = (*task)->gap_law()->weights().data()};
    const std::uint64_t seed = 9;
    const std::int64_t step = 0, batch = 200, length = instance_tokens(drawn);
    std::vector<std::int32_t> tokens(batch * length);
    std::vector<std::int64_t> targets(batch * 16);
    task_instances(drawn, {1, batch, &seed, &step, tokens.data(), targets.data()});
    for (std::int64_t row = 0; row < batch; ++row) {
      Instance expected = (*task)->generate(Variant::uniform, seed, row);
      ASSERT_TRUE(std::equal(expected.prompt.fields[0].begin(), expected.prompt.fields[0].end(),
                             tokens.begin() + row * length))
          << power << " row " << row;
      std::erase(expected.answer, kNotAsked);
      ASSERT_TRUE(std::equal(expected.answer.begin(), expected.answer.end(), targets.begin() + row * 16));
    }
  }
}

TEST(TaskInstances, are_followed_by_the_chain_of_thought_of_the_task) {
  for (InstanceCase given : instance_cases()) {
    given.task.thoughts = true;
    if (!instances_fit(given.task)) {
      EXPECT_TRUE(given.task.kind != InstanceKind::evaluation && given.task.kind != InstanceKind::seqcomp);
      continue;
    }
    const auto task = make_task(given.name, given.sizes);
    ASSERT_TRUE(task.ok()) << given.name;
    const std::uint64_t seed = 3;
    const std::int64_t step = 5, batch = 40, length = instance_tokens(given.task),
                       answers = instance_answers(given.task);
    std::vector<std::int32_t> tokens(batch * length);
    std::vector<std::int64_t> targets(batch * answers);
    task_instances(given.task, {1, batch, &seed, &step, tokens.data(), targets.data()});
    for (std::int64_t row = 0; row < batch; ++row) {
      const Instance expected = (*task)->generate(variant_of(given.task), seed, step * batch + row);
      const auto chain = *(*task)->chain_of_thought(expected.prompt);
      ASSERT_EQ(answers, static_cast<std::int64_t>(chain.size()));
      std::vector<std::int64_t> whole = expected.prompt.fields[0];
      whole.insert(whole.end(), chain.begin(), chain.end() - 1);
      ASSERT_EQ(std::vector<std::int64_t>(tokens.begin() + row * length, tokens.begin() + (row + 1) * length),
                whole)
          << given.name;
      ASSERT_TRUE(std::equal(chain.begin(), chain.end(), targets.begin() + row * answers)) << given.name;
    }
  }
}

TEST(TaskInstances, further_questions_are_about_the_same_tables_and_rightly_answered) {
  for (InstanceCase given : instance_cases()) {
    if (!asks_again(given.task.kind)) continue;
    const auto task = make_task(given.name, given.sizes);
    ASSERT_TRUE(task.ok()) << given.name;
    const std::int64_t base = instance_length(given.task), batch = 30, step = 2;
    given.task.questions = 7;
    const std::int64_t length = instance_length(given.task), question = question_length(given.task);
    ASSERT_EQ(length, base + 7 * question);
    const std::uint64_t seed = 11;
    std::vector<std::int32_t> tokens(batch * length);
    std::vector<std::int64_t> targets(batch * 8);
    task_instances(given.task, {1, batch, &seed, &step, tokens.data(), targets.data()});
    std::int64_t ones = 0, different = 0;
    for (std::int64_t row = 0; row < batch; ++row) {
      const Instance plain = (*task)->generate(variant_of(given.task), seed, step * batch + row);
      const auto start = tokens.begin() + row * length;
      ASSERT_TRUE(std::equal(plain.prompt.fields[0].begin(), plain.prompt.fields[0].end(), start));
      ASSERT_EQ(targets[row * 8], plain.answer[0]);
      for (std::int64_t i = 1; i <= 7; ++i) {
        Prompt asked = plain.prompt;
        const auto from = start + base + (i - 1) * question;
        std::copy(from, from + question, asked.fields[0].end() - question);
        ASSERT_EQ(targets[row * 8 + i], (*task)->answer(asked)[0]) << given.name << " question " << i;
        ones += targets[row * 8 + i];
        different += asked.fields[0] != plain.prompt.fields[0];
      }
    }
    if (given.name == "two-sum" && given.sizes.at("n") == 16) {
      EXPECT_GT(ones, batch * 7 / 3) << "yes and no in equal parts";
      EXPECT_LT(ones, batch * 7 * 2 / 3);
    }
    if (given.name == "eva" && given.sizes.at("n") == 33 && given.task.variant == InstanceVariant::uniform) {
      EXPECT_GT(different, batch * 6);
    }
  }
}

TEST(TaskInstances, parts_of_a_chain_are_asked_in_turn_and_rightly_answered) {
  for (InstanceCase given : instance_cases()) {
    if (given.task.kind != InstanceKind::seqcomp) continue;
    const auto task = make_task(given.name, given.sizes);
    ASSERT_TRUE(task.ok());
    given.task.questions = 3, given.task.parts = true;
    const std::int64_t L = given.task.levels, question = L + 1, length = instance_length(given.task);
    std::vector<std::pair<std::int64_t, std::int64_t>> kinds{{1, L}};  // levels from, to
    for (std::int64_t a = 1; a <= L; ++a)
      for (std::int64_t b = a; b <= L; ++b)
        if (a > 1 || b < L) kinds.emplace_back(a, b);
    ASSERT_EQ(question_kinds(given.task), static_cast<std::int64_t>(kinds.size()));
    const std::int64_t batch = 60, step = 1;
    const std::uint64_t seed = 5;
    std::vector<std::int32_t> tokens(batch * length);
    std::vector<std::int64_t> targets(batch * 4), between((L - 1) * batch * 4, -7);
    task_instances(given.task,
                   {1, batch, &seed, &step, tokens.data(), targets.data(), nullptr, 0, between.data()});
    std::set<std::pair<std::int64_t, std::int64_t>> met;  // place, kind
    for (std::int64_t row = 0; row < batch; ++row) {
      const Instance plain = (*task)->generate(Variant::uniform, seed, step * batch + row);
      const std::int32_t* start = tokens.data() + row * length;
      const std::int64_t tables = length - 4 * question;
      for (std::int64_t t = 0; t < tables; ++t) ASSERT_EQ(start[t], plain.prompt.fields[0][t]);
      for (std::int64_t i = 0; i < 4; ++i) {
        const std::int32_t* asked = start + tables + i * question;
        const std::int64_t kind = asked[L] - given.task.domain[L - 1];
        ASSERT_GE(kind, 0);
        ASSERT_LT(kind, static_cast<std::int64_t>(kinds.size()));
        met.emplace(i, kind);
        if (i == 0 && kind == 0) {
          for (std::int64_t t = 0; t < question; ++t)
            ASSERT_EQ(asked[t], plain.prompt.fields[0][static_cast<std::size_t>(tables + t)]);
        }
        std::int64_t value = asked[0];
        for (std::int64_t l = 1; l < L; ++l)
          if (l < kinds[kind].first || l > kinds[kind].second)
            ASSERT_EQ(between[(l - 1) * batch * 4 + row * 4 + i], -1) << "not passed";
        for (std::int64_t l = kinds[kind].first; l <= kinds[kind].second; ++l) {
          std::int64_t begin = tables;  // of the table of z_l: those of lower levels stand behind it
          for (std::int64_t j = 0; j < l; ++j) begin -= given.task.domain[j];
          value = start[begin + (l == 1 ? value : asked[l - 1] * given.task.domain[l - 2] + value)];
          if (l < L) ASSERT_EQ(between[(l - 1) * batch * 4 + row * 4 + i], value) << "level " << l;
        }
        ASSERT_EQ(targets[row * 4 + i], value)
            << "levels " << kinds[kind].first << " to " << kinds[kind].second;
      }
    }
    EXPECT_EQ(met.size(), 4 * kinds.size()) << "every place meets every kind";
  }
}

TEST(TaskInstances, of_a_support_are_instances_of_the_task_within_it_and_the_whole_is_the_task) {
  for (InstanceCase given : instance_cases()) {
    const bool chain = given.task.kind == InstanceKind::seqcomp;
    if (!chain && given.task.kind != InstanceKind::evaluation) continue;
    if (given.task.variant != InstanceVariant::uniform) continue;  // has no support
    const auto task = make_task(given.name, given.sizes);
    ASSERT_TRUE(task.ok()) << given.name;
    given.task.questions = 2;
    const InstanceSupport whole = whole_support(given.task);
    InstanceSupport part = whole;
    for (std::int64_t& size : part.size) size = (size + 1) / 2;
    const std::int64_t length = instance_length(given.task), question = question_length(given.task),
                       tables = table_length(given.task), batch = 50, step = 3;
    const std::uint64_t seeds[] = {7, 7, 8};
    const InstanceSupport supports[] = {part, whole, part};  // a member each
    std::vector<std::int32_t> tokens(3 * batch * length), plain(tokens.size());
    std::vector<std::int64_t> answers(3 * batch * 3), plain_answers(answers.size());
    task_instances(given.task, {3, batch, seeds, &step, tokens.data(), answers.data(), supports});
    task_instances(given.task, {3, batch, seeds, &step, plain.data(), plain_answers.data()});
    for (std::int64_t row = 0; row < 3 * batch; ++row) {
      const std::int32_t* start = tokens.data() + row * length;
      if (row / batch == 1) {
        ASSERT_TRUE(std::equal(start, start + length, plain.data() + row * length)) << given.name;
        continue;
      }
      std::int64_t at = 0;
      for (std::int64_t l = chain ? given.task.levels : 1; l >= 1; --l) {
        const std::int64_t values = chain ? support_domain(part, l - 1) : part.size[1];
        const std::int64_t entries = chain ? given.task.domain[l - 1] : given.task.n;
        // Entries that nothing asks for repeat those that something does, by start, choice and value.
        const std::int64_t below = l > 1 ? given.task.domain[l - 2] : entries,
                           asked = l > 1 ? support_domain(part, l - 2) : part.size[0];
        for (std::int64_t j = 0; j < entries; ++j) {
          ASSERT_LT(start[at + j], values) << given.name;
          const std::int64_t choice = l > 1 ? j / below % part.size[l - 1] : 0;
          ASSERT_EQ(start[at + j], start[at + choice * below + j % below % asked]) << given.name << " " << j;
        }
        at += entries;
      }
      ASSERT_EQ(at, tables);
      for (std::int64_t i = 0; i < 3; ++i) {
        const std::int32_t* asked = start + tables + i * question;
        for (std::int64_t l = 0; l < (chain ? given.task.levels : 1); ++l)
          ASSERT_LT(asked[l], part.size[l]) << given.name;
        Prompt prompt{tables + question, {std::vector<std::int64_t>(start, start + tables)}};
        prompt.fields[0].insert(prompt.fields[0].end(), asked, asked + question);
        ASSERT_TRUE((*task)->validate(prompt).ok()) << given.name;
        ASSERT_EQ(answers[row * 3 + i], (*task)->answer(prompt)[0]) << given.name;
      }
    }
  }
}

TEST(TaskInstances, sizes_that_no_int32_holds_are_refused) {
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::evaluation, .n = 4, .sigma = std::int64_t{1} << 40}));
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::two_sum, .n = 0, .modulus = 5}));
  EXPECT_FALSE(
      instances_fit({.kind = InstanceKind::mqar, .n = 4, .sigma = 2147483647, .keys = 8, .queries = 1}));
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::seqcomp, .levels = 2, .domain = {4, 6}}));
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::seqcomp, .levels = 9}));
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::mqar, .n = 4, .sigma = 4, .keys = 8, .questions = 1}));
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::evaluation, .n = 4, .sigma = 4, .questions = -1}));
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::evaluation, .n = 4, .sigma = 4, .parts = true}));
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::automaton, .n = 4}));  // no tables
  EXPECT_FALSE(instances_fit(
      {.kind = InstanceKind::gapped_mqar, .n = 2, .sigma = 4, .keys = 4, .queries = 3}));  // no weights
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::gapped_mqar,
                              .n = 4,
                              .sigma = 4,
                              .keys = 4,
                              .queries = 3,
                              .gap_weights = kEvenGaps}));
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::khop, .n = 4, .sigma = 2147483647}));
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::khop, .n = 4, .variant = InstanceVariant::zipf}));
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::khop, .n = 4, .sigma = 1, .different = true}));
  EXPECT_FALSE(instances_fit(
      {.kind = InstanceKind::evaluation, .n = 4, .sigma = 3, .variant = InstanceVariant::permutation}));
  EXPECT_FALSE(instances_fit(
      {.kind = InstanceKind::evaluation, .n = 4, .sigma = 4, .questions = 1, .thoughts = true}));
  EXPECT_FALSE(
      instances_fit({.kind = InstanceKind::copy, .n = 4, .sigma = 4, .places = 3, .selective = true}));
  EXPECT_FALSE(instances_fit({.kind = InstanceKind::copy, .n = 4, .sigma = 4, .questions = 1, .places = 4}));
}

TEST(TaskInstances, a_bound_that_rejects_half_of_its_draws_is_still_the_tasks_own) {
  Random expected(3, 5);
  InstanceRandom drawn(3, 5);
  for (const std::uint64_t bound : {1ULL, 3ULL, (1ULL << 63) + 1, ~0ULL, 12345678901234567ULL})
    for (int i = 0; i < 200; ++i) ASSERT_EQ(drawn.below(bound), expected.below(bound));
}

}  // namespace
}  // namespace rung::kernels
