#include "rung/adversary/state_kernel.h"

#include "rung/adversary/lane_kernel.h"
#include "rung/base/random.h"
#include "tests/adversary/lane_cases.h"

namespace rung {
namespace {

class state_kernel : public testing::TestWithParam<LaneCase> {};

// The states of lanes, of the exact machine, and the keys made of them, on random beginnings.
void compare(const Target& target, const StateKernel& kernel, std::int64_t prompts) {
  const auto session = make_session_kernel(target, kernel.space());
  const auto slots = static_cast<std::int64_t>(kernel.space().slots.size());
  Random random(7);
  for (std::int64_t depth = 1; depth <= kernel.layers(); ++depth) {
    const std::int64_t length = slots, count = prompts / kernel.layers();
    std::vector<std::uint16_t> choices(static_cast<std::size_t>(count * length));
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t j = 0; j < length; ++j)
        choices[static_cast<std::size_t>(i * length + j)] = static_cast<std::uint16_t>(
            random.below(kernel.space().slots[static_cast<std::size_t>(j)].rows.size()));
    std::vector<std::int64_t> fast(static_cast<std::size_t>(count * kernel.numbers(depth))),
        slow(fast.size());
    kernel.run(depth, 0, length, count, choices.data(), nullptr, false, fast.data());
    session->run(depth, 0, length, count, choices.data(), nullptr, false, slow.data());
    ASSERT_EQ(fast, slow) << "depth " << depth;
    // Restarted in the middle, each from its own state.
    const std::int64_t half = length / 2;
    std::vector<std::uint16_t> front, back;
    for (std::int64_t i = 0; i < count; ++i) {
      front.insert(front.end(), choices.begin() + i * length, choices.begin() + i * length + half);
      back.insert(back.end(), choices.begin() + i * length + half, choices.begin() + (i + 1) * length);
    }
    std::vector<std::int64_t> middle(fast.size()), end(fast.size());
    kernel.run(depth, 0, half, count, front.data(), nullptr, false, middle.data());
    kernel.run(depth, half, length - half, count, back.data(), middle.data(), false, end.data());
    ASSERT_EQ(end, fast) << "restarted, depth " << depth;
    std::vector<std::int64_t> alike(fast.size()), plain_alike(fast.size());
    kernel.run_alike(depth, half, length - half, count, back.data(), middle.data(), alike.data());
    kernel.StateKernel::run_alike(depth, half, length - half, count, back.data(), middle.data(),
                                  plain_alike.data());
    ASSERT_EQ(alike, plain_alike);
    const Walk walk{.salt = 3, .depth = depth, .first = 0, .length = half};
    std::vector<std::uint64_t> x(37), quick(37), plain(37);
    for (auto& value : x) value = random.next();
    kernel.keys(walk, x.data(), 37, quick.data());
    kernel.StateKernel::keys(walk, x.data(), 37, plain.data());
    ASSERT_EQ(quick, plain);
    const Walk onwards{
        .salt = 4, .depth = depth, .first = half, .length = length - half, .start = middle.data()};
    std::vector<std::uint64_t> quick_onwards(37), plain_onwards(37);
    kernel.keys(onwards, x.data(), 37, quick_onwards.data());
    kernel.StateKernel::keys(onwards, x.data(), 37, plain_onwards.data());
    ASSERT_EQ(quick_onwards, plain_onwards);
    if (!kernel.key_is_injective(depth)) {
      Walk two_words = onwards;
      two_words.words = kernel.code_words(depth);
      ASSERT_EQ(two_words.words, 2);
      std::vector<std::uint64_t> codes(2 * 37), quick_codes(2 * 37), plain_codes(2 * 37);
      for (auto& value : codes) value = random.next();
      kernel.keys(two_words, codes.data(), 37, quick_codes.data());
      kernel.StateKernel::keys(two_words, codes.data(), 37, plain_codes.data());
      ASSERT_EQ(quick_codes, plain_codes);
      continue;
    }
    const auto rows = kernel.space().slots[static_cast<std::size_t>(half)].rows.size();
    std::vector<std::uint64_t> next(37 * rows), plain_next(37 * rows);
    kernel.successors(depth, half, quick.data(), 37, next.data());
    kernel.StateKernel::successors(depth, half, quick.data(), 37, plain_next.data());
    ASSERT_EQ(next, plain_next);
  }
}

TEST_P(state_kernel, has_the_states_of_the_exact_machine) {
  const auto& [label, model, task, sizes] = GetParam();
  const auto target = random_target(model, task_of(task, sizes));
  const auto space = beginnings(*target.task, 64);
  ASSERT_TRUE(space);
  auto plan = plan_lanes(target);
  ASSERT_TRUE(plan) << plan.error().message;
  for (const bool wide : {false, true}) {
    auto kernel = make_lane_kernel(target, *space, *plan, wide);
    ASSERT_TRUE(kernel) << kernel.error().message;
    compare(target, **kernel, 4000);
  }
}

INSTANTIATE_TEST_SUITE_P(every_mixer, state_kernel, testing::ValuesIn(lane_cases()),
                         [](const auto& info) { return info.param.label; });

TEST(state_kernel, has_the_states_of_the_exact_machine_on_a_hundred_thousand_prompts) {
  const auto target =
      random_target({.architecture = "mamba2(heads=2,dim=2,state=2,form=plain)", .precision = 8},
                    task_of("eva", {{"n", 12}}));
  std::string why;
  auto kernel = make_state_kernel(target, *beginnings(*target.task, 64), &why);
  ASSERT_TRUE(kernel);
  EXPECT_EQ((*kernel)->name(), "lanes of int32") << why;
  EXPECT_EQ((*kernel)->bits(1), 64);
  compare(target, **kernel, 100'000);
}

TEST(state_kernel, asks_the_machine_where_lanes_do_not_know_the_mixer) {
  const auto target = random_target({.architecture = "mamba2(heads=1,dim=2,state=2,conv=2,form=plain)"},
                                    task_of("eva", {{"n", 5}}));
  std::string why;
  auto kernel = make_state_kernel(target, *beginnings(*target.task, 64), &why);
  ASSERT_TRUE(kernel);
  EXPECT_EQ((*kernel)->name(), "session");
  EXPECT_NE(why, "");
}

}  // namespace
}  // namespace rung
