// Every construction of an automaton task is proved right at every length by the search, and a sample of
// them by rung-check from its certificate; a damaged one is refuted, and a damaged certificate rejected.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "rung/adversary/forced_word.h"
#include "rung/adversary/orbits.h"
#include "rung/adversary/product_proof.h"
#include "rung/adversary/random_weights.h"
#include "rung/constructions/construction.h"
#include "rung/spec/mixers.h"
#include "rung/spec/safetensors.h"
#include "rung/tasks/automaton.h"
#include "rung/tasks/task_record.h"
#include "rung/tasks/user_task.h"
#include "rung/theory/theorem.h"
#include "tests/adversary/product_proofs.h"
#include "tests/constructions/forms.h"

namespace rung {
namespace {

class AutomatonConstruction : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(
    Lines, AutomatonConstruction,
    testing::Values("parity --by delta", "parity --by gdelta", "parity --by rnn", "parity --by elman",
                    "parity --by gru", "group --name S3 --by gdelta", "group --name S3 --by gru",
                    "modulo --m 4 --by elman", "modulo --m 3 --by delta", "modulo --m 5 --by rnn",
                    "modulo --m 6 --by delta", "group --name S3 --by delta", "group --name S3 --by rnn",
                    "group --name S4 --letters generators --by delta",
                    "group --name A5 --letters generators --by delta",
                    "group --name S5 --letters generators --by delta", "group --name Q8 --by delta",
                    "group --name D4 --by delta", "group --name Z2xZ2 --by delta",
                    "group --name A4 --by delta", "flipflop --k 2 --by mamba2", "flipflop --k 7 --by mamba2",
                    "flipflop --k 3 --by rnn", "flipflop --k 3 --by cascade"));

TEST_P(AutomatonConstruction, is_right_at_every_length) {
  Construction made = built_of(GetParam());
  const int precision = made.weights.architecture.dimensions.precision.bits;
  ASSERT_EQ(made.p_proved, precision);
  const Weights weights = made.weights;
  const Proved all = proved_of(std::move(made));
  ASSERT_EQ(all.outcome.verdict, ProductVerdict::proved) << all.outcome.reason;
  EXPECT_GE(all.outcome.states, static_cast<std::uint64_t>(all.problem.task.states));
  std::string name = GetParam();
  std::replace(name.begin(), name.end(), ' ', '_');
  const auto certificate = product_certificate(all.problem, all.outcome);
  ASSERT_TRUE(certificate);
  EXPECT_EQ(checked(weights, *certificate, name), 0);
}

TEST(AutomatonConstructions, exchange_no_more_than_the_group_needs) {
  const auto architecture = [](const std::string& line) {
    return format_stack(built_of(line).weights.architecture.stack);
  };
  EXPECT_EQ(architecture("parity --by delta"), "delta(heads=1,dim=2,vdim=1,form=plain)");
  EXPECT_EQ(architecture("group --name S3 --letters generators --by delta"),
            "delta(heads=1,dim=3,vdim=1,form=plain)");
  EXPECT_EQ(architecture("group --name S5 --letters generators --by delta"),
            "delta(heads=1,dim=5,vdim=1,form=plain)");
  EXPECT_EQ(architecture("group --name S3 --by delta"), "delta(heads=1,dim=3,vdim=1,steps=2)");
}

TEST(AutomatonConstructions, follow_random_automata_by_relu_cells) {
  Random random(11);
  for (int i = 0; i < 20; ++i) {
    const Automaton a = random_automaton(random, 2 + static_cast<std::uint32_t>(random.below(5)), 2);
    const std::string file = automaton_file(a, "cells");
    auto made = build_construction({.name = "automaton", .options = {{"file", file}, {"by", "rnn"}}});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(proved_of(std::move(*made)).outcome.verdict, ProductVerdict::proved);
  }
}

TEST(AutomatonConstructions, of_parity_by_full_are_right_up_to_n) {
  for (const std::int64_t n : {1, 2, 3, 8, 20}) {
    Construction made = built_of(fmt::format("parity --n {} --by full", n));
    const auto without = make_product(made.weights, made.task, {});
    ASSERT_FALSE(without);
    EXPECT_NE(without.error().message.find("context"), std::string::npos);
    const auto problem = make_product(made.weights, made.task, n);
    ASSERT_TRUE(problem) << problem.error().message;
    const auto outcome = search(*problem, {.seconds = 60}, n);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->verdict, ProductVerdict::bounded);
    EXPECT_EQ(outcome->depth, n);
  }
}

TEST(AutomatonConstructions, with_a_damaged_weight_are_refuted_and_the_word_is_wrong) {
  Construction made = built_of("group --name S3 --by delta");
  auto& key = made.weights.tensors.at("layers.0.k.weight");
  auto numbers = std::vector<std::int64_t>();
  for (std::int64_t i = 0; i < key.size(); ++i) numbers.push_back(key.integer(i));
  *std::find(numbers.begin(), numbers.end(), -1) = 0;
  key = integer_tensor(key.shape, numbers);
  const Weights weights = made.weights;
  const Proved all = proved_of(std::move(made));
  ASSERT_EQ(all.outcome.verdict, ProductVerdict::refuted);
  const auto certificate = product_certificate(all.problem, all.outcome);
  ASSERT_TRUE(certificate);
  EXPECT_EQ(checked(weights, *certificate, "damaged"), 0);
  // Another answer than the model's, another reference, and no word at all.
  for (const char* member : {"answer", "expected"})
    EXPECT_EQ(checked(weights, *certificate, "damaged",
                      [&](auto& c) { c["claim"][member] = c["claim"][member].template get<int>() + 1; }),
              1)
        << member;
  EXPECT_EQ(checked(weights, *certificate, "damaged", [](auto& c) { c["claim"]["word"].clear(); }), 2);
}

TEST(EveryLengthCertificates, are_rejected_when_anything_in_them_is_altered) {
  Construction made = built_of("parity --by delta");
  const Weights weights = made.weights;
  const Proved all = proved_of(std::move(made));
  const Certificate good = *product_certificate(all.problem, all.outcome);
  const auto code = [&](const std::function<void(nlohmann::json&)>& alter) {
    return checked(weights, good, "altered", alter);
  };
  EXPECT_EQ(code({}), 0);
  for (const char* count : {"states", "edges", "depth"}) {
    EXPECT_EQ(code([&](auto& c) { c["claim"][count] = c["claim"][count].template get<int>() + 1; }), 1)
        << count;
  }
  EXPECT_EQ(code([](auto& c) { c["claim"]["digest"] = std::string(64, '0'); }), 1);
  EXPECT_EQ(code([](auto& c) { c["claim"]["automaton"]["answers"] = {1, 0}; }), 1);
  EXPECT_EQ(code([](auto& c) { c["claim"]["automaton"]["next"] = {{0, 1}, {1, 1}}; }), 1);
  // The same automaton under a user's name: what it says of parity's table holds all the same ...
  const auto anonymous = [](auto& c) {
    c["task"] = {
        {"name", "automaton"}, {"size", nlohmann::json::object()}, {"options", nlohmann::json::object()}};
  };
  EXPECT_EQ(code(anonymous), 0);
  // ... and another automaton does not, whoever names it.
  EXPECT_EQ(code([&](auto& c) {
              anonymous(c);
              c["claim"]["automaton"]["answers"] = {1, 0};
            }),
            1);
  EXPECT_EQ(code([](auto& c) { c["task"]["name"] = "eva"; }), 2);
  EXPECT_EQ(code([](auto& c) { c["claim"]["automaton"]["next"] = {{0, 2}, {1, 0}}; }), 2);
  EXPECT_EQ(code([](auto& c) { c["claim"]["automaton"]["start"] = 2; }), 2);
  EXPECT_EQ(code([](auto& c) { c["claim"]["more"] = 1; }), 2);
  EXPECT_EQ(code([](auto& c) { c["kind"] = "wrong-word"; }), 2);
}

// Models with positions, a context or full attention have no certificate of every length, whatever it says.
TEST(EveryLengthCertificates, of_models_that_are_no_finite_automata_are_rejected) {
  Construction made = built_of("parity --by delta");
  const Proved all = proved_of(made);
  const Certificate good = *product_certificate(all.problem, all.outcome);
  Weights weights = made.weights;
  weights.architecture.dimensions.context = 100;
  EXPECT_EQ(checked(weights, good, "context"), 1);
  EXPECT_EQ(checked(built_of("parity --n 4 --by full").weights, good, "full"), 1);
}

TEST(RandomModels, of_mamba2_are_refuted_on_parity_by_a_shortest_word) {
  auto made = make_task("parity", {});
  ASSERT_TRUE(made);
  const std::shared_ptr<const Task> task = std::move(*made);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    auto weights = random_weights_for(*task, {.architecture = "mamba2(form=plain)", .seed = seed});
    ASSERT_TRUE(weights) << weights.error().message;
    const auto problem = make_product(*weights, task, {});
    ASSERT_TRUE(problem) << problem.error().message;
    const auto outcome = search(*problem, {.seconds = 60}, {});
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->verdict, ProductVerdict::refuted) << seed;
    EXPECT_EQ(checked(*weights, *product_certificate(*problem, *outcome), "random"), 0) << seed;
  }
}

