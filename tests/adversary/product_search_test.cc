// The search of `rung verify` against plain enumeration: kernels against the machine, verdicts against all
// words, the graph against a set of states, and what must be refused.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <set>

#include "rung/adversary/finite_state.h"
#include "rung/adversary/orbits.h"
#include "rung/adversary/product_proof.h"
#include "rung/base/random.h"
#include "rung/exact/random_model.h"
#include "rung/tasks/automaton.h"
#include "tests/adversary/targets.h"

namespace rung {
namespace {

struct WordModel {
  std::string architecture;
  int precision = 4;
  std::int64_t letters = 2, answers = 2;
  Accumulator accumulator = Accumulator::round;
  std::vector<std::int64_t> mlp = {};
  Norm norm = Norm::none;
  std::optional<std::int64_t> state_bits = {};
  std::uint64_t seed = 1;
};

Weights word_weights(const WordModel& wanted) {
  auto stack = parse_stack(wanted.architecture);
  RUNG_REQUIRE(stack.ok(), "{}", stack.error().message);
  RandomModel model{.architecture = {*stack, {}}, .accumulator = wanted.accumulator, .seed = wanted.seed};
  auto& d = model.architecture.dimensions;
  d.width = 4;
  d.heads = 1;
  d.mlp = wanted.mlp;
  d.mlp_given = true;
  d.norm = wanted.norm;
  d.position = PositionCode::none;
  d.precision.bits = wanted.precision;
  d.accumulator_bits = wanted.state_bits;
  d.vocabulary = wanted.letters + 1;
  model.fields = {{.name = "token", .size = wanted.letters + 1}};
  model.output = {OutputSpec::Kind::logits, wanted.answers, 0};
  auto weights = random_weights(model);
  RUNG_REQUIRE(weights.ok(), "{}", weights.error().message);
  return std::move(*weights);
}

Target word_target(const WordModel& wanted) {
  Target target;
  target.weights = word_weights(wanted);
  target.model_sha256 = sha256(wanted.architecture + std::to_string(wanted.seed));
  target.layers = *resolve(target.weights.architecture);
  target.machine = std::move(*Machine::load(target.weights, {.positions = 64}));
  return target;
}

LetterRows letter_rows(std::int64_t letters) {
  LetterRows rows;
  for (std::int64_t l = 0; l < letters; ++l) rows.push_back({l});
  return rows;
}

// A random automaton, or the parity of the letter 1.
ProductTask random_task(std::int64_t states, std::int64_t letters, std::int64_t answers, std::uint64_t seed) {
  Random random(seed);
  ProductTask task{.states = states, .letters = letter_rows(letters), .begin = {{letters}}};
  for (std::int64_t i = 0; i < states * letters; ++i)
    task.next.push_back(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(states))));
  for (std::int64_t q = 0; q < states; ++q)
    task.answers.push_back(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(answers))));
  return task;
}

std::int64_t answer_to(const Target& target, const ProductTask& task, const std::vector<std::int64_t>& word) {
  auto session = target.machine->start();
  std::optional<Readout> readout;
  if (task.begin) RUNG_REQUIRE((*session)->append(*task.begin, false).ok(), "append");
  for (std::size_t t = 0; t < word.size(); ++t)
    readout = *(*session)->append(task.letters[static_cast<std::size_t>(word[t])], t + 1 == word.size());
  return readout->answer.front();
}
std::int64_t expected_of(const ProductTask& task, const std::vector<std::int64_t>& word) {
  std::int64_t state = task.start;
  for (const auto letter : word) state = task.after(state, letter);
  return task.answers[static_cast<std::size_t>(state)];
}
// The first wrong word of up to `most` letters, shorter ones first, letters in order.
std::optional<std::vector<std::int64_t>> first_wrong(const Target& target, const ProductTask& task,
                                                     int most) {
  std::vector<std::vector<std::int64_t>> level{{}};
  for (int length = 1; length <= most; ++length) {
    std::vector<std::vector<std::int64_t>> next;
    for (const auto& word : level)
      for (std::int64_t l = 0; l < static_cast<std::int64_t>(task.letters.size()); ++l) {
        next.push_back(word);
        next.back().push_back(l);
        if (answer_to(target, task, next.back()) != expected_of(task, next.back())) return next.back();
      }
    level = std::move(next);
  }
  return std::nullopt;
}

