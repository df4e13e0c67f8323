// Eva and Index by linear attention at n lg n bits, and Eva by log-linear attention with the same state in every bucket.
//
// Claim (tight): unnormalised linear attention with r value coordinates and c = ⌈n/r⌉ key features of ⌈lg n⌉-bit entries
// solves Eva; at r = ⌈√n⌉ (unless --rows says otherwise) that is n lg n for n = 4^k. No recurrence with fewer than
// n lg n bits does (pigeonhole: the state must tell all n^n functions apart). Log-linear attention with λ = 1 adds its
// buckets up to the same read; its largest bucket holds 2^⌊lg n⌋ tokens and cannot be smaller. Reference: ours;
// Katharopoulos et al. 2006.16236 for the recurrence.
//
// Input: the row of position i < n holds e_{i mod r} and e_{i div r}; of the token v: the number v - 2^(a-1), e_{v mod r},
// e_{v div r}. Layer 1 (no mixer): MLP: spread = (f(i) - 2^(a-1)) e_{i mod r}, one product of a number and a bit a
// coordinate; 0 at position n. Layer 2 (linear): S[j][k] = f(k r + j) - 2^(a-1), written once each; the last token reads
// the column x div r: column[j] = S[j][x div r].
//   MLP: picked = column[x mod r]. The logit of v is 2 v' picked - v'², v' = v - 2^(a-1): largest at v = f(x).
// At r = 1 a number is written as it is, and no MLP is needed (eva_written.cc).
#include <cmath>

#include "rung/base/nearest_word.h"
#include "rung/constructions/eva_forms.h"
#include "rung/constructions/relu_gadgets.h"
#include "rung/constructions/retrieval_head.h"

namespace rung {
namespace {

// The side of the square state: ⌈√n⌉.
std::int64_t state_side(std::int64_t n) {
  auto d = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
  while (d * d < n) ++d;
  while ((d - 1) * (d - 1) >= n) --d;
  return d;
}

Result<std::int64_t> table_rows(const ConstructionRequest& request, std::int64_t n) {
  const std::string asked = request.option("rows", "");
  if (asked.empty()) return state_side(n);
  if (asked.size() <= 9 && asked.find_first_not_of("0123456789") == std::string::npos)
    if (const std::int64_t rows = std::stoll(asked); rows >= 1 && rows <= n) return rows;
  return fail(ErrorCode::range, "[build] rows {}; a number in 1..{} expected", rung::quoted(asked), n);
}

}  // namespace

Result<Construction> build_eva_linear(const ConstructionRequest& request) {
  RUNG_TRY(const std::shared_ptr<const Task> task, make_task(request.name, request.sizes));
  const bool buckets = request.option("by", "linear") == "loglinear", index = request.name == "index";
  const std::int64_t n = task->size()["n"], values = index ? task->size()["sigma"] : n;
  RUNG_TRY(const std::int64_t d, table_rows(request, n));
  if (d == 1) return build_eva_written(request);
  const std::int64_t columns = (n + d - 1) / d;
  const int entry = digits_for(values);  // bits of one state entry
  const int proved = std::max(2, entry);
  const int p = request.precision.value_or(proved);
  const int state_bits = std::min(p, entry);
  const std::int64_t middle = std::int64_t{1} << (entry - 1);

  ModelWriter model(*task, p);
  const Slot number = model.slot("number", 1, "the token v as v - 2^(a-1)");
  const Slot row = model.slot("row", d, "e of (position mod d); 0 at the last position");
  const Slot column = model.slot("column", columns, "e of (position div d); 0 at the last position");
  const Slot wanted_row = model.slot("wanted_row", d, "e of (token mod d)");
  const Slot wanted_column = model.slot("wanted_column", columns, "e of (token div d)");
  const Slot spread =
      model.slot("spread", d, "after layer 1: number at coordinate position mod d, 0 elsewhere");
  const Slot read = model.slot("read", d, "after layer 2: the column x div d of the state");
  const Slot picked = model.slot("picked", 1, "after layer 2, at the last position: f(x) - 2^(a-1)");
  const std::int64_t tokens = std::max(n, values);
  auto& token = model.field_table("token", tokens);
  for (std::int64_t v = 0; v < tokens; ++v) {
    if (v < values) token.set(v, number.at(0), v - middle);
    if (v >= n) continue;
    token.set(v, wanted_row.at(v % d), 1);
    token.set(v, wanted_column.at(v / d), 1);
  }
  auto& position = model.position_table();
  for (std::int64_t t = 0; t < n; ++t) {
    position.set(t, row.at(t % d), 1);
    position.set(t, column.at(t / d), 1);
  }
  model.accumulator(Accumulator::wrap, state_bits);

  LayerWriter& first = model.layer("none", "products");
  const Number value = first.mlp().input(number.at(0), -middle, middle - 1);
  for (std::int64_t r = 0; r < d; ++r)
    first.mlp().add(spread.at(r), gated(first.mlp(), first.mlp().input(row.at(r), 0, 1), value));
  first.after(spread.holds);

  const std::string size = fmt::format("heads=1,dim={},vdim={}", columns, d);
  LayerWriter& layer = model.layer(buckets ? fmt::format("loglinear({})", size)
                                           : fmt::format("linear(feature=identity,normalised=no,{})", size),
                                   "the state is the table of f");
  layer.map("k").select(0, column, 1);
  layer.map("q").select(0, wanted_column, 1);
  layer.map("v").select(0, spread, 1);
  layer.map("o").write(read, 0, 1);
  if (buckets)
    for (std::int64_t level = 0; level < loglinear_levels(task->prompt_length()); ++level)
      layer.map("level").bias(level, 1);
  Number sum;
  for (std::int64_t r = 0; r < d; ++r)
    sum = sum + gated(layer.mlp(), layer.mlp().input(wanted_row.at(r), 0, 1),
                      layer.mlp().input(read.at(r), -middle, middle - 1));
  layer.mlp().add(picked.at(0), sum);
  layer.after("read: at the last position, f(c d + r) - 2^(a-1) at coordinate r, c = x div d");
  layer.after(picked.holds);

  model.output_nearest(picked.at(0), values, middle);

  RUNG_TRY(
      Construction made,
      finish_construction(
          model, task,
          buckets ? "Log-linear attention with n lg n bits per bucket solves Eva."
                  : fmt::format("Linear attention with {} state bits solves {}; n lg {} = {:.1f} are needed.",
                                d * columns * entry, index ? "Index" : "Eva", index ? "σ" : "n",
                                static_cast<double>(n) * std::log2(static_cast<double>(values))),
          index ? "tight: pigeonhole on the σ^n functions" : "tight: pigeonhole on the n^n functions"));
  made.p_proved = proved;
  made.lemma = fmt::format("{} x {} entries of {} bits, each written once", d, columns, entry);
  made.interval = [p, proved] {
    return exact_argument(p >= proved, "every entry of the state holds one value of f exactly");
  };
  return made;
}

}  // namespace rung
