// The aperiodicity theorem against the machine: random small models on u wⁿ v, counters that reach the horizon, and
// models of the excluded kinds, which violate it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "rung/base/random.h"
#include "rung/exact/machine.h"
#include "rung/exact/random_model.h"
#include "rung/theory/settling.h"
#include "rung/theory/theorem.h"

namespace rung {
namespace {

using Tokens = std::vector<std::int64_t>;
constexpr std::int64_t kLetters = 3;

struct RandomStack {
  std::string line;
  Accumulator accumulator = Accumulator::round;
  bool negative_decay = false;
  std::int64_t context = 0;
};

Architecture architecture_of(const std::string& line, int bits, std::int64_t width) {
  Architecture architecture{*parse_stack(line), {}};
  auto& d = architecture.dimensions;
  d.width = width;
  d.heads = 1;
  d.mlp = {width};
  d.mlp_given = true;
  d.position = PositionCode::none;
  d.vocabulary = kLetters;
  d.outputs = kLetters;
  d.precision.bits = bits;
  return architecture;
}

std::optional<Weights> drawn_model(const RandomStack& stack, int bits, std::int64_t width,
                                   std::uint64_t seed) {
  RandomModel model{.architecture = architecture_of(stack.line, bits, width),
                    .fields = {{.name = "token", .size = kLetters}},
                    .output = {OutputSpec::Kind::logits, kLetters, 0},
                    .accumulator = stack.accumulator,
                    .seed = seed};
  model.architecture.dimensions.context = stack.context;
  auto weights = random_weights(model);
  if (!weights) return std::nullopt;
  if (stack.negative_decay)
    for (auto& [name, tensor] : weights->tensors)
      if (name.ends_with("gate.table") || name.ends_with("decay.table")) {
        std::vector<std::int64_t> values;
        for (std::int64_t i = 0; i < tensor.size(); ++i) values.push_back(-tensor.integer(i));
        tensor = integer_tensor({static_cast<std::int64_t>(values.size())}, values);
      }
  return std::move(*weights);
}

Tokens drawn_word(Random& random, std::int64_t low, std::int64_t high) {
  Tokens word(static_cast<std::size_t>(random.between(low, high)));
  for (auto& letter : word) letter = static_cast<std::int64_t>(random.below(kLetters));
  return word;
}

// The residual row after u wⁿ, for n = 1 .. periods.
std::vector<Tokens> rows_of_powers(const Machine& machine, const Tokens& u, const Tokens& w,
                                   std::int64_t periods) {
  auto session = std::move(*machine.start());
  std::vector<Tokens> rows;
  for (const auto letter : u) EXPECT_TRUE(session->append(std::span(&letter, 1), false));
  for (std::int64_t n = 0; n < periods; ++n)
    for (std::size_t i = 0; i < w.size(); ++i) {
      auto out = session->append(std::span(&w[i], 1), i + 1 == w.size());
      EXPECT_TRUE(out);
      if (*out) rows.push_back((*out)->activation);
    }
  return rows;
}

// The rows turn in a cycle of 2 or more over the last places, and never rest.
bool turns(const std::vector<Tokens>& rows) {
  const std::size_t window = 48, from = rows.size() - window;
  for (std::size_t period = 2; period <= 12; ++period) {
    bool repeats = true, constant = true;
    for (std::size_t n = from; n + period < rows.size(); ++n)
      repeats = repeats && rows[n] == rows[n + period];
    for (std::size_t n = from; n + 1 < rows.size(); ++n) constant = constant && rows[n] == rows[n + 1];
    if (repeats && !constant) return true;
  }
  return false;
}

struct Trials {
  int models = 0, turning = 0, moving = 0;  // moving: the answer depends on n somewhere
};

Trials tried(const RandomStack& stack, int models, std::uint64_t seed) {
  Trials trials;
  for (int i = 0; i < models; ++i) {
    Random random(seed, static_cast<std::uint64_t>(i));
    const int bits = static_cast<int>(random.between(2, 5));
    const auto weights = drawn_model(stack, bits, random.between(2, 4), random.next());
    if (!weights) continue;
    const std::int64_t periods = 160;
    const Tokens u = drawn_word(random, 0, 3), w = drawn_word(random, 1, 3);
    const auto machine = Machine::load(*weights, {.positions = 600});
    if (!machine) continue;
    const auto rows = rows_of_powers(**machine, u, w, periods);
    ++trials.models;
    trials.turning += turns(rows);
    trials.moving += rows.front() != rows[5];
  }
  return trials;
}

TEST(aperiodicity, is_violated_by_no_random_model_that_it_covers) {
  int models = 0, moving = 0;
  for (const char* line : {"mamba2(state=1,dim=2,form=plain)",
                           "mamba2(state=2,dim=1,form=plain)*2",
                           "mamba2(state=1,dim=1,form=plain)*4",
                           "mamba2(state=1,dim=1,conv=3,form=plain)*2",
                           "mamba(state=2,form=plain)",
                           "mamba(state=1,conv=2,form=plain)*2",
                           "mamba2(form=released,state=1,dim=2)",
                           "mamba2(form=released,state=1,dim=1,conv=3)*2",
                           "mamba(form=released,state=2,conv=2)",
                           "mamba(form=released,norms=after,state=2)",
                           "linear(acc=round)",
                           "linear(acc=round,normalised=no,feature=identity)*2",
                           "linear",
                           "linear(normalised=no,feature=identity)",
                           "linear(feature=identity)+mamba2(state=1,dim=1,form=plain)",
                           "full",
                           "full*2",
                           "full(window=3)+mamba2(state=1,dim=1,form=plain)",
                           "conv(width=3)+full",
                           "topk(k=2,form=plain)",
                           "topk(k=3,form=plain)+mamba2(state=1,dim=1,form=plain)",
                           "mamba2(state=1,dim=1,form=plain)+full",
                           "heads(full:1,mamba2(form=plain):1)",
                           "full+linear(acc=round)"}) {
    const Trials trials = tried({line}, 150, 17);
    EXPECT_EQ(trials.turning, 0) << line;
    EXPECT_GT(trials.models, 90) << line;
    models += trials.models;
    moving += trials.moving;
  }
  EXPECT_GT(models, 2500);
  EXPECT_GT(moving, 500);  // they do depend on n at first
}

TEST(aperiodicity, is_violated_by_models_of_every_kind_that_it_excludes) {
  for (const RandomStack& stack :
       {RandomStack{"delta(dim=2,vdim=1,form=plain)"}, RandomStack{"gdelta(dim=3,vdim=2,form=plain)*2"},
        RandomStack{"rnn"}, RandomStack{"gru"},
        RandomStack{"mamba2(state=1,dim=2,form=plain)", Accumulator::wrap},
        RandomStack{"linear(acc=wrap,normalised=no,feature=identity)"},
        RandomStack{"loglinear(base=linear)", Accumulator::round, false, 600},
        RandomStack{"mamba2(state=1,dim=2,form=plain)", Accumulator::round, true}}) {
    const Trials trials = tried(stack, 1000, 5);
    EXPECT_GT(trials.turning, 0) << stack.line << " of " << trials.models;
  }
}

TEST(aperiodicity, holds_with_chunks_and_blocks_for_words_of_whole_blocks) {
  int models = 0;
  for (const char* line : {"full(chunk=2)+mamba2(state=1,dim=1,form=plain)", "sparse(B=2,k=1,form=plain)",
                           "sparse(B=2,k=2,form=plain)+mamba2(state=1,dim=1,form=plain)"})
    for (int i = 0; i < 150; ++i) {
      Random random(23, static_cast<std::uint64_t>(i));
      const auto weights = drawn_model({line}, static_cast<int>(random.between(2, 4)), 3, random.next());
      ASSERT_TRUE(weights);
      const auto machine = Machine::load(*weights, {.positions = 600});
      if (!machine) continue;
      const Tokens u = drawn_word(random, 2, 2), w = drawn_word(random, 2, 2);
      EXPECT_FALSE(turns(rows_of_powers(**machine, u, w, 160))) << line << " " << i;
      ++models;
    }
  EXPECT_GT(models, 300);
}

Setting setting_of(const Architecture& architecture) {
  return *make_setting(architecture, {.context = 4096});
}

TEST(aperiodicity, rests_by_its_horizon_whatever_the_weights_and_what_follows) {
  int compared = 0;
  for (const char* line : {"mamba2(state=1,dim=2,form=plain)*2", "mamba2(state=1,dim=1,conv=3,form=plain)*2",
                           "mamba2(form=released,state=1,dim=1,conv=2)*2", "mamba(state=2,form=plain)",
                           "linear(acc=round)*2", "full(window=4)+mamba2(state=1,dim=1,form=plain)",
                           "topk(k=3,form=plain)+mamba2(state=1,dim=1,form=plain)+conv(width=2)"})
    for (int i = 0; i < 60; ++i) {
      Random random(31, static_cast<std::uint64_t>(i));
      const int bits = static_cast<int>(random.between(2, 4));
      const auto weights = drawn_model({line}, bits, 3, random.next());
      ASSERT_TRUE(weights);
      const auto machine = Machine::load(*weights, {.positions = 700});
      if (!machine) continue;
      const Setting setting = setting_of(architecture_of(line, bits, 3));
      const Tokens u = drawn_word(random, 1, 3), w = drawn_word(random, 1, 3), v = drawn_word(random, 0, 3);
      const auto length = static_cast<std::int64_t>(w.size());
      const Integer rests = length == 1 ? rests_from(setting, u.size()) - u.size() + 1
                                        : rests_from_period(setting, length, 0) + 1;
      const auto first = rests.convert_to<std::int64_t>();
      std::optional<Tokens> seen;
      for (std::int64_t n = first; n < first + 4; ++n) {
        Tokens tokens = u;
        for (std::int64_t k = 0; k < n; ++k) tokens.insert(tokens.end(), w.begin(), w.end());
        tokens.insert(tokens.end(), v.begin(), v.end());
        const std::int64_t last = static_cast<std::int64_t>(tokens.size()) - 1;
        if (last >= 700) break;
        const auto out = (*machine)->forward({last + 1, {tokens}}, std::span(&last, 1));
        ASSERT_TRUE(out);
        if (seen) EXPECT_EQ((*out)[0].activation, *seen) << line << " " << i << " n = " << n;
        compared += seen.has_value();
        seen = (*out)[0].activation;
      }
    }
  EXPECT_GT(compared, 700);
}

// L one-entry counters of a bits. At ^ all are set to the least value; layer 1 counts letters, layer l + 1 those that
// find layer l at its greatest value.
Weights counters(int layers, int a) {
  const int p = a + 2;
  const std::int64_t width = 2 + 2 * layers, least = -(std::int64_t{1} << (a - 1)), most = -least - 1;
  Weights weights;
  weights.architecture =
      architecture_of(fmt::format("mamba2(heads=1,state=1,dim=1,form=plain)*{}", layers), p, width);
  auto& d = weights.architecture.dimensions;
  d.mlp = {1};
  d.accumulator_bits = a;
  weights.fields = {{.name = "token", .size = kLetters}};
  weights.output = {OutputSpec::Kind::logits, kLetters, 0};
  weights.accumulator = Accumulator::round;
  const auto tensor = [&](const std::string& name, std::vector<std::int64_t> shape,
                          std::vector<std::int64_t> values) {
    weights.tensors[name] = integer_tensor(shape, values);
  };
  const auto row = [&](std::vector<std::pair<std::int64_t, std::int64_t>> entries) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(width), 0);
    for (const auto& [at, value] : entries) values[static_cast<std::size_t>(at)] = value;
    return values;
  };
  // Coordinates: letter 1, ^ (token 2), then for each layer its count and whether it is full.
  std::vector<std::int64_t> embedding(static_cast<std::size_t>(kLetters * width), 0);
  embedding[static_cast<std::size_t>(1 * width)] = 1;
  embedding[static_cast<std::size_t>(2 * width + 1)] = 1;
  tensor("embed.token.table", {kLetters, width}, embedding);
  tensor("out.table", {kLetters, width},
         std::vector<std::int64_t>(static_cast<std::size_t>(kLetters * width), 0));
  for (int l = 0; l < layers; ++l) {
    const std::string prefix = fmt::format("layers.{}.", l);
    const std::int64_t count = 2 + 2 * l, full = count + 1, moves = l == 0 ? 0 : count - 1;
    tensor(prefix + "x.weight", {1, width}, row({{moves, 1}, {1, least}}));
    for (const char* one : {"b", "c"}) {
      tensor(prefix + one + ".weight", {1, width}, row({}));
      tensor(prefix + one + ".bias", {1}, {1});
    }
    tensor(prefix + "gate.weight", {1, width}, row({{1, 1}}));
    tensor(prefix + "gate.table", {2}, {1, 0});
    tensor(prefix + "o.weight", {width, 1}, row({{count, 1}}));
    tensor(prefix + "mlp.0.weight", {1, width}, row({{count, 1}}));
    tensor(prefix + "mlp.0.bias", {1}, {1 - most});
    tensor(prefix + "mlp.1.weight", {width, 1}, row({{full, 1}}));
  }
  return weights;
}

