#include "tests/check/issued.h"

#include <fmt/format.h>

#include "rung/constructions/construction.h"
#include "tests/check/forced_cases.h"
#include "tests/exact/random_real_model.h"

namespace rung {
namespace {

using Numbers = std::vector<std::int64_t>;

constexpr std::size_t kLongestMutated =
    3000;  // bytes: every field of every certificate is changed, and the model run again

// All weights zero but those of the score table: everything ends alike, and the counting holds all the same.
Issued forced_fooling_pair() {
  const auto task = task_of("seqcomp", {{"L", 2}, {"m", 8}, {"n1", 4}});
  Weights weights = random_model("full(heads=1,dim=1)+linear(heads=1,dim=1,normalised=no,feature=identity)",
                                 *task, 2, 2, 3, PositionCode::none);
  weights.tensors["layers.0.score.table"] = integer_tensor({2}, std::vector<std::int64_t>{1, 1});
  weights.tensors["layers.0.o.weight"] = integer_tensor({2, 1}, std::vector<std::int64_t>{0, 0});
  weights.tensors["layers.1.o.weight"] = integer_tensor({2, 1}, std::vector<std::int64_t>{0, 0});
  Prompt first = task->generate(Variant::uniform, 1, 0).prompt, second = first;
  for (std::int64_t i = 0; i < 32; ++i)
    second.fields[0][static_cast<std::size_t>(i)] = (first.token(i) + 1) % 32;
  FoolingPairClaim claim{end_alike(*machine_of(weights, *task), *task, first, second, ClaimLabel::forced),
                         FoolingPairClaim::Transcripts{4, 2, 4}};
  return issue("seqcomp-forced-fooling-pair", &weights, *task, claim);
}

// Two contents of one block with one message, neither read by the query, and an answer that only the block
// decides.
Issued sparse_pair(ClaimLabel label) {
  const auto task = task_of("two-sum", {{"n", 4}, {"M", 15}});
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Weights weights = random_model("sparse(B=2,k=1,heads=1,dim=1,vdim=1,form=plain)", *task, 3, 4, seed,
                                   PositionCode::none);
    for (const char* map : {"compress_k", "compress_v"})
      weights.tensors[std::string("layers.0.") + map + ".bits"] = integer_scalar(2);
    const auto machine = machine_of(weights, *task);
    for (std::uint64_t i = 0; i < 400; ++i) {
      const Prompt first = task->generate(Variant::uniform, seed, i).prompt;
      constexpr std::int64_t block =
          1;  // where both blocks have one key, the query selects the first of equals
      for (std::int64_t x = 0; x < 15 * 15; ++x) {
        Prompt second = first;
        second.fields[0][static_cast<std::size_t>(2 * block)] = x / 15;
        second.fields[0][static_cast<std::size_t>(2 * block + 1)] = x % 15;
        if (task->answer(first) == task->answer(second)) continue;
        if (last_readout(*machine, first).activation != last_readout(*machine, second).activation) continue;
        // The message by hand: every scalar of the random model is read here again.
        const auto message = [&](const Prompt& prompt, const std::string& map, std::int64_t r) {
          const auto& w = weights.tensors.at("layers.0." + map + ".weight");
          const auto scalar = [&](const std::string& tensor) {
            const auto found = weights.tensors.find(tensor);
            return found == weights.tensors.end() ? 0 : found->second.integer(0);
          };
          RUNG_REQUIRE(
              scalar("embed.shift") == 0 && !weights.tensors.contains("layers.0.compress_hidden.weight"),
              "another random model");
          std::int64_t sum = scalar("layers.0." + map + ".bias");
          for (std::int64_t j = 0; j < 2; ++j)
            for (std::int64_t c = 0; c < 3; ++c)
              sum += w.integer(3 * j + c) *
                     weights.tensors.at("embed.token.table").integer(3 * prompt.token(2 * r + j) + c);
          const std::int64_t shift = scalar("layers.0." + map + ".shift");
          std::int64_t rounded = sum >> shift;
          if (const std::int64_t rest = sum - (rounded << shift);
              shift > 0 && (2 * rest > (1LL << shift) || (2 * rest == (1LL << shift) && rounded % 2 != 0)))
            ++rounded;
          return std::clamp<std::int64_t>(rounded, -2, 1);
        };
        const auto key = message(first, "compress_k", block), value = message(first, "compress_v", block);
        if (key != message(first, "compress_k", 0)) continue;
        if (key != message(second, "compress_k", block) || value != message(second, "compress_v", block))
          continue;
        SparsePairClaim claim{.pair = end_alike(*machine, *task, first, second, label),
                              .block = block,
                              .key = {key},
                              .value = {value},
                              .selected = {{0}}};
        if (label == ClaimLabel::forced) claim.message_bits = 4;
        return issue(label == ClaimLabel::forced ? "two-sum-forced-sparse-pair" : "two-sum-sparse-pair",
                     &weights, *task, claim);
      }
    }
  }
  RUNG_REQUIRE(false, "no sparse pair");
}

// A float model, untrained.
Issued real_wrong_answer() {
  const auto task = task_of("eva", {{"n", 4}});
  Dimensions dimensions;
  dimensions.width = 4;
  dimensions.heads = 2;
  dimensions.mlp = {6};
  dimensions.mlp_given = true;
  dimensions.norm = Norm::rms;
  dimensions.activation = MlpActivation::silu;
  dimensions.vocabulary = 4;
  dimensions.context = task->prompt_length();
  dimensions.precision = {NumberFormat::fp32, 32, 0};
  return wrong_answer("eva-real-wrong-answer", random_real_weights({"gdelta(form=plain)+full", dimensions}),
                      *task);
}

Issued capacity(bool by_model) {
  const auto built = build_construction({.name = "eva", .sizes = {{"n", 3}}, .options = {{"by", "linear"}}});
  RUNG_REQUIRE(built.ok(), "{}", built.error().message);
  const Task& task = *built->task;
  CapacityClaim claim{.by_model = by_model,
                      .cut = 3,
                      .prefixes = {},
                      .suffixes = {{1, {{0}}}, {1, {{1}}}, {1, {{2}}}},
                      .digest = {}};
  std::string table;  // f at every argument, a line for every function
  for (std::int64_t f = 0; f < 27; ++f) {
    const Prompt prefix{3, {{f / 9, f / 3 % 3, f % 3}}};
    claim.prefixes.push_back(prefix);
    table += fmt::format("{}\n", fmt::join(prefix.fields[0], " "));
  }
  claim.digest = sha256(table);
  return issue(by_model ? "eva-capacity-by-model" : "eva-capacity-by-task",
               by_model ? &built->weights : nullptr, task, claim);
}

}  // namespace

