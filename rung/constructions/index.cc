// Index by a recurrent stack with one full layer, and with a retrieval step in its chain of thought.
//
// Claim: a recurrence alone needs n lg σ bits of state; a counter of ⌈lg(n+2)⌉ + 1 bits and one full layer on
// top solve Index without any position code (form "full"). With a chain of thought (form "cot") the
// recurrence writes the address it wants as a token, and the full layer answers that token: retrieval as a
// step of the chain. Reference: Wen, Dang, Lyu 2402.18510 (recurrent networks with one attention layer, or
// with retrieval in the chain of thought).
//
// Input: the row of a token holds its bits, and its code as an address. No positions.
// Layer 1 (recurrent): count = t + 1. MLP: the code of t, and the target: the token's code; in form "cot"
// position n targets itself. Layer 2 (full): fetched = the bits of the token at the target. The answer is
// read at x (full), or: x writes x, then x answers f(x) (cot).
#include "rung/constructions/construction.h"
#include "rung/constructions/eva_forms.h"
#include "rung/constructions/relu_gadgets.h"
#include "rung/constructions/retrieval_head.h"

namespace rung {
namespace {

// A counter up to `positions`, as a signed number.
int counter_precision(std::int64_t positions) { return digits_for(positions + 1) + 1; }

Result<Construction> build_index(const ConstructionRequest& request) {
  const std::string by = request.option("by", "full");
  if (request.options.contains("rows") && by != "linear")
    return fail(ErrorCode::range, "[build] `rows` belongs to `by` linear, not to {}", by);
  if (by == "positions") return build_eva_lookup(request);
  if (by == "linear") return build_eva_linear(request);
  RUNG_TRY(const std::shared_ptr<const Task> task, make_task("index", request.sizes));
  const bool chain = by == "cot";
  const std::int64_t n = task->size()["n"], sigma = task->size()["sigma"];
  const std::int64_t positions =
      n + (chain ? 2 : 1);  // the chain writes x and f(x); the last is never read again
  const int D = digits_for(positions), S = std::max(digits_for(std::max(n, sigma)), 1),
            V = chain ? S : digits_for(sigma);
  const int proved = std::max(retrieval_precision_proved(D, positions), counter_precision(positions));
  const int p = request.precision.value_or(proved);
  const RetrievalGadget gadget = retrieval_gadget(D, positions, p);

  ModelWriter model(*task, p);
  const Slot address = model.slot("address", D, "code of the token read as an address, -1 or 1");
  const Slot bits = model.slot("bits", V, "bits of the token");
  const Slot one = model.slot("one", 1, "1");
  const Slot count = model.slot("count", 1, "after layer 1: the number of tokens so far");
  const Slot code = model.slot("code", D, "after layer 1: code of the position, -1 or 1");
  const Slot target = model.slot(
      "target", D,
      chain ? "after layer 1: the address; at position n the code of n" : "after layer 1: the address");
  const Slot fetched = model.slot("fetched", V, "after layer 2: bits of the token at the target");
  auto& token = model.field_bits("token", std::max(D, S));
  token.code(address, -1, 1);
  token.code(bits, 0, 1);
  token.constant(one, {1});
  model.accumulator(Accumulator::exact, counter_precision(positions) <= p ? counter_precision(positions) : p);

  LayerWriter& counter = model.layer("rnn(cell=relu,size=1)", "counts tokens");
  counter.map("x").set(0, one.at(0), 1);
  counter.map("h").set(0, 0, 1);
  counter.map("o").write(count, 0, 1);
  ReluCircuit& mlp = counter.mlp();
  const Number t = mlp.input(count.at(0), 1, std::int64_t{1} << D) - 1;
  const Bits own = decoded(mlp, t, D);
  const Bits wanted = slot_inputs(mlp, address, -1, 1);
  const Number asks = chain ? equals(mlp, t, n) : Number(0);
  for (int d = 0; d < D; ++d) {
    const auto i = static_cast<std::size_t>(d);
    mlp.add(code.at(d), 2 * own[i] - 1);
    mlp.add(target.at(d), chain ? chosen(mlp, asks, Number(signed_code(n, D)[i]), wanted[i]) : wanted[i]);
  }
  counter.after(count.holds);
  counter.after(code.holds);
  counter.after(target.holds);

  const std::vector<RetrievalHead> heads{{code, target, one, coordinates(bits), coordinates(fetched)}};
  LayerWriter& lookup = model.layer(retrieval_mixer(gadget, heads), "one lookup");
  write_retrieval(lookup, gadget, heads);
  lookup.after(chain ? "fetched: at position n, x itself; at the token that the chain wrote, f(x)"
                     : "fetched: at the last position, f(x)");
  model.output_bits(fetched);
  if (chain) {
    constexpr std::int64_t kSteps = 2;
    model.context(task->prompt_length() + kSteps);
    model.decode({.steps = kSteps});
  }

  RUNG_TRY(Construction made,
           finish_construction(
               model, task,
               chain ? "A recurrent counter with a retrieval step in its chain of thought solves Index."
                     : "A recurrent counter of lg n + O(1) bits and one full layer solve Index.",
               "Wen, Dang, Lyu 2402.18510; retrieval gadget"));
  made.p_proved = proved;
  made.lemma = fmt::format("a counter to {} and retrieval: delta = {:.4f} < 1 over {} digits", positions,
                           gadget.delta, D);
  made.interval = [gadget, positions, p] {
    const double leak = retrieval_leak(gadget, positions);
    const bool holds = leak < 1 && p >= counter_precision(positions);
    return IntervalArgument{
        holds, leak, holds ? 1 - leak : 0,
        "positions are counted exactly, and the other tokens weigh less than the target, whatever they hold"};
  };
  return made;
}

}  // namespace

ConstructionWord index_construction() {
  return {.name = "index",
          .summary = "f(x) by a recurrent counter and one full layer",
          .task = "index",
          .options =
              {{"by",
                "one full layer on top, or a retrieval step in the chain of thought; or without the counter: "
                "one full layer with positions, or a linear state",
                {"full", "cot", "positions", "linear"}},
               {"rows", "by linear: value coordinates of the table (the root of n)", {}}},
          .build = build_index};
}

}  // namespace rung