// A random model of an automaton task as `rung build random` writes it, and what the search says of it.
Proved random_proof(const std::string& line, const std::string& task,
                    const std::map<std::string, std::string>& options, std::uint64_t seed,
                    const std::function<void(Weights&)>& alter = {}) {
  std::shared_ptr<const Task> made = std::move(*make_task(task, {}, options));
  auto weights =
      random_weights_for(*made, {.architecture = line, .width = 4, .precision = {.bits = 4}, .seed = seed});
  RUNG_REQUIRE(weights.ok(), "{}", weights.error().message);
  if (alter) alter(*weights);
  auto problem = make_product(std::move(*weights), made, {});
  RUNG_REQUIRE(problem.ok(), "{}", problem.error().message);
  auto outcome = search(*problem, {.seconds = 60}, {});
  RUNG_REQUIRE(outcome.ok(), "{}", outcome.error().message);
  return {std::move(*problem), std::move(*outcome)};
}

TEST(ForcedWords, are_those_of_layers_that_come_to_rest_on_periodic_tasks) {
  int refuted = 0;
  for (const char* line :
       {"mamba2(dim=2,state=2,form=plain)", "mamba2(dim=1,state=1,conv=3,form=plain)*2",
        "mamba(state=2,form=plain)", "linear", "full(window=3)",
        "conv(width=3)+mamba2(dim=1,state=1,form=plain)",
        "heads(mamba2(dim=1,state=1,form=plain):1,full(window=2):1)",
        "mamba2(form=released,dim=1,state=1,conv=2)", "mamba(form=released,inner=1,state=2)",
        "mamba(form=released,norms=before,inner=2,state=1)"})
    for (const auto& [task, name] :
         {std::pair("parity", ""), {"modulo", ""}, {"group", "S3"}, {"group", "Z4"}}) {
      std::map<std::string, std::string> options;
      if (*name) options["name"] = name;
      const Proved found = random_proof(line, task, options, 7);
      ASSERT_EQ(found.outcome.verdict, ProductVerdict::refuted) << line << " on " << task;
      const auto forced = forced_word(found.problem.target);
      ASSERT_TRUE(forced && forced->powers) << line << " on " << task;
      EXPECT_EQ(forced->theorem, "aperiodicity");
      EXPECT_LE(static_cast<std::int64_t>(found.outcome.word.size()), forced->powers->letters);
      const auto certificate = product_certificate(found.problem, found.outcome);
      const std::string file = fmt::format("forced-{}", refuted++);
      EXPECT_EQ(checked(found.problem.target.weights, *certificate, file), 0) << line << " on " << task;
      // More letters are a weaker claim; fewer are not counted.
      const auto with = [&](std::int64_t letters) {
        return [letters](nlohmann::json& document) { document["claim"]["proof"]["letters"] = letters; };
      };
      EXPECT_EQ(checked(found.problem.target.weights, *certificate, file, with(forced->powers->letters + 1)),
                0);
      EXPECT_EQ(checked(found.problem.target.weights, *certificate, file, with(1)), 1)
          << line << " on " << task;
      // Theory and checker count alike, to the letter.
      if (task == std::string_view("parity"))
        EXPECT_EQ(
            checked(found.problem.target.weights, *certificate, file, with(forced->powers->letters - 1)), 1)
            << line;
    }
  EXPECT_EQ(refuted, 40);
}

