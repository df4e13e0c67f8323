// Which theorems Coq has checked: the id here, the theorem of proofs/Statements.v there. A test compiles the proofs and
// fails where a name in this list is not proved there, or rests on an axiom.
#include <array>
#include <utility>

#include "rung/theory/theorem_groups.h"

namespace rung {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 26> kFormalTheorems{{
    {"recurrent-eva", "recurrent_eva"},
    {"recurrent-index", "recurrent_index"},
    {"recurrent-recall", "recurrent_recall"},
    {"recurrent-seqcomp", "recurrent_seqcomp"},
    {"recurrent-strings", "recurrent_strings"},
    {"recurrent-two-sum", "recurrent_two_sum"},
    {"recurrent-two-sum-exists", "recurrent_two_sum_exists"},
    {"recurrent-three-sum", "recurrent_three_sum"},
    {"log-linear-eva", "log_linear_eva"},
    {"log-linear-index", "log_linear_index"},
    {"log-linear-two-sum", "log_linear_two_sum"},
    {"log-linear-seqcomp", "log_linear_seqcomp"},
    {"one-full-layer-late", "one_full_layer_late"},
    {"one-full-layer-early", "one_full_layer_early"},
    {"two-full-layers", "two_full_layers"},
    {"head-wise", "head_wise_2"},
    {"full-alone-strings", "full_alone_strings"},
    {"full-alone-dyck", "full_alone_dyck"},
    {"full-alone-three-sum", "full_alone_three_sum"},
    {"full-alone-seqcomp", "full_alone_seqcomp"},
    {"sparse-two-sum", "sparse_two_sum"},
    {"sparse-two-sum-positions", "sparse_two_sum_positions"},
    {"aperiodicity", "horizon_of_tracking"},
    {"aperiodicity-tracked", "tracked_recall_lost"},
    {"eva-full", "eva_one_layer"},
    {"seqcomp-full", "seqcomp_one_layer_more"},
}};

}  // namespace

std::string_view formal_theorem(std::string_view id) {
  for (const auto& [known, formal] : kFormalTheorems)
    if (known == id) return formal;
  return {};
}

}  // namespace rung