const std::vector<std::string> kFiniteLines = {
    "rnn(size=2)",
    "rnn(cell=relu,size=3)",
    "gru(size=2)",
    "mamba(inner=2,state=2,form=plain)",
    "mamba(inner=2,state=1,conv=2,form=plain)",
    "mamba2(heads=1,dim=2,state=2,form=plain)",
    "mamba2(heads=2,dim=1,state=1,conv=3,form=plain)",
    "delta(heads=1,dim=2,vdim=1,form=plain)",
    "delta(heads=1,dim=2,vdim=1,steps=2,form=plain)",
    "gdelta(heads=1,dim=2,vdim=2,form=plain)",
    "gdelta(heads=2,kv=1,dim=2,vdim=1,steps=2,range=2,conv=2,form=plain)",
    "linear(heads=1,dim=2)",
    "linear(heads=1,dim=2,normalised=no,feature=relu)",
    "full(window=1,heads=1,dim=2)",
    "full(window=3,heads=2,kv=2,dim=1)",
    "full(chunk=3,heads=1,dim=2)",
    "full(chunk=1,heads=1,dim=1)",
    "full(window=2,conv=2,heads=1,dim=1)",
    "conv(width=3,channels=2)",
    "identity(heads=1,vdim=2)",
    "heads(mamba2(dim=1,state=1,form=plain):1,full(window=2,dim=1):1,full(chunk=2,dim=1):1)",
    "rnn(size=2)+none+delta(heads=1,dim=2,vdim=1,form=plain)",
    "mamba2(heads=1,dim=1,state=1,form=plain)+identity(heads=1,vdim=2)+rnn(size=2)"};

class LetterKernels : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Lines, LetterKernels, testing::ValuesIn(kFiniteLines));

// Both kernels follow the machine along random words: the same answers, and states whose numbers are the
// session's.
TEST_P(LetterKernels, read_letters_as_the_machine_does) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Target target =
        word_target({.architecture = GetParam(),
                     .letters = 3,
                     .answers = 4,
                     .accumulator = seed % 2 ? Accumulator::round : Accumulator::wrap,
                     .mlp = seed % 3 == 0 ? std::vector<std::int64_t>{5} : std::vector<std::int64_t>{},
                     .norm = seed == 6 ? Norm::rms : Norm::none,
                     .seed = seed});
    ASSERT_FALSE(why_not_finite(target.weights, target.layers))
        << *why_not_finite(target.weights, target.layers);
    const LetterRows rows = letter_rows(3);
    std::vector<std::unique_ptr<LetterKernel>> kernels;
    kernels.push_back(make_parts_kernel(target, rows, 4));
    for (const bool wide : {false, true})
      if (auto lanes = make_letter_lanes(target, rows, 4, wide)) kernels.push_back(std::move(*lanes));
    for (const auto& kernel : kernels) {
      Random random(seed);
      const std::size_t words = kernel->code().words();
      for (int walk = 0; walk < 4; ++walk) {
        auto session = target.machine->start();
        std::vector<std::uint64_t> node = kernel->empty(), after(3 * words);
        std::vector<std::int64_t> answers(3);
        for (int t = 0; t < 12; ++t) {
          kernel->read(node.data(), 1, after.data(), answers.data());
          const auto l = static_cast<std::size_t>(random.below(3));
          const auto readout = (*session)->append(rows[l], true);
          ASSERT_TRUE(readout) << readout.error().message;
          ASSERT_EQ(answers[l], (*readout)->answer.front()) << kernel->name() << " at " << t;
          node.assign(after.begin() + static_cast<std::ptrdiff_t>(l * words),
                      after.begin() + static_cast<std::ptrdiff_t>((l + 1) * words));
          // A chunk's session still lists tokens of the chunk before, which nothing can see.
          if (GetParam().find("chunk") != std::string::npos) continue;
          std::vector<std::int64_t> have, want;
          for (const auto& mixer : kernel->numbers(node.data()))
            have.insert(have.end(), mixer.begin(), mixer.end());
          for (const auto& layer : (*session)->state()) want.insert(want.end(), layer.begin(), layer.end());
          ASSERT_EQ(have, want) << kernel->name() << " at " << t;
        }
      }
    }
  }
}