TEST(ForcedWords, are_none_where_a_hypothesis_fails) {
  const auto forced = [](const std::string& line, const std::string& task,
                         const std::function<void(Weights&)>& alter = {}) {
    return forced_word(random_proof(line, task, {}, 3, alter).problem.target).has_value();
  };
  const auto negative = [](Weights& weights) {
    const MixerShape shape = resolve(weights.architecture).value()[0].mixer;
    Tensor& table = weights.tensors.at(fmt::format("layers.0.{}.table", decay_table_of(shape)));
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < table.size(); ++i) values.push_back(i == 0 ? -1 : table.integer(i));
    table = integer_tensor(table.shape, values);
  };
  const auto wraps = [](Weights& weights) { weights.accumulator = Accumulator::wrap; };
  EXPECT_TRUE(forced("mamba2(dim=1,state=1,form=plain)", "parity"));
  EXPECT_FALSE(forced("mamba2(dim=1,state=1,form=plain)", "parity", negative));
  EXPECT_FALSE(forced("mamba2(dim=1,state=1,form=plain)", "parity", wraps));
  for (const char* line : {"mamba2(form=released,dim=1,state=1)", "mamba(form=released,inner=1,state=1)"}) {
    EXPECT_TRUE(forced(line, "parity")) << line;
    EXPECT_FALSE(forced(line, "parity", negative)) << line;
  }
  EXPECT_FALSE(forced("mamba2(dim=1,state=1,form=plain)", "flipflop"));  // aperiodic
  for (const char* line :
       {"delta(dim=2,vdim=1,form=plain)", "gdelta(dim=2,vdim=1,form=plain)", "rnn(size=2)", "gru(size=2)"})
    EXPECT_FALSE(forced(line, "parity")) << line;
  // What the search does not say, the checker does not believe.
  const Proved covered = random_proof("mamba2(dim=1,state=1,form=plain)", "parity", {}, 3);
  const auto proof = forced_word(covered.problem.target)->powers;
  for (const auto& [line, alter] :
       {std::pair<const char*, std::function<void(Weights&)>>{"mamba2(dim=1,state=1,form=plain)", negative},
        {"mamba2(dim=1,state=1,form=plain)", wraps},
        {"mamba2(form=released,dim=1,state=1)", negative},
        {"delta(dim=2,vdim=1,form=plain)", {}},
        {"rnn(size=2)", {}}}) {
    const Proved found = random_proof(line, "parity", {}, 3, alter);
    ASSERT_EQ(found.outcome.verdict, ProductVerdict::refuted) << line;
    const auto certificate = product_certificate(found.problem, found.outcome);
    EXPECT_EQ(checked(found.problem.target.weights, *certificate, "unforced"), 0) << line;
    EXPECT_EQ(checked(found.problem.target.weights, *certificate, "unforced",
                      [&](nlohmann::json& document) {
                        document["claim"]["proof"] = {{"before", proof->before},
                                                      {"word", proof->word},
                                                      {"after", proof->after},
                                                      {"letters", 1 << 20}};
                      }),
              1)
        << line;
  }
}

