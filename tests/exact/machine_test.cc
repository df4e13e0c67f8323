// Agreements that hold for every mixer: the two widths of exact sums, a whole prompt and its tokens one by
// one, the file and the memory, the integers and the same integers read as reals.
#include "rung/exact/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "rung/base/random.h"
#include "rung/exact/random_model.h"
#include "tests/exact/mixer_lines.h"
#include "tests/exact/strained_model.h"

namespace rung {
namespace {

RandomModel model_of(const std::string& line, std::uint64_t seed) {
  RandomModel model;
  model.architecture.stack = *parse_stack(line);
  auto& d = model.architecture.dimensions;
  d.width = 8;
  d.heads = 2;
  d.state = 3;
  d.mlp = {6};
  d.mlp_given = true;
  d.vocabulary = 5;
  d.context = 40;
  d.precision.bits = 8;
  model.fields = {FieldSpec{"token", 5, 1, 0}};
  model.output = {OutputSpec::Kind::logits, 5, 0};
  model.seed = seed;
  return model;
}

std::vector<std::int64_t> all_positions(std::int64_t count) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = i;
  return all;
}

// Every word of the language that has weights, in the shapes that take different paths.
const std::vector<std::string> kLines = and_released({
    "full",
    "full(kv=1)",
    "full(window=3)",
    "full(chunk=4)",
    "full(conv=3)",
    "linear",
    "linear(normalised=no,feature=identity)",
    "linear(feature=relu)",
    "linear(feature=exp)",
    "linear(feature=taylor2)",
    "linear(conv=2)",
    "rnn",
    "rnn(cell=relu)",
    "gru",
    "mamba(form=plain)",
    "mamba(conv=3,form=plain)",
    "mamba2(form=plain)",
    "mamba2(groups=1,conv=2,form=plain)",
    "delta(form=plain)",
    "gdelta(form=plain)",
    "gdelta(kv=1,conv=3,form=plain)",
    "delta(steps=3,form=plain)",
    "gdelta(kv=1,conv=2,steps=2,range=2,form=plain)",
    "loglinear",
    "loglinear(base=mamba2,form=plain)",
    "loglinear(base=gdelta,form=plain)",
    "sparse(B=4,k=2,form=plain)",
    "sparse(B=3,k=1,window=2,groups=2,form=plain)",
    "topk(k=3,form=plain)",
    "topk(k=2,index_heads=2,index_dim=3,form=plain)",
    "heads(full:1,delta(form=plain):1)",
    "conv(width=3)",
    "identity",
    "none",
    "full+delta(form=plain)+none+mamba2(form=plain)+full",
});

class EveryMixer : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Lines, EveryMixer, testing::ValuesIn(kLines));

TEST_P(EveryMixer, gives_the_same_numbers_for_a_prompt_and_for_its_tokens_one_by_one) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (const auto accumulator : {Accumulator::exact, Accumulator::wrap, Accumulator::round}) {
      auto model = model_of(GetParam(), seed);
      model.accumulator = accumulator;
      if (seed == 3) model.architecture.dimensions.norm = Norm::rms;
      const auto weights = random_weights(model);
      ASSERT_TRUE(weights) << weights.error().message;
      const auto narrow = Machine::load(*weights, {.positions = 40});
      ASSERT_TRUE(narrow) << narrow.error().message;
      const auto wide = Machine::load(*weights, {.positions = 40, .force_wide = true});
      ASSERT_TRUE(wide) << wide.error().message;
      EXPECT_EQ((*narrow)->arithmetic(), "int64");
      EXPECT_EQ((*wide)->arithmetic(), "int128");
      const Prompt prompt = random_prompt(weights->fields, 21, seed);
      const auto whole = (*narrow)->forward(prompt, all_positions(21));
      const auto whole_wide = (*wide)->forward(prompt, all_positions(21));
      ASSERT_TRUE(whole) << whole.error().message;
      auto session = (*narrow)->start();
      ASSERT_TRUE(session);
      for (std::int64_t t = 0; t < 21; ++t) {
        const auto step = (*session)->append(prompt_row(prompt, weights->fields, t), true);
        ASSERT_TRUE(step) << step.error().message;
        const auto& expected = (*whole)[static_cast<std::size_t>(t)];
        ASSERT_EQ((*step)->activation, expected.activation) << "t=" << t;
        ASSERT_EQ((*step)->logits, expected.logits);
        ASSERT_EQ((*whole_wide)[static_cast<std::size_t>(t)].activation, expected.activation);
        const std::int64_t last = t;
        const auto alone = (*narrow)->forward(prompt, std::span(&last, 1));
        ASSERT_EQ((*alone)[0].activation, expected.activation) << "one query at " << t;
      }
    }
  }
}

TEST_P(EveryMixer, gives_the_same_numbers_for_many_last_positions_on_one_prefix) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    auto model = model_of(GetParam(), seed);
    if (seed == 3) model.architecture.dimensions.norm = Norm::rms;
    const auto weights = random_weights(model);
    ASSERT_TRUE(weights) << weights.error().message;
    for (const bool quantised : {false, true}) {
      MachineOptions options{.positions = 40};
      if (quantised) options.quantised = Precision{NumberFormat::fixed, 8, 0};
      const auto machine = Machine::load(*weights, options);
      ASSERT_TRUE(machine) << machine.error().message;
      for (const std::int64_t length : {0, 1, 13}) {
        Prompt prompt = random_prompt(weights->fields, length + 1, seed);
        Prompt prefix = prompt;
        prefix.positions = length;
        prefix.fields[0].pop_back();
        std::vector<std::vector<std::int64_t>> rows;
        for (std::int64_t token = 0; token < 5; ++token) rows.push_back({token});
        const auto together = (*machine)->forward_variants(prefix, rows);
        ASSERT_TRUE(together) << together.error().message;
        for (std::size_t i = 0; i < rows.size(); ++i) {
          prompt.fields[0].back() = rows[i][0];
          const auto alone = (*machine)->forward(prompt, std::span(&length, 1));
          ASSERT_EQ((*together)[i].activation, (*alone)[0].activation) << "length " << length;
          ASSERT_EQ((*together)[i].real_logits, (*alone)[0].real_logits);
          ASSERT_EQ((*together)[i].answer, (*alone)[0].answer);
          ASSERT_EQ((*together)[i].position, length);
        }
      }
    }
  }
}

