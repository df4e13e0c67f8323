// The checker's tasks against rung/tasks: every prompt of the tree at small sizes, in the same order, with
// the same answers; and prompts that are no instance.
#include "check/task.h"

#include <gtest/gtest.h>

#include "rung/base/random.h"
#include "rung/tasks/task.h"

namespace rung {
namespace {

struct TaskCase {
  std::string name;
  TaskSizes sizes;
  std::map<std::string, std::string> options = {};
};

const std::vector<TaskCase> kCases = {
    {"eva", {{"n", 1}}},
    {"eva", {{"n", 4}}},
    {"index", {{"n", 3}, {"sigma", 2}}},
    {"index", {{"n", 2}, {"sigma", 5}}},
    {"retrieval", {{"n", 2}, {"D", 2}, {"sigma", 3}}},
    {"retrieval", {{"n", 3}, {"D", 2}, {"sigma", 2}}},
    {"mqar", {{"n", 2}, {"M", 3}, {"sigma", 2}, {"queries", 2}}},
    {"two-sum", {{"n", 3}, {"M", 5}}},
    {"two-sum", {{"n", 2}, {"M", 1}}},
    {"two-sum-exists", {{"n", 4}, {"M", 6}}},
    {"three-sum", {{"n", 4}, {"M", 5}}},
    {"three-sum", {{"n", 5}, {"M", 4}}},
    {"seqcomp", {{"L", 1}, {"m", 3}}},
    {"seqcomp", {{"L", 2}, {"m", 2}, {"n1", 2}}},
    {"seqcomp", {{"L", 2}, {"m", 2}, {"n1", 2}}, {{"order", "easy"}}},
    {"seqcomp", {{"L", 3}, {"m", 1}, {"n1", 2}, {"n2", 1}}},
    {"seqcomp", {{"L", 3}, {"m", 1}, {"n1", 2}, {"n2", 2}}, {{"order", "easy"}}},
    {"sparse-average", {{"n", 3}, {"q", 2}, {"d", 1}, {"f", 1}}},
    {"sparse-average", {{"n", 2}, {"q", 1}, {"d", 2}, {"f", 0}}, {{"read", "last"}}},
    {"equality", {{"n", 3}}},
    {"disjointness", {{"n", 3}}},
    {"dyck", {{"n", 5}, {"k", 2}, {"depth", 2}}},
    {"dyck", {{"n", 6}, {"k", 1}, {"depth", 2}}},
    {"cgram", {{"n", 5}, {"c", 3}, {"sigma", 3}}},
    {"cgram", {{"n", 6}, {"c", 4}, {"sigma", 2}}},
    {"counting", {{"n", 4}, {"sigma", 2}, {"k", 0}}},
    {"counting", {{"n", 4}, {"sigma", 3}, {"k", 2}}},
    {"istree", {{"n", 4}}},
    {"istree", {{"n", 2}}},
    {"khop", {{"n", 6}, {"k", 2}, {"sigma", 3}}},
    {"khop", {{"n", 5}, {"k", 3}, {"sigma", 2}}, {{"read", "all"}}},
    {"parity", {{"n", 1}}},
    {"parity", {{"n", 6}}, {{"read", "all"}}},
    {"modulo", {{"n", 4}, {"m", 3}}},
    {"modulo", {{"n", 3}, {"m", 4}}, {{"read", "all"}}},
    {"group", {{"n", 3}}},
    {"group", {{"n", 2}}, {{"name", "D4"}}},
    {"group", {{"n", 2}}, {{"name", "D1"}, {"read", "all"}}},
    {"group", {{"n", 3}}, {{"name", "Q8"}}},
    {"group", {{"n", 2}}, {{"name", "A4"}}},
    {"group", {{"n", 2}}, {{"name", "S4"}}},
    {"group", {{"n", 5}}, {{"name", "S5"}, {"letters", "generators"}}},
    {"group", {{"n", 5}}, {{"name", "A5"}, {"letters", "generators"}, {"read", "all"}}},
    {"group", {{"n", 2}}, {{"name", "Z2xS3"}}},
    {"group", {{"n", 3}}, {{"name", "Z3xQ8"}, {"letters", "generators"}}},
    {"flipflop", {{"n", 4}, {"k", 2}}},
    {"flipflop", {{"n", 3}, {"k", 3}}, {{"read", "all"}}},
    {"tracked-recall", {{"n", 3}, {"sigma", 2}, {"w", 2}}},
    {"tracked-recall", {{"n", 3}, {"sigma", 2}, {"w", 2}}, {{"group", "cyclic"}}},
    {"tracked-recall", {{"n", 4}, {"sigma", 2}, {"w", 1}}, {{"group", "xor"}}},
    {"copy", {{"n", 3}, {"sigma", 3}}},
    {"selective-copy", {{"n", 2}, {"m", 4}, {"sigma", 2}}},
    {"selective-copy", {{"n", 3}, {"m", 3}, {"sigma", 2}}},
};

rung_check::Task::Sizes sizes_of(const Task& task) {
  const auto json = task.size();
  rung_check::Task::Sizes sizes;
  for (const auto& [key, value] : json.items()) sizes[key] = value.get<std::int64_t>();
  return sizes;
}

class EveryTask : public testing::TestWithParam<TaskCase> {};
INSTANTIATE_TEST_SUITE_P(Cases, EveryTask, testing::ValuesIn(kCases));

TEST_P(EveryTask, has_the_same_prompts_in_the_same_order_with_the_same_answers) {
  const auto& [name, sizes, options] = GetParam();
  SCOPED_TRACE(name);
  const auto theirs = make_task(name, sizes, options);
  ASSERT_TRUE(theirs) << theirs.error().message;
  rung_check::Budget budget;
  const auto ours = rung_check::make_task(name, sizes, options, budget);
  EXPECT_EQ(ours->length, (*theirs)->prompt_length());
  EXPECT_EQ(ours->queries, (*theirs)->query_positions());
  const auto fields = (*theirs)->fields();
  ASSERT_EQ(ours->fields.size(), fields.size());
  for (std::size_t f = 0; f < fields.size(); ++f) {
    EXPECT_EQ(ours->fields[f].name, fields[f].name);
    EXPECT_EQ(ours->fields[f].size, fields[f].size);
    EXPECT_EQ(ours->fields[f].length, fields[f].length);
    EXPECT_EQ(ours->fields[f].low, fields[f].low);
  }
  const AnswerSpec spec = (*theirs)->answer_spec();
  EXPECT_EQ(ours->vector, spec.kind == AnswerSpec::Kind::vector);
  EXPECT_EQ(ours->answer_size, spec.size);
  if (ours->vector) {
    EXPECT_EQ(ours->fraction, spec.fraction);
    EXPECT_EQ(1.0 / static_cast<double>(ours->tolerance), spec.tolerance);
  }
  // Our tree, depth first, beside theirs.
  std::vector<rung_check::Prompt> leaves;
  const std::function<void(const rung_check::Prompt&)> grow = [&](const rung_check::Prompt& prefix) {
    if (prefix.positions == ours->length) return leaves.push_back(prefix);
    for (std::int64_t c = 0; c < ours->choices(prefix); ++c) {
      auto longer = prefix;
      ours->extend(longer, c);
      grow(longer);
    }
  };
  grow({0, std::vector<rung_check::Row>(fields.size())});
  std::size_t i = 0;
  const auto visited = enumerate(**theirs, [&](const Instance& instance) {
    EXPECT_LT(i, leaves.size());
    if (i >= leaves.size()) return false;
    EXPECT_EQ(leaves[i].fields, instance.prompt.fields) << "instance " << i;
    EXPECT_NO_THROW(ours->check(leaves[i]));
    rung_check::Row flat;
    for (const auto& answer : ours->answers(leaves[i])) flat.insert(flat.end(), answer.begin(), answer.end());
    EXPECT_EQ(flat, instance.answer) << "instance " << i;
    ++i;
    return !testing::Test::HasFailure();
  });
  EXPECT_EQ(visited, leaves.size());
}

TEST_P(EveryTask, refuses_what_is_no_instance) {
  const auto& [name, sizes, options] = GetParam();
  const auto theirs = make_task(name, sizes, options);
  rung_check::Budget budget;
  const auto ours = rung_check::make_task(name, sizes, options, budget);
  // Every number of some instances moved by one, up and down: the two programs agree on what is left of an
  // instance.
  std::size_t refused = 0;
  for (std::uint64_t index = 0; index < 20; ++index) {
    const Instance instance = (*theirs)->generate(Variant::uniform, 1, index);
    for (std::size_t f = 0; f < instance.prompt.fields.size(); ++f)
      for (std::size_t i = 0; i < instance.prompt.fields[f].size(); ++i)
        for (const std::int64_t step : {-1, 1}) {
          Prompt moved = instance.prompt;
          moved.fields[f][i] += step;
          bool valid = true;
          try {
            ours->check({moved.positions, moved.fields});
          } catch (const rung_check::Rejected&) {
            valid = false;
            ++refused;
          }
          ASSERT_EQ(valid, static_cast<bool>((*theirs)->validate(moved)))
              << name << " " << (*theirs)->text(instance.prompt) << " field " << f << " at " << i;
          if (!valid) continue;
          rung_check::Row flat;
          for (const auto& answer : ours->answers({moved.positions, moved.fields}))
            flat.insert(flat.end(), answer.begin(), answer.end());
          ASSERT_EQ(flat, (*theirs)->answer(moved));
        }
  }
  EXPECT_GT(refused, 0u);
}

// What was asked before leaves no trace: one task object for all prompts answers as a fresh one does.
TEST_P(EveryTask, remembers_nothing_that_changes_an_answer) {
  const auto& [name, sizes, options] = GetParam();
  const auto theirs = make_task(name, sizes, options);
  rung_check::Budget budget;
  const auto ours = rung_check::make_task(name, sizes, options, budget);
  Random random(3);
  std::vector<rung_check::Prompt> prefixes;
  for (std::uint64_t index = 0; index < 8; ++index) {
    const Instance instance = (*theirs)->generate(Variant::uniform, 5, index);
    for (std::int64_t cut = 0; cut < ours->length; ++cut) {
      rung_check::Prompt prefix{cut, instance.prompt.fields};
      for (std::size_t f = 0; f < prefix.fields.size(); ++f)
        prefix.fields[f].resize(static_cast<std::size_t>(cut * ours->fields[f].length));
      prefixes.push_back(prefix);
    }
  }
  for (int step = 0; step < 300; ++step) {
    const auto& prefix = prefixes[random.below(prefixes.size())];
    const auto fresh = rung_check::make_task(name, sizes, options, budget);
    const std::int64_t count = ours->choices(prefix);
    ASSERT_EQ(count, fresh->choices(prefix));
    if (count < 1) continue;
    const auto choice = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(count)));
    rung_check::Prompt a = prefix, b = prefix;
    ours->extend(a, choice);
    fresh->extend(b, choice);
    ASSERT_EQ(a.fields, b.fields) << name << " after " << prefix.positions;
  }
}