// The verdict is that of trying every word, and the word is the first wrong one.
TEST_P(LetterKernels, give_the_first_wrong_word) {
  constexpr int kMost = 5;
  int refuted = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Target target = word_target({.architecture = GetParam(), .precision = 3, .seed = seed});
    const ProductTask task = random_task(1 + static_cast<std::int64_t>(seed % 3), 2, 2, seed);
    const auto outcome = search_product(target, task, {.seconds = 20}, kMost);
    ASSERT_TRUE(outcome) << outcome.error().message;
    const auto wrong = first_wrong(target, task, kMost);
    ASSERT_EQ(outcome->verdict == ProductVerdict::refuted, wrong.has_value());
    if (wrong) {
      EXPECT_EQ(outcome->word, *wrong);
      EXPECT_EQ(outcome->depth, static_cast<std::int64_t>(wrong->size()));
      EXPECT_EQ(outcome->answer, answer_to(target, task, *wrong));
      EXPECT_EQ(outcome->expected, expected_of(task, *wrong));
      ++refuted;
    } else if (outcome->verdict == ProductVerdict::bounded) {
      EXPECT_EQ(outcome->depth, kMost);
    }
    // The search over words, which merges nothing across lengths, agrees.
    const auto words = search_words(target, task, {.seconds = 20}, kMost);
    ASSERT_TRUE(words) << words.error().message;
    EXPECT_EQ(words->verdict == ProductVerdict::refuted, wrong.has_value());
    if (wrong) EXPECT_EQ(words->word, *wrong);
  }
  EXPECT_GT(refuted, 0);
}

// A task that the model solves because it was read off the model: its own reachable states.
struct OwnTask {
  ProductTask task;
  std::set<std::vector<std::int64_t>> states;
};
std::optional<OwnTask> own_task(const Target& target, std::int64_t letters, std::size_t most) {
  // States are (memory, last answer); found by running words through sessions.
  OwnTask own{.task = {.letters = letter_rows(letters), .begin = {{letters}}}};
  std::map<std::vector<std::int64_t>, std::int64_t> number;
  std::vector<std::vector<std::int64_t>> open;
  const auto visit = [&](const std::vector<std::int64_t>& word) {
    auto session = target.machine->start();
    std::optional<Readout> readout = *(*session)->append(*own.task.begin, true);
    for (const auto l : word) readout = *(*session)->append({{l}}, true);
    std::vector<std::int64_t> key{word.empty() ? 0 : readout->answer.front()}, memory;
    for (const auto& layer : (*session)->state()) memory.insert(memory.end(), layer.begin(), layer.end());
    key.insert(key.end(), memory.begin(), memory.end());
    const auto [found, fresh] = number.try_emplace(key, static_cast<std::int64_t>(number.size()));
    if (fresh) {
      open.push_back(word);
      own.task.answers.push_back(key[0]);
      own.states.insert(memory);
    }
    return found->second;
  };
  visit({});
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (open.size() > most) return std::nullopt;
    for (std::int64_t l = 0; l < letters; ++l) {
      auto longer = open[i];
      longer.push_back(l);
      own.task.next.push_back(visit(longer));
    }
  }
  own.task.states = static_cast<std::int64_t>(open.size());
  return own;
}

