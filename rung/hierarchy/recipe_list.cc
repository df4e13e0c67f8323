#include <algorithm>

#include "rung/hierarchy/recipe.h"

namespace rung {
namespace {

const Absence kSolves{"This mechanism solves the task at this size: there is nothing to break.", "solves it"};
const Absence kSetOnly{
    "The theory counts the sets that a state must tell apart and gives no weights that meet the count.",
    "none in the theory"};
const Absence kTableOnly{
    "The state would have to hold the whole table of z_2; the theory gives no weights that do so by "
    "recurrence alone.",
    "none in the theory"};
const Absence kSparseSketch{"That L+1 sparse layers suffice is a sketch; no weights are written down.",
                            "a sketch, no weights"};
const Absence kImpossible{"No weights exist at this size, so none are built.", "none exist"};
const Absence kElsewhere{"Only Eva is trained in this run, and no record of this cell is shipped.",
                         "no shipped record"};
const Absence kNoTraining{"The row is about what weights can exist; nothing is trained for it.",
                          "not trained"};

const Absence kNoWords{
    "No construction is known for this mixer on these letters; at every length no weights exist, or none are "
    "known.",
    "none in the theory"};
const Absence kMarkAndTable{
    "A state that holds the table and follows the mark could be written down; the theory counts it and gives "
    "no weights.",
    "none in the theory"};

// A state of one number: 32 bits in the trainer's arithmetic, half of what Eva with n = 16 needs.
const std::string kOneNumber = "heads=1,dim=1,vdim=1";

// clang-format off
HierarchyPlan make_plan() {
  HierarchyPlan plan;
  plan.columns = {
      {"eva", "Eva", "eva", {{"n", 16}}, "A table of n values is read once, then one of its entries is asked for."},
      {"two-sum", "2-Sum", "two-sum", {{"n", 16}}, "After n numbers: does one of them sum to 0 with the last one, modulo M?"},
      {"seqcomp", "2-SeqComp", "seqcomp", {{"L", 2}, {"m", 30}, {"n1", 5}}, "Two functions, written out last one first, are applied one after the other."},
      {"parity", "Parity", "parity", {{"n", 16}}, "After n letters: is the number of ones odd?"},
      {"tracked-recall", "Tracked recall", "tracked-recall", {{"n", 8}, {"sigma", 8}, {"w", 16}}, "A table of n values is read, then w letters move a mark from place to place: which value is at the mark?"},
      {"composition", "2-SeqComp", "seqcomp", {{"L", 2}, {"m", 26}, {"n1", 34}}, "Two functions, written out last one first, are applied one after the other."},
  };
  plan.rows = {
      {"full", "full", "full", "Softmax attention over the whole past."},
      {"linear", "linear", "linear", "Linear attention: one matrix of sums, whatever the length."},
      {"delta", "delta", "delta(form=plain)", "The delta rule: a matrix that is corrected, not only added to."},
      {"mamba2", "mamba2", "mamba2(form=plain)", "A state space with one decay per head."},
      {"loglinear", "log-linear", "loglinear", "One matrix of sums per power of two of the past."},
      {"sparse", "sparse", "sparse(form=plain)", "Blocks are compressed; a query reads the few blocks that score best."},
      {"hybrid", "layer-wise", "linear+full", "Full and linear layers in turn."},
      {"headwise", "head-wise", "heads(full,linear)", "Full and linear heads side by side in one layer."},
      {"delta-full", "delta + full", "delta(form=plain)+full", "A delta layer that follows the mark, and a full layer that looks its value up."},
      {"deep", "one full, 100 linear", "full+linear*100", "One full layer and a hundred linear ones behind it."},
      {"three", "three full", "full*3", "Three full layers."},
      {"thought", "one full, thinking", "full", "One full layer that writes L+1 tokens before it answers."},
      {"encoder", "encoder", "full*3, both directions", "Full layers in which every token sees every other."},
  };
  using Options = std::map<std::string, std::string>;
  const auto eva = [](Options options) { return ConstructionRecipe{.request = {.name = "eva", .options = std::move(options)}}; };
  const auto two_sum = [](Options options) { return ConstructionRecipe{.request = {.name = "two-sum", .options = std::move(options)}}; };
  const auto beside = [](ConstructionRecipe recipe, IdlePart part) { recipe.beside = part; return recipe; };
  const auto seqcomp = [](Options options, std::int64_t samples, std::string shown) {
    return ConstructionRecipe{.request = {.name = "seqcomp", .options = std::move(options)}, .samples = samples, .shown = std::move(shown), .pictured = {{"L", 2}, {"m", 4}, {"n1", 2}}};
  };
  const auto parity = [](const char* by) { return ConstructionRecipe{.request = {.name = "parity", .options = {{"by", by}}}}; };
  const auto tracked = [](std::string shown) { return ConstructionRecipe{.request = {.name = "tracked-recall"}, .shown = std::move(shown)}; };
  const auto unplaced = [](std::string arch, std::string shown = {}) {
    return AttackRecipe{.arch = std::move(arch), .width = 4, .precision = 4, .shown = std::move(shown), .position = PositionCode::none};
  };
  // Too small a state is seen early.
  const auto starved = [](std::string arch) { return TrainingRecipe{.arch = std::move(arch), .steps = 250}; };
  plan.cells = {
      // row, column, construction | none, attack | none, training | none
      {"full", "eva", eva({}), {}, {}, kSolves, TrainingRecipe{"full(heads=2)"}, {}, false},
      {"linear", "eva", eva({{"by", "linear"}}), {}, AttackRecipe{"linear(heads=1,dim=2)"}, {},
       starved("linear(" + kOneNumber + ",feature=identity,normalised=no)")},
      {"delta", "eva", eva({{"by", "delta"}}), {}, AttackRecipe{"delta(heads=1,dim=2,form=plain)"}, {}, starved("delta(" + kOneNumber + ",form=plain)")},
      {"mamba2", "eva", eva({{"by", "mamba2"}}), {}, AttackRecipe{"mamba2(heads=1,dim=2,state=2,form=plain)"}, {}, starved("mamba2(heads=1,dim=1,state=1,form=plain)")},
      {"loglinear", "eva", eva({{"by", "loglinear"}}), {}, AttackRecipe{"loglinear(base=linear,heads=1,dim=2)"}, {},
       starved("loglinear(base=linear," + kOneNumber + ")")},
      {"sparse", "eva", eva({{"by", "sparse"}}), {}, {}, kSolves, TrainingRecipe{"sparse(B=4,k=2,heads=2,form=plain)"}, {}, false,
       AskedRecipe{"sparse(B=4,k=1,heads=1,dim=10,vdim=4,form=plain)", 32, 3}},
      {"hybrid", "eva", beside(eva({}), IdlePart::layer), {}, {}, kSolves, TrainingRecipe{"linear(" + kOneNumber + ")+full(heads=2)"}, {}, false},
      {"headwise", "eva", beside(eva({}), IdlePart::head), {}, {}, kSolves, TrainingRecipe{"heads(full:1,linear:1)"}, {}, false},

      {"full", "two-sum", two_sum({{"by", "binary"}}), {}, {}, kSolves, {}, kElsewhere, false, AskedRecipe{"full(heads=1,dim=13,vdim=1)"}},
      {"linear", "two-sum", {}, kSetOnly, AttackRecipe{"linear(heads=1,dim=2)", 4, 4}, {}, {}, kElsewhere},
      {"delta", "two-sum", {}, kSetOnly, AttackRecipe{"delta(heads=1,dim=2,form=plain)", 4, 4}, {}, {}, kElsewhere},
      {"mamba2", "two-sum", {}, kSetOnly, AttackRecipe{"mamba2(heads=1,dim=2,state=2,form=plain)", 4, 4}, {}, {}, kElsewhere},
      {"loglinear", "two-sum", {}, kSetOnly, AttackRecipe{"loglinear(base=linear,heads=1,dim=2)", 4, 4}, {}, {}, kElsewhere},
      {"sparse", "two-sum", two_sum({{"by", "sparse"}}), {}, AttackRecipe{"sparse(B=4,k=1,heads=1,dim=1,form=plain)", 4, 4}, {}, {}, kElsewhere},
      {"hybrid", "two-sum", beside(two_sum({{"by", "binary"}}), IdlePart::layer), {}, {}, kSolves, {}, kElsewhere, false,
       AskedRecipe{"linear(heads=1,dim=1)+full(heads=1,dim=13,vdim=1)"}},
      {"headwise", "two-sum", beside(two_sum({{"by", "binary"}}), IdlePart::head), {}, {}, kSolves, {}, kElsewhere, false,
       AskedRecipe{"heads(full(dim=13,vdim=1):1,linear(dim=1):1)"}},

      {"full", "seqcomp", seqcomp({}, 48, "3 layers"), {}, AttackRecipe{"full(heads=1,dim=2)", 4, 4, "1 layer"}, {}, {}, kElsewhere, false},
      {"linear", "seqcomp", {}, kTableOnly, AttackRecipe{"linear(heads=1,dim=2)"}, {}, {}, kElsewhere},
      {"delta", "seqcomp", {}, kTableOnly, AttackRecipe{"delta(heads=1,dim=2,form=plain)"}, {}, {}, kElsewhere},
      {"mamba2", "seqcomp", {}, kTableOnly, AttackRecipe{"mamba2(heads=1,dim=2,state=2,form=plain)"}, {}, {}, kElsewhere},
      {"loglinear", "seqcomp", {}, kTableOnly, AttackRecipe{"loglinear(base=linear,heads=1,dim=2)"}, {}, {}, kElsewhere},
      {"sparse", "seqcomp", {}, kSparseSketch, AttackRecipe{"sparse(B=4,k=1,heads=1,dim=1,form=plain)", 4, 4, "1 layer"}, {}, {}, kElsewhere},
      {"hybrid", "seqcomp", seqcomp({{"pattern", "RFF"}}, 48, "R F F"), {}, AttackRecipe{"full(heads=1,dim=2)+linear(heads=1,dim=2)", 4, 4, "F R"}, {}, {}, kElsewhere, false},
      {"headwise", "seqcomp", beside(seqcomp({}, 48, "3 layers"), IdlePart::head), {}, AttackRecipe{"heads(full(dim=1):1,linear(dim=1):1)", 2, 4, "1 layer"}, {}, {}, kElsewhere, false},

      {"full", "parity", parity("full"), {}, {}, kSolves, {}, kElsewhere, false},
      {"linear", "parity", {}, kNoWords, AttackRecipe{"linear(heads=1,dim=2)", 4, 3}, {}, {}, kElsewhere},
      {"delta", "parity", parity("delta"), {}, {}, kSolves, {}, kElsewhere, false},
      {"mamba2", "parity", {}, kNoWords, AttackRecipe{"mamba2(heads=1,dim=2,state=2,form=plain)", 4, 3}, {}, {}, kElsewhere},
      {"loglinear", "parity", {}, kNoWords, AttackRecipe{"loglinear(base=linear,heads=1,dim=2)", 4, 3}, {}, {}, kElsewhere},
      {"sparse", "parity", {}, kNoWords, AttackRecipe{"sparse(B=4,k=1,heads=1,dim=1,form=plain)", 4, 3}, {}, {}, kElsewhere},
      {"hybrid", "parity", beside(parity("full"), IdlePart::layer), {}, {}, kSolves, {}, kElsewhere, false},
      {"headwise", "parity", beside(parity("full"), IdlePart::head), {}, {}, kSolves, {}, kElsewhere, false},

      {"full", "tracked-recall", {}, kNoWords, unplaced("full(heads=1,dim=2)", "1 layer"), {}, {}, kElsewhere},
      {"linear", "tracked-recall", {}, kMarkAndTable, unplaced("linear(heads=1,dim=2)"), {}, {}, kElsewhere},
      {"delta", "tracked-recall", {}, kMarkAndTable, unplaced("delta(heads=1,dim=2,form=plain)"), {}, {}, kElsewhere},
      {"mamba2", "tracked-recall", {}, kMarkAndTable, unplaced("mamba2(heads=1,dim=2,state=2,form=plain)"), {}, {}, kElsewhere},
      {"loglinear", "tracked-recall", {}, kMarkAndTable, unplaced("loglinear(base=linear,heads=1,dim=2)"), {}, {}, kElsewhere},
      {"sparse", "tracked-recall", {}, kNoWords, unplaced("sparse(B=4,k=1,heads=1,dim=1,form=plain)", "1 layer"), {}, {}, kElsewhere},
      {"hybrid", "tracked-recall", tracked("delta+full"), {}, {}, kSolves, {}, kElsewhere, false},
      {"headwise", "tracked-recall", {}, kNoWords, unplaced("heads(full(dim=1):1,linear(dim=1):1)", "1 layer"), {}, {}, kElsewhere},
  };
  plan.highlights = {
      {"depth", "one full layer and a hundred linear ones, beside three full layers",
       "Two functions are composed. A hundred linear layers behind one full layer do not help, whatever their weights; two more full layers do.",
       {{"deep", "composition", {}, kImpossible, AttackRecipe{"full(heads=1,dim=2)+linear(heads=1,dim=2)*100", 4, 4}, {}, {}, kNoTraining},
        {"three", "composition", seqcomp({}, 16, ""), {}, {}, kSolves, {}, kNoTraining, false}}},
      {"escapes", "the same task by thinking, and by an encoder",
       "One full layer suffices when it may write down what it found; so do layers in which every token sees every other.",
       {{"thought", "composition", seqcomp({{"cot", "yes"}}, 48, ""), {}, {}, kSolves, {}, kNoTraining, false},
        {"encoder", "composition", seqcomp({{"encoder", "yes"}}, 12, ""), {}, {}, kSolves, {}, kNoTraining, false}}},
      {"tracking", "delta and full together, beside either of them alone",
       "A mark is moved over a table by letters, then the value at the mark is asked for. A delta layer can follow the mark and cannot keep the table; "
       "a full layer can look the table up, and loses the mark as the letters go on. Together they do both, at every length, with two bits of state a place.",
       {{"delta", "tracked-recall", {}, kMarkAndTable, unplaced("delta(heads=1,dim=2,form=plain)"), {}, {}, kNoTraining},
        {"full", "tracked-recall", {}, kNoWords, unplaced("full(heads=1,dim=2)"), {}, {}, kNoTraining},
        {"delta-full", "tracked-recall", tracked(""), {}, {}, kSolves, {}, kNoTraining, false}}},
  };
  return plan;
}
// clang-format on

template <class Entry>
const Entry& entry_of(const std::vector<Entry>& entries, const std::string& id) {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.id == id; });
  RUNG_REQUIRE(found != entries.end(), "the plan has no {}", id);
  return *found;
}