TEST_P(EveryMixer, depends_on_its_input_and_not_on_the_future) {
  auto model = model_of(GetParam(), 7);
  const auto weights = random_weights(model);
  ASSERT_TRUE(weights);
  const auto machine = Machine::load(*weights, {.positions = 40});
  ASSERT_TRUE(machine) << machine.error().message;
  Prompt prompt = random_prompt(weights->fields, 16, 1);
  const auto before = (*machine)->forward(prompt, all_positions(16));
  prompt.fields[0][9] = (prompt.fields[0][9] + 1) % 5;
  const auto after = (*machine)->forward(prompt, all_positions(16));
  for (std::size_t t = 0; t < 9; ++t) EXPECT_EQ((*before)[t].activation, (*after)[t].activation);
  EXPECT_NE((*before)[9].activation, (*after)[9].activation);
}

TEST_P(EveryMixer, remembers_as_far_as_it_should) {
  const bool forgets = GetParam() == "identity" || GetParam() == "none";
  const std::int64_t reach = GetParam() == "full(window=3)" || GetParam() == "conv(width=3)" ? 3
                             : GetParam() == "full(chunk=4)"                                 ? 4
                                                                                             : 1 << 20;
  bool seen = false;
  for (std::uint64_t seed = 0; seed < 12 || (!seen && seed < 100); ++seed) {  // decays may be small
    const auto weights = random_weights(model_of(GetParam(), seed));
    const auto machine = Machine::load(*weights, {.positions = 40});
    Prompt prompt = random_prompt(weights->fields, 16, seed);
    const auto before = (*machine)->forward(prompt, all_positions(16));
    const std::int64_t changed = 16 - std::min<std::int64_t>(reach, 8);
    prompt.fields[0][static_cast<std::size_t>(changed)] =
        (prompt.fields[0][static_cast<std::size_t>(changed)] + 1) % 5;
    const auto after = (*machine)->forward(prompt, all_positions(16));
    seen |= (*before)[15].activation != (*after)[15].activation;
    if (reach < 16) {  // one token further back is out of sight
      prompt = random_prompt(weights->fields, 16, seed);
      prompt.fields[0][static_cast<std::size_t>(changed - 1)] =
          (prompt.fields[0][static_cast<std::size_t>(changed - 1)] + 1) % 5;
      const auto far = (*machine)->forward(prompt, all_positions(16));
      EXPECT_EQ((*before)[15].activation, (*far)[15].activation);
    }
  }
  EXPECT_EQ(seen, !forgets);
}

TEST_P(EveryMixer, comes_back_from_a_file_as_it_was) {
  const auto weights = random_weights(model_of(GetParam(), 3));
  ASSERT_TRUE(weights);
  const std::string path = testing::TempDir() + fmt::format("rung-{}.safetensors", getpid());
  ASSERT_TRUE(write_weights(path, *weights));
  const auto again = read_weights(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->architecture, weights->architecture);
  EXPECT_EQ(again->fields, weights->fields);
  EXPECT_EQ(again->output, weights->output);
  EXPECT_EQ(again->tables, weights->tables);
  const auto one = Machine::load(*weights, {.positions = 40}), two = Machine::load(*again, {.positions = 40});
  ASSERT_TRUE(one && two);
  const Prompt prompt = random_prompt(weights->fields, 12, 5);
  EXPECT_EQ((*(*one)->forward(prompt, all_positions(12)))[11].logits,
            (*(*two)->forward(prompt, all_positions(12)))[11].logits);
}

TEST_P(EveryMixer, stays_near_its_integers_when_they_are_read_as_reals) {
  auto model = model_of(GetParam(), 11);
  model.architecture.dimensions.precision.bits = 16;
  model.architecture.dimensions.accumulator_bits = 40;
  model.architecture.dimensions.mlp.clear();  // hidden layers saturate in mode X and not in mode Q
  const auto weights = random_weights(model);
  ASSERT_TRUE(weights);
  const auto exact = Machine::load(*weights, {.positions = 40});
  ASSERT_TRUE(exact) << exact.error().message;
  const auto real =
      Machine::load(*weights, {.positions = 40, .quantised = Precision{NumberFormat::fixed, 16, 0}});
  ASSERT_TRUE(real) << real.error().message;
  EXPECT_FALSE((*real)->exact());
  const Prompt prompt = random_prompt(weights->fields, 12, 2);
  const auto x = (*exact)->forward(prompt, all_positions(12)),
             q = (*real)->forward(prompt, all_positions(12));
  ASSERT_TRUE(x && q);
  double scale = 1, worst = 0;
  for (std::size_t t = 0; t < 12; ++t)
    for (std::size_t c = 0; c < 8; ++c) {
      scale = std::max(scale, std::abs(static_cast<double>((*x)[t].activation[c])));
      worst =
          std::max(worst, std::abs(static_cast<double>((*x)[t].activation[c]) - (*q)[t].real_activation[c]));
    }
  EXPECT_LT(worst / scale, 0.02) << "largest difference " << worst << " at scale " << scale;
}

}  // namespace
}  // namespace rung
