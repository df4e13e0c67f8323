// Counting by two full layers.
//
// Claim: two full layers with one head decide whether the symbol a comes at least k times among n, at p = 2
// lg n + O(1) bits. Reference: counting_head.h (ours), presence_head.h.
//
// Input: the row of a token holds its code and its number; the position says whether it is one of the n
// symbols, or a. Layer 1: the token a counts the symbols equal to it; it is its own blank (score 0, value 0).
// MLP: the bits of the count. Layer 2: the last token (k) reads these bits at a, the only token flagged. MLP:
// yes = [count >= k].
#include "rung/constructions/construction.h"
#include "rung/constructions/counting_head.h"
#include "rung/constructions/presence_head.h"
#include "rung/constructions/retrieval_head.h"

namespace rung {
namespace {

// Bits that hold the numbers 1-σ .. n.
int number_precision(std::int64_t n, std::int64_t sigma) { return digits_for(std::max(n + 1, sigma)) + 1; }

Result<Construction> build_counting(const ConstructionRequest& request) {
  RUNG_TRY(const std::shared_ptr<const Task> task, make_task("counting", request.sizes));
  const std::int64_t n = task->size()["n"], sigma = task->size()["sigma"], T = task->prompt_length();
  const int S = digits_for(sigma + n), C = digits_for(n + 1);
  const auto counted = counting_precision_proved(n, T);
  if (!counted)
    return fail(ErrorCode::resource,
                "[build] counting n = {} symbols needs more than 48 bits; expected a smaller n", n);
  const int proved = std::max({*counted, presence_precision_proved(T), number_precision(n, sigma)});
  const int p = request.precision.value_or(proved);
  const CountingGadget gadget = counting_gadget(n, T, p);
  const PresenceGadget presence = presence_gadget(T, p);

  ModelWriter model(*task, p);
  const Slot code = model.slot("code", S, "code of the token, -1 or 1");
  const Slot number = model.slot("number", 1, "at the last token: k (token - sigma + 1)");
  const Slot one = model.slot("one", 1, "1");
  const Slot symbol = model.slot("symbol", 1, "1 at the n symbols");
  const Slot asked = model.slot("asked", 1, "1 at the token a");
  const Slot share = model.slot("share", 1, "after layer 1, at a: V count/(count+1)");
  const Slot count = model.slot("count", C, "after layer 1, at a: the bits of the count");
  const Slot fetched = model.slot("fetched", C, "after layer 2, at the last token: the bits of the count");
  const Slot yes = model.slot("yes", 1, "after layer 2, at the last token: [count >= k]");
  auto& token = model.field_bits("token", S);
  token.code(code, -1, 1);
  for (int d = 0; d < S; ++d) token.set(d, number.at(0), std::int64_t{1} << d);
  token.constant(number, {1 - sigma});
  token.constant(one, {1});
  auto& position = model.position_table();
  for (std::int64_t t = 0; t < n; ++t) position.set(t, symbol.at(0), 1);
  position.set(n, asked.at(0), 1);

  LayerWriter& first = model.layer(fmt::format("full(heads=1,dim={},vdim=1)", 2 * S), "a counts");
  first.map("q").select(0, code, gadget.beta);
  first.map("k").select(0, code, 1);
  for (int d = 0; d < S; ++d) {
    first.map("q").set(S + d, one.at(0), -gadget.beta);
    first.map("k").set(S + d, one.at(0), 1);
  }
  first.map("v").set(0, symbol.at(0), 1);
  first.map("o").write(share, 0, 1);
  first.scores(gadget.scores);
  first.scalar("value.scale", gadget.scale);
  const Bits bits = count_bits(first.mlp(), gadget, first.mlp().input(share.at(0), 0, gadget.scale), C);
  for (int d = 0; d < C; ++d) first.mlp().add(count.at(d), bits[static_cast<std::size_t>(d)]);
  first.after(share.holds);
  first.after(count.holds);

  const PresenceHead read{asked, one, coordinates(count), coordinates(fetched)};
  LayerWriter& last = model.layer(presence_mixer(read), "k reads the count at a");
  write_presence(last, presence, read);
  const Number total = recombined(slot_inputs(last.mlp(), fetched));
  last.mlp().add(yes.at(0), at_least(last.mlp(), total - last.mlp().input(number.at(0), 1 - sigma, n), 0));
  last.after(fetched.holds);
  last.after(yes.holds);
  model.output_yes(yes, 2, 1);

  RUNG_TRY(Construction made,
           finish_construction(model, task,
                               "Two full layers with one head count the occurrences of a symbol among n at p "
                               "= 2 lg n + O(1) bits.",
                               "counting head with the asked symbol as its own blank (ours)"));
  made.p_proved = proved;
  made.lemma =
      fmt::format("counts up to {} are told apart at V = {}, leak = {:.2g}", n, gadget.scale, gadget.leak);
  made.interval = [gadget, presence] {
    const bool holds = gadget.holds && presence.leak < 1;
    return IntervalArgument{
        holds, std::max(gadget.leak, presence.leak), holds ? 1 - presence.leak : 0,
        "the outputs of neighbouring counts do not overlap, whatever the other symbols are"};
  };
  return made;
}

}  // namespace

ConstructionWord counting_construction() {
  return {.name = "counting",
          .summary = "at least k occurrences, by two full layers",
          .task = "counting",
          .build = build_counting};
}

}  // namespace rung