TEST(ProductSearch, proves_a_model_right_on_the_automaton_that_it_is_and_on_no_other) {
  int proved = 0;
  for (const char* line :
       {"rnn(size=2)", "mamba2(heads=1,dim=2,state=1,form=plain)", "delta(heads=1,dim=2,vdim=1,form=plain)",
        "gru(size=2)", "full(window=3,heads=1,dim=1)", "conv(width=3,channels=1)"})
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const Target target = word_target({.architecture = line, .precision = 3, .seed = seed});
      const auto own = own_task(target, 2, 400);
      if (!own) continue;
      auto outcome = search_product(target, own->task, {.seconds = 20});
      ASSERT_TRUE(outcome) << outcome.error().message;
      ASSERT_EQ(outcome->verdict, ProductVerdict::proved) << line << " " << seed;
      EXPECT_EQ(outcome->states, static_cast<std::uint64_t>(own->task.states));
      EXPECT_EQ(outcome->edges, outcome->states * 2);
      ++proved;
      // One answer of one reachable state changed: refuted, unless only the empty word ends there.
      ProductTask other = own->task;
      const auto changed = static_cast<std::size_t>(seed) % other.answers.size();
      other.answers[changed] = 1 - other.answers[changed];
      const bool entered = std::find(other.next.begin(), other.next.end(),
                                     static_cast<std::int64_t>(changed)) != other.next.end();
      outcome = search_product(target, other, {.seconds = 20});
      ASSERT_TRUE(outcome);
      EXPECT_EQ(outcome->verdict == ProductVerdict::refuted, entered) << line << " " << seed;
    }
  EXPECT_GT(proved, 20);
}

// The answer depends on the last letter as well as on the state: an edge into a node that was seen before
// may be wrong where all edges into new nodes are right.
TEST(ProductSearch, compares_edges_into_nodes_that_were_seen_before) {
  // No memory at all: one node. The letter that is answered wrongly leads back to it.
  const Target target =
      word_target({.architecture = "identity(heads=1,vdim=2)", .letters = 3, .answers = 2, .seed = 5});
  ProductTask task{.states = 1, .next = {0, 0, 0}, .answers = {0}, .letters = letter_rows(3)};
  std::vector<std::int64_t> answers;
  for (std::int64_t l = 0; l < 3; ++l) answers.push_back(answer_to(target, task, {l}));
  ASSERT_NE(std::set(answers.begin(), answers.end()).size(), 1u) << "the model answers all letters alike";
  const auto outcome = search_product(target, task, {.seconds = 5});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->verdict, ProductVerdict::refuted);
  EXPECT_EQ(outcome->states, 1u);
  EXPECT_EQ(outcome->word.size(), 1u);
}

TEST(ProductSearch, goes_on_from_a_checkpoint_to_the_same_end) {
  const std::string file = testing::TempDir() + "/product.checkpoint";
  std::filesystem::remove(file);
  // A task that is never wrong, so that the whole graph is explored: one state, and a model with one
  // answer.
  WordModel wanted{.architecture = "gru(size=4)", .precision = 5, .letters = 3, .answers = 1, .seed = 3};
  const Target target = word_target(wanted);
  const ProductTask task{
      .states = 1, .next = {0, 0, 0}, .answers = {0}, .letters = letter_rows(3), .begin = {{3}}};
  const auto whole = search_product(target, task, {.seconds = 60});
  ASSERT_TRUE(whole);
  ASSERT_EQ(whole->verdict, ProductVerdict::proved);
  ASSERT_GT(whole->states, 50u) << "too small to be interrupted";
  auto part = search_product(target, task, {.seconds = 60, .checkpoint = file}, 3);
  ASSERT_TRUE(part);
  ASSERT_EQ(part->verdict, ProductVerdict::bounded);
  EXPECT_EQ(part->depth, 3);
  ASSERT_TRUE(std::filesystem::exists(file));
  const auto rest = search_product(target, task, {.seconds = 60, .checkpoint = file});
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_EQ(rest->verdict, ProductVerdict::proved);
  EXPECT_EQ(rest->states, whole->states);
  EXPECT_EQ(rest->edges, whole->edges);
  EXPECT_EQ(rest->depth, whole->depth);
  EXPECT_EQ(rest->digest, whole->digest);
  // Another model's checkpoint is refused.
  wanted.seed = 4;
  const auto other = search_product(word_target(wanted), task, {.seconds = 60, .checkpoint = file});
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("another search"), std::string::npos);
}

