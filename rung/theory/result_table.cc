#include "rung/theory/result_table.h"

#include "rung/base/require.h"
#include "rung/theory/constructions_cost.h"
#include "rung/theory/counting.h"
#include "rung/theory/horizon.h"

namespace rung {
namespace {

constexpr std::int64_t kTableBlock = 16;  // B of the sparse rows

class Table {
 public:
  Table(const Dimensions& dimensions, std::int64_t context) : dimensions_(dimensions), context_(context) {}

  void add(std::string mechanism, std::string task, std::string form, std::optional<double> number,
           std::string unit, std::string_view id) {
    theorem(id);  // REQUIRES a known id
    rows_.push_back(
        {std::move(mechanism), std::move(task), std::move(form), number, std::move(unit), std::string(id)});
  }

  // What the named theorem says of this stack on this task.
  Result<Verdict> ask(const std::string& line, const std::string& task, const TaskSizes& sizes,
                      std::string_view id) const {
    RUNG_TRY(const Stack stack, parse_stack(line, UnsaidForm::plain));
    Dimensions dimensions = dimensions_;
    dimensions.context = 0;
    RUNG_TRY(const Setting setting,
             make_setting({stack, dimensions}, {.context = context_, .assume_exact = true}));
    RUNG_TRY(const Question question, make_question(task, sizes, context_, false));
    auto verdict = apply(theorem(id), setting, question);
    return verdict ? *verdict : verdict_of(theorem(id), question);
  }
  // A recurrent row: the bits that any state must hold.
  Result<void> recurrent(const std::string& task, const std::string& form, std::string_view id,
                         const TaskSizes& sizes = {}) {
    RUNG_TRY(const Verdict v, ask("identity", task, sizes, id));
    add("linear, RNN (any CoT)", task, form, v.left, "state bits", id);
    return {};
  }
  // A row on words: the smallest certified prompt.
  Result<void> impossible(const std::string& mechanism, const std::string& line, int L,
                          const std::string& form, std::string_view id) {
    RUNG_TRY(const Verdict v, ask(line, "seqcomp", {{"L", L}}, id));
    std::optional<double> prompt;
    if (v.horizon) prompt = v.horizon->convert_to<double>();
    add(mechanism, "seqcomp", form, prompt, "tokens", id);
    return {};
  }

  std::vector<ResultRow> take() { return std::move(rows_); }

