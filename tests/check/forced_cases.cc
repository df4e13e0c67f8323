#include "tests/check/forced_cases.h"

#include <functional>

#include "rung/adversary/counted_beginnings.h"
#include "rung/adversary/forced_proof.h"
#include "rung/adversary/sparse_view.h"
#include "rung/adversary/state_collision.h"
#include "tests/check/model_bytes.h"

namespace rung {
namespace {

constexpr std::uint64_t kSeeds = 40;  // models tried until one has a pair
const std::string kOneNumber = "linear(heads=1,dim=1,normalised=no,feature=identity)";

Target target_of(const Weights& weights, std::shared_ptr<const Task> task) {
  auto target = make_target(weights, std::move(task));
  RUNG_REQUIRE(target.ok(), "{}", target.error().message);
  target->model_sha256 = sha256(model_bytes(weights));
  return std::move(*target);
}

// The certificate of the first model with a pair; `mark` labels it `forced` and may look at the target.
using Search = std::function<std::optional<Certificate>(const Target&)>;
using Mark = std::function<void(const Target&, Claim&)>;
Issued first_pair(const std::string& name, const std::function<Weights(std::uint64_t seed)>& model,
                  const std::shared_ptr<const Task>& task, ClaimLabel expected, const Search& search,
                  const Mark& mark) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Weights weights = model(seed);
    const Target target = target_of(weights, task);
    auto certificate = search(target);
    if (!certificate) continue;
    const auto label = [](auto& claim) -> ClaimLabel& {
      if constexpr (requires { claim.pair; }) return claim.pair.label;
      RUNG_REQUIRE(false, "no pair");
    };
    RUNG_REQUIRE(std::visit(label, certificate->claim) == expected, "{}", name);
    std::visit(label, certificate->claim) = ClaimLabel::forced;
    mark(target, certificate->claim);
    return issue(name, &weights, *task, certificate->claim);
  }
  RUNG_REQUIRE(false, "{} has no pair", name);
}

Search by_method(const std::string& method) {
  return [method](const Target& target) {
    auto outcome = attack(target, method, {.seconds = 20});
    RUNG_REQUIRE(outcome.ok(), "{}", outcome.error().message);
    return std::move(outcome->certificate);
  };
}

ForcedCase forced_case(const std::string& name,
                       const std::function<Issued(const std::string& name, bool certifies)>& make) {
  return {make(name, true), make(name + "-below", false)};
}

struct CollisionCase {
  std::string name;
  std::string task;
  int precision;  // bits of the state
  TaskSizes certifies, below;
  std::map<std::string, std::string> options = {};
};

ForcedCase collision(const CollisionCase& c) {
  return forced_case(c.name, [&](const std::string& name, bool certifies) {
    const auto task = task_of(c.task, certifies ? c.certifies : c.below, c.options);
    const std::int64_t cut = *widest_cut(*task);
    return first_pair(
        name, [&](std::uint64_t seed) { return random_model(kOneNumber, *task, 3, c.precision, seed); }, task,
        certifies ? ClaimLabel::forced : ClaimLabel::found,
        [&](const Target& target) {
          AttackOutcome outcome;
          RUNG_REQUIRE(collide_states(target, cut, {.seconds = 20}, outcome).ok(), "{}", name);
          return outcome.certificate;
        },
        [&](const Target&, Claim& claim) {
          std::get<CollisionClaim>(claim).alphabet = forcing_alphabet(*task, cut, 0);
        });
  });
}