TEST(aperiodicity, has_a_horizon_that_counters_reach) {
  for (const int layers : {1, 2, 3})
    for (const int a : {2, 3, 4}) {
      const Weights weights = counters(layers, a);
      const auto machine = Machine::load(weights, {.positions = 200});
      ASSERT_TRUE(machine) << machine.error().message;
      const Setting setting = setting_of(weights.architecture);
      const auto rests = rests_from(setting, 1).convert_to<std::int64_t>();
      EXPECT_EQ(rests, 1 + layers * ((1 << a) - 2));
      auto session = std::move(*(*machine)->start());
      std::set<std::vector<std::vector<std::int64_t>>> states;
      const std::int64_t start = 2, letter = 1;
      EXPECT_TRUE(session->append(std::span(&start, 1), false));
      for (std::int64_t n = 1; n <= rests; ++n) {
        EXPECT_TRUE(session->append(std::span(&letter, 1), false));
        EXPECT_TRUE(states.insert(session->state()).second) << layers << " " << a << ": " << n;
      }
      EXPECT_TRUE(session->append(std::span(&letter, 1), false));
      EXPECT_FALSE(states.insert(session->state()).second);
    }
}

// What rung bound makes of it.
struct Bound {
  Dimensions dimensions;
  SettingOptions options;
  QuestionForm form;
  Bound() {
    dimensions.precision.bits = 8;
    dimensions.position = PositionCode::none;
  }
  Verdict on(const std::string& line, const std::string& task, const TaskSizes& sizes = {}) const {
    const Setting setting = *make_setting({*parse_stack(line), dimensions}, options);
    return decide(setting, *make_question(task, sizes, setting.context, false, form));
  }
  Verdict by(std::string_view id, const std::string& line, const std::string& task,
             const TaskSizes& sizes = {}) const {
    const Setting setting = *make_setting({*parse_stack(line), dimensions}, options);
    return *apply(theorem(id), setting, *make_question(task, sizes, setting.context, false, form));
  }
  bool never(const std::string& line, const std::string& task) const {
    const auto v = on(line, task);
    return v.every_length && v.every_length->outcome == Outcome::impossible &&
           is_proved(v.every_length->status);
  }
};

