// The transcript's bits against closed formulas written out here from sizes alone, and the widths against
// what is sent.
#include <gtest/gtest.h>

#include <cmath>

#include "rung/protocol/protocol.h"
#include "tests/protocol/models.h"

namespace rung {
namespace {

std::unique_ptr<Task> task_of(const std::string& name, const TaskSizes& sizes) {
  auto task = make_task(name, sizes);
  RUNG_REQUIRE(task, "{}", task.error().message);
  return std::move(*task);
}

Result<Transcript> try_run(const Weights& weights, const Task& task, const ProtocolOptions& options = {}) {
  return run_protocol(weights, task, task.generate(Variant::uniform, 3, 1).prompt, options);
}
Transcript run(const Weights& weights, const Task& task, const ProtocolOptions& options = {}) {
  auto transcript = try_run(weights, task, options);
  RUNG_REQUIRE(transcript, "{}", transcript.error().message);
  return *transcript;
}

int lg_up(std::int64_t n) { return static_cast<int>(std::ceil(std::log2(static_cast<double>(n)))); }

// Bits of the largest weight that random models give to a key: round(2^10 exp(15/4)).
int largest_weight_bits() {
  const double largest = std::round(std::ldexp(std::exp(kRandomTau * kRandomScore), kRandomExpBits));
  return static_cast<int>(std::floor(std::log2(largest))) + 1;
}

std::int64_t partial_bits(std::int64_t heads, std::int64_t d, int p, std::int64_t tokens) {
  const int e = largest_weight_bits(), growth = lg_up(tokens);
  return heads * (d * (e + p + growth + 1) + e + growth);
}

// Σ_i senders_i tokens_i of L-SeqComp: players L, ..., 1 own N_{l-1} tokens, 0 owns one, -1 owns L.
std::int64_t seqcomp_receiving(std::int64_t L, std::int64_t m, std::int64_t n) {
  std::int64_t sum = 0, domain = m;
  for (std::int64_t l = 1; l <= L; ++l, domain *= n) sum += (L - l) * domain;
  return sum + L * 1 + (L + 1) * L;
}

TEST(protocol_counts, full_and_linear_layers_of_seqcomp_cost_what_the_theorem_says) {
  const std::int64_t heads = 2, d = 4;
  for (std::int64_t L = 1; L <= 3; ++L)
    for (std::int64_t m = 2; m <= 4; ++m) {
      const auto task = task_of("seqcomp", {{"L", L}, {"m", m}});
      const int p = 8;
      const std::int64_t full = seqcomp_receiving(L, m, 2) * partial_bits(heads, d, p, task->prompt_length());
      const std::int64_t linear = (L + 1) * heads * d * (d + 1) * p;
      for (const auto& [line, expected] : std::vector<std::pair<std::string, std::int64_t>>{
               {"full", full},
               {"full*2", 2 * full},
               {"full+linear", full + linear},
               {"linear+full", full + linear},
               {"full+linear+full", 2 * full + linear},
               {"linear+full+linear+full+linear", 2 * full + 3 * linear},
               {"full*3", 3 * full}}) {
        const auto transcript = run(random_model(line, *task, 5), *task);
        EXPECT_EQ(transcript.players.size(), static_cast<std::size_t>(L + 2));
        EXPECT_EQ(transcript.charged_bits, expected) << line << " L=" << L << " m=" << m;
        EXPECT_EQ(transcript.formula_bits, expected) << line << " L=" << L << " m=" << m;
        EXPECT_TRUE(transcript.counts_equal);
      }
    }
}

TEST(protocol_counts, every_recurrence_costs_its_state_once_per_hand_over) {
  const auto task = task_of("seqcomp", {{"L", 2}, {"m", 4}, {"n1", 2}});  // cuts after 8, 12 and 13 tokens
  const std::int64_t p = 8, H = 2, d = 4, w = 8, N = 3;
  const std::int64_t levels = 1 + 2 + 3;  // set bits of t = 8, 12, 13
  for (const auto& [line, expected] : std::vector<std::pair<std::string, std::int64_t>>{
           {"mamba2(form=plain)", 3 * H * d * N * p},
           {"mamba(form=plain)", 3 * w * N * p},
           {"delta(form=plain)", 3 * H * d * d * p},
           {"gdelta(form=plain)", 3 * H * d * d * p},
           {"gdelta(conv=3,form=plain)", 3 * (H * d * d + 2 * 3 * H * d) * p},
           {"loglinear", levels * H * d * d * p},
           {"rnn", 3 * w * p},
           {"gru", 3 * w * p},
           {"conv(width=3)", 3 * 2 * w * p},
           {"full(window=5)", 3 * 4 * 2 * H * d * p},
           {"full(chunk=10)", (8 + 9 + 9) * 2 * H * d * p},
           {"identity", 0},
           {"none", 0}}) {
    const auto transcript = run(random_model(line, *task, 5), *task);
    EXPECT_EQ(transcript.charged_bits, expected) << line;
    EXPECT_EQ(transcript.asked_bits + transcript.read_bits, 0) << line;
  }
}

TEST(protocol_counts, sparse_blocks_publish_their_compressed_message_once) {
  const std::int64_t n = 12, p = 8, H = 2, d = 4;
  const auto task = task_of("two-sum", {{"n", n}});
  ASSERT_EQ(task->prompt_length(), n + 1);
  for (const std::int64_t block : {2, 3, 4, 6})
    for (const std::int64_t select : {1, 2}) {
      const auto transcript =
          run(random_model(fmt::format("sparse(B={},k={},form=plain)", block, select), *task, 5), *task);
      EXPECT_EQ(transcript.players.size(), static_cast<std::size_t>(n / block + 1));
      EXPECT_EQ(transcript.charged_bits, n / block * 2 * H * d * p);
      EXPECT_TRUE(transcript.equal_rows);
      // The last player reads at most k blocks per group of heads, each once.
      std::int64_t read = 0;
      for (const auto& message : transcript.messages)
        if (message.kind == MessageKind::tokens && message.to == n / block) read += message.tokens;
      EXPECT_GE(read, std::min(select, n / block) * block);
      EXPECT_LE(read, std::min(select * H, n / block) * block);
    }
}

TEST(protocol_counts, two_parties_send_partial_sums_for_the_query_and_one_state) {
  const std::int64_t n = 9, p = 8, H = 2, d = 4;
  const auto task = task_of("eva", {{"n", n}});
  const auto transcript = run(random_model("full+linear", *task, 5), *task);
  EXPECT_EQ(transcript.form, ProtocolForm::two_party);
  ASSERT_EQ(transcript.players.size(), 2u);
  EXPECT_EQ(transcript.players[1].first, n);  // Alice owns f, Bob the query
  EXPECT_EQ(transcript.charged_bits, partial_bits(H, d, p, n + 1) + H * d * (d + 1) * p);
  EXPECT_EQ(transcript.epochs[1].received, (std::vector<std::int64_t>{0, transcript.charged_bits}));
}

TEST(protocol_counts, acc_bits_replaces_both_widths_and_refuses_sums_that_do_not_fit) {
  const auto task = task_of("seqcomp", {{"L", 2}, {"m", 3}, {"n1", 2}});
  const auto weights = random_model("full", *task, 5);
  ProtocolOptions options;
  options.sum_bits = 36;
  EXPECT_EQ(run(weights, *task, options).charged_bits, seqcomp_receiving(2, 3, 2) * 2 * 5 * 36);
  options.sum_bits = 9;
  const auto narrow = try_run(weights, *task, options);
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.error().code, ErrorCode::range);
  EXPECT_NE(narrow.error().message.find("9 bits are declared"), std::string::npos) << narrow.error().message;
  for (const int bits : {0, -3, 127}) {
    options.sum_bits = bits;
    EXPECT_FALSE(try_run(weights, *task, options));
  }
}

TEST(protocol_counts, declared_widths_hold_the_largest_sums_and_are_not_far_above) {
  // Every key has the largest weight and every value the extreme one: the true widths are needed up to two
  // bits.
  const auto task = task_of("eva", {{"n", 8}});
  auto weights = random_model("full", *task, 5, {.mlp = 0});
  auto& table = weights.tensors.at("layers.0.score.table");
  const std::vector<std::int64_t> ones(static_cast<std::size_t>(table.shape[0]), 1023);
  table = integer_tensor(table.shape, ones);
  auto& value = weights.tensors.at("layers.0.v.weight");
  value = integer_tensor(
      value.shape, std::vector<std::int64_t>(static_cast<std::size_t>(value.shape[0] * value.shape[1]), 0));
  weights.tensors["layers.0.v.bias"] = integer_tensor(
      {value.shape[0]}, std::vector<std::int64_t>(static_cast<std::size_t>(value.shape[0]), -(1 << 20)));
  const auto transcript = run(weights, *task);
  EXPECT_TRUE(transcript.equal_rows);
  const int p_num = 10 + 8 + 4 + 1;  // bits(1023), p, ⌈lg 9⌉
  for (const auto& message : transcript.messages) {
    if (message.kind != MessageKind::partial_sums) continue;
    EXPECT_LE(message.widest, p_num);
    EXPECT_GE(message.widest, p_num - 2);
    EXPECT_EQ(message.bits, 2 * (4 * p_num + 10 + 4));
  }
}

TEST(protocol_counts, messages_flow_from_earlier_to_later_players_but_for_what_is_asked) {
  const auto task = task_of("seqcomp", {{"L", 3}, {"m", 2}});
  const auto transcript =
      run(random_model("full+gdelta(form=plain)+sparse(B=3,k=1,form=plain)", *task, 2), *task);
  ASSERT_FALSE(transcript.messages.empty());
  for (const auto& message : transcript.messages) {
    const bool asked = message.kind == MessageKind::query || message.kind == MessageKind::selection;
    if (message.to == kLaterPlayers)
      EXPECT_EQ(message.kind, MessageKind::summary);
    else
      EXPECT_EQ(asked, message.from > message.to) << message_kind_name(message.kind);
  }
  EXPECT_EQ(transcript.epochs[2].received[0], 0);  // the first player hears nothing, ever
}

TEST(protocol_counts, what_cannot_be_a_protocol_is_refused_in_one_line) {
  const auto eva = task_of("eva", {{"n", 4}}), seqcomp = task_of("seqcomp", {{"L", 2}});
  auto weights = random_model("full", *eva, 1);
  const auto refused = [&](const Weights& model, const Task& task, const ProtocolOptions& options,
                           const std::string& word) {
    const auto transcript = try_run(model, task, options);
    ASSERT_FALSE(transcript) << word;
    EXPECT_NE(transcript.error().message.find(word), std::string::npos) << transcript.error().message;
    EXPECT_EQ(transcript.error().message.find('\n'), std::string::npos);
  };
  refused(weights, *eva, {.form = ProtocolForm::players}, "seqcomp in the hard order");
  refused(weights, *eva, {.form = ProtocolForm::sparse}, "no layer has blocks");
  for (const std::int64_t cut : {std::int64_t{0}, std::int64_t{5}, std::int64_t{-1}, std::int64_t{1} << 60})
    refused(weights, *eva, {.cut = cut}, "expected 1 to 4");
  refused(random_model("full", *seqcomp, 1), *seqcomp, {.form = ProtocolForm::players, .cut = 2},
          "a cut belongs to two-party");
  refused(random_model("sparse(B=9,k=1,form=plain)", *eva, 1), *eva, {}, "no complete block of 9 tokens");
  refused(weights, *seqcomp, {}, "context is 5");
  auto encoder = weights;
  encoder.architecture.dimensions.causal = false;
  refused(encoder, *eva, {}, "encoder");
  auto real = weights;
  real.mode = WeightMode::real;
  refused(real, *eva, {}, "rung quantise");
  Prompt invalid = eva->generate(Variant::uniform, 1, 0).prompt;
  invalid.fields[0][0] = 99;
  EXPECT_FALSE(run_protocol(weights, *eva, invalid, {}));
  invalid.fields[0].pop_back();
  --invalid.positions;
  EXPECT_FALSE(run_protocol(weights, *eva, invalid, {}));
}

TEST(protocol_counts, a_chain_of_thought_is_left_out_and_said_so) {
  const auto task = task_of("eva", {{"n", 4}});
  auto weights = random_model("full", *task, 1);
  EXPECT_TRUE(run(weights, *task).notes.empty());
  weights.decode.steps = 3;
  EXPECT_EQ(run(weights, *task).notes.size(), 1u);
}

}  // namespace
}  // namespace rung
