// One function a group of theorems: its file is where they are stated and evaluated. theorem_list.cc strings
// them together.
#pragma once

#include <vector>

#include "rung/theory/theorem.h"

namespace rung {

std::vector<Theorem> recurrent_table_theorems();       // recurrent_eva.cc
std::vector<Theorem> recurrent_sum_theorems();         // recurrent_two_sum.cc
std::vector<Theorem> recurrent_literature_theorems();  // recurrent_literature.cc
std::vector<Theorem> recurrent_tracking_theorems();    // recurrent_tracking.cc
std::vector<Theorem> aperiodicity_theorems();          // aperiodicity.cc
std::vector<Theorem> tracking_constructions();         // tracking_constructions.cc
std::vector<Theorem> causal_theorems();                // causal_average.cc
std::vector<Theorem> log_linear_theorems();            // log_linear.cc
std::vector<Theorem> sparse_theorems();                // sparse_two_sum.cc
std::vector<Theorem> full_alone_theorems();            // full_alone.cc
std::vector<Theorem> pattern_theorems();               // pattern.cc
std::vector<Theorem> published_theorems();             // published_hybrid.cc
std::vector<Theorem> selection_theorems();             // selection.cc
std::vector<Theorem> thought_theorems();               // thought.cc
std::vector<Theorem> lookup_constructions();           // lookup_constructions.cc
std::vector<Theorem> seqcomp_constructions();          // seqcomp_constructions.cc
std::vector<Theorem> cited_theorems();                 // cited.cc

// The theorem of proofs/Statements.v that is this one (formal_theorems.cc); empty where there is none.
std::string_view formal_theorem(std::string_view id);

}  // namespace rung
