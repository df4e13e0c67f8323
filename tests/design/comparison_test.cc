// Comparisons, and memory against what engines report.
#include "rung/design/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace rung {
namespace {

ChosenArchitecture chosen_of(const std::string& line, const std::string& precision = "16") {
  ArchitectureChoice choice{.line = line};
  if (line.find(".json") == std::string::npos) {
    choice.width = 512;
    choice.heads = 4;
    choice.precision = precision;
  }
  const auto chosen = choice.choose();
  EXPECT_TRUE(chosen) << chosen.error().message;
  return *chosen;
}

// What an engine printed when it loaded a model: docs/compare.md names the sources. llama.cpp keeps state and
// convolution buffers in 32 bits and keys and values in 16; its figures are MiB with two digits.
struct Reported {
  std::string model;
  std::string
      architecture;        // a configuration of this repository, or a line with the sizes that the log prints
  std::int64_t cells = 0;  // tokens of context; 0: the cache was not quoted
  double cache_mib = 0;
  double state_mib = 0;  // of one sequence
  bool windows = false;  // the engine pads its windows: only the cache is compared
};

std::string released(const std::string& name) {
  return std::string(RUNG_SOURCE_DIR) + "/rung/released/configs/" + name + ".json";
}

const std::vector<Reported>& reported() {
  static const std::vector<Reported> list = {
      {"Qwen3.5-27B", released("qwen3.5-27b"), 24'576, 1536.00, 149.62},
      {"Qwen3.5-35B-A3B", released("qwen3.5-35b-a3b"), 262'144, 5120.00, 251.25 / 4},
      {"Qwen3.5-9B",
       "(gdelta(heads=32,kv=16,dim=128,vdim=128,conv=4,form=plain)*3+full(heads=16,kv=4,dim=256))*8", 135'168,
       4224.00, 201.00 / 4},
      {"Qwen3.5-0.8B",
       "(gdelta(heads=16,kv=16,dim=128,vdim=128,conv=4,form=plain)*3+full(heads=8,kv=2,dim=256))*6", 32'768,
       384.00, 19.27},
      {"Qwen3-Next-80B-A3B", released("qwen3-next-80b-a3b.partial"), 262'144, 6144.00, 301.50 / 4},
      {"Kimi-Linear-48B-A3B", released("kimi-linear-48b-a3b-instruct"), 131'072, 1008.00, 42.81},
      {"LFM2-1.2B", released("lfm2-1.2b.partial"), 4'096, 48.00, 0.16},
      {"Falcon-H1-1.5B",
       "heads(full(kv=2,dim=128):8,mamba2(dim=64,state=256,groups=1,conv=4,form=plain):48)*24", 32'768,
       768.00, 72.98},
      {"granite-4.0-h-tiny",
       "(mamba2(heads=48,dim=64,state=128,groups=1,conv=4,form=plain)*9+full(heads=12,kv=4,dim=128))*4", 0, 0,
       55.37},
      {"gpt-oss-20b", released("gpt-oss-20b"), 131'072, 3072.00, 0, true},
  };
  return list;
}

TEST(comparison, memory_is_what_engines_report) {
  ASSERT_EQ(reported().size(), 10u);
  for (const Reported& report : reported()) {
    SCOPED_TRACE(report.model);
    ArchitectureChoice choice{.line = report.architecture};
    choice.state_dtype = "fp32";
    choice.conv_dtype = "fp32";
    choice.cache_dtype = "fp16";
    choice.assume_defaults = report.architecture.find(".partial") != std::string::npos;
    if (report.architecture.find(".json") == std::string::npos) choice.width = 2048;
    const auto chosen = choice.choose();
    ASSERT_TRUE(chosen) << chosen.error().message;
    const KeptBytes kept = kept_bytes(chosen->count(), std::max<std::int64_t>(report.cells, 1), 1);
    const auto mib = [](const Integer& bytes) { return bytes.convert_to<double>() / (1 << 20); };
    if (report.cells > 0) EXPECT_NEAR(mib(kept.cache), report.cache_mib, 0.005);
    if (!report.windows) EXPECT_NEAR(mib(kept.state), report.state_mib, 0.0051);
    // A thousandth more or less would be seen.
    if (report.cells > 0) EXPECT_GT(std::abs(mib(kept.cache) * 1.001 - report.cache_mib), 0.005);
  }
}

TEST(comparison, bytes_are_those_of_the_batch) {
  const auto chosen = chosen_of("(gdelta(form=plain)*3+full)*2");
  const KeptBytes one = kept_bytes(chosen.count(), 1000, 1), eight = kept_bytes(chosen.count(), 1000, 8);
  EXPECT_EQ(eight.state, 8 * one.state);
  EXPECT_EQ(eight.cache, 8 * one.cache);
  // 2 full layers of 4 heads: keys and values of 128 numbers, 2 bytes each.
  EXPECT_EQ(one.cache, Integer(2) * 4 * 2 * 128 * 2 * 1000);
  EXPECT_EQ(one.state, Integer(6) * 4 * 128 * 128 * 2);
  EXPECT_EQ(one.total(), one.state + one.cache);
}

TEST(comparison, depth_is_the_largest_composition_that_is_proved) {
  const auto depth = [](const std::string& line) {
    const auto chosen = chosen_of(line, "32");
    SettingOptions options;
    options.context = 512;
    return composition_depth(*make_setting(chosen.architecture, options));
  };
  EXPECT_EQ(depth("full*3").proved, 2);
  EXPECT_EQ(depth("full*3").sketched, 2);
  EXPECT_EQ(depth("linear(feature=relu,normalised=no)+full*3").proved, 3);
  // Other carriers than linear attention are a sketch.
  EXPECT_EQ(depth("gdelta(form=plain)+full*3").proved, 2);
  EXPECT_EQ(depth("gdelta(form=plain)+full*3").sketched, 3);
  EXPECT_EQ(depth("gdelta(form=plain)+full*3").of_word, 3);
  EXPECT_FALSE(depth("gdelta(form=plain)*3").sketched);
  EXPECT_EQ(depth("gdelta(form=plain)*3").of_word, 0);
}

TEST(comparison, says_in_one_sentence_what_differs) {
  const auto compared =
      compare({{"A", chosen_of("full*8", "32")}, {"B", chosen_of("(gdelta(form=plain)*3+full)*2", "32")}},
              {.context = 4096});
  ASSERT_TRUE(compared) << compared.error().message;
  EXPECT_NE(compared->sentence.find("B keeps "), std::string::npos) << compared->sentence;
  EXPECT_NE(compared->sentence.find(" less and provably composes 6 functions fewer."), std::string::npos)
      << compared->sentence;
  EXPECT_EQ(compared->context, 4096);
  const auto document = comparison_document(*compared);
  ASSERT_EQ(document["models"].size(), 2u);
  for (const char* field : {"name", "layers", "pattern", "parameters", "state_bytes", "cache_bytes",
                            "total_bytes", "depth", "verdicts"})
    EXPECT_TRUE(document["models"][0].contains(field)) << field;
  EXPECT_EQ(document["models"][1]["pattern"], "(R^3 F)^2");
}

TEST(comparison, an_impossibility_is_named_with_the_model_it_is_about) {
  const auto compared = compare(
      {{"A", chosen_of("full*2", "32")}, {"B", chosen_of("gdelta(heads=1,dim=4,vdim=4,form=plain)*2", "8")}},
      {.context = 4096});
  ASSERT_TRUE(compared);
  EXPECT_NE(compared->sentence.find("eva"), std::string::npos) << compared->sentence;
  EXPECT_NE(compared->sentence.find("provably impossible for B"), std::string::npos) << compared->sentence;
  EXPECT_NE(std::find(compared->differing.begin(), compared->differing.end(), "eva"),
            compared->differing.end());
}

TEST(comparison, the_context_is_the_least_that_a_model_names) {
  const auto both =
      compare({{"A", chosen_of(released("qwen3.5-27b"))}, {"B", chosen_of(released("llama-3.1-8b"))}}, {});
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(both->context, 131'072);
  const auto none = compare({{"A", chosen_of("full")}}, {});
  ASSERT_TRUE(none);
  EXPECT_EQ(none->context, kDefaultContext);
}

}  // namespace
}  // namespace rung