TEST(ProductSearch, keeps_to_the_memory_that_it_states) {
  const Target target = word_target({.architecture = "mamba2(heads=1,dim=2,state=4,form=plain)",
                                     .precision = 8,
                                     .letters = 3,
                                     .answers = 1,
                                     .accumulator = Accumulator::wrap});
  const ProductTask task{
      .states = 1, .next = {0, 0, 0}, .answers = {0}, .letters = letter_rows(3), .begin = {{3}}};
  const std::uint64_t little = std::uint64_t{1} << 20;
  const SearchOptions options{.seconds = 60, .memory_bytes = little};
  const ProductMemory stated = product_memory(target, task, options);
  EXPECT_LE(stated.bytes, little);
  const auto outcome = search_product(target, task, options);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->verdict, ProductVerdict::bounded);
  EXPECT_EQ(outcome->states, stated.nodes);
  EXPECT_NE(outcome->reason.find("memory"), std::string::npos);
  // Never more than allowed, and more where more is allowed.
  for (const std::uint64_t bytes : {std::uint64_t{1} << 20, std::uint64_t{1} << 24, std::uint64_t{1} << 30})
    for (const std::size_t words : {1u, 2u, 5u}) {
      const ProductMemory memory = product_memory(words, bytes, true);
      EXPECT_TRUE(memory.bytes <= bytes || memory.nodes == 1) << bytes << " " << words;
      EXPECT_GT(product_memory(words, 2 * bytes, true).nodes, memory.nodes);
    }
}

// States of many words: what is computed at once counts, too.
TEST(ProductSearch, keeps_to_its_memory_where_a_state_is_wide) {
  const Target target = word_target({.architecture = "mamba2(heads=1,dim=64,state=64,form=plain)",
                                     .precision = 8,
                                     .letters = 3,
                                     .answers = 1,
                                     .accumulator = Accumulator::wrap});
  const ProductTask task{
      .states = 1, .next = {0, 0, 0}, .answers = {0}, .letters = letter_rows(3), .begin = {{3}}};
  const SearchOptions options{.seconds = 60, .memory_bytes = std::uint64_t{1} << 25};
  const auto peak = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  };
  const std::uint64_t before = peak();
  const auto outcome = search_product(target, task, options);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->verdict, ProductVerdict::bounded);
  EXPECT_LE(outcome->memory_bytes, options.memory_bytes);
#ifndef __SANITIZE_ADDRESS__  // which keeps freed memory
  EXPECT_LT(peak() - before, options.memory_bytes * 5 / 4);
#endif
}

// A budget of no time ends at once, and says what it knows: nothing beyond the empty word.
TEST(ProductSearch, of_no_time_is_bounded_at_depth_0) {
  const Target target = word_target({.architecture = "gru(size=4)", .precision = 6, .answers = 1});
  const ProductTask task{
      .states = 1, .next = {0, 0}, .answers = {0}, .letters = letter_rows(2), .begin = {{2}}};
  const auto outcome = search_product(target, task, {.seconds = 0});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->verdict, ProductVerdict::bounded);
  EXPECT_EQ(outcome->depth, 0);
}