Proved float_proof(Weights weights, std::shared_ptr<const Task> task, const char* format) {
  auto problem = make_product(std::move(weights), std::move(task), {}, *parse_precision(format));
  RUNG_REQUIRE(problem.ok(), "{}", problem.error().message);
  auto outcome = search(*problem, {.seconds = 60}, {});
  RUNG_REQUIRE(outcome.ok(), "{}", outcome.error().message);
  return {std::move(*problem), std::move(*outcome)};
}

// Whole numbers that a format holds are the same numbers in it: the graph is the integers' own.
TEST(FloatProducts, prove_constructions_in_formats_that_hold_their_numbers) {
  for (const char* line : {"parity --by delta", "parity --by rnn", "modulo --m 3 --by delta",
                           "group --name S3 --by rnn", "flipflop --k 3 --by mamba2"})
    for (const char* format : {"bf16", "fp16", "fp32"}) {
      Construction made = built_of(line);
      const Proved floats = float_proof(made.weights, made.task, format);
      EXPECT_EQ(floats.outcome.verdict, ProductVerdict::proved) << line << " in " << format;
      EXPECT_FALSE(product_certificate(floats.problem, floats.outcome));
      EXPECT_FALSE(forced_word(floats.problem.target) && floats.outcome.verdict == ProductVerdict::proved)
          << line;
      const Proved integers = proved_of(std::move(made));
      EXPECT_EQ(floats.outcome.states, integers.outcome.states) << line << " in " << format;
      EXPECT_EQ(floats.outcome.edges, integers.outcome.edges) << line << " in " << format;
      EXPECT_EQ(floats.outcome.depth, integers.outcome.depth) << line << " in " << format;
    }
}

