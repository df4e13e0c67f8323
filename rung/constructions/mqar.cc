// MQAR by three full layers; the last value wins where a key repeats.
//
// Claim: three full layers answer every query of k_1 v_1 ... k_n v_n at p = 2 lg n + O(1) bits; with
// different keys the counts are all 1. Reference: Arora et al. 2312.04927 (two layers, different keys);
// last_match.h for repeated ones (ours).
//
// Input: the row of position t holds the code of t, of t-1 as a target at values, and the bits of the token.
// Layer 1: a value fetches the bits of its key. MLP: own = the key's code at values; sought = the token's own
// code at queries, own at values. Layers 2, 3: the last match (last_match.h): candidates are the values, the
// blank is position 0, queries seek their own token.
#include "rung/base/random.h"
#include "rung/constructions/construction.h"
#include "rung/constructions/last_match.h"

namespace rung {
namespace {

// One key many times, its last value unlike all others, among keys one digit away: where counts are hardest to tell
// apart. All queries ask for it.
std::vector<Instance> repeated_keys(const Task& task, std::int64_t n, std::int64_t M, std::int64_t sigma,
                                    std::int64_t count) {
  std::vector<Instance> worst;
  for (std::int64_t i = 0; i < count && sigma >= 2; ++i) {
    Random random(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(i));
    const std::int64_t repeats = i < 2 * n ? i / 2 + 1 : random.between(1, n), key = random.between(0, M - 1),
                       most = i % 2 == 0 ? 0 : sigma - 1;
    std::vector<std::int64_t> tokens;
    for (std::int64_t pair = 0; pair < n; ++pair) {
      std::int64_t own = key;
      if (pair < n - repeats) {
        own = ((sigma + key) ^ (std::int64_t{1} << random.between(0, digits_for(sigma + M) - 1))) - sigma;
        if (own < 0 || own >= M) own = random.between(0, M - 1);
      }
      tokens.push_back(sigma + own);
      tokens.push_back(pair == n - 1 ? sigma - 1 - most : most);
    }
    while (static_cast<std::int64_t>(tokens.size()) < task.prompt_length()) tokens.push_back(sigma + key);
    Prompt prompt{task.prompt_length(), {std::move(tokens)}};
    auto answer = task.answer(prompt);
    worst.push_back({std::move(prompt), std::move(answer)});
  }
  return worst;
}

Result<Construction> build_mqar(const ConstructionRequest& request) {
  RUNG_TRY(const std::shared_ptr<const Task> task, make_task("mqar", request.sizes));
  const auto size = task->size();
  const std::int64_t n = size["n"].get<std::int64_t>(), M = size["M"].get<std::int64_t>(),
                     sigma = size["sigma"].get<std::int64_t>(), T = task->prompt_length();
  const int D = digits_for(T), K = digits_for(sigma + M), V = digits_for(sigma);
  RUNG_TRY(const int last_proved, last_match_precision(K, n, T));
  const int proved = std::max(last_proved, retrieval_precision_proved(D, T));
  const int p = request.precision.value_or(proved);
  const RetrievalGadget before = retrieval_gadget(D, T, p);
  const LastMatchGadget gadget = last_match_gadget(K, n, T, p);

  ModelWriter model(*task, p);
  const Slot code = model.slot("code", D, "code of the position, -1 or 1");
  const Slot target = model.slot("target", D, "at values: code of the position before; 0 elsewhere");
  const Slot bits = model.slot("bits", K, "bits of the token");
  const Slot one = model.slot("one", 1, "1");
  const Slot value = model.slot("value", 1, "1 at values v_i");
  const Slot query = model.slot("query", 1, "1 at queries");
  const Slot other = model.slot("other", 1, "1 at keys (but the first, which is the blank) and queries");
  const Slot previous = model.slot("previous", K, "after layer 1, at values: bits of the key");
  const Slot own = model.slot("own", K, "after layer 1: code of the key at values, 0 elsewhere");
  const Slot sought = model.slot(
      "sought", K, "after layer 1: code of the key at values, of the token at queries, 0 elsewhere");
  const Slot fetched = model.slot("fetched", V, "after layer 3, at queries: bits of the answer");
  auto& token = model.field_bits("token", K);
  token.code(bits, 0, 1);
  token.constant(one, {1});
  auto& position = model.position_table();
  for (std::int64_t t = 0; t < T; ++t) {
    const bool is_value = t < 2 * n && t % 2 == 1, is_query = t >= 2 * n;
    for (int d = 0; d < D; ++d) {
      position.set(t, code.at(d), signed_code(t, D)[static_cast<std::size_t>(d)]);
      if (is_value) position.set(t, target.at(d), signed_code(t - 1, D)[static_cast<std::size_t>(d)]);
    }
    if (is_value) position.set(t, value.at(0), 1);
    if (is_query) position.set(t, query.at(0), 1);
    if (!is_value && t > 0) position.set(t, other.at(0), 1);
  }

  const std::vector<RetrievalHead> heads{{code, target, one, coordinates(bits), coordinates(previous)}};
  LayerWriter& first = model.layer(retrieval_mixer(before, heads), "a value fetches its key");
  write_retrieval(first, before, heads);
  ReluCircuit& mlp = first.mlp();
  for (int d = 0; d < K; ++d) {
    const Number key = gated(mlp, mlp.input(value.at(0), 0, 1), 2 * mlp.input(previous.at(d), 0, 1) - 1);
    mlp.add(own.at(d), key);
    mlp.add(sought.at(d),
            key + gated(mlp, mlp.input(query.at(0), 0, 1), 2 * mlp.input(bits.at(d), 0, 1) - 1));
  }
  first.after(own.holds);
  first.after(sought.holds);
  auto answer_bits = coordinates(bits);
  answer_bits.resize(static_cast<std::size_t>(V));
  write_last_match(model, gadget, {own, value, other, sought, one, answer_bits, coordinates(fetched)});
  model.output_bits(fetched);

  RUNG_TRY(
      Construction made,
      finish_construction(model, task,
                          "Three full layers answer every query of MQAR, the last value where a key repeats.",
                          "Arora et al. 2312.04927; count and look up (ours)"));
  made.p_proved = proved;
  made.lemma = fmt::format("counts up to {} at V = {}; retrieval of key and count: leak = {:.4f} < 1", n,
                           gadget.counting.scale, gadget.leak);
  made.interval = [before, gadget] { return last_match_argument(before, gadget); };
  made.worst = [task, n, M, sigma](std::int64_t count) { return repeated_keys(*task, n, M, sigma, count); };
  return made;
}

}  // namespace

ConstructionWord mqar_construction() {
  return {.name = "mqar",
          .summary = "associative recall by three full layers, the last value wins",
          .task = "mqar",
          .build = build_mqar};
}

}  // namespace rung
