// Constructions of automaton tasks, proved by the search and checked by rung-check.
#pragma once

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "rung/adversary/product_proof.h"
#include "rung/base/random.h"
#include "rung/constructions/construction.h"
#include "rung/spec/safetensors.h"
#include "rung/tasks/automaton.h"
#include "tests/constructions/forms.h"

namespace rung {

// Tests of this program run beside each other.
inline std::string own_file(const std::string& name) {
  return fmt::format("{}/{}-{}", testing::TempDir(), name, getpid());
}

struct Proved {
  ProductProblem problem;
  ProductOutcome outcome;
};
inline Proved proved_of(Construction made) {
  auto problem = make_product(std::move(made.weights), made.task, {});
  RUNG_REQUIRE(problem.ok(), "{}", problem.error().message);
  auto outcome = search(*problem, {.seconds = 60}, {});
  RUNG_REQUIRE(outcome.ok(), "{}", outcome.error().message);
  return {std::move(*problem), std::move(*outcome)};
}
inline Construction built_of(const std::string& line) {
  auto made = build_construction(request_of_line(line));
  RUNG_REQUIRE(made.ok(), "{}: {}", line, made.error().message);
  return std::move(*made);
}

// The exit code of rung-check on the weights and certificate.
inline int checked(const Weights& weights, Certificate certificate, const std::string& name,
                   const std::function<void(nlohmann::json&)>& alter = {}) {
  const std::string file = own_file(name);
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

inline Automaton random_automaton(Random& random, std::uint32_t states, std::uint32_t letters) {
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
inline std::string automaton_file(const Automaton& a, const std::string& name) {
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
  const std::string path = own_file(name) + ".json";
  std::ofstream(path) << file.dump();
  return path;
}

}  // namespace rung