TEST(FiniteState, refuses_by_name_what_grows) {
  const auto reason = [](const std::string& line, Accumulator accumulator,
                         PositionCode position = PositionCode::none, std::int64_t context = 0) {
    Weights weights;
    weights.architecture.stack = *parse_stack(line);
    weights.architecture.dimensions.position = position;
    weights.architecture.dimensions.context = context;
    weights.accumulator = accumulator;
    return why_not_finite(weights, *resolve(weights.architecture)).value_or("finite");
  };
  using enum Accumulator;
  EXPECT_NE(reason("rnn+full", round).find("layer 1 is full"), std::string::npos);
  EXPECT_NE(reason("topk(k=2,form=plain)", round).find("topk"), std::string::npos);
  EXPECT_NE(reason("sparse(B=2,k=1,form=plain)", round).find("sparse"), std::string::npos);
  EXPECT_NE(reason("loglinear", round).find("loglinear"), std::string::npos);
  EXPECT_NE(reason("linear", exact).find("accumulator exact"), std::string::npos);
  EXPECT_NE(reason("heads(delta(form=plain):1,full:1)", round).find("full"), std::string::npos);
  EXPECT_NE(reason("recurrent(kind=kda,elements=4)", round).find("kda"), std::string::npos);
  EXPECT_NE(reason("rnn", round, PositionCode::binary).find("position code (binary)"), std::string::npos);
  EXPECT_NE(reason("rnn", round, PositionCode::none, 8).find("context of 8"), std::string::npos);
  for (const auto accumulator : {exact, wrap, round})
    for (const char* line :
         {"mamba(form=plain)", "mamba2(form=plain)", "delta(form=plain)", "gdelta(form=plain)", "rnn", "gru",
          "conv(width=2)", "identity", "none", "full(window=3)", "full(chunk=4)",
          "heads(delta(form=plain):1,full(window=2):1)"})
      EXPECT_EQ(reason(line, accumulator), "finite") << line;
  EXPECT_EQ(reason("linear", wrap), "finite");
  EXPECT_EQ(reason("linear", round), "finite");
}

// A model whose only answer is 0, against an automaton that says 1 after so many letters 1 (modulo a number).
ProductTask late_task(std::int64_t states, std::int64_t letters, std::int64_t late) {
  ProductTask task{.states = states, .letters = letter_rows(letters), .begin = {{letters}}};
  for (std::int64_t q = 0; q < states; ++q)
    for (std::int64_t l = 0; l < letters; ++l) task.next.push_back(l == 1 ? (q + 1) % states : q);
  task.answers.assign(static_cast<std::size_t>(states), 0);
  task.answers[static_cast<std::size_t>(late)] = 1;
  return task;
}

TEST(Orbits, find_the_shortest_wrong_power) {
  for (const char* line : {"rnn(size=3)", "gru(size=2)", "mamba2(heads=1,dim=2,state=2,form=plain)"}) {
    const Target target = word_target({.architecture = line, .answers = 1, .seed = 5});
    for (const std::int64_t late : {1, 2, 39}) {
      const auto power = wrong_power(target, late_task(40, 2, late));
      ASSERT_TRUE(power) << line << " " << late;
      EXPECT_EQ(power->word, std::vector<std::int64_t>(static_cast<std::size_t>(late), 1)) << line;
      EXPECT_EQ(power->answer, 0);
      EXPECT_EQ(power->expected, 1);
    }
  }
}

// Nothing where every power is right, though another word is wrong: 1 after the letters 0 0 1 1 0 alone.
TEST(Orbits, say_nothing_about_other_words) {
  const Target target = word_target({.architecture = "rnn(size=3)", .answers = 1, .seed = 5});
  const std::vector<std::int64_t> only{0, 0, 1, 1, 0};
  ProductTask task{.states = 7, .letters = letter_rows(2), .begin = {{2}}};
  for (std::int64_t q = 0; q < 7; ++q)
    for (std::int64_t l = 0; l < 2; ++l)
      task.next.push_back(q < 5 && l == only[static_cast<std::size_t>(q)] ? q + 1 : 6);
  task.answers = {0, 0, 0, 0, 0, 1, 0};
  EXPECT_FALSE(wrong_power(target, task));
  const auto outcome = search_product(target, task, {.seconds = 20});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->word, only);
}

}  // namespace
}  // namespace rung
