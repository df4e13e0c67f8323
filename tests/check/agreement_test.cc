// The checker's forward pass, written from docs/weights.md, against the exact machine: every mixer, strained
// in every direction that the page allows, bit for bit at every position; and the states after every number
// of positions.
#include <gtest/gtest.h>

#include "check/model.h"
#include "rung/exact/machine.h"
#include "tests/check/model_bytes.h"
#include "tests/exact/mixer_lines.h"
#include "tests/exact/strained_model.h"

namespace rung {
namespace {

constexpr std::uint64_t kModels = 16;  // per line; every third is strained to the edge of the page's domains

struct Tally {
  int ran = 0, refused = 0, states = 0;
};

void compare(const std::string& line, bool causal, std::uint64_t seed, Tally& tally) {
  SCOPED_TRACE(fmt::format("{} {} seed {}", line, causal ? "decoder" : "encoder", seed));
  auto drawn = random_weights(varied_model(line, causal, seed));
  ASSERT_TRUE(drawn) << drawn.error().message;
  Weights weights = std::move(*drawn);
  if (seed % 3 == 0)
    strain_to_the_edge(weights, seed);
  else if (seed % 4 != 1)
    strain(weights, seed);
  const std::int64_t positions = 5 + static_cast<std::int64_t>(seed % 4) * 4;
  const auto machine = Machine::load(weights, {.positions = positions});
  if (!machine) {
    ++tally.refused;
    return;
  }
  ++tally.ran;
  const Prompt prompt = random_prompt(weights.fields, positions, seed);
  const auto readouts = (*machine)->forward(prompt, all_positions(positions));
  ASSERT_TRUE(readouts) << readouts.error().message;

  const std::string bytes = model_bytes(weights);
  rung_check::Budget budget;
  rung_check::Model model(bytes, budget);
  const rung_check::Prompt same{prompt.positions, prompt.fields};
  model.reset();
  const auto rows = model.feed(same, positions, all_positions(positions));
  for (std::int64_t t = 0; t < positions; ++t) {
    const auto& readout = (*readouts)[static_cast<std::size_t>(t)];
    ASSERT_EQ(rows.at(t), readout.activation) << "position " << t;
    ASSERT_EQ(model.steps(), 0);
    ASSERT_EQ(model.answer(same, rows.at(t)), readout.answer) << "position " << t;
  }
  if (!causal) return;
  auto session = (*machine)->start();
  ASSERT_TRUE(session);
  model.reset();
  for (std::int64_t t = 0; t < positions; ++t) {
    ASSERT_TRUE((*session)->append(prompt_row(prompt, weights.fields, t), false));
    ASSERT_EQ(model.feed(same, t + 1, {t}).at(t), (*readouts)[static_cast<std::size_t>(t)].activation)
        << "token by token, position " << t;
    std::vector<rung_check::State> states;
    try {
      states = model.states();
    } catch (const rung_check::Rejected&) {
      continue;  // a layer with a cache
    }
    ++tally.states;
    const auto expected = (*session)->state();
    ASSERT_EQ(states.size(), expected.size());
    for (std::size_t l = 0; l < states.size(); ++l)
      ASSERT_EQ(states[l].numbers, expected[l]) << "state of layer " << l << " after " << t + 1;
  }
}

class CheckedDecoder : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Lines, CheckedDecoder, testing::ValuesIn(and_released(kPlainDecoders)));
TEST_P(CheckedDecoder, runs_as_the_exact_machine_does) {
  Tally tally;
  for (std::uint64_t seed = 0; seed < kModels; ++seed) compare(GetParam(), true, seed, tally);
  EXPECT_GE(tally.ran, 8) << tally.refused << " refused";
  const bool caches = GetParam().find("full") != std::string::npos ||
                      GetParam().find("sparse") != std::string::npos ||
                      GetParam().find("topk") != std::string::npos;
  EXPECT_EQ(tally.states > 0, !caches);
}

class CheckedEncoder : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Lines, CheckedEncoder, testing::ValuesIn(kPlainEncoders));
TEST_P(CheckedEncoder, runs_as_the_exact_machine_does) {
  Tally tally;
  for (std::uint64_t seed = 0; seed < kModels; ++seed) compare(GetParam(), false, seed, tally);
  EXPECT_GE(tally.ran, 8) << tally.refused << " refused";
}

}  // namespace
}  // namespace rung
