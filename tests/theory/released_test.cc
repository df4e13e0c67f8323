// What theorems may say about released models: a number format that nobody stated carries no verdict, and a
// hypothesis that a mixer does not meet makes its theorem open.
#include <gtest/gtest.h>

#include <algorithm>

#include "rung/released/architecture_choice.h"
#include "rung/released/embedded_config.h"
#include "rung/theory/bound_query.h"

namespace rung {
namespace {

BoundReport ask_released(const ArchitectureChoice& choice, const std::string& task, bool assume_exact = false,
                         TaskSizes sizes = {}) {
  BoundQuery query{
      .architecture = choice, .task = task, .sizes = std::move(sizes), .assume_exact = assume_exact};
  const auto chosen = query.architecture.choose();
  EXPECT_TRUE(chosen) << chosen.error().message;
  auto report = answer_query(query, *chosen);
  EXPECT_TRUE(report) << report.error().message;
  return std::move(*report);
}

ArchitectureChoice released_file(const std::string& name) {
  ArchitectureChoice choice;
  choice.config = std::string(RUNG_SOURCE_DIR) + "/rung/released/configs/" + name;
  choice.assume_defaults = true;
  return choice;
}

// The theorems that split a softmax into partial sums (docs/bound.md lists them).
bool splits_a_softmax(const std::string& theorem) {
  return theorem.starts_with("full-alone") || theorem.starts_with("one-full-layer") ||
         theorem.starts_with("two-full-layers") || theorem.starts_with("decomposition") ||
         theorem == "head-wise";
}

// One full layer and a recurrence, too small for two functions: impossible in mode X, and only there.
BoundReport small_hybrid(const char* precision, bool assume_exact) {
  const char* text = R"({"model_type":"gated_deltanet","num_hidden_layers":2,"hidden_size":2,"num_heads":1,
    "head_dim":2,"expand_v":1,"use_short_conv":false,"attn":{"layers":[0],"num_heads":1})";
  ArchitectureChoice choice;
  choice.context = 1 << 20;
  const auto chosen = choice.choose_document(std::string(text) + precision + "}");
  EXPECT_TRUE(chosen) << chosen.error().message;
  BoundQuery query{.architecture = choice, .task = "seqcomp", .assume_exact = assume_exact};
  return *answer_query(query, *chosen);
}

TEST(released_verdicts, an_unknown_format_has_no_verdict_about_exact_sums) {
  const auto unstated = small_hybrid("", false);
  EXPECT_EQ(unstated.verdicts[0].outcome, Outcome::open);
  EXPECT_FALSE(unstated.pattern->impossible);
  EXPECT_FALSE(unstated.pattern->solvable);
  const auto floating = small_hybrid(R"(,"dtype":"float32")", false);
  EXPECT_NE(floating.verdicts[0].outcome, Outcome::impossible);
  const auto assumed = small_hybrid("", true);
  EXPECT_EQ(assumed.verdicts[0].outcome, Outcome::impossible);
  const auto& assumes = assumed.verdicts[0].assumes;
  EXPECT_NE(
      std::find(assumes.begin(), assumes.end(), "number format not stated, taken for fixed point of 32 bits"),
      assumes.end());
}

TEST(released_verdicts, no_file_without_a_type_gets_a_mode_x_verdict_or_a_construction) {
  int unknown = 0;
  for (const EmbeddedConfig& config : kReleasedConfigs) {
    const auto model = read_config(
        config.text, {.partial = config.name.ends_with(".partial.json"), .assume_defaults = true});
    if (!model || model->architecture.dimensions.precision.format != NumberFormat::unknown) continue;
    ++unknown;
    SCOPED_TRACE(config.name);
    const auto layers = *resolve(model->architecture);
    SettingOptions options{.storage = model->bits, .assumes = model->storage_assumptions()};
    options.count = [&](const StorageBits& bits) { return account_released(*model, layers, bits); };
    const Setting setting = *make_setting(model->architecture, options);
    for (const auto& word : task_words()) {
      const auto question = make_question(word.name, {}, setting.context, true);
      if (!question) continue;
      for (const Verdict& v : consider(setting, *question)) {
        EXPECT_NE(v.outcome, Outcome::possible) << v.theorem;
        if (splits_a_softmax(v.theorem)) EXPECT_EQ(v.outcome, Outcome::open) << v.theorem;
        if (v.outcome == Outcome::impossible || v.outcome == Outcome::vacuous) {
          EXPECT_FALSE(v.assumes.empty()) << v.theorem;
        }
      }
    }
  }
  EXPECT_GT(unknown, 20);
}

constexpr const char* kStateAssumption =
    "recurrent state in 32 bits, as the reference caches keep it (the file names no state type)";
constexpr const char* kStoredAssumption =
    "stored numbers in 32 bits, the widest type in use (the file names no number format)";
bool released_assumes(const Verdict& v, const char* text) {
  return std::find(v.assumes.begin(), v.assumes.end(), text) != v.assumes.end();
}

// State counting holds in every format; an unknown one is counted as wide as any in use.
TEST(released_verdicts, state_bounds_hold_for_an_unknown_format_and_say_what_they_count) {
  auto choice = released_file("mamba-130m-hf.partial.json");
  choice.context = 1 << 30;
  const auto report = ask_released(choice, "eva");
  const Verdict& v = report.verdicts[0];
  EXPECT_EQ(v.outcome, Outcome::impossible);
  EXPECT_EQ(v.theorem, "recurrent-eva");
  EXPECT_EQ(*v.right, 24 * (24576.0 * 32 + 3 * 1536 * 32));
  EXPECT_TRUE(released_assumes(v, kStateAssumption));
  EXPECT_TRUE(released_assumes(v, kStoredAssumption));
  choice.precision = "bf16";  // the model's format is known now, that of its state as before
  const auto known = ask_released(choice, "eva").verdicts[0];
  EXPECT_EQ(*known.right, 24 * (24576.0 * 32 + 3 * 1536 * 16));
  EXPECT_TRUE(released_assumes(known, kStateAssumption));
  EXPECT_FALSE(released_assumes(known, kStoredAssumption));
  choice.precision = "8";  // fixed point: everything in it
  const auto fixed = ask_released(choice, "eva").verdicts[0];
  EXPECT_EQ(*fixed.right, 24 * (24576.0 + 3 * 1536) * 8);
  EXPECT_FALSE(released_assumes(fixed, kStateAssumption));
}

TEST(released_verdicts, the_state_of_falcon_mamba_is_counted_in_float32) {
  auto choice = released_file("falcon-mamba-7b.json");
  const auto wide = ask_released(choice, "eva").verdicts[0];
  choice.state_dtype = "bf16";
  const auto narrow = ask_released(choice, "eva").verdicts[0];
  EXPECT_EQ(*narrow.horizon, 7008728);
  EXPECT_EQ(*wide.horizon, 12456366);  // the convolution keeps its inputs in 16 bits
  EXPECT_TRUE(released_assumes(wide, kStateAssumption));
  EXPECT_FALSE(released_assumes(narrow, kStateAssumption));
}

// A block of MiniMax-M3 is ranked by the best index score of its tokens, so it hands over no message that could
// be too short: one layer finds the block of a match and reads it.
TEST(released_verdicts, one_layer_of_minimax_m3_is_not_called_impossible) {
  const auto one_layer = [](const char* line) {
    ArchitectureChoice choice;
    choice.line = line;
    choice.context = 1 << 20;
    choice.precision = "8";
    return choice;
  };
  const auto compressed = ask_released(one_layer("sparse(B=128,k=16,heads=16,kv=1,dim=16,form=plain)"),
                                       "two-sum", false, {{"n", 1 << 19}, {"M", 1 << 30}});
  EXPECT_EQ(compressed.verdicts[0].outcome,
            Outcome::impossible);  // the bound certifies where blocks are compressed
  const auto scored =
      ask_released(one_layer("sparse(B=128,k=16,heads=16,kv=1,dim=16,score=tokens,index_dim=128)"), "two-sum",
                   false, {{"n", 1 << 19}, {"M", 1 << 30}});
  EXPECT_EQ(scored.verdicts[0].outcome, Outcome::open);
  const auto& hypotheses = scored.verdicts[0].hypotheses;
  EXPECT_TRUE(std::any_of(hypotheses.begin(), hypotheses.end(), [](const Hypothesis& h) {
    return !h.holds && h.text.find("compression") != std::string::npos;
  }));

  ArchitectureChoice released;
  released.context = 1 << 20;
  const auto chosen = *released.choose_document(R"({"model_type":"minimax_m3","num_hidden_layers":1,
    "hidden_size":32,"num_attention_heads":2,"num_key_value_heads":1,"head_dim":8,"torch_dtype":"bfloat16",
    "sparse_attention_config":{"sparse_attention_freq":[1],"sparse_block_size":128,"sparse_topk_blocks":16,
      "sparse_num_index_heads":1,"sparse_index_dim":64,"sparse_score_type":"max"}})");
  for (const bool assume : {false, true}) {
    BoundQuery query{.architecture = released, .task = "all", .assume_exact = assume};
    const auto report = answer_query(query, chosen);
    for (const Verdict& v : report->verdicts)
      if (v.theorem != "causal-sparse-average")  // of every causal model
        EXPECT_NE(v.outcome, Outcome::impossible) << v.task << " " << v.theorem;
  }
}

// A layer that reads the keys of an earlier one has none of its own to write a construction into.
TEST(released_verdicts, constructions_use_no_layer_without_keys_of_its_own) {
  const auto verdict = [](const char* line, const char* task) {
    ArchitectureChoice choice;
    choice.line = line;
    choice.width = 64;
    choice.context = 64;
    return ask_released(choice, task).verdicts[0];
  };
  EXPECT_EQ(verdict("full(heads=4,dim=32)", "eva").outcome, Outcome::possible);
  EXPECT_NE(verdict("full(heads=4,dim=32,keys=earlier)", "eva").outcome, Outcome::possible);
  EXPECT_NE(verdict("full(heads=4,dim=32,keys=earlier)", "two-sum").outcome, Outcome::possible);
  EXPECT_EQ(verdict("full(heads=4,dim=32)*3", "seqcomp").outcome, Outcome::possible);
  EXPECT_NE(verdict("full(heads=4,dim=32)+full(heads=4,dim=32,keys=earlier)*2", "seqcomp").outcome,
            Outcome::possible);
}

}  // namespace
}  // namespace rung