TEST(aperiodicity, refutes_parity_from_the_letter_after_its_horizon_on) {
  Bound bound;
  // n_0 = 1 + 4 (2^8 - 2) = 1017: 1018 letters and ^.
  bound.options.context = 1019;
  EXPECT_EQ(bound.on("mamba2(form=plain)*4", "parity").outcome, Outcome::impossible);
  EXPECT_EQ(bound.on("mamba2(form=plain)*4", "parity").theorem, "aperiodicity");
  bound.options.context = 1018;
  const auto below = bound.on("mamba2(form=plain)*4", "parity");
  EXPECT_EQ(below.outcome, Outcome::vacuous);
  EXPECT_EQ(*below.horizon, 1017);
  EXPECT_EQ(below.every_length->outcome, Outcome::impossible);
  // Words of exactly n letters: from 2 n_0 + 1 on; read everywhere, from n_0 + 1 on.
  bound.options.context = 5000;
  EXPECT_EQ(bound.on("mamba2(form=plain)*4", "parity", {{"n", 2035}}).outcome, Outcome::impossible);
  EXPECT_EQ(bound.on("mamba2(form=plain)*4", "parity", {{"n", 2034}}).outcome, Outcome::vacuous);
  bound.form.options["read"] = "all";
  EXPECT_EQ(bound.on("mamba2(form=plain)*4", "parity", {{"n", 1018}}).outcome, Outcome::impossible);
  EXPECT_EQ(bound.on("mamba2(form=plain)*4", "parity", {{"n", 1017}}).outcome, Outcome::vacuous);
  // 24 layers of 8-bit states with convolutions of width 4.
  EXPECT_EQ(*Bound().on("mamba2(conv=4,form=plain)*24", "parity").horizon, 6169);
  // Side by side the slowest counts.
  EXPECT_EQ(*Bound().on("heads(mamba2(form=plain):1,mamba2(form=plain):1)", "parity").horizon, 1 + 254);
  EXPECT_EQ(*Bound().on("full(window=300)+mamba2(form=plain)", "parity").horizon, 1 + 299 + 254);
  EXPECT_EQ(*Bound().on("topk(k=5,form=plain)+mamba2(form=plain)", "parity").horizon, 1 + 4 + 254);
}