// What a verdict calls possible in a float format, its file does in that format at every length; and it does not
// call possible what is not: numbers beyond the significand, cascades, tables that are no cell's or gate's.
TEST(FloatProducts, prove_what_a_verdict_calls_possible_in_the_format) {
  struct Asked {
    const char *line, *architecture, *task;
    TaskSizes sizes;
    TaskOptions options;
    std::vector<std::string> formats;  // in which it is possible
  };
  const std::vector<std::string> all{"bf16", "fp16", "fp32"};
  for (const Asked& asked : {
           Asked{"parity --by delta", "delta(heads=1,dim=2,vdim=1,form=plain)", "parity", {}, {}, all},
           {"parity --by gdelta", "gdelta(heads=1,dim=2,vdim=1,form=plain)", "parity", {}, {}, all},
           {"parity --by rnn", "rnn(cell=relu,size=4)", "parity", {}, {}, all},
           {"parity --by elman", "rnn(size=4)", "parity", {}, {}, {}},
           {"parity --by gru", "gru(size=4)", "parity", {}, {}, {}},
           {"modulo --m 5 --by rnn", "rnn(cell=relu,size=25)", "modulo", {{"m", 5}}, {}, all},
           {"group --name S3 --by delta",
            "delta(heads=1,dim=6,vdim=1,steps=3,form=plain)",
            "group",
            {},
            {{"name", "S3"}},
            all},
           {"group --name S4 --letters generators --by delta",
            "delta(heads=1,dim=4,vdim=1,steps=3,form=plain)",
            "group",
            {},
            {{"name", "S4"}, {"letters", "generators"}},
            all},
           {"group --name S5 --letters generators --by delta",
            "delta(heads=1,dim=5,vdim=1,steps=4,form=plain)",
            "group",
            {},
            {{"name", "S5"}, {"letters", "generators"}},
            {"fp32"}},
           {"flipflop --k 3 --by mamba2",
            "mamba2(heads=1,dim=1,state=1,form=plain)",
            "flipflop",
            {{"k", 3}},
            {},
            all},
       })
    for (const std::string& format : all) {
      Architecture architecture{*parse_stack(asked.architecture), {.position = PositionCode::none}};
      architecture.dimensions.precision = *parse_precision(format);
      const auto setting = make_setting(architecture, {});
      ASSERT_TRUE(setting);
      const auto question =
          make_question(asked.task, asked.sizes, setting->context, false, {.options = asked.options});
      ASSERT_TRUE(question) << question.error().message;
      const Verdict verdict = decide(*setting, *question);
      const bool expected =
          std::find(asked.formats.begin(), asked.formats.end(), format) != asked.formats.end();
      ASSERT_EQ(verdict.outcome == Outcome::possible, expected) << asked.line << " in " << format;
      EXPECT_EQ(verdict.every_length->outcome, expected ? Outcome::possible : Outcome::open) << asked.line;
      if (!expected) continue;
      EXPECT_EQ(verdict.status, Status::proved) << asked.line;
      Construction made = built_of(asked.line);
      const Proved floats = float_proof(std::move(made.weights), made.task, format.c_str());
      EXPECT_EQ(floats.outcome.verdict, ProductVerdict::proved) << asked.line << " in " << format;
    }
}

