// A theorem says `checked` only where Coq has proved the one that it names, from nothing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "rung/theory/theorem.h"

namespace rung {
namespace {

std::set<std::string> closed_theorems() {
  std::set<std::string> closed;
  std::ifstream file(std::string(RUNG_BINARY_DIR) + "/proofs/closed.txt");
  for (std::string name; std::getline(file, name);) closed.insert(name);
  return closed;
}

TEST(checked, names_a_theorem_that_is_closed_under_the_global_context) {
  const auto closed = closed_theorems();
  EXPECT_GE(closed.size(), 20u);
  std::size_t checked = 0;
  for (const auto& t : theorems()) {
    EXPECT_EQ(t.status == Status::checked, !t.formal.empty()) << t.id;
    if (t.status != Status::checked) continue;
    ++checked;
    EXPECT_TRUE(closed.contains(std::string(t.formal))) << t.id << ": " << t.formal;
  }
  EXPECT_GE(checked, 12u);
}

// The check itself refuses what is no proof: an admitted goal, an axiom, a theorem that rests on one of the library's.
struct Planted {
  const char *name, *statements;
};
class PlantedProof : public testing::TestWithParam<Planted> {};

TEST_P(PlantedProof, is_refused) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("rung_planted_" + std::string(GetParam().name));
  fs::remove_all(folder);
  fs::create_directories(folder / "source");
  std::ofstream(folder / "source/Statements.v") << GetParam().statements;
  std::ofstream(folder / "source/Extract.v") << "Require Extraction.\nExtraction \"counts.ml\" negb.\n";
  std::ofstream(folder / "source/driver.ml") << "let () = ()\n";
  const std::string command = std::string(RUNG_SOURCE_DIR) + "/proofs/check.sh " +
                              (folder / "source").string() + " " + (folder / "build").string() + " > " +
                              (folder / "log").string() + " 2>&1";
  const bool refused = std::system(command.c_str()) != 0;
  EXPECT_EQ(refused, std::string(GetParam().name) != "sound");
  EXPECT_EQ(fs::exists(folder / "build/closed.txt"), !refused);
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(
    checked, PlantedProof,
    testing::Values(Planted{"sound", "Theorem t : True.\nProof. exact I. Qed.\n"},
                    Planted{"admitted", "Theorem t : False.\nAdmitted.\n"},
                    Planted{"axiom", "Axiom a : False.\nTheorem t : False.\nProof. exact a. Qed.\n"},
                    Planted{"borrowed",
                            "From Coq Require Import Classical.\nTheorem t : forall P : Prop, P \\/ ~ "
                            "P.\nProof. exact classic. Qed.\n"},
                    Planted{"broken", "Theorem t : False.\nProof. exact I. Qed.\n"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace rung