TEST(aperiodicity, breaks_with_every_hypothesis) {
  const Bound bound;
  EXPECT_TRUE(bound.never("mamba2(form=plain)*4", "parity"));
  for (const char* line :
       {"linear", "linear(acc=round)", "mamba(form=plain)", "full", "full*3+mamba2(form=plain)",
        "topk(k=4,form=plain)", "conv(width=4)", "identity", "full(window=8)",
        "heads(full:1,mamba2(form=plain):1)", "full(chunk=8)", "sparse(B=4,k=2,form=plain)"})
    EXPECT_TRUE(bound.never(line, "parity")) << line;
  for (const char* line :
       {"delta(form=plain)", "gdelta(form=plain)", "rnn", "gru", "loglinear", "linear(acc=wrap)",
        "mamba2(form=plain)+delta(form=plain)", "recurrent(kind=any,elements=4)",
        "heads(mamba2(form=plain):1,delta(form=plain):1)"})
    EXPECT_FALSE(bound.never(line, "parity")) << line;
  for (const PositionCode position : {PositionCode::table, PositionCode::binary}) {
    Bound placed;
    placed.dimensions.position = position;
    EXPECT_FALSE(placed.never("mamba2(form=plain)", "parity"));
    EXPECT_FALSE(placed.never("full", "parity"));
  }
  Bound rotary;
  rotary.dimensions.position = PositionCode::rope;
  EXPECT_FALSE(rotary.never("full+mamba2(form=plain)", "parity"));
  EXPECT_TRUE(rotary.never("mamba2(form=plain)*2", "parity"));  // nothing to rotate
  Bound encoder;
  encoder.dimensions.causal = false;
  EXPECT_FALSE(encoder.never("full", "parity"));
  Bound thinking;
  thinking.options.chain_of_thought = true;
  EXPECT_TRUE(thinking.never("mamba2(form=plain)", "parity"));
  EXPECT_FALSE(thinking.never("full", "parity"));
  Bound floats;
  floats.dimensions.precision = {NumberFormat::bf16, 16, 0};
  EXPECT_TRUE(floats.never("mamba2(form=plain)", "parity"));
  EXPECT_FALSE(floats.never("full", "parity"));
  floats.options.assume_exact = true;
  EXPECT_TRUE(floats.never("full", "parity"));
  // An aperiodic task it says nothing about.
  EXPECT_FALSE(bound.never("mamba2(form=plain)", "flipflop"));
  EXPECT_TRUE(bound.never("mamba2(form=plain)", "modulo"));
  EXPECT_TRUE(bound.never("mamba2(form=plain)", "group"));
  EXPECT_TRUE(bound.never("full", "tracked-recall"));
  EXPECT_FALSE(bound.never("delta(form=plain)+full", "tracked-recall"));
}