// One full layer with narrow sums, nothing else.
ForcedCase alone(const std::string& task_name, const TaskSizes& sizes, const std::string& method) {
  const std::string length = sizes.contains("L") ? "m" : "n";
  const auto task_at = [&](std::int64_t n) {
    TaskSizes all = sizes;
    all[length] = n;
    return task_of(task_name, all);
  };
  const auto model = [](const Task& task, std::uint64_t seed) {
    Weights weights = random_model("full(heads=1,dim=1)", task, 2, 2, seed);
    weights.tensors["layers.0.score.table"] = integer_tensor({2}, std::vector<std::int64_t>{1, 1});
    return weights;
  };
  std::int64_t smallest = 4, step = task_name == "dyck" ? 2 : 1;
  const auto outgrows = [&](std::int64_t n) {
    const auto task = task_at(n);
    const auto part = answered_part(*task, *full_alone_bits(target_of(model(*task, 1), task)));
    return part && part->outgrows;
  };
  while (!outgrows(smallest)) smallest += step;
  return forced_case("forced-alone-" + task_name, [&](const std::string& name, bool certifies) {
    const auto task = task_at(certifies ? smallest : smallest - step);
    return first_pair(
        name, [&](std::uint64_t seed) { return model(*task, seed); }, task,
        certifies ? ClaimLabel::forced : ClaimLabel::found, by_method(method),
        [](const Target& target, Claim& claim) {
          std::get<FoolingPairClaim>(claim).proof = FoolingPairClaim::PartialSums{*full_alone_bits(target)};
        });
  });
}

// 2-SeqComp; `proof` is the one of the smallest m that has any.
ForcedCase transcripts(const std::string& case_name, const std::string& line, std::int64_t n1,
                       std::int64_t enough) {
  const auto task_at = [&](std::int64_t m) { return task_of("seqcomp", {{"L", 2}, {"m", m}, {"n1", n1}}); };
  const auto model = [&](const Task& task, std::uint64_t seed) {
    Weights weights = random_model(line, task, 2, 2, seed);
    for (auto& [name, tensor] : weights.tensors)
      if (name.ends_with("score.table")) tensor = integer_tensor({2}, std::vector<std::int64_t>{1, 1});
    return weights;
  };
  const auto proof_at = [&](std::int64_t m) {
    const auto task = task_at(m);
    return forced_proof(target_of(model(*task, 1), task));
  };
  std::int64_t smallest = enough;
  while (proof_at(smallest - 1)) --smallest;
  const auto proof = proof_at(smallest);
  RUNG_REQUIRE(proof.has_value(), "{} is vacuous at m = {}", case_name, enough);
  return forced_case(case_name, [&](const std::string& name, bool certifies) {
    const auto task = task_at(certifies ? smallest : smallest - 1);
    return first_pair(
        name, [&](std::uint64_t seed) { return model(*task, seed); }, task,
        certifies ? ClaimLabel::forced : ClaimLabel::found, by_method("flip"),
        [&](const Target&, Claim& claim) {
          auto fitting = *proof;
          while (fitting.T * fitting.x0 > task->size().at("m").get<std::int64_t>()) --fitting.T;
          std::get<FoolingPairClaim>(claim).proof = fitting;
        });
  });
}

// `skipped`: models that are known to select every block with a pair.
ForcedCase messages(const std::string& case_name, PositionCode position, std::int64_t certified_from,
                    std::int64_t below_at, std::uint64_t skipped) {
  return forced_case(case_name, [&](const std::string& name, bool certifies) {
    const auto task = task_of("two-sum", {{"n", 4}, {"M", certifies ? certified_from : below_at}});
    const auto model = [&](std::uint64_t seed) {
      Weights weights = random_model("sparse(B=2,k=1,heads=1,dim=1,vdim=1,form=plain)", *task, 3, 4,
                                     skipped + seed, position);
      for (const char* map : {"compress_k", "compress_v"})
        weights.tensors[std::string("layers.0.") + map + ".bits"] = integer_scalar(2);
      return weights;
    };
    return first_pair(name, model, task, certifies ? ClaimLabel::forced : ClaimLabel::found,
                      by_method("sparse-blocks"), [&](const Target& target, Claim& claim) {
                        auto& pair = std::get<SparsePairClaim>(claim);
                        pair.message_bits = SparseView::make(target)->message_bits();
                        if (position != PositionCode::none) pair.values = 6;  // 1 + 6 + 15 > 2^4
                      });
  });
}

}  // namespace