 private:
  const Dimensions& dimensions_;
  std::int64_t context_;
  std::vector<ResultRow> rows_;
};

double head_bits(const ConstructionCost& cost) {
  return static_cast<double>(cost.key_dim()) * cost.precision;
}

}  // namespace

Result<std::vector<ResultRow>> result_table(const Dimensions& dimensions, std::int64_t context) {
  if (context < 16 || context > kMaxContext)
    return fail(ErrorCode::range, "[bound] `context` {}; expected 16 to {} tokens for the table", context,
                kMaxContext);
  const std::int64_t n = context - 1, M = 2 * n + 1;
  Table table(dimensions, context);
  const SeqcompDigits composition = seqcomp_digits({.task = "seqcomp", .prompt = context, .L = 2});
  table.add("full", "eva", "H=1, d=2⌈lg(n+1)⌉, p=O(lg lg n)", head_bits(eva_full_cost(n)), "bits d p",
            "eva-full");
  const auto cosines = two_sum_cosines_cost(n, M);
  table.add("full", "two-sum", "H=1, d=3, p=O(lg M)",
            cosines ? std::optional(head_bits(*cosines)) : std::nullopt, "bits d p", "two-sum-full");
  table.add("full", "two-sum", "H=1, d=2⌈lg M⌉, p=O(lg lg n)", head_bits(two_sum_binary_cost(n, M)),
            "bits d p", "two-sum-full");
  table.add("full", "seqcomp", "F^{L+1}: H=2, d=2⌈lg T⌉", head_bits(seqcomp_full_cost(composition)),
            "bits d p", "seqcomp-full");
  RUNG_CHECK(table.impossible("full", "full*2", 2, "F^L: n^Ω(1); F F at L=2 from", "two-full-layers"));
  RUNG_CHECK(table.impossible("full", "full", 1, "F at L=1: M_part >= m lg m; from", "full-alone-seqcomp"));
  RUNG_CHECK(table.recurrent("eva", "s >= n lg n (tight)", "recurrent-eva"));
  RUNG_CHECK(table.recurrent("two-sum", "s >= lg sum C(M,1..n)", "recurrent-two-sum"));
  RUNG_CHECK(table.recurrent("seqcomp", "s >= N lg N, N=N_{L-1} (L=2)", "recurrent-seqcomp", {{"L", 2}}));
  table.add("log-linear (any CoT)", "eva", "s_1 >= 2^⌊lg n⌋ lg n", log_linear_count(n).lg(), "bits per level",
            "log-linear-eva");
  table.add("log-linear (any CoT)", "two-sum", "s_1 >= lg C(M',2^⌊lg n⌋)",
            log_linear_two_sum_count(n, M).lg(), "bits per level", "log-linear-two-sum");
  table.add("log-linear (any CoT)", "seqcomp", "s_1 >= 2^⌊lg N⌋ lg N (L=2)",
            log_linear_count(context - 4).lg(), "bits per level", "log-linear-seqcomp");
  table.add("(B,k)-sparse", "eva", "d=2⌈lg(n+1)⌉, top-1 block", head_bits(eva_sparse_cost(n)), "bits d p",
            "eva-full");
  if (Integer(M) >= kTableBlock)
    table.add("(B,k)-sparse", "two-sum", "b_cmp >= lg C(M,B), B=16", Count::binomial(M, kTableBlock).lg(),
              "bits per block", "sparse-two-sum");
  const auto slots = two_sum_slots_cost(n, M, kTableBlock);
  table.add("(B,k)-sparse", "two-sum", "H d p <= 2(B+1)⌈lg M⌉p, B=16",
            static_cast<double>(slots.heads()) * head_bits(slots), "bits", "two-sum-slots");
  table.add("(B,k)-sparse", "seqcomp", "L+1 layers suffice (k>=2)", std::nullopt, "", "sparse-as-full");
  table.add("layer-wise hybrid", "eva", "one F suffices", head_bits(eva_full_cost(n)), "bits d p",
            "eva-full");
  table.add("layer-wise hybrid", "two-sum", "one F suffices", head_bits(two_sum_binary_cost(n, M)),
            "bits d p", "two-sum-full");
  table.add("layer-wise hybrid", "seqcomp", "#F=L, R before the second F: solves",
            head_bits(seqcomp_carried_cost(composition, false, CarryForm::heads)), "bits d p",
            "seqcomp-recurrence");
  RUNG_CHECK(table.impossible("layer-wise hybrid", "full+linear", 2, "#F=L-1 fails; F R at L=2 from",
                              "one-full-layer-late"));
  RUNG_CHECK(table.impossible("layer-wise hybrid", "linear+full+linear", 2, "R F R at L=2 from",
                              "one-full-layer-early"));
  RUNG_CHECK(table.impossible("layer-wise hybrid", "full*2+linear", 2, "#F=L, late R fails; F F R, L=2 from",
                              "two-full-layers"));
  RUNG_CHECK(table.impossible("layer-wise hybrid", "full*2+linear", 3, "#F=L-1; F F R at L=3 from",
                              "decomposition-fewer"));
  RUNG_TRY(const Verdict published, table.ask("full+delta", "seqcomp", {{"L", 2}}, "hybrid-published"));
  std::optional<double> digits;
  if (published.horizon) digits = bit_length(*published.horizon) - 1;
  table.add("layer-wise hybrid", "seqcomp", "H d p <= n^(1/256), published; L=2", digits, "lg tokens",
            "hybrid-published");
  RUNG_CHECK(table.impossible("full", "full*3", 3, "F F F at L=3 from", "decomposition-equal"));
  table.add("head-wise hybrid", "eva", "one layer suffices", head_bits(eva_full_cost(n)), "bits d p",
            "eva-full");
  table.add("head-wise hybrid", "two-sum", "one layer suffices", head_bits(two_sum_binary_cost(n, M)),
            "bits d p", "two-sum-full");
  RUNG_CHECK(table.impossible("head-wise hybrid", "heads(full:1,linear:1)*2", 2,
                              "L layers fail, L+1 solve; L=2 from", "head-wise"));
  table.add("one F + CoT", "seqcomp", "L+1 tokens, with or without R; L=2", 3, "tokens", "seqcomp-thought");
  table.add("recurrent + CoT", "seqcomp", "no gain: s >= N lg N", std::nullopt, "", "recurrent-seqcomp");
  table.add("decoder", "seqcomp", "L+1 layers (L with an early R); L=2", 3, "layers", "seqcomp-full");
  table.add("encoder", "seqcomp", "⌈lg(L+1)⌉+1 layers; L=4", encoder_layers(4), "layers", "seqcomp-encoder");
  table.add("RNN + retrieval, CoT", "(all in P)", "or one F: O(lg n) bits simulate P", std::nullopt, "",
            "cited-retrieval");
  RUNG_CHECK(table.recurrent("index", "s >= n lg sigma", "recurrent-index"));
  RUNG_CHECK(table.recurrent("mqar", "s >= n lg sigma", "recurrent-recall"));
  RUNG_CHECK(table.recurrent("sparse-average", "s >= (n-1) d", "recurrent-sparse-average"));
  RUNG_CHECK(table.recurrent("three-sum", "s >= lg sum C(M',1..n-2)", "recurrent-three-sum"));
  RUNG_CHECK(table.recurrent("equality", "s >= n", "recurrent-strings"));
  RUNG_CHECK(table.recurrent("disjointness", "s >= n", "recurrent-strings"));
  RUNG_CHECK(table.recurrent("nearest", "s >= min(n,2^d-1) lg sigma", "recurrent-nearest"));
  RUNG_CHECK(table.recurrent("cgram", "s >= (contexts) lg b", "recurrent-cgram"));
  RUNG_CHECK(table.recurrent("counting", "s >= lg C(n+sigma-1,sigma-1)", "recurrent-counting"));
  RUNG_CHECK(table.recurrent("istree", "s >= (n-c) lg c", "recurrent-istree"));
  RUNG_CHECK(table.recurrent("khop", "s >= (pairs) lg b", "recurrent-khop"));
  table.add("RNN", "dyck", "D⌈lg k⌉+⌈lg(D+1)⌉+1 suffice (2,2)", static_cast<double>(dyck_state_bits(2, 2)),
            "state bits", "dyck-automaton");
  for (const auto& [task, id, form] :
       {std::tuple{"equality", "full-alone-strings", "one F: M_part >= n"},
        {"disjointness", "full-alone-strings", "one F: M_part >= n"},
        {"dyck", "full-alone-dyck", "one F: M_part >= (n/2-1) lg k"},
        {"three-sum", "full-alone-three-sum", "M_part >= lg sum C(M',1..n-2)"}}) {
    RUNG_TRY(const Verdict v, table.ask("full", task, {}, id));
    table.add("one full layer", task, form, v.left, "bits M_part", id);
  }
  table.add("one full layer", "three-sum", "H m p = Ω(N/lg lg N)", std::nullopt, "", "cited-three-sum");
  table.add("several full layers", "three-sum", "conjectured to fail too", std::nullopt, "",
            "three-sum-layers");
  table.add("token selection", "two-sum", "index key b >= lg M, k < n", Count::binomial(M, 1).lg(),
            "bits per token", "selection-two-sum");
  table.add("two sparse layers", "two-sum", "may do with less than one layer", std::nullopt, "",
            "two-sparse-layers");
  table.add("one full layer", "sparse-average", "width ~ q; built 10 q² log n, q=2",
            static_cast<double>(sparse_average_cost(n, 2, 1, 0, false).key_dim()), "dim",
            "sparse-average-full");
  table.add("two full layers", "equality", "solve; also disjointness", head_bits(equality_cost(n / 2)),
            "bits d p", "compare-full");
  table.add("L full layers", "seqcomp", "H d p <= n^(2^(-4L)) fails", std::nullopt, "", "cited-composition");
  table.add("RNN + CoT", "(cited)", "o(n) bits fail: recall, Index, ...", std::nullopt, "", "cited-thought");
  table.add("RNN + CoT", "(cited)", "more than RNN, in computation", std::nullopt, "", "cited-thought-gain");
  return table.take();
}

}  // namespace rung
