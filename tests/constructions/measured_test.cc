// A measured precision is what no search here refutes: the verification draws as many instances as asked of every kind,
// keys that repeat among them, and a search of its own, for which the verification's instances are unknown, finds no
// wrong answer at p_measured.
#include <set>

#include "tests/constructions/forms.h"
#include "tests/constructions/verified.h"

namespace rung {
namespace {

Instance instance_of(const Task& task, std::vector<std::int64_t> tokens) {
  Prompt prompt{static_cast<std::int64_t>(tokens.size()), {std::move(tokens)}};
  EXPECT_TRUE(task.validate(prompt));
  auto answer = task.answer(prompt);
  return {std::move(prompt), std::move(answer)};
}

TEST(Measured, mqar_is_wrong_at_four_bits_where_a_key_comes_three_times) {
  ConstructionRequest request = request_of_line("mqar --n 8");
  request.precision = 4;
  const Construction made = built(request);
  const Instance hard =
      instance_of(*made.task, {9, 0, 10, 0, 11, 0, 12, 0, 13, 0, 8, 0, 8, 0, 8, 7, 8, 8, 8, 8, 8, 8, 8, 8});
  EXPECT_EQ(hard.answer, std::vector<std::int64_t>(8, 7));
  const auto found = verify_on(made, {hard});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->errors, 1u);
  // ... and the verification finds such a prompt itself.
  EXPECT_GT(verified(made, {.budget = 1000, .samples = 100}).errors, 0u);
  const auto search =
      search_precision(request_of_line("mqar --n 8"), {.budget = 1000, .samples = 100}, 2, 12);
  ASSERT_TRUE(search && search->p_measured);
  EXPECT_GT(*search->p_measured, 4);
}

TEST(Measured, as_many_instances_of_every_kind_as_asked) {
  const Construction made = built(request_of_line("cgram --n 40 --c 4 --sigma 3"));
  constexpr std::int64_t kAsked = 200;
  const Verification found = verified(made, {.samples = kAsked});
  // Worst, uniform, zipf and crowded; a permutation or near duplicates need more symbols.
  EXPECT_GE(found.instances, 4u * kAsked);
  EXPECT_EQ(found.errors, 0u);
  // One kind after another: adversarial ones come on top where the task has them.
  const Construction more = built(request_of_line("cgram --n 40 --c 4 --sigma 5"));
  EXPECT_GE(verified(more, {.samples = kAsked}).instances, 5u * kAsked);
}

TEST(Measured, crowded_prompts_are_instances_and_repeat_their_symbols) {
  for (const char* name : {"eva", "mqar", "cgram", "two-sum", "counting", "dyck", "equality", "index"}) {
    const auto task = make_task(name, {{"n", 12}});
    ASSERT_TRUE(task);
    std::size_t fewest = 100;
    for (std::uint64_t i = 0; i < 50; ++i) {
      const auto drawn = crowded_instance(**task, 1, i);
      ASSERT_TRUE(drawn) << name;
      EXPECT_TRUE((*task)->validate(drawn->prompt)) << name;
      EXPECT_EQ((*task)->answer(drawn->prompt), drawn->answer) << name;
      EXPECT_EQ(drawn, crowded_instance(**task, 1, i));
      std::set<std::int64_t> symbols(drawn->prompt.fields[0].begin(), drawn->prompt.fields[0].end());
      fewest = std::min(fewest, symbols.size());
    }
    EXPECT_LE(fewest, 4u) << name;
  }
}

// The search: prompts written choice by choice. Half are mutations of a prompt that was drawn before: a stretch of it
// repeats, one choice is copied over others, or one digit of a choice flips, so that crowds, near duplicates and long
// repetitions grow. Returns the first wrong instance.
std::optional<FailedInstance> refutation(const Construction& made, std::uint64_t seed, int prompts) {
  const Task& task = *made.task;
  Random random(seed, 77);
  const std::int64_t T = task.prompt_length();
  std::vector<std::vector<std::uint64_t>> pool;
  std::vector<Instance> batch;
  for (int i = 0; i < prompts; ++i) {
    std::vector<std::uint64_t> choices(static_cast<std::size_t>(T));
    if (pool.empty() || random.below(4) == 0) {
      const std::uint64_t few = 1 + random.below(5);
      for (auto& choice : choices) choice = random.below(few) * (random.below(8) ? 1 : random.next() % 1000);
    } else {
      choices = pool[random.below(pool.size())];
      const std::size_t at = random.below(choices.size()), from = random.below(choices.size()),
                        length = 1 + random.below(choices.size());
      switch (random.below(4)) {
        case 0:
          for (std::size_t k = 0; k < length; ++k) choices[(at + k) % choices.size()] = choices[from];
          break;
        case 1:
          for (std::size_t k = 0; k < length; ++k)
            choices[(at + k) % choices.size()] = choices[(from + k) % choices.size()];
          break;
        case 2:
          choices[at] ^= std::uint64_t{1} << random.below(5);
          break;
        default:
          for (std::size_t k = at; k < choices.size(); k += 2) choices[k] = choices[from];
      }
    }
    Prompt prompt = task.empty_prompt();
    for (std::int64_t t = 0; t < T; ++t) {
      const std::int64_t options = task.choices(prompt);
      if (options < 1) return std::nullopt;
      task.extend(prompt, static_cast<std::int64_t>(choices[static_cast<std::size_t>(t)] %
                                                    static_cast<std::uint64_t>(options)));
    }
    pool.push_back(std::move(choices));
    if (pool.size() > 400) pool.erase(pool.begin());
    auto answer = task.answer(prompt);
    batch.push_back({std::move(prompt), std::move(answer)});
  }
  const auto found = verify_on(made, batch);
  EXPECT_TRUE(found);
  return found ? found->failure : std::nullopt;
}

TEST(Measured, the_search_refutes_what_is_too_narrow) {
  ConstructionRequest request = request_of_line("mqar --n 8");
  request.precision = 4;
  EXPECT_TRUE(refutation(built(request), 1, 3000));
  EXPECT_FALSE(refutation(built(request_of_line("mqar --n 8")), 1, 3000));
}

class MeasuredForm : public testing::TestWithParam<Form> {};
INSTANTIATE_TEST_SUITE_P(Constructions, MeasuredForm, testing::ValuesIn(forms()),
                         [](const auto& info) { return info.param.name; });

TEST_P(MeasuredForm, no_search_refutes_a_measured_precision) {
  for (const auto& line : GetParam().lines) {
    ConstructionRequest request = request_of_line(line);
    const Construction proved = built(request);
    if (proved.task->prompt_length() > 100 || !crowded_instance(*proved.task, 1, 0)) continue;
    const auto search = search_precision(request, {.budget = 2000, .samples = 100}, 2,
                                         proved.weights.architecture.dimensions.precision.bits);
    ASSERT_TRUE(search && search->p_measured) << line;
    request.precision = *search->p_measured;
    const int prompts = proved.task->prompt_length() > 40 ? 300 : 1500;
    const auto wrong = refutation(built(request), 5, prompts);
    EXPECT_FALSE(wrong) << line << " at p = " << *search->p_measured << ": "
                        << (wrong ? show_failure(*proved.task, *wrong) : "");
  }
}

}  // namespace
}  // namespace rung