const std::vector<ForcedCase>& forced_cases() {
  static const std::vector<ForcedCase> all = [] {
    std::vector<ForcedCase> cases;
    const std::map<std::string, std::string> last{{"read", "last"}};
    // clang-format off
    for (const auto& c : std::vector<CollisionCase>{
             {"forced-eva", "eva", 3, {{"n", 3}}, {{"n", 2}}},                                                        // 27 > 8 >= 4
             {"forced-index", "index", 3, {{"n", 4}, {"sigma", 2}}, {{"n", 3}, {"sigma", 2}}},                        // 16 > 8 >= 8
             {"forced-retrieval", "retrieval", 3, {{"n", 2}, {"D", 1}, {"sigma", 3}}, {{"n", 1}, {"D", 1}, {"sigma", 3}}},  // 9, 3
             {"forced-mqar", "mqar", 3, {{"n", 2}, {"sigma", 3}}, {{"n", 1}, {"sigma", 3}}},                          // 9, 3
             {"forced-two-sum", "two-sum", 3, {{"n", 2}}, {{"n", 1}}},                                                // 15, 3
             {"forced-two-sum-exists", "two-sum-exists", 2, {{"n", 3}}, {{"n", 2}}},                                  // 6, 2
             {"forced-three-sum", "three-sum", 3, {{"n", 5}}, {{"n", 4}}},                                            // 14, 6
             {"forced-equality", "equality", 2, {{"n", 3}}, {{"n", 2}}},                                              // 8, 4
             {"forced-disjointness", "disjointness", 2, {{"n", 3}}, {{"n", 2}}},                                      // 8, 4
             {"forced-seqcomp", "seqcomp", 4, {{"L", 1}, {"m", 3}}, {{"L", 1}, {"m", 2}}},                            // 27, 4
             {"forced-nearest", "nearest", 3, {{"n", 2}, {"d", 1}, {"sigma", 3}, {"f", 1}, {"margin", 1}}, {{"n", 1}, {"d", 1}, {"sigma", 3}, {"f", 1}, {"margin", 1}}},  // 9, 3
             {"forced-cgram", "cgram", 3, {{"n", 5}, {"c", 2}, {"sigma", 5}}, {{"n", 4}, {"c", 2}, {"sigma", 5}}},    // 9, 4
             {"forced-khop", "khop", 3, {{"n", 7}, {"k", 2}, {"sigma", 6}}, {{"n", 6}, {"k", 2}, {"sigma", 6}}},      // 9, 4
             {"forced-counting", "counting", 3, {{"n", 3}, {"sigma", 3}}, {{"n", 2}, {"sigma", 3}}},                  // 10, 6
             {"forced-counting-k", "counting", 2, {{"n", 2}, {"sigma", 4}, {"k", 1}}, {{"n", 1}, {"sigma", 4}, {"k", 1}}},  // 7, 4
             {"forced-istree", "istree", 3, {{"n", 5}}, {{"n", 4}}},                                                  // 9, 4
             {"forced-sparse-average", "sparse-average", 2, {{"n", 4}, {"q", 1}, {"d", 1}, {"f", 0}}, {{"n", 3}, {"q", 1}, {"d", 1}, {"f", 0}}, last},  // 8, 4
         })
      cases.push_back(collision(c));
    // clang-format on
    cases.push_back(alone("equality", {}, "partial-sums"));
    cases.push_back(alone("disjointness", {}, "partial-sums"));
    cases.push_back(alone("three-sum", {}, "partial-sums"));
    cases.push_back(alone("dyck", {{"k", 2}}, "partial-sums"));
    cases.push_back(alone("seqcomp", {{"L", 1}}, "additive"));
    cases.push_back(messages("forced-sparse", PositionCode::none, 7, 6, 3));  // C(7,2) = 21 > 16 >= 15
    cases.push_back(
        messages("forced-sparse-positions", PositionCode::table, 11, 10, 0));  // 2·6 > 11, 2·5 = 10
    cases.push_back(transcripts("forced-late", "full(heads=1,dim=1)+" + kOneNumber, 4, 8));
    cases.push_back(transcripts("forced-early", kOneNumber + "+full(heads=1,dim=1)", 1, 234));
    return cases;
  }();
  return all;
}

}  // namespace rung