TEST(FloatProducts, refute_by_a_word_that_the_format_answers_wrongly) {
  int refuted = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed)
    for (const char* line :
         {"mamba2(dim=1,state=1,form=plain)", "linear", "gru(size=2)", "delta(dim=2,vdim=1,form=plain)"}) {
      const std::shared_ptr<const Task> task = std::move(*make_task("parity", {}, {}));
      auto weights = random_weights_for(
          *task, {.architecture = line, .width = 4, .precision = {.bits = 4}, .seed = seed});
      ASSERT_TRUE(weights) << weights.error().message;
      const Proved found = float_proof(*weights, task, "bf16");
      if (found.outcome.verdict != ProductVerdict::refuted) continue;
      ++refuted;
      const auto machine = Machine::load(*weights, {.positions = 64, .quantised = *parse_precision("bf16")});
      auto session = std::move(*(*machine)->start());
      std::vector<std::int64_t> row{2};
      ASSERT_TRUE(session->append(row, false));
      std::int64_t ones = 0, answer = -1;
      for (const auto letter : found.outcome.word) {
        row = {letter};
        ones += letter;
        answer = (*session->append(row, true))->answer.front();
      }
      EXPECT_EQ(answer, found.outcome.answer);
      EXPECT_NE(answer, ones % 2) << line;
    }
  EXPECT_GE(refuted, 40);
}

TEST(FloatProducts, are_none_of_models_whose_memory_grows) {
  const std::shared_ptr<const Task> task = std::move(*make_task("parity", {}, {}));
  for (const char* line : {"full", "topk(k=2,form=plain)", "full+rnn(size=2)"}) {
    auto weights = random_weights_for(*task, {.architecture = line, .width = 4, .precision = {.bits = 4}});
    ASSERT_TRUE(weights);
    EXPECT_FALSE(make_product(*weights, task, 4, *parse_precision("bf16"))) << line;
  }
}