TEST(aperiodicity, counts_float_states_by_their_values) {
  Bound bound;
  bound.dimensions.precision = {NumberFormat::bf16, 16, 0};
  const auto v = bound.on("mamba2(conv=4,form=plain)*24", "parity");
  EXPECT_EQ(*v.horizon, 1 + 24 * (65536 + 1));  // about 1.57 million
  bound.options.storage.state = 32;
  EXPECT_GT(*bound.on("mamba2(conv=4,form=plain)*24", "parity").horizon, Integer(10'000'000'000));
}

TEST(aperiodicity, says_where_its_count_is_beyond_every_context_in_use) {
  Bound bound;
  EXPECT_EQ(bound.on("mamba2*4", "parity").every_length->reason, "");
  bound.dimensions.precision = {NumberFormat::bf16, 16, 0};
  EXPECT_EQ(bound.on("mamba2(conv=4)*24", "parity").every_length->reason, "");
  bound.options.storage.state = 32;
  EXPECT_NE(
      bound.on("mamba2(conv=4)*24", "parity").every_length->reason.find("vacuous at any context in use"),
      std::string::npos);
}

// Positions that repeat make answers to u wⁿ v periodic; a neutral letter fills the period.
TEST(aperiodicity, covers_positions_that_repeat_where_a_letter_is_neutral) {
  Bound bound;
  bound.options.position_period = 6;
  EXPECT_TRUE(bound.never("mamba2*4", "parity"));
  EXPECT_TRUE(bound.never("full+mamba2", "parity"));
  EXPECT_TRUE(bound.never("full", "tracked-recall"));
  EXPECT_FALSE(bound.never("delta", "parity"));
  const auto v = bound.on("mamba2*4", "parity");
  EXPECT_EQ(v.every_length->status, Status::proved);  // not checked
  EXPECT_FALSE(v.horizon);
  // One letter alone, which turns two states round: the position tells the parity of the length.
  const std::string file = testing::TempDir() + "/length.json";
  std::ofstream(file) << R"({"alphabet": ["a"], "states": ["even", "odd"], "start": "even",
    "transitions": {"even": {"a": "odd"}, "odd": {"a": "even"}}, "accepting": ["odd"]})";
  EXPECT_FALSE(bound.never("mamba2*4", file));
  EXPECT_TRUE(Bound().never("mamba2*4", file));
  const Architecture placed{*parse_stack("mamba2"), Dimensions{}};  // with a table of its own
  EXPECT_FALSE(make_setting(placed, bound.options).ok());
}

