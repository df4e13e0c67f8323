// Dyck-(k, D) by one recurrent layer that holds a stack.
//
// Claim: an Elman cell with one number of D⌈lg k⌉ + ⌈lg(D+1)⌉ + 1 bits decides Dyck-(k, D): a stack of D
// types, its depth, and whether a mistake was made. Reference: the bounded stack (ours; Hewitt et al.
// 2010.07515 give O(D lg k) for the same language).
//
// The state is packed: bit 0.. the D types (the top of the stack first), then the depth, then "dead"; the
// start is 0. The cell's table maps 2k·state + bracket to the next state: push, pop, or dead for good. Dead
// states are negative (the highest bit). Layer 1: y = the state after the bracket. MLP: yes = [state = 0]:
// nothing open, no mistake.
#include "rung/constructions/construction.h"
#include "rung/constructions/relu_gadgets.h"
#include "rung/constructions/retrieval_head.h"

namespace rung {
namespace {

constexpr std::int64_t kMaxCellTable = std::int64_t{1} << 24;  // entries that a weights file may hold

struct PackedStack {
  std::int64_t k, depth;
  int type_bits() const { return k == 1 ? 0 : digits_for(k); }
  int stack_bits() const { return static_cast<int>(depth) * type_bits(); }
  int bits() const { return stack_bits() + digits_for(depth + 1) + 1; }
  std::int64_t dead() const { return std::int64_t{1} << (bits() - 1); }

  // The next packed state. REQUIRES 0 <= state < 2^bits().
  std::int64_t next(std::int64_t state, std::int64_t bracket) const {
    const std::int64_t stack = state & ((std::int64_t{1} << stack_bits()) - 1),
                       open = (state % dead()) >> stack_bits();
    if (state >= dead() || open > depth) return dead();
    if (bracket < k)
      return open == depth ? dead()
                           : ((open + 1) << stack_bits()) | (((stack << type_bits()) | bracket) &
                                                             ((std::int64_t{1} << stack_bits()) - 1));
    const std::int64_t top = stack & ((std::int64_t{1} << type_bits()) - 1);
    if (open == 0 || top != bracket - k) return dead();
    return ((open - 1) << stack_bits()) | (stack >> type_bits());
  }
};

Result<Construction> build_dyck(const ConstructionRequest& request) {
  RUNG_TRY(const std::shared_ptr<const Task> task, make_task("dyck", request.sizes));
  const PackedStack packed{task->size()["k"], task->size()["depth"]};
  const std::int64_t brackets = 2 * packed.k;
  constexpr std::int64_t kDeepest = 24;
  if (packed.depth > kDeepest || packed.k > kMaxCellTable || packed.bits() > 24 ||
      (std::int64_t{1} << packed.bits()) > kMaxCellTable / brackets)
    return fail(ErrorCode::resource,
                "[build] dyck with k = {}, depth = {}: its table would have more than {} entries; expected a "
                "smaller depth",
                packed.k, packed.depth, kMaxCellTable);
  const int S = digits_for(brackets), a = packed.bits();
  const int proved = std::max({2, a, S + 1});
  const int p = request.precision.value_or(proved);
  const int state_bits = std::min(a, p);

  ModelWriter model(*task, p);
  const Slot bracket = model.slot("bracket", 1, "the token's number");
  const Slot state = model.slot("state", 1, "0 at first; then the packed stack after this bracket");
  const Slot yes = model.slot("yes", 1, "1 iff the brackets so far are well nested with depth at most D");
  auto& token = model.field_bits("token", S);
  for (int d = 0; d < S; ++d) token.set(d, bracket.at(0), std::int64_t{1} << d);
  model.accumulator(Accumulator::wrap, state_bits);

  LayerWriter& layer = model.layer("rnn(size=1)", "push or pop");
  layer.map("x").set(0, bracket.at(0), 1);
  layer.map("h").set(0, 0, brackets);
  layer.map("o").write(state, 0, 1);
  const std::int64_t states = std::int64_t{1} << a;
  std::vector<std::int64_t> table(static_cast<std::size_t>(states * brackets));
  for (std::int64_t h = -states / 2; h < states / 2; ++h)  // a signed number of a bits stands for h mod 2^a
    for (std::int64_t b = 0; b < brackets; ++b) {
      const std::int64_t next = packed.next((h + states) % states, b);
      table[static_cast<std::size_t>((h + states / 2) * brackets + b)] =
          next >= states / 2 ? next - states : next;
    }
  layer.table("cell", -states / 2 * brackets, std::move(table));
  layer.mlp().add(yes.at(0),
                  equals(layer.mlp(), layer.mlp().input(state.at(0), -states / 2, states / 2 - 1), 0));
  layer.after(state.holds);
  layer.after(yes.holds);
  model.output_yes(yes, 2, 1);

  RUNG_TRY(Construction made,
           finish_construction(model, task,
                               fmt::format("One recurrent layer with {} state bits decides Dyck-({}, {}).", a,
                                           packed.k, packed.depth),
                               "bounded stack: D⌈lg k⌉ + ⌈lg(D+1)⌉ + 1 bits"));
  made.p_proved = proved;
  made.lemma = fmt::format("{} types of {} bits, depth of {} bits, one bit for a mistake", packed.depth,
                           packed.type_bits(), digits_for(packed.depth + 1));
  made.interval = [p, proved] {
    return exact_argument(p >= proved,
                          "the table is the stack's transition, entry by entry, and no state is lost");
  };
  return made;
}

}  // namespace

ConstructionWord dyck_construction() {
  return {.name = "dyck",
          .summary = "well-nested brackets by a recurrent stack",
          .task = "dyck",
          .build = build_dyck};
}

}  // namespace rung
