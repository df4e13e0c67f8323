// Everything around the mixers, worked by hand: embeddings, norms, MLPs, outputs, chain of thought.
#include <gtest/gtest.h>

#include "tests/exact/hand_made.h"

namespace rung {
namespace {

using NumberTable = std::vector<Numbers>;

// One token field, no mixer, no MLP: what is read out is the embedding.
Weights bare(std::int64_t vocabulary, std::int64_t width) {
  Weights weights;
  weights.architecture.stack = *parse_stack("none");
  auto& d = weights.architecture.dimensions;
  d.width = width;
  d.mlp_given = true;
  d.position = PositionCode::none;
  d.vocabulary = vocabulary;
  weights.fields = {FieldSpec{"token", vocabulary, 1, 0}};
  weights.output = {OutputSpec::Kind::vector, width, 0};
  weights.tensors["out.table"] = integer_tensor({width, width}, HandMade::unit_rows(width, width, 0));
  return weights;
}

void put(Weights& weights, const std::string& name, std::vector<std::int64_t> shape, const Numbers& values) {
  weights.tensors[name] = integer_tensor(std::move(shape), values);
}

// The answers at all positions, by the machine and by the page.
NumberTable answers(const Weights& weights, const std::vector<Numbers>& fields, std::int64_t positions) {
  const auto machine = Machine::load(weights, {.positions = positions});
  RUNG_REQUIRE(machine.ok(), "{}", machine.error().message);
  const Prompt prompt{positions, fields};
  Numbers all(static_cast<std::size_t>(positions));
  std::iota(all.begin(), all.end(), 0);
  const auto readouts = (*machine)->forward(prompt, all);
  RUNG_REQUIRE(readouts.ok(), "{}", readouts.error().message);
  const auto again = plain::evaluate(weights, prompt);
  NumberTable out;
  for (std::size_t t = 0; t < readouts->size(); ++t) {
    out.push_back((*readouts)[t].answer);
    EXPECT_EQ(plain::Row(out[t].begin(), out[t].end()), again[t].answer);
  }
  return out;
}

TEST(EmbeddingByHand, fields_and_position_add_before_the_shift) {
  Weights weights = bare(3, 1);
  weights.fields.push_back(FieldSpec{"pair", 21, 2, -10});
  weights.fields.push_back(FieldSpec{"code", 8, 1, 100});
  weights.architecture.dimensions.position = PositionCode::table;
  weights.architecture.dimensions.context = 2;
  put(weights, "embed.token.table", {3, 1}, {1, 2, 4});
  put(weights, "embed.pair.linear", {2, 1}, {3, -1});
  put(weights, "embed.code.binary", {4, 1}, {10, 20, 40, 7});
  put(weights, "embed.position.table", {2, 1}, {0, 1000});
  put(weights, "embed.shift", {}, {1});
  // t=0: token 2: 4; pair (5, -2): 15 + 2; code 105 = 100 + 0b101: 10 + 40 + 7; position 0. 78/2 = 39.
  // t=1: token 0: 1; pair (-1, 0): -3; code 100: 7; position 1000. 1005/2 = 502.5 -> 502.
  EXPECT_EQ(answers(weights, {{2, 0}, {5, -2, -1, 0}, {105, 100}}, 2), (NumberTable{{39}, {502}}));
}

TEST(EmbeddingByHand, positions_may_be_counted_in_binary) {
  Weights weights = bare(1, 1);
  weights.architecture.dimensions.position = PositionCode::binary;
  weights.architecture.dimensions.context = 4;
  put(weights, "embed.token.table", {1, 1}, {0});
  put(weights, "embed.position.binary", {3, 1}, {1, 10, 5});
  EXPECT_EQ(answers(weights, {{0, 0, 0, 0}}, 4), (NumberTable{{5}, {6}, {15}, {16}}));
}

TEST(NormByHand, divides_by_the_integer_root_of_the_mean_square) {
  Weights weights = bare(3, 2);
  weights.architecture.dimensions.norm = Norm::rms;
  put(weights, "embed.token.table", {3, 2}, {3, 4, 0, 0, 1, 0});
  put(weights, "norm.gain", {2}, {2, -1});
  put(weights, "norm.fraction", {}, {3});
  // (3, 4): 25/2 = 12 -> root 3: 3·2·8/3 = 16, 4·-1·8/3 = -10.67 -> -11. (0, 0): 0. (1, 0): 1/2 -> 0, root 0:
  // 0.
  EXPECT_EQ(answers(weights, {{0, 1, 2}}, 3), (NumberTable{{16, -11}, {0, 0}, {0, 0}}));
  put(weights, "norm.extra", {}, {1});
  // e = 1: (3, 4): 4·25/2 = 50 -> root 7: 3·2·16/7 = 13.7 -> 14, -4·16/7 = -9.14 -> -9. (1, 0): 4/2 = 2 ->
  // root 1: 32, 0.
  EXPECT_EQ(answers(weights, {{0, 1, 2}}, 3), (NumberTable{{14, -9}, {0, 0}, {32, 0}}));
  put(weights, "norm.bits", {}, {4});
  EXPECT_EQ(answers(weights, {{0, 1, 2}}, 3), (NumberTable{{7, -8}, {0, 0}, {7, 0}}));
}

TEST(NormByHand, halves_go_to_even) {
  Weights weights = bare(2, 1);
  weights.architecture.dimensions.norm = Norm::rms;
  put(weights, "embed.token.table", {2, 1}, {2, -2});
  put(weights, "norm.gain", {1}, {5});
  put(weights, "norm.fraction", {}, {0});
  EXPECT_EQ(answers(weights, {{0, 1}}, 2), (NumberTable{{5}, {-5}}));
  put(weights, "embed.token.table", {2, 1}, {4, -4});
  put(weights, "norm.gain", {1}, {1});
  // (1 number) root = 4: 4·1/4 = 1.
  EXPECT_EQ(answers(weights, {{0, 1}}, 2), (NumberTable{{1}, {-1}}));
  Weights pair = bare(1, 2);
  pair.architecture.dimensions.norm = Norm::rms;
  put(pair, "embed.token.table", {1, 2}, {1, 3});
  put(pair, "norm.gain", {2}, {1, 1});
  // 10/2 = 5, root 2: 1/2 -> 0, 3/2 -> 2.
  EXPECT_EQ(answers(pair, {{0}}, 1), (NumberTable{{0, 2}}));
}

TEST(MlpByHand, relu_or_a_table_stands_between_the_maps) {
  Weights weights = bare(3, 1);
  weights.architecture.dimensions.mlp = {2};
  put(weights, "embed.token.table", {3, 1}, {5, -5, 2});
  put(weights, "layers.0.mlp.0.weight", {2, 1}, {1, -1});
  put(weights, "layers.0.mlp.0.bias", {2}, {-1, -1});
  put(weights, "layers.0.mlp.1.weight", {1, 2}, {10, 3});
  put(weights, "layers.0.mlp.1.bias", {1}, {100});
  // 5: hidden (4, 0): 40 + 100, + 5. -5: hidden (0, 4): 12 + 100 - 5. 2: hidden (1, 0): 112.
  EXPECT_EQ(answers(weights, {{0, 1, 2}}, 3), (NumberTable{{145}, {107}, {112}}));
  weights.architecture.dimensions.activation = MlpActivation::silu;
  put(weights, "layers.0.mlp.0.table", {3}, {-1, 0, 9});
  put(weights, "layers.0.mlp.0.low", {}, {-1});
  // Hidden before the table: (4, -6), (-6, 4), (1, -3); after: (9, -1), (-1, 9), (9, -1).
  EXPECT_EQ(answers(weights, {{0, 1, 2}}, 3),
            (NumberTable{{90 - 3 + 100 + 5}, {-10 + 27 + 100 - 5}, {90 - 3 + 100 + 2}}));
}

TEST(OutputByHand, logits_binary_and_threshold_decode_as_they_say) {
  Weights weights = bare(4, 2);
  put(weights, "embed.token.table", {4, 2}, {3, 3, -1, 2, 5, 4, 0, 0});
  weights.output = {OutputSpec::Kind::logits, 3, 0};
  put(weights, "out.table", {3, 2}, {1, 0, 0, 1, 0, 0});
  put(weights, "out.bias", {3}, {0, 0, 1});
  // z = (3, 3, 1): a tie goes to 0. (-1, 2, 1): 1. (5, 4, 1): 0. (0, 0, 1): 2.
  EXPECT_EQ(answers(weights, {{0, 1, 2, 3}}, 4), (NumberTable{{0}, {1}, {0}, {2}}));
  weights.output.kind = OutputSpec::Kind::binary;
  put(weights, "out.threshold", {3}, {0, 3, 0});
  // z > (0, 3, 0): (3, 3, 1): bits 0, 2. (-1, 2, 1): bit 2. (5, 4, 1): all. (0, 0, 1): bit 2.
  EXPECT_EQ(answers(weights, {{0, 1, 2, 3}}, 4), (NumberTable{{5}, {4}, {7}, {4}}));
  weights.output = {OutputSpec::Kind::threshold, 1, 0};
  put(weights, "out.table", {1, 2}, {1, 1});
  weights.tensors.erase("out.bias");
  put(weights, "out.threshold", {1}, {1});
  EXPECT_EQ(answers(weights, {{0, 1, 2, 3}}, 4), (NumberTable{{1}, {0}, {1}, {0}}));
}

TEST(ChainOfThoughtByHand, appends_its_own_answers_until_the_stop) {
  // The answer is the token plus one: z_i = -(token + 1 - i)² up to what does not depend on i: 2 i (token +
  // 1) - i².
  Weights weights = bare(6, 1);
  put(weights, "embed.token.table", {6, 1}, {0, 1, 2, 3, 4, 5});
  weights.fields.push_back(FieldSpec{"other", 50, 1, -25});
  put(weights, "embed.other.table", {50, 1}, Numbers(50, 0));  // appended positions carry 0 there
  weights.output = {OutputSpec::Kind::logits, 6, 0};
  put(weights, "out.table", {6, 1}, {0, 2, 4, 6, 8, 10});
  put(weights, "out.bias", {6}, {0, 1, 0, -3, -8, -15});
  weights.decode = {10, 5};
  const auto machine = Machine::load(weights, {.positions = 12});
  ASSERT_TRUE(machine) << machine.error().message;
  const Prompt prompt{2, {{4, 1}, {7, -7}}};
  const auto tokens = (*machine)->generate(prompt);
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_EQ(*tokens, (Numbers{2, 3, 4, 5}));
  EXPECT_EQ(plain::think(weights, prompt), *tokens);
  weights.decode = {2, std::nullopt};
  EXPECT_EQ(*(*Machine::load(weights, {.positions = 12}))->generate(prompt), (Numbers{2, 3}));
}

}  // namespace
}  // namespace rung