TEST(aperiodicity, is_vacuous_at_the_contexts_of_full_attention) {
  Bound bound;
  bound.options.context = 100'000;
  const auto v = bound.on("full*2", "parity");
  EXPECT_EQ(v.outcome, Outcome::vacuous);
  EXPECT_EQ(v.every_length->outcome, Outcome::impossible);
  EXPECT_GT(*v.horizon, Integer(1) << 60);
  // Beyond what a double holds no number is said.
  const auto deep = bound.on("full*48", "parity");
  EXPECT_EQ(deep.outcome, Outcome::vacuous);
  EXPECT_FALSE(deep.horizon);
  EXPECT_EQ(deep.every_length->outcome, Outcome::impossible);
  // One layer: 1 + E (2^(p+1) c - 2c - 1) with E = 2^16 - 1, c = 2^32.
  const Integer scale = Integer(1) << 32;
  EXPECT_EQ(*bound.on("full", "parity").horizon, 1 + 65535 * ((Integer(1) << 9) * scale - 2 * scale - 1));
}

TEST(aperiodicity, tracked_recall_is_lost_from_twice_the_horizon_on) {
  Bound bound;
  bound.options.context = 4096;
  // n_0 = 1 + 254.
  const auto outcome = [&](std::int64_t w, const char* group) {
    bound.form.options["group"] = group;
    return bound.by("aperiodicity-tracked", "mamba2(form=plain)", "tracked-recall", {{"n", 8}, {"w", w}})
        .outcome;
  };
  EXPECT_EQ(outcome(511, "symmetric"), Outcome::impossible);
  EXPECT_EQ(outcome(510, "symmetric"), Outcome::vacuous);
  EXPECT_EQ(outcome(511, "cyclic"), Outcome::impossible);
  bound.form.options["group"] = "symmetric";
  EXPECT_EQ(bound.by("aperiodicity-tracked", "full", "tracked-recall", {{"n", 8}, {"w", 2000}}).outcome,
            Outcome::vacuous);
  EXPECT_EQ(bound
                .by("aperiodicity-tracked", "mamba2(form=plain)", "tracked-recall",
                    {{"n", 8}, {"w", 2000}, {"sigma", 1}})
                .outcome,
            Outcome::open);
}

