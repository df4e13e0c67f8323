// The worked example of docs/adding_a_task.md: a task in one file, against a second formula and the contracts
// of task.h.
#include <gtest/gtest.h>

#include <algorithm>

#include "rung/tasks/sampling.h"
#include "rung/tasks/task_list.h"
#include "rung/tasks/token_task.h"
#include "tests/docs/page_code.h"

namespace rung {
namespace {

// Maximum: x_1 ... x_n of [sigma] → the largest of them, read at the last number. Permutation: numbers all
// different. Adversarial: all numbers are v, and one of them is v + 1, or is not.
class MaximumTask final : public TokenTask {
 public:
  MaximumTask(std::int64_t n, std::int64_t sigma) : n_(n), sigma_(sigma) {}

  std::string_view name() const override { return "maximum"; }
  SizeList size() const override { return {{"n", n_}, {"sigma", sigma_}}; }
  AnswerSpec answer_spec() const override { return token_answer(sigma_); }
  std::int64_t prompt_length() const override { return n_; }
  bool supports(Variant variant) const override {
    switch (variant) {
      case Variant::permutation:
        return sigma_ >= n_;
      case Variant::adversarial:
        return sigma_ >= 2;
      default:
        return true;
    }
  }

  Instance generate(Variant variant, std::uint64_t seed, std::uint64_t index) const override {
    RUNG_REQUIRE(supports(variant), "maximum {}", variant_name(variant));
    Draw drawn(variant, seed, index);
    Random& random = drawn.random;
    std::vector<std::int64_t> x(static_cast<std::size_t>(n_));
    if (variant == Variant::permutation) {
      x = distinct(random, n_, sigma_);
    } else if (variant == Variant::adversarial) {
      std::fill(x.begin(), x.end(), draw(random, variant, sigma_ - 1));
      const std::uint64_t place = random.below(x.size());
      if (drawn.flipped) ++x[place];
    } else {
      for (auto& value : x) value = draw(random, variant, sigma_);
    }
    const std::int64_t largest = *std::max_element(x.begin(), x.end());
    return token_instance(std::move(x), {largest});
  }

  std::vector<std::int64_t> answer(const Prompt& prompt) const override {
    const auto& x = prompt.fields[0];
    return {*std::max_element(x.begin(), x.end())};
  }

 protected:
  std::int64_t vocabulary() const override { return sigma_; }
  Range range(std::int64_t) const override { return {0, sigma_}; }

 private:
  std::int64_t n_, sigma_;
};

TaskWord maximum_word() {
  return {.name = "maximum",
          .summary = "x_1 ... x_n in [sigma] -> the largest of them",
          .sizes = {{"n", "numbers", 8, 1, kMaxPromptLength},
                    {"sigma", "values of a number", 8, 1, kMaxAlphabet}},
          .make = [](const TaskSizes& sizes, const TaskOptions&) {
            return new_task<MaximumTask>(sizes.at("n"), sizes.at("sigma"));
          }};
}

std::unique_ptr<Task> maximum(std::int64_t n, std::int64_t sigma) {
  return std::move(*maximum_word().make({{"n", n}, {"sigma", sigma}}, {}));
}

TEST(ExampleTask, enumerates_every_prompt_with_the_answer_of_a_second_formula) {
  const auto task = maximum(4, 3);
  const auto visited = enumerate(*task, [&](const Instance& instance) {
    const auto& x = instance.prompt.fields[0];
    std::int64_t bound = 0;  // the least b that no number exceeds
    while (std::any_of(x.begin(), x.end(), [&](auto value) { return value > bound; })) ++bound;
    EXPECT_EQ(instance.answer, std::vector<std::int64_t>{bound});
    EXPECT_TRUE(task->validate(instance.prompt));
    return true;
  });
  EXPECT_EQ(visited, 81u);
}

TEST(ExampleTask, refuses_a_number_outside_the_alphabet) {
  const auto task = maximum(3, 3);
  EXPECT_FALSE(task->validate({3, {{0, 3, 1}}}));
  EXPECT_FALSE(task->validate({2, {{0, 1}}}));
}

TEST(ExampleTask, draws_what_its_variants_promise) {
  const auto task = maximum(5, 6);
  for (const Variant variant :
       {Variant::uniform, Variant::permutation, Variant::zipf, Variant::adversarial}) {
    ASSERT_TRUE(task->supports(variant));
    for (std::uint64_t k = 0; k < 100; ++k) {
      const Instance one = task->generate(variant, 3, 2 * k), two = task->generate(variant, 3, 2 * k + 1);
      EXPECT_TRUE(task->validate(one.prompt));
      EXPECT_EQ(one.answer, task->answer(one.prompt));
      EXPECT_EQ(one, task->generate(variant, 3, 2 * k));
      if (variant == Variant::adversarial) {
        EXPECT_EQ(one.answer.front() + 1, two.answer.front());
      }
    }
  }
  EXPECT_FALSE(maximum(5, 4)->supports(Variant::permutation));
  EXPECT_FALSE(maximum(5, 1)->supports(Variant::adversarial));
}

TEST(ExampleTask, stands_in_the_page_word_for_word) {
  expect_shown("docs/adding_a_task.md", "tests/tasks/example_task_test.cc", "// Maximum");
}

}  // namespace
}  // namespace rung
