// c-gram retrieval by three full layers; the last place wins.
//
// Claim: three full layers, the first with c-1 heads, find the symbol that followed the last earlier place of
// the final c-1 symbols, at p = 2 lg n + O(1) bits. Reference: Wen, Dang, Lyu 2402.18510 (c-gram retrieval);
// last_match.h (ours).
//
// Input: the row of position t holds the codes of t and of t-1, ..., t-c+1 as targets, and the bits of the
// symbol. Layer 1: head j fetches the symbol at t-j. MLP: own = code of the c-1 symbols before t (candidates:
// t >= c-1); sought = code of the last c-1 symbols, t included.
// Layers 2, 3: the last match (last_match.h): the final position seeks a candidate whose context is its own
// last c-1 symbols; the blank is position 0.
#include "rung/base/random.h"
#include "rung/constructions/construction.h"
#include "rung/constructions/last_match.h"

namespace rung {
namespace {

// One context many times, followed by one symbol but the last time, among contexts that differ in one place.
std::vector<Instance> repeated_contexts(const Task& task, std::int64_t n, std::int64_t context,
                                        std::int64_t sigma, std::int64_t count) {
  std::vector<Instance> worst;
  const std::int64_t blocks = (n - context) / (context + 1);
  for (std::int64_t i = 0; i < count && blocks >= 1; ++i) {
    Random random(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(i));
    const std::int64_t repeats = i < 2 * blocks ? i / 2 + 1 : random.between(1, blocks);
    std::vector<std::int64_t> gram(static_cast<std::size_t>(context)), tokens;
    for (auto& symbol : gram) symbol = random.between(0, sigma - 1);
    const std::int64_t most = i % 2 == 0 ? 0 : sigma - 1;
    while (static_cast<std::int64_t>(tokens.size()) < (n - context) % (context + 1)) tokens.push_back(most);
    for (std::int64_t block = 0; block < blocks; ++block) {
      auto written = gram;
      if (block < blocks - repeats) written[random.below(written.size())] = random.between(0, sigma - 1);
      tokens.insert(tokens.end(), written.begin(), written.end());
      tokens.push_back(block == blocks - 1 ? sigma - 1 - most : most);
    }
    tokens.insert(tokens.end(), gram.begin(), gram.end());
    Prompt prompt{n, {std::move(tokens)}};
    auto answer = task.answer(prompt);
    worst.push_back({std::move(prompt), std::move(answer)});
  }
  return worst;
}

Result<Construction> build_cgram(const ConstructionRequest& request) {
  RUNG_TRY(const std::shared_ptr<const Task> task, make_task("cgram", request.sizes));
  const auto size = task->size();
  const std::int64_t n = size["n"].get<std::int64_t>(), context = size["c"].get<std::int64_t>() - 1;
  const int D = digits_for(n), S = digits_for(size["sigma"]);
  constexpr std::int64_t kMostKeyDigits = 56;  // codes of key and count are counted in 64 bits
  if (context > kMostKeyDigits / S)
    return fail(ErrorCode::resource, "[build] a context of {} symbols of {} bits; at most {} bits expected",
                context, S, kMostKeyDigits);
  const int K = static_cast<int>(context) * S;
  const std::int64_t candidates = n - context;
  if (K + digits_for(candidates + 1) > 62)
    return fail(ErrorCode::resource, "[build] codes of {} digits for key and count; at most 62 expected",
                K + digits_for(candidates + 1));
  RUNG_TRY(const int last_proved, last_match_precision(K, candidates, n));
  const int proved = std::max(last_proved, retrieval_precision_proved(D, n));
  const int p = request.precision.value_or(proved);
  const RetrievalGadget before = retrieval_gadget(D, n, p);
  const LastMatchGadget gadget = last_match_gadget(K, candidates, n, p);

  ModelWriter model(*task, p);
  const Slot code = model.slot("code", D, "code of the position, -1 or 1");
  std::vector<Slot> target, previous;
  for (std::int64_t j = 1; j <= context; ++j)
    target.push_back(model.slot(fmt::format("target{}", j), D,
                                fmt::format("code of position t-{}; 0 where there is none", j)));
  const Slot bits = model.slot("bits", S, "bits of the symbol");
  const Slot one = model.slot("one", 1, "1");
  const Slot candidate = model.slot("candidate", 1, "1 where c-1 symbols stand before");
  const Slot other = model.slot("other", 1, "1 at the other positions but 0, which is the blank");
  for (std::int64_t j = 1; j <= context; ++j)
    previous.push_back(model.slot(fmt::format("previous{}", j), S,
                                  fmt::format("after layer 1: bits of the symbol at t-{}", j)));
  const Slot own =
      model.slot("own", K, "after layer 1: code of the c-1 symbols before, 0 where there are not so many");
  const Slot sought = model.slot("sought", K, "after layer 1: code of the last c-1 symbols");
  const Slot fetched = model.slot("fetched", S, "after layer 3, at the last position: bits of the answer");
  auto& token = model.field_bits("token", S);
  token.code(bits, 0, 1);
  token.constant(one, {1});
  auto& position = model.position_table();
  for (std::int64_t t = 0; t < n; ++t) {
    for (int d = 0; d < D; ++d) {
      position.set(t, code.at(d), signed_code(t, D)[static_cast<std::size_t>(d)]);
      for (std::int64_t j = 1; j <= std::min(context, t); ++j)
        position.set(t, target[static_cast<std::size_t>(j - 1)].at(d),
                     signed_code(t - j, D)[static_cast<std::size_t>(d)]);
    }
    if (t >= context)
      position.set(t, candidate.at(0), 1);
    else if (t > 0)
      position.set(t, other.at(0), 1);
  }

  std::vector<RetrievalHead> heads;
  for (std::size_t j = 0; j < target.size(); ++j)
    heads.push_back({code, target[j], one, coordinates(bits), coordinates(previous[j])});
  LayerWriter& first = model.layer(retrieval_mixer(before, heads), "the symbols before");
  write_retrieval(first, before, heads);
  ReluCircuit& mlp = first.mlp();
  for (std::int64_t j = 0; j < context; ++j)
    for (int d = 0; d < S; ++d) {
      const Slot& recent = j == 0 ? bits : previous[static_cast<std::size_t>(j - 1)];
      mlp.add(own.at(j * S + d), gated(mlp, mlp.input(candidate.at(0), 0, 1),
                                       2 * mlp.input(previous[static_cast<std::size_t>(j)].at(d), 0, 1) - 1));
      mlp.add(sought.at(j * S + d), 2 * mlp.input(recent.at(d), 0, 1) - 1);
    }
  first.after(own.holds);
  first.after(sought.holds);
  write_last_match(model, gadget,
                   {own, candidate, other, sought, one, coordinates(bits), coordinates(fetched)});
  model.output_bits(fetched);

  RUNG_TRY(
      Construction made,
      finish_construction(model, task, "Three full layers, the first with c-1 heads, solve c-gram retrieval.",
                          "Wen, Dang, Lyu 2402.18510; count and look up (ours)"));
  made.p_proved = proved;
  made.lemma = fmt::format("counts up to {} at V = {}; retrieval of context and count: leak = {:.4f} < 1",
                           candidates, gadget.counting.scale, gadget.leak);
  made.interval = [before, gadget] { return last_match_argument(before, gadget); };
  made.worst = [task, n, context, sigma = size["sigma"].get<std::int64_t>()](std::int64_t count) {
    return repeated_contexts(*task, n, context, sigma, count);
  };
  return made;
}

}  // namespace

ConstructionWord cgram_construction() {
  return {.name = "cgram",
          .summary = "what followed the last such context, by three full layers",
          .task = "cgram",
          .build = build_cgram};
}

}  // namespace rung
