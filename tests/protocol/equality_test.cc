// The protocol's activations are the machine's, bit for bit, and its bits are the formula's; and what happens
// when one number is wrong or one message is lost.
#include <gtest/gtest.h>

#include "rung/protocol/protocol.h"
#include "tests/protocol/models.h"

namespace rung {
namespace {

std::unique_ptr<Task> equality_task(const std::string& name, const TaskSizes& sizes) {
  auto task = make_task(name, sizes);
  RUNG_REQUIRE(task, "{}", task.error().message);
  return std::move(*task);
}

Transcript run(const Weights& weights, const Task& task, std::uint64_t index,
               const ProtocolOptions& options = {}) {
  auto transcript = run_protocol(weights, task, task.generate(Variant::uniform, 7, index).prompt, options);
  RUNG_REQUIRE(transcript, "{}", transcript.error().message);
  return *transcript;
}

void expect_equal(const std::string& line, const Task& task, const ProtocolOptions& options = {},
                  const ModelSizes& sizes = {}) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const auto weights = random_model(line, task, seed, sizes);
    const auto transcript = run(weights, task, seed, options);
    const auto layers = static_cast<std::int64_t>(weights.architecture.stack.layers.size());
    ASSERT_TRUE(transcript.equal_rows)
        << line << " on " << task.name() << " differs at layer " << transcript.first_difference->layer
        << ", position " << transcript.first_difference->position;
    EXPECT_EQ(transcript.rows_compared, layers * task.prompt_length()) << line;
    EXPECT_TRUE(transcript.counts_equal) << line;
    EXPECT_EQ(transcript.charged_bits, transcript.formula_bits) << line;
    EXPECT_EQ(transcript.answer, transcript.machine_answer);
  }
}

// Negative controls first.

TEST(protocol_equality, one_wrong_number_in_any_kind_of_message_is_seen) {
  const auto task = equality_task("seqcomp", {{"L", 2}, {"m", 3}, {"n1", 2}});
  const std::string line = "full(conv=3)+linear+sparse(B=2,k=1,form=plain)";
  const auto weights = random_model(line, *task, 4);
  ASSERT_TRUE(run(weights, *task, 0).equal_rows);
  for (const auto kind : {MessageKind::query, MessageKind::partial_sums, MessageKind::state,
                          MessageKind::summary, MessageKind::tokens}) {
    bool seen = false;  // rounding may hide one wrong number; some first number of the kind must show
    std::int64_t tampered = 0;
    for (std::int64_t target = 0; target < 8 && !seen; ++target) {
      std::int64_t messages = 0;
      ProtocolOptions options;
      options.tamper = [&](const Message& message, std::vector<Int128>& numbers) {
        if (message.kind == kind && messages++ == target) {
          numbers[0] += kind == MessageKind::partial_sums ? Int128{1} << 20 : 60;
          ++tampered;
        }
        return true;
      };
      const auto transcript = run(weights, *task, 0, options);
      seen = !transcript.equal_rows;
      EXPECT_EQ(seen, transcript.first_difference.has_value());
    }
    EXPECT_GT(tampered, 0) << message_kind_name(kind);
    EXPECT_TRUE(seen) << message_kind_name(kind);
  }
}

TEST(protocol_equality, a_player_denied_a_message_cannot_go_on) {
  const auto task = equality_task("seqcomp", {{"L", 2}, {"m", 3}, {"n1", 2}});
  const auto weights = random_model("full(conv=3)+linear+sparse(B=2,k=1,form=plain)", *task, 4);
  for (const auto kind : {MessageKind::query, MessageKind::partial_sums, MessageKind::state,
                          MessageKind::summary, MessageKind::selection, MessageKind::tokens}) {
    ProtocolOptions options;
    options.tamper = [&](const Message& message, std::vector<Int128>&) { return message.kind != kind; };
    const auto transcript =
        run_protocol(weights, *task, task->generate(Variant::uniform, 7, 0).prompt, options);
    ASSERT_FALSE(transcript) << message_kind_name(kind);
    EXPECT_EQ(transcript.error().code, ErrorCode::missing);
    EXPECT_NE(transcript.error().message.find("none came"), std::string::npos) << transcript.error().message;
  }
}