// Where the memory ends the search, the powers of short words refute what they can, with a certificate; they
// refute nothing that is right, and a depth that is asked for is kept to.
TEST(Orbits, refute_where_the_search_is_cut_short) {
  // Yes once the letter b has come 24 times, and models that say no for ever.
  nlohmann::json late{{"alphabet", {"a", "b"}}, {"start", "0"}, {"accepting", {"24"}}};
  for (int q = 0; q <= 24; ++q) {
    const std::string state = std::to_string(q);
    late["states"].push_back(state);
    late["transitions"][state] = {{"a", state}, {"b", std::to_string(std::min(q + 1, 24))}};
  }
  const std::shared_ptr<const Task> task = std::move(*read_automaton_task("late", late.dump(), {}));
  int cut = 0, refuted = 0;
  for (const char* line : {"rnn(size=8)", "delta(dim=4,vdim=2,form=plain)", "gru(size=8)"})
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      auto weights = random_weights_for(
          *task, {.architecture = line, .width = 8, .precision = {.bits = 8}, .seed = seed});
      ASSERT_TRUE(weights) << weights.error().message;
      Tensor& answers = weights->tensors.at("out.table");
      answers = integer_tensor(answers.shape,
                               std::vector<std::int64_t>(static_cast<std::size_t>(answers.size()), 0));
      const auto problem = make_product(*weights, task, {});
      ASSERT_TRUE(problem) << problem.error().message;
      const auto plain = search_product(problem->target, problem->task, {.memory_bytes = 1 << 17});
      if (plain->verdict != ProductVerdict::bounded) continue;  // a model that forgets: its graph is small
      ++cut;
      const auto outcome = search(*problem, {.memory_bytes = 1 << 17}, {});
      ASSERT_TRUE(outcome);
      ASSERT_EQ(outcome->verdict, ProductVerdict::refuted) << line;
      EXPECT_FALSE(outcome->shortest);
      EXPECT_EQ(outcome->word, std::vector<std::int64_t>(24, 1));
      EXPECT_LT(outcome->depth, 24);
      EXPECT_EQ(checked(*weights, *product_certificate(*problem, *outcome), "orbit"), 0) << line;
      EXPECT_EQ(search(*problem, {.memory_bytes = 1 << 17}, 3)->verdict, ProductVerdict::bounded);
      ++refuted;
    }
  EXPECT_GE(cut, 6);
  EXPECT_EQ(cut, refuted);
  for (const char* line :
       {"group --name S4 --letters generators --by delta", "parity --by gru", "modulo --m 5 --by rnn"}) {
    Construction made = built_of(line);
    const auto problem = make_product(made.weights, made.task, {});
    EXPECT_FALSE(wrong_power(problem->target, problem->task)) << line;
    const auto held = attack(*make_target(made.weights, made.task), "orbits", {.seconds = 60});
    EXPECT_EQ(held->verdict, Evidence::unverified) << line;
    // `rung break --method orbits` of the same models that say 0 for ever.
    Tensor& answers = made.weights.tensors.at("out.table");
    answers =
        integer_tensor(answers.shape, std::vector<std::int64_t>(static_cast<std::size_t>(answers.size()), 0));
    const auto broken = attack(*make_target(made.weights, made.task), "orbits", {.seconds = 60});
    ASSERT_TRUE(broken) << broken.error().message;
    ASSERT_EQ(broken->verdict, Evidence::refuted) << line;
    EXPECT_EQ(checked(made.weights, *broken->certificate, "broken"), 0) << line;
  }
  Construction full = built_of("parity --n 4 --by full");
  EXPECT_FALSE(attack(*make_target(full.weights, full.task), "orbits", {}));
}

// Models that gradient descent found, quantised and proved: what results/proved ships.
TEST(TrainedProofs, are_of_models_that_the_search_proves_again) {
  const std::string folder = std::string(RUNG_SOURCE_DIR) + "/results/proved/";
  for (const auto& [name, task_file] :
       {std::pair<std::string, std::string>{"parity-rnn", ""},
        {"s3-rnn", ""},
        {"thirds-rnn", std::string(RUNG_SOURCE_DIR) + "/tests/cases/tasks/thirds.json"}}) {
    const auto weights = read_weights(folder + name + ".safetensors");
    ASSERT_TRUE(weights) << weights.error().message;
    const auto record = parse_task_record(weights->task);
    ASSERT_TRUE(record) << name;
    const std::shared_ptr<const Task> task =
        std::move(*(task_file.empty() ? make_task(record->name, record->sizes, record->options)
                                      : make_task(task_file, {}, {})));
    auto problem = make_product(*weights, task, {});
    ASSERT_TRUE(problem) << name << ": " << problem.error().message;
    const auto outcome = search(*problem, {.seconds = 120}, {});
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->verdict, ProductVerdict::proved) << name;
    EXPECT_EQ(std::system(fmt::format("'{}' '{}{}.json' '{}{}.safetensors' > /dev/null", RUNG_CHECKER, folder,
                                      name, folder, name)
                              .c_str()),
              0)
        << name;
  }
}

}  // namespace
}  // namespace rung