// Sizes at which the work, were it not charged, would take days: the limit ends it.
TEST(Work, is_bounded_for_long_walks) {
  const std::vector<TaskCase> cases = {
      {"mqar", {{"n", 1 << 12}, {"M", 1 << 20}, {"sigma", 4}, {"queries", 1 << 20}}},
      {"retrieval", {{"n", 1 << 20}, {"D", 40}, {"sigma", 2}}},
      {"sparse-average", {{"n", 1 << 18}, {"q", 2}, {"d", 1}, {"f", 0}}}};
  for (const auto& [name, sizes, options] : cases) {
    rung_check::Budget budget(100'000'000);
    const auto task = rung_check::make_task(name, sizes, options, budget);
    rung_check::Prompt prompt{0, std::vector<rung_check::Row>(task->fields.size())};
    const auto grow = [&] {
      while (prompt.positions < task->length) task->extend(prompt, task->choices(prompt) - 1);
    };
    EXPECT_THROW(grow(), rung_check::OutOfResources) << name;
  }
}
TEST(Work, is_bounded_for_sums) {
  rung_check::Budget budget(100'000'000);
  const auto task =
      rung_check::make_task("three-sum", {{"n", 1 << 20}, {"M", std::int64_t{1} << 60}}, {}, budget);
  rung_check::Prompt prompt{1 << 20, {{}}};
  for (std::int64_t i = 0; i < 1 << 20; ++i)
    prompt.fields[0].push_back(1 + i * i % 1'000'003);  // three of them stay below M
  EXPECT_THROW(task->answers(prompt), rung_check::OutOfResources);
}
TEST(Work, for_a_walk_of_many_questions_is_not_a_sort_each) {
  rung_check::Budget budget(200'000'000);
  const auto task = rung_check::make_task(
      "mqar", {{"n", 1 << 12}, {"M", 1 << 20}, {"sigma", 4}, {"queries", 1 << 12}}, {}, budget);
  rung_check::Prompt prompt{0, {{}}};
  Random random(1);
  while (prompt.positions < task->length)
    task->extend(prompt,
                 static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(task->choices(prompt)))));
  EXPECT_NO_THROW(task->check(prompt));
}