TEST(protocol_equality, every_pattern_of_full_and_recurrent_layers_on_seqcomp) {
  for (std::int64_t L = 1; L <= 3; ++L) {
    const auto task = equality_task("seqcomp", {{"L", L}, {"m", 3}});
    for (const char* line : {"full", "full*2", "full+linear", "linear+full", "full+linear+full",
                             "linear+full+linear+full+linear", "full*3", "linear"})
      expect_equal(line, *task);
  }
}

// Every mixer that has weights, in the shapes that take different paths.
const std::vector<std::string> kMixers = {
    "full",
    "full(kv=1)",
    "full(conv=4)",
    "full(window=3)",
    "full(window=9)",
    "full(chunk=4)",
    "full(window=4,conv=3)",
    "linear",
    "linear(normalised=no,feature=identity)",
    "linear(feature=taylor2)",
    "linear(feature=exp)",
    "linear(conv=4)",
    "mamba2(form=plain)",
    "mamba2(groups=1,conv=4,form=plain)",
    "mamba(form=plain)",
    "mamba(conv=3,form=plain)",
    "delta(form=plain)",
    "gdelta(form=plain)",
    "gdelta(kv=1,conv=2,form=plain)",
    "loglinear",
    "loglinear(base=mamba2,form=plain)",
    "loglinear(base=gdelta,conv=3,form=plain)",
    "loglinear(base=mamba2,form=released,partition=strong)",
    "rnn",
    "rnn(cell=relu)",
    "gru",
    "conv(width=3)",
    "identity",
    "none",
    "topk(k=2,form=plain)",
    "topk(k=3,index_heads=2,index_dim=3,form=plain)",
    "topk(form=released,rope=none,index_rope=none,k=2)",
    "sparse(B=3,k=2,form=plain)",
    "sparse(B=2,k=1,window=3,groups=2,form=plain)",
    "sparse(B=5,k=1,kv=1,form=plain)",
    "sparse(form=released,rope=none,B=3,k=2)",
    "sparse(form=released,rope=none,B=2,k=2,compress=linear,span=4,stride=2)",
    "heads(full:1,gdelta(form=plain):1)"};

TEST(protocol_equality, every_mixer_alone_and_around_a_full_layer_on_seqcomp) {
  const auto task = equality_task("seqcomp", {{"L", 2}, {"m", 4}, {"n1", 3}});
  for (const auto& line : kMixers) {
    expect_equal(line, *task);
    expect_equal(line + "+full+" + line, *task);
  }
}

TEST(protocol_equality, every_mixer_with_two_parties_at_every_cut) {
  const auto task = equality_task("eva", {{"n", 9}});
  for (const auto& line : kMixers) {
    const auto weights = random_model(line + "*2", *task, 6);
    for (std::int64_t cut = 1; cut < task->prompt_length(); ++cut) {
      const auto transcript = run(weights, *task, 2, {.form = ProtocolForm::two_party, .cut = cut});
      EXPECT_TRUE(transcript.equal_rows) << line << " cut at " << cut;
      EXPECT_TRUE(transcript.counts_equal) << line << " cut at " << cut;
    }
  }
}

TEST(protocol_equality, accumulators_norms_and_activations_do_not_matter) {
  const auto task = equality_task("seqcomp", {{"L", 2}, {"m", 3}, {"n1", 2}});
  for (const auto accumulator : {Accumulator::exact, Accumulator::wrap, Accumulator::round}) {
    expect_equal("linear+full+linear", *task, {}, {.accumulator = accumulator, .norm = Norm::rms});
    expect_equal("loglinear+full+gdelta(form=plain)", *task, {}, {.mlp = 0, .accumulator = accumulator});
  }
  expect_equal("full+linear", *task, {}, {.activation = MlpActivation::gelu});
}