TEST(nonsolvable_groups, are_beyond_fixed_stacks_if_the_classes_differ) {
  Bound bound;
  bound.dimensions.position = PositionCode::table;
  bound.form.options["name"] = "S5";
  const auto v = bound.on("full*4+mamba2(form=plain)", "group");
  EXPECT_EQ(v.outcome, Outcome::vacuous);
  EXPECT_EQ(v.status, Status::conditional);
  EXPECT_EQ(v.every_length->outcome, Outcome::impossible);
  EXPECT_EQ(v.every_length->status, Status::conditional);
  EXPECT_NE(std::find(v.assumes.begin(), v.assumes.end(), "TC0 is not NC1"), v.assumes.end());
  // Without positions the aperiodicity theorem is stronger.
  Bound unplaced;
  unplaced.form.options["name"] = "S5";
  EXPECT_EQ(unplaced.on("full*4+mamba2(form=plain)", "group").every_length->status, Status::checked);
  // A solvable group, another layer, a chain of thought.
  const auto every_length = [&](const char* line) { return bound.on(line, "group").every_length->outcome; };
  bound.form.options["name"] = "S4";
  EXPECT_EQ(every_length("full*4+mamba2(form=plain)"), Outcome::open);
  bound.form.options["name"] = "A5";
  EXPECT_EQ(every_length("full*4+mamba2(form=plain)"), Outcome::impossible);
  EXPECT_EQ(every_length("full*4+delta(form=plain)"), Outcome::open);
  bound.options.chain_of_thought = true;
  EXPECT_EQ(every_length("full*4+mamba2(form=plain)"), Outcome::open);
}

// Where the theorem does not speak the verdict is open, with the reason, however many bits of state there are.
TEST(aperiodicity, leaves_open_what_it_does_not_cover_with_the_reason) {
  struct Left {
    const char *line, *task;
    PositionCode position;
    std::string reason;
  };
  for (const Left& left : {
           Left{"loglinear", "parity", PositionCode::none,
                "its buckets show the binary digits of the position"},
           {"loglinear", "flipflop", PositionCode::none, "all aperiodic"},
           {"full", "parity", PositionCode::rope, "its keys turn with the position"},
           {"full", "group", PositionCode::table, "a code that tells positions apart is not covered"},
           {"mamba2(form=plain)", "parity", PositionCode::table,
            "a code that tells positions apart is not covered"},
           {"mamba2(form=plain)+loglinear", "modulo", PositionCode::none, "layer 2"},
       }) {
    Bound bound;
    bound.dimensions.position = left.position;
    const auto v = bound.on(left.line, left.task);
    EXPECT_EQ(v.outcome, Outcome::open) << left.line;
    EXPECT_EQ(v.theorem, "aperiodicity") << left.line;
    ASSERT_TRUE(v.every_length) << left.line;
    EXPECT_EQ(v.every_length->outcome, Outcome::open) << left.line;
    EXPECT_NE(v.every_length->reason.find(left.reason), std::string::npos) << v.every_length->reason;
  }
}

}  // namespace
}  // namespace rung
