// The argument of selection-two-sum on models: the pair that it promises is there, whatever the weights.
#include <gtest/gtest.h>

#include "rung/exact/machine.h"
#include "rung/exact/random_model.h"
#include "rung/tasks/task.h"

namespace rung {
namespace {

// Index keys of one 2-bit number for five values: two values share one. All tokens hold the first, one that is not
// selected changes to the second, and nothing at the query changes though the answer does.
TEST(selection, leaves_a_pair_that_a_model_cannot_tell_apart) {
  constexpr std::int64_t kTokens = 3, kModulus = 5;
  const auto task = make_task("two-sum", {{"n", kTokens}, {"M", kModulus}});
  ASSERT_TRUE(task);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomModel model;
    model.architecture.stack = *parse_stack("topk(k=2,index_dim=1,index_heads=2,form=plain)");
    auto& d = model.architecture.dimensions;
    d.width = 6;
    d.heads = 2;
    d.position = PositionCode::none;
    d.precision.bits = 2;
    d.context = kTokens + 1;
    model.fields = (*task)->fields();
    model.output = {OutputSpec::Kind::threshold, 1, 0};
    model.seed = seed;
    const auto weights = random_weights(model);
    ASSERT_TRUE(weights) << weights.error().message;
    const auto machine = Machine::load(*weights, {.positions = kTokens + 1});
    ASSERT_TRUE(machine) << machine.error().message;
    const auto activation = [&](const std::vector<std::int64_t>& tokens) {
      const Prompt prompt{kTokens + 1, {tokens}};
      return (*machine)->forward(prompt, std::span(&kTokens, 1)).value()[0].activation;
    };
    bool found = false;
    for (std::int64_t a = 0; a < kModulus && !found; ++a)
      for (std::int64_t b = 0; b < kModulus && !found; ++b)
        for (std::int64_t t = 0; t < kTokens && a != b && !found; ++t) {
          std::vector<std::int64_t> first(kTokens + 1, b);
          first.back() = (kModulus - a) % kModulus;
          std::vector<std::int64_t> second = first;
          second[static_cast<std::size_t>(t)] = a;
          ASSERT_EQ((*task)->answer({kTokens + 1, {first}})[0], 0);
          ASSERT_EQ((*task)->answer({kTokens + 1, {second}})[0], 1);
          found = activation(first) == activation(second);
        }
    EXPECT_TRUE(found) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rung
