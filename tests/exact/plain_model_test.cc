// The exact machine against the slow evaluator written from docs/weights.md: every mixer, strained in every
// direction that the page allows, bit for bit at every position.
#include "tests/exact/plain_model.h"

#include <gtest/gtest.h>

#include "rung/exact/machine.h"
#include "tests/exact/mixer_lines.h"
#include "tests/exact/strained_model.h"

namespace rung {
namespace {

std::vector<std::string> decoders() {
  auto lines = and_released(kPlainDecoders);
  for (const char* line : {
           "mamba2(form=released,groups=1,conv=2,norm=before,skip=channel,gate=sigmoid)",
           "mamba2(gate=silu,form=plain)",
           "mamba(form=released)",
           "mamba(form=released,inner=3,conv=3,rank=2)",
           "mamba(select=conv,conv=2,conv_bias=yes,form=plain)",
           "mamba(norms=after,form=plain)",
           "delta(form=released)",
           "delta(form=released,kv=1,conv=3,gate=silu,conv_bias=yes,range=2)",
           "delta(scale=yes,qk_act=relu,conv=2,form=plain)",
           "gdelta(form=released)",
           "gdelta(form=released,kv=1,vdim=3,conv=2)",
           "gdelta(form=released,decay=sigmoid,qk_norm=none,norm=after)",
           "loglinear(base=mamba2,form=released,groups=1,conv=2)",
           "loglinear(base=gdelta,form=released,kv=1)",
           "loglinear(base=mamba2,form=released,partition=strong,groups=1,conv=2)",
           "loglinear(base=gdelta,form=released,partition=strong)",
           "sparse(form=released,rope=none,B=1,k=1)",
           "heads(sparse(form=released,rope=none,B=2,k=2,dim=2):2,full(dim=1):1)",
       })
    lines.emplace_back(line);
  return lines;
}

constexpr int kModels = 12;  // per line

// How many strained models the machine takes; the others it must refuse because their sums could overflow.
struct Tally {
  int ran = 0, refused = 0;
  int lively = 0;  // models whose rows and logits differ between positions: not everything saturated
};

enum class Strain { mild, edge };

void compare(const std::string& line, bool causal, std::uint64_t seed, Strain how, Tally& tally) {
  SCOPED_TRACE(fmt::format("{} {} seed {}", line, causal ? "decoder" : "encoder", seed));
  auto drawn = random_weights(varied_model(line, causal, seed));
  ASSERT_TRUE(drawn) << drawn.error().message;
  Weights weights = std::move(*drawn);
  if (how == Strain::edge)
    strain_to_the_edge(weights, seed);
  else if (seed % 4 != 0)
    strain(weights, seed);
  const std::int64_t positions = 5 + static_cast<std::int64_t>(seed % 4) * 4;
  const auto machine = Machine::load(weights, {.positions = positions, .force_wide = seed % 5 == 0});
  if (!machine) {
    EXPECT_TRUE(machine.error().message.find(" bits; at most ") != std::string::npos)
        << machine.error().message;
    ++tally.refused;
    return;
  }
  ++tally.ran;
  const Prompt prompt = random_prompt(weights.fields, positions, seed);
  const auto fast = (*machine)->forward(prompt, all_positions(positions));
  ASSERT_TRUE(fast) << fast.error().message;
  const auto slow = plain::evaluate(weights, prompt);
  tally.lively += (*fast)[0].activation != (*fast)[1].activation && (*fast)[0].logits != fast->back().logits;
  const auto big = [](const std::vector<std::int64_t>& row) { return plain::Row(row.begin(), row.end()); };
  for (std::size_t t = 0; t < slow.size(); ++t) {
    ASSERT_EQ(big((*fast)[t].activation), slow[t].activation) << "position " << t;
    ASSERT_EQ(big((*fast)[t].logits), slow[t].logits) << "position " << t;
    ASSERT_EQ(big((*fast)[t].answer), slow[t].answer) << "position " << t;
  }
}

class Decoder : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Lines, Decoder, testing::ValuesIn(decoders()));

TEST_P(Decoder, means_what_the_page_says) {
  Tally tally;
  for (int seed = 0; seed < kModels; ++seed)
    compare(GetParam(), true, static_cast<std::uint64_t>(seed), Strain::mild, tally);
  EXPECT_GE(tally.ran, kModels * 3 / 4) << tally.refused << " refused";
  EXPECT_GE(tally.lively, kModels / 2);
}

TEST_P(Decoder, is_exact_or_refused_at_the_edge_of_every_domain) {
  Tally tally;
  for (int seed = 0; seed < kModels; ++seed)
    compare(GetParam(), true, static_cast<std::uint64_t>(seed), Strain::edge, tally);
  EXPECT_GE(tally.ran, kModels / 4) << tally.refused << " refused";
}

// The negative control of the comparison: the same numbers under another option are another model, to both.
TEST(OtherOption, is_another_model_under_another_option) {
  const std::pair<const char*, const char*> kPairs[] = {
      {"loglinear(base=mamba2,form=released,partition=strong)", "loglinear(base=mamba2,form=released)"},
      {"sparse(form=released,rope=none,B=2,k=2)", "sparse(form=released,rope=none,B=2,k=2,first=0)"},
      {"sparse(form=released,rope=none,B=2,k=2)", "sparse(form=released,rope=none,B=2,k=2,local=1)"},
      {"sparse(form=released,rope=none,B=4,k=2,local=1)",
       "sparse(form=released,rope=none,B=4,k=2,stride=2,local=1)"},
      {"mamba(form=released,norms=after,rank=2)", "mamba(form=released,norms=before,rank=2)"},
      {"topk(form=plain,k=2,weights=signed)", "topk(form=plain,k=2)"},
  };
  for (const auto& [line, other] : kPairs) {
    int differ = 0;
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
      auto weights = random_weights(varied_model(line, true, seed));
      ASSERT_TRUE(weights) << weights.error().message;
      const Prompt prompt = random_prompt(weights->fields, 17, seed);
      const auto outputs = [&] {
        const auto machine = Machine::load(*weights, {.positions = 17});
        EXPECT_TRUE(machine) << machine.error().message;
        const auto rows = (*machine)->forward(prompt, all_positions(17));
        const auto slow = plain::evaluate(*weights, prompt);
        std::vector<std::vector<std::int64_t>> all;
        for (std::size_t t = 0; t < slow.size(); ++t) {
          all.push_back((*rows)[t].activation);
          EXPECT_EQ(plain::Row(all.back().begin(), all.back().end()), slow[t].activation);
        }
        return all;
      };
      const auto first = outputs();
      weights->architecture.stack = *parse_stack(other);
      differ += outputs() != first;
    }
    EXPECT_GT(differ, 3) << line << " and " << other;
  }
}

class Encoder : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Lines, Encoder, testing::ValuesIn(kPlainEncoders));

TEST_P(Encoder, means_what_the_page_says) {
  Tally tally;
  for (int seed = 0; seed < kModels; ++seed)
    compare(GetParam(), false, static_cast<std::uint64_t>(seed), Strain::mild, tally);
  EXPECT_GE(tally.ran, kModels * 3 / 4) << tally.refused << " refused";
  EXPECT_GE(tally.lively, kModels / 2);
}

TEST_P(Encoder, is_exact_or_refused_at_the_edge_of_every_domain) {
  Tally tally;
  for (int seed = 0; seed < kModels; ++seed)
    compare(GetParam(), false, static_cast<std::uint64_t>(seed), Strain::edge, tally);
  EXPECT_GE(tally.ran, kModels / 4) << tally.refused << " refused";
}

}  // namespace
}  // namespace rung
