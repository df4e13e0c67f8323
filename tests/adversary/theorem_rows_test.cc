// Every theorem that says of concrete models that they fail, with an attack on such a model. Where rung bound
// certifies some size below 10,000 tokens, the attack is at the smallest one (of the row's shape) and its
// certificate is labelled `forced`; else it is on a toy, and labelled `found`. Which of the two holds is
// asked of rung bound, row by row.
#include <bit>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>

#include "tests/adversary/bound_of.h"
#include "tests/adversary/targets.h"

namespace rung {
namespace {

struct TheoremRow {
  std::string id;
  std::string architecture;
  std::int64_t width;
  int precision;
  std::string task;
  TaskSizes sizes;
  std::string method;
  std::string kind;
  PositionCode position = PositionCode::table;
  std::map<std::string, std::string> options = {};
};
void PrintTo(const TheoremRow& row, std::ostream* out) { *out << row.id; }

const std::string kState = "linear(heads=1,dim=1)";  // 2 numbers
const std::string kFull = "full(heads=1,dim=1)";
constexpr std::int64_t kLongest = 9'999;  // tokens

const std::vector<TheoremRow>& rows() {
  // clang-format off
  static const std::vector<TheoremRow> all = {
      {"recurrent-eva", kState, 2, 4, "eva", {{"n", 8}}, "reachable", "collision"},
      {"recurrent-eva", "gdelta(heads=1,dim=2,form=plain)", 4, 6, "eva", {{"n", 16}}, "distinguished-points", "collision"},
      {"recurrent-index", kState, 2, 4, "index", {{"n", 12}, {"sigma", 3}}, "states", "collision"},
      {"recurrent-recall", kState, 2, 3, "mqar", {{"n", 6}, {"sigma", 4}}, "distinguished-points", "collision"},
      {"recurrent-recall", kState, 2, 3, "retrieval", {{"n", 6}, {"sigma", 4}}, "states", "collision"},
      {"recurrent-seqcomp", kState, 2, 3, "seqcomp", {{"L", 2}, {"m", 3}, {"n1", 2}}, "distinguished-points", "collision"},
      {"recurrent-two-sum", kState, 2, 3, "two-sum", {{"n", 8}}, "reachable", "collision"},
      {"recurrent-two-sum-exists", kState, 2, 3, "two-sum-exists", {{"n", 12}}, "states", "collision"},
      {"recurrent-three-sum", kState, 2, 3, "three-sum", {{"n", 12}}, "states", "collision"},
      {"recurrent-strings", kState, 2, 3, "equality", {{"n", 8}}, "states", "collision"},
      {"recurrent-strings", kState, 2, 3, "disjointness", {{"n", 8}}, "states", "collision"},
      {"recurrent-nearest", kState, 2, 3, "nearest", {{"n", 8}, {"d", 4}, {"margin", 64}}, "states", "collision"},
      {"recurrent-cgram", kState, 2, 3, "cgram", {{"n", 30}, {"sigma", 8}}, "states", "collision"},
      {"recurrent-khop", kState, 2, 3, "khop", {{"n", 20}, {"k", 2}, {"sigma", 8}}, "states", "collision"},
      {"recurrent-counting", kState, 2, 3, "counting", {{"n", 16}, {"sigma", 4}}, "states", "collision"},
      {"recurrent-istree", kState, 2, 3, "istree", {{"n", 9}}, "states", "collision"},
      {"recurrent-sparse-average", kState, 2, 3, "sparse-average", {{"n", 12}, {"q", 2}}, "states", "collision", PositionCode::table, {{"read", "last"}}},
      {"log-linear-eva", "loglinear(base=linear,heads=1,dim=2)", 4, 6, "eva", {{"n", 16}}, "big-bucket", "collision"},
      {"log-linear-index", "loglinear(base=gdelta,heads=1,dim=2,form=plain)", 4, 4, "index", {{"n", 40}, {"sigma", 4}}, "big-bucket", "collision"},
      {"log-linear-two-sum", "loglinear(base=linear,heads=1,dim=2)", 4, 3, "two-sum", {{"n", 20}}, "big-bucket", "collision"},
      {"log-linear-seqcomp", "loglinear(base=linear,heads=1,dim=2)", 4, 4, "seqcomp", {{"L", 2}, {"m", 4}, {"n1", 4}}, "big-bucket", "collision"},
      {"sparse-two-sum", "sparse(B=8,k=2,heads=1,dim=2,form=plain)", 4, 4, "two-sum", {{"n", 64}}, "sparse-blocks", "sparse-pair", PositionCode::none},
      {"sparse-two-sum-positions", "sparse(B=8,k=2,heads=1,dim=1,form=plain)", 4, 4, "two-sum", {{"n", 64}}, "sparse-blocks", "sparse-pair"},
      {"full-alone-strings", kFull, 2, 4, "equality", {{"n", 64}}, "partial-sums", "fooling-pair"},
      {"full-alone-strings", kFull, 2, 4, "disjointness", {{"n", 64}}, "partial-sums", "fooling-pair"},
      {"full-alone-dyck", kFull, 2, 4, "dyck", {{"n", 160}}, "partial-sums", "fooling-pair"},
      {"full-alone-three-sum", kFull, 2, 4, "three-sum", {{"n", 64}}, "partial-sums", "fooling-pair"},
      {"full-alone-seqcomp", "full(heads=1,dim=2)", 4, 4, "seqcomp", {{"L", 1}, {"m", 64}}, "additive", "fooling-pair"},
      {"one-full-layer-late", "full(heads=1,dim=2)+linear(heads=1,dim=2)*100", 4, 4, "seqcomp", {{"L", 2}, {"m", 26}, {"n1", 34}}, "flip", "fooling-pair"},
      {"one-full-layer-early", kState + "+" + kFull + "+" + kState, 2, 3, "seqcomp", {{"L", 2}, {"m", 1504}, {"n1", 1}}, "flip", "fooling-pair"},
      {"two-full-layers", kFull + "*2", 2, 4, "seqcomp", {{"L", 2}, {"m", 8}, {"n1", 8}}, "flip", "fooling-pair"},
      {"decomposition-fewer", kFull + "+" + kState + "+" + kFull, 2, 4, "seqcomp", {{"L", 3}, {"m", 4}, {"n1", 3}, {"n2", 3}}, "flip", "fooling-pair"},
      {"decomposition-equal", kFull + "*2+" + kState + "+" + kFull, 2, 4, "seqcomp", {{"L", 3}, {"m", 4}, {"n1", 3}, {"n2", 3}}, "flip", "fooling-pair"},
      {"head-wise", "heads(full(dim=1):1,linear(dim=1):1)*2", 2, 4, "seqcomp", {{"L", 2}, {"m", 8}, {"n1", 8}}, "flip", "fooling-pair"},
  };
  // clang-format on
  return all;
}

Target model_of(const TheoremRow& row, const TaskSizes& sizes) {
  return random_target({.architecture = row.architecture,
                        .width = row.width,
                        .precision = row.precision,
                        .position = row.position},
                       task_of(row.task, sizes, row.options));
}

// The bits of a numerator of the model's full layers over `tokens` tokens: rung bound is asked about sums as
// wide as the file's.
std::optional<std::int64_t> accumulator_of(const Weights& weights, std::int64_t tokens) {
  std::int64_t largest = 0;
  for (const auto& [name, tensor] : weights.tensors)
    if (name.ends_with("score.table"))
      for (std::int64_t i = 0; i < tensor.size(); ++i) largest = std::max(largest, tensor.integer(i));
  if (largest == 0) return std::nullopt;
  return std::bit_width(static_cast<std::uint64_t>(largest)) +
         weights.architecture.dimensions.precision.bits +
         std::bit_width(static_cast<std::uint64_t>(tokens - 1)) + 1;
}

bool certifies(const TheoremRow& row, const TaskSizes& sizes) {
  if (!make_task(row.task, sizes, row.options)) return false;
  const auto target = model_of(row, sizes);
  return outcome_of_theorem(row.id, target.weights.architecture, row.task, sizes, target.length(),
                            accumulator_of(target.weights, target.length())) == "impossible";
}

// Whether the theorem certifies at some size of at most kLongest tokens; alphabets, dimensions and the number of
// functions are the row's, lengths are not.
bool certified_below_the_limit(const TheoremRow& row) {
  TaskSizes open = row.sizes;
  for (const char* length : {"n", "m", "n1", "n2"}) open.erase(length);
  Weights weights = model_of(row, row.sizes).weights;
  weights.architecture.dimensions.context = kLongest;
  return outcome_of_theorem(row.id, weights.architecture, row.task, open, kLongest,
                            accumulator_of(weights, kLongest)) == "impossible";
}

// The smallest size at which the theorem certifies, everything but n (or m) as the row has it.
TaskSizes smallest(const TheoremRow& row) {
  TaskSizes sizes = row.sizes, fewer = sizes;
  std::int64_t& n = fewer.contains("n") ? fewer["n"] : fewer["m"];
  for (int refused = 0; refused < 2 && n > 2;) {  // odd sizes may be out of the question
    --n;
    refused = certifies(row, fewer) ? 0 : refused + 1;
    if (refused == 0) sizes = fewer;
  }
  return sizes;
}

class theorem_row : public testing::TestWithParam<TheoremRow> {};

TEST_P(theorem_row, has_an_attack_with_a_certificate) {
  const TheoremRow& row = GetParam();
  const bool certified = certified_below_the_limit(row);
  ASSERT_EQ(certifies(row, row.sizes), certified)
      << "rung bound certifies a size below the limit: that is where to attack";
  const TaskSizes sizes = certified ? smallest(row) : row.sizes;
  auto target = model_of(row, sizes);
  ASSERT_LE(target.length(), kLongest);
  const std::string file =
      std::string(RUNG_BINARY_DIR) + "/theorem-" + row.id + "-" + row.task + "-" + row.method;
  ASSERT_TRUE(write_weights(file + ".safetensors", target.weights));
  target.model_sha256 = *file_sha256(file + ".safetensors");
  for (const auto& [name, value] : sizes) RecordProperty(name, static_cast<int>(value));
  const auto outcome = attack(target, row.method, {.seconds = 60});
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_EQ(outcome->verdict, Evidence::refuted) << outcome->reason;
  const auto& claim = outcome->certificate->claim;
  EXPECT_EQ(claim_kind(claim), row.kind);
  const EndAlike& pair = std::visit(
      [](const auto& c) -> const EndAlike& {
        if constexpr (requires { c.pair; }) return c.pair;
        RUNG_REQUIRE(false, "no pair");
      },
      claim);
  EXPECT_EQ(pair.label, certified ? ClaimLabel::forced : ClaimLabel::found);
  RecordProperty("label", certified ? "forced" : "found");
  RecordProperty("tokens", static_cast<int>(target.length()));
  const std::vector<std::int64_t> wanted{pair.position};
  const auto one = target.machine->forward(pair.first, wanted),
             two = target.machine->forward(pair.second, wanted);
  ASSERT_TRUE(one && two);
  EXPECT_EQ((*one)[0].activation, (*two)[0].activation);
  EXPECT_NE(pair.first_answer, pair.second_answer);
  ASSERT_TRUE(write_certificate(file + ".json", *outcome->certificate));
  EXPECT_EQ(
      std::system(
          fmt::format("'{}' '{}.json' '{}.safetensors' > '{}.said'", RUNG_CHECKER, file, file, file).c_str()),
      0)
      << file;
}

INSTANTIATE_TEST_SUITE_P(, theorem_row, testing::ValuesIn(rows()), [](const auto& info) {
  std::string name = info.param.id + "_" + info.param.task + "_by_" + info.param.method;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// A new theorem must be given an attack here, or be named among those that do not say that a concrete model
// fails.
TEST(theorem_rows, cover_the_list_of_theorems) {
  std::set<std::string> covered = {
      // constructions: the possible side
      "eva-full", "index-full", "retrieval-full", "recall-full", "compare-full", "counting-full",
      "two-sum-full", "two-sum-slots", "eva-linear", "dyck-automaton", "nearest-full", "sparse-average-full",
      "seqcomp-full", "seqcomp-recurrence", "seqcomp-precomposed", "seqcomp-absorbed", "seqcomp-encoder",
      "seqcomp-thought",
      // quoted without a count, sketched, or open
      "cited-composition", "cited-three-sum", "three-sum-layers", "cited-thought-gain",
      // of every causal model, of any weights of a hybrid, of two forms of one model, of one selecting layer
      "causal-sparse-average", "hybrid-published", "linear-recurrence", "recurrent-thought",
      "selection-two-sum", "cited-sparse-average", "cited-one-layer", "cited-recurrent", "cited-thought",
      "cited-retrieval", "sparse-as-full", "two-sparse-layers",
      // state tracking: a file is refuted by its shortest wrong word (rung verify;
      // automaton_proofs_test.cc), at every length; and the possible side
      "automaton-states", "recurrent-copy", "recurrent-tracked-recall", "aperiodicity",
      "aperiodicity-tracked", "nonsolvable-groups", "automaton-rnn", "permutations-delta", "cascade-mamba2",
      "parity-full", "tracked-recall-hybrid"};
  for (const auto& row : rows()) covered.insert(row.id);
  std::ifstream page(std::string(RUNG_SOURCE_DIR) + "/docs/theorems.md");
  std::set<std::string> listed;
  const std::regex heading("### `([a-z0-9-]+)`");
  std::smatch found;
  for (std::string line; std::getline(page, line);)
    if (std::regex_match(line, found, heading)) listed.insert(found[1]);
  EXPECT_GT(listed.size(), 40u);
  EXPECT_EQ(listed, covered);
}

}  // namespace
}  // namespace rung