TEST(EveryTaskName, is_known_to_the_checker) {
  for (const auto& word : task_words()) {
    const auto theirs = make_task(word.name, {});
    ASSERT_TRUE(theirs);
    auto sizes = sizes_of(**theirs);
    rung_check::Budget budget;
    const auto ours = rung_check::make_task(std::string(word.name), sizes, {}, budget);
    for (std::uint64_t i = 0; i < 200; ++i) {
      const Instance instance = (*theirs)->generate(Variant::uniform, 7, i);
      EXPECT_NO_THROW(ours->check({instance.prompt.positions, instance.prompt.fields}));
      rung_check::Row flat;
      for (const auto& answer : ours->answers({instance.prompt.positions, instance.prompt.fields}))
        flat.insert(flat.end(), answer.begin(), answer.end());
      EXPECT_EQ(flat, instance.answer) << word.name;
    }
    sizes["nonsense"] = 1;
    EXPECT_THROW(rung_check::make_task(std::string(word.name), sizes, {}, budget), rung_check::Malformed);
  }
}

TEST(EveryTaskName, is_not_taken_with_huge_or_negative_sizes) {
  for (const auto& word : task_words()) {
    const auto theirs = make_task(word.name, {});
    for (const auto& [name, value] : sizes_of(**theirs))
      for (const std::int64_t size :
           {std::int64_t{-1}, std::int64_t{1} << 31, std::int64_t{1} << 60, std::int64_t{1} << 62}) {
        auto sizes = sizes_of(**theirs);
        sizes[name] = size;
        rung_check::Budget budget;
        try {
          const auto task = rung_check::make_task(std::string(word.name), sizes, {}, budget);
          EXPECT_LE(task->length, 1 << 24);
        } catch (const rung_check::Malformed&) {
        } catch (const rung_check::OutOfResources&) {
        }
      }
  }
}

}  // namespace
}  // namespace rung