Issued certified_construction(const std::string& name, const TaskSizes& sizes,
                              const std::map<std::string, std::string>& options, bool all) {
  auto built = build_construction({.name = name, .sizes = sizes, .options = options});
  RUNG_REQUIRE(built.ok(), "{}", built.error().message);
  const Task& task = *built->task;
  ConstructionClaim claim;
  InstanceList instances;
  const auto add = [&](const Prompt& prompt) { instances.add(prompt, task.answer(prompt)); };
  if (name != "nearest") {
    if (all) claim.checked.emplace_back(ConstructionClaim::All{});
    claim.checked.emplace_back(ConstructionClaim::Walk{7, 3, 9});
    if (all)
      enumerate(task, [&](const Instance& instance) {
        add(instance.prompt);
        return true;
      });
    for (std::uint64_t i = 3; i < 9; ++i) {
      Random random(7, i);
      Prompt prompt = task.empty_prompt();
      while (prompt.positions < task.prompt_length())
        task.extend(prompt, static_cast<std::int64_t>(random.next() %
                                                      static_cast<std::uint64_t>(task.choices(prompt))));
      add(prompt);
    }
  }
  std::vector<Prompt> listed;
  for (std::uint64_t i = 0; i < 3; ++i)
    listed.push_back(
        task.generate(task.supports(Variant::adversarial) ? Variant::adversarial : Variant::uniform, 1, i)
            .prompt);
  for (const auto& prompt : listed) add(prompt);
  claim.checked.emplace_back(listed);
  claim.instances = instances.count();
  claim.digest = instances.digest();
  return issue(name + "-construction" + (options.empty() ? "" : "-" + options.begin()->second),
               &built->weights, task, claim);
}

const std::vector<Issued>& issued_certificates() {
  static const std::vector<Issued> all = [] {
    const auto eva = task_of("eva", {{"n", 4}}), index = task_of("index", {{"n", 8}, {"sigma", 2}}),
               retrieval = task_of("retrieval", {{"n", 2}, {"D", 1}, {"sigma", 2}}),
               seqcomp = task_of("seqcomp", {{"L", 2}, {"m", 2}, {"n1", 2}});
    const std::string linear = "linear(heads=1,dim=1,normalised=no,feature=identity)";
    std::vector<Issued> issued{
        wrong_answer("eva-wrong-answer", random_model("gdelta(heads=1,dim=2,form=plain)", *eva, 4, 6, 1),
                     *eva),
        wrong_answer("retrieval-wrong-answer",
                     random_model("mamba2(heads=1,dim=2,state=2,form=plain)", *retrieval, 4, 6, 1),
                     *retrieval),
        real_wrong_answer(),
        brute_force_collision("eva-collision", random_model(linear + "*2", *eva, 3, 4, 1), *eva, 4, {}),
        brute_force_collision("eva-forced-collision", random_model(linear, *eva, 3, 3, 1), *eva, 4, 4),
        brute_force_collision("eva-late-collision",
                              random_model("delta(heads=1,dim=1,form=plain)", *eva, 3, 4, 2), *eva, 5, {}),
        brute_force_collision("index-forced-loglinear-collision",
                              random_model("loglinear(heads=1,dim=1,vdim=1)", *index, 3, 4, 5), *index, 8, 2),
        sparse_pair(ClaimLabel::found),
        sparse_pair(ClaimLabel::forced),
        fooling_pair("seqcomp-fooling-pair",
                     random_model("full(heads=1,dim=2)+linear(heads=1,dim=1)", *seqcomp, 3, 5, 1), *seqcomp),
        forced_fooling_pair(),
        certified_construction("eva", {{"n", 3}}, {}, true),
        certified_construction("seqcomp", {{"L", 2}, {"m", 2}, {"n1", 1}}, {}, true),
        capacity(false),
        capacity(true),
    };
    for (const auto& forced : forced_cases())
      if (forced.certifies.certificate.size() <= kLongestMutated) issued.push_back(forced.certifies);
    return issued;
  }();
  return all;
}

}  // namespace rung