std::string sizes_text(const TaskSizes& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) text += fmt::format(" {}={}", name, value);
  return text;
}

}  // namespace

const HierarchyPlan& hierarchy_plan() {
  static const HierarchyPlan plan = make_plan();
  return plan;
}

const HierarchyColumn& HierarchyPlan::column(const std::string& id) const { return entry_of(columns, id); }
const HierarchyRow& HierarchyPlan::row(const std::string& id) const { return entry_of(rows, id); }
bool HierarchyPlan::in_table(const std::string& id) const {
  return std::any_of(cells.begin(), cells.end(), [&](const CellRecipe& cell) { return cell.row == id; });
}

std::string recipe_text(const HierarchyPlan& plan, const CellRecipe& recipe) {
  const HierarchyColumn& column = plan.column(recipe.column);
  std::string text =
      fmt::format("{} {} {}{}\n", recipe.row, recipe.column, column.task, sizes_text(column.size));
  if (const auto& c = recipe.construction) {
    text += fmt::format("build {}{}", c->request.name, sizes_text(c->request.sizes));
    for (const auto& [name, word] : c->request.options) text += fmt::format(" {}={}", name, word);
    text += fmt::format(" samples={} shown={} beside={} pictured{}\n", c->samples, c->shown,
                        c->beside ? static_cast<int>(*c->beside) : -1, sizes_text(c->pictured));
  }
  text += recipe.no_construction.reason + "\n";
  if (const auto& a = recipe.attack)
    text += fmt::format("break {} width={} precision={} shown={}{}{}\n", a->arch, a->width, a->precision,
                        a->shown, sizes_text(a->size),
                        a->position ? fmt::format(" position={}", position_name(*a->position)) : "");
  text += recipe.no_certificate.reason + "\n";
  if (const auto& t = recipe.training)
    text += fmt::format("train {} width={} steps={} batch={} seeds={} rate={}\n", t->arch, t->width, t->steps,
                        t->batch, t->seeds, t->rate);
  text += fmt::format("{}\nbound_of_broken={}\n", recipe.no_training.reason, recipe.bound_of_broken);
  if (const auto& a = recipe.asked)
    text += fmt::format("ask {} width={} precision={}\n", a->arch, a->width, a->precision);
  return text;
}

}  // namespace rung