TEST(protocol_equality, head_wise_mixtures_send_both_kinds_of_messages) {
  const auto task = equality_task("seqcomp", {{"L", 2}, {"m", 3}, {"n1", 2}});
  const std::string line =
      "heads(full:2,linear:2)+heads(gdelta(form=plain):1,full(window=3):2,sparse(B=2,k=1,form=plain):1)";
  expect_equal(line, *task);
  const auto transcript = run(random_model(line, *task, 1), *task, 0);
  std::map<MessageKind, int> seen;
  for (const auto& message : transcript.messages)
    if (message.epoch == 0) ++seen[message.kind];
  EXPECT_EQ(seen[MessageKind::partial_sums], 6);  // 4 players: 1 + 2 + 3
  EXPECT_EQ(seen[MessageKind::state], 3);
}

TEST(protocol_equality, blocks_are_players_of_sparse_attention) {
  const auto task = equality_task("two-sum", {{"n", 12}});
  for (const char* line : {"sparse(B=4,k=1,form=plain)", "sparse(B=3,k=2,window=5,form=plain)",
                           "sparse(B=2,k=2,form=plain)+full", "full+sparse(B=4,k=1,form=plain)"}) {
    const auto weights = random_model(line, *task, 2);
    expect_equal(line, *task);
    EXPECT_EQ(run(weights, *task, 0).form, ProtocolForm::sparse);
  }
}

TEST(protocol_equality, what_a_player_is_told_does_not_depend_on_later_players_tokens) {
  const auto task = equality_task("seqcomp", {{"L", 2}, {"m", 3}, {"n1", 2}});
  const auto weights = random_model("full+sparse(B=2,k=1,form=plain)+gdelta(form=plain)+full", *task, 9);
  const auto told = [&](const Prompt& prompt) {  // per player, every number that counts
    std::vector<std::vector<Int128>> heard(4);
    ProtocolOptions options;
    options.tamper = [&](const Message& message, std::vector<Int128>& numbers) {
      if (is_charged(message.kind) || message.kind == MessageKind::tokens)
        for (std::int64_t i = 0; i < 4; ++i)
          if (message.to == i || (message.to == kLaterPlayers && message.from < i))
            heard[static_cast<std::size_t>(i)].insert(heard[static_cast<std::size_t>(i)].end(),
                                                      numbers.begin(), numbers.end());
      return true;
    };
    EXPECT_TRUE(run_protocol(weights, *task, prompt, options));
    return heard;
  };
  const Prompt prompt = task->generate(Variant::uniform, 7, 0).prompt;
  const auto before = told(prompt);
  for (std::int64_t t = 0; t + 1 < prompt.positions; ++t) {
    Prompt changed = prompt;
    auto& token = changed.fields[0][static_cast<std::size_t>(t)];
    token = token == 0 ? 1 : token - 1;
    const auto after = told(changed);
    const std::int64_t owner = t < 6 ? 0 : t < 9 ? 1 : t < 10 ? 2 : 3;
    for (std::int64_t i = 0; i < owner; ++i)
      EXPECT_TRUE(before[static_cast<std::size_t>(i)] == after[static_cast<std::size_t>(i)])
          << "token " << t << ", player " << i;
    EXPECT_FALSE(before[3] == after[3]) << "token " << t;
  }
}

TEST(protocol_equality, tasks_with_several_fields_and_answer_positions) {
  expect_equal("full+mamba2(form=plain)", *equality_task("retrieval", {{"n", 6}}));
  expect_equal("gdelta(form=plain)+full", *equality_task("mqar", {{"n", 6}}));
  expect_equal("linear+full", *equality_task("equality", {{"n", 4}}));
}

}  // namespace
}  // namespace rung
