// Every construction of an automaton task is proved right at every length by the search, and a sample of
// them by rung-check from its certificate; a damaged one is refuted, and a damaged certificate rejected.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "rung/adversary/product_proof.h"
#include "rung/adversary/random_weights.h"
#include "rung/base/random.h"
#include "rung/constructions/construction.h"
#include "rung/constructions/holonomy.h"
#include "rung/spec/safetensors.h"
#include "rung/tasks/automaton.h"
#include "rung/tasks/monoid.h"
#include "tests/constructions/forms.h"

namespace rung {
namespace {

struct Proved {
  ProductProblem problem;
  ProductOutcome outcome;
};
Proved proved_of(Construction made) {
  auto problem = make_product(std::move(made.weights), made.task, {});
  RUNG_REQUIRE(problem.ok(), "{}", problem.error().message);
  auto outcome = search(*problem, {.seconds = 60}, {});
  RUNG_REQUIRE(outcome.ok(), "{}", outcome.error().message);
  return {std::move(*problem), std::move(*outcome)};
}
Construction built_of(const std::string& line) {
  auto made = build_construction(request_of_line(line));
  RUNG_REQUIRE(made.ok(), "{}: {}", line, made.error().message);
  return std::move(*made);
}

// The exit code of rung-check on the weights and certificate.
int checked(const Weights& weights, Certificate certificate, const std::string& name,
            const std::function<void(nlohmann::json&)>& alter = {}) {
  const std::string file = testing::TempDir() + "/" + name;
  RUNG_REQUIRE(write_weights(file + ".safetensors", weights).ok(), "cannot write {}", file);
  certificate.model_sha256 = *file_sha256(file + ".safetensors");
  std::string text = certificate_text(certificate);
  if (alter) {
    auto document = nlohmann::json::parse(text);
    alter(document);
    document.erase("seal");
    auto sealed = document;
    sealed.erase("notes");
    document["seal"] = sha256(sealed.dump());
    text = document.dump();
  }
  std::ofstream(file + ".json") << text;
  const int status = std::system(
      fmt::format("'{}' '{}.json' '{}.safetensors' > '{}.said' 2>&1", RUNG_CHECKER, file, file, file)
          .c_str());
  return WEXITSTATUS(status);
}

class AutomatonConstruction : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Lines, AutomatonConstruction,
                         testing::Values("parity --by delta", "parity --by rnn", "modulo --m 3 --by delta",
                                         "modulo --m 5 --by rnn", "modulo --m 6 --by delta",
                                         "group --name S3 --by delta", "group --name S3 --by rnn",
                                         "group --name S4 --letters generators --by delta",
                                         "group --name A5 --letters generators --by delta",
                                         "group --name S5 --letters generators --by delta",
                                         "group --name Q8 --by delta", "group --name D4 --by delta",
                                         "group --name Z2xZ2 --by delta", "group --name A4 --by delta",
                                         "flipflop --k 2 --by mamba2", "flipflop --k 7 --by mamba2",
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
  EXPECT_EQ(architecture("parity --by delta"), "delta(heads=1,dim=2,vdim=1)");
  EXPECT_EQ(architecture("group --name S3 --letters generators --by delta"), "delta(heads=1,dim=3,vdim=1)");
  EXPECT_EQ(architecture("group --name S5 --letters generators --by delta"), "delta(heads=1,dim=5,vdim=1)");
  EXPECT_EQ(architecture("group --name S3 --by delta"), "delta(heads=1,dim=3,vdim=1,steps=2)");
}

Automaton random_automaton(Random& random, std::uint32_t states, std::uint32_t letters) {
  Automaton a;
  for (std::uint32_t l = 0; l < letters; ++l) a.letters.push_back(std::string(1, static_cast<char>('a' + l)));
  for (std::uint32_t q = 0; q < states; ++q) {
    a.states.push_back("q" + std::to_string(q));
    a.out.push_back(static_cast<std::int64_t>(random.below(3)));
    for (std::uint32_t l = 0; l < letters; ++l)
      a.next.push_back(static_cast<std::uint32_t>(random.below(states)));
  }
  a.answers = 3;
  return a;
}

// A file as a user writes it.
std::string automaton_file(const Automaton& a, const std::string& name) {
  nlohmann::ordered_json file;
  const Automaton least = minimised(a);
  file["alphabet"] = least.letters;
  file["states"] = least.states;
  file["start"] = least.states[least.start];
  for (std::uint32_t q = 0; q < least.state_count(); ++q) {
    for (std::uint32_t l = 0; l < least.letter_count(); ++l)
      file["transitions"][least.states[q]][least.letters[l]] = least.states[least.step(q, l)];
    file["outputs"][least.states[q]] = least.out[q];
  }
  const std::string path = testing::TempDir() + "/" + name + ".json";
  std::ofstream(path) << file.dump();
  return path;
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

TEST(AutomatonConstructions, follow_every_aperiodic_automaton_that_is_drawn_by_a_cascade) {
  Random random(5);
  int aperiodic = 0, refused = 0;
  for (int i = 0; i < 400 && aperiodic < 60; ++i) {
    const Automaton a = minimised(random_automaton(random, 2 + static_cast<std::uint32_t>(random.below(5)),
                                                   1 + static_cast<std::uint32_t>(random.below(3))));
    const auto algebra = algebra_of(a);
    ASSERT_TRUE(algebra);
    const std::string file = automaton_file(a, "cascade");
    auto made = build_construction({.name = "automaton", .options = {{"file", file}, {"by", "cascade"}}});
    if (!algebra->aperiodic) {
      EXPECT_FALSE(made) << "a cascade of flip-flops cannot follow a group";
      if (!made) EXPECT_NE(made.error().message.find("permutes"), std::string::npos) << made.error().message;
      ++refused;
      continue;
    }
    ASSERT_TRUE(made) << made.error().message;
    ++aperiodic;
    const Weights weights = made->weights;
    const Proved all = proved_of(std::move(*made));
    ASSERT_EQ(all.outcome.verdict, ProductVerdict::proved) << all.outcome.reason;
    if (aperiodic % 20 == 0)
      EXPECT_EQ(checked(weights, *product_certificate(all.problem, all.outcome), "cascade"), 0);
  }
  EXPECT_GE(aperiodic, 40);
  EXPECT_GT(refused, 5);
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
    auto weights = random_weights_for(*task, {.architecture = "mamba2", .seed = seed});
    ASSERT_TRUE(weights) << weights.error().message;
    const auto problem = make_product(*weights, task, {});
    ASSERT_TRUE(problem) << problem.error().message;
    const auto outcome = search(*problem, {.seconds = 60}, {});
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->verdict, ProductVerdict::refuted) << seed;
    EXPECT_EQ(checked(*weights, *product_certificate(*problem, *outcome), "random"), 0) << seed;
  }
}

}  // namespace
}  // namespace rung
