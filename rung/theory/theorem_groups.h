// One function a group of theorems: its file is where they are evaluated. theorem_list.cc puts them beside what
// docs/theorems.md says of them.
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
std::vector<Theorem> lookup_constructions();           // lookup_constructions.cc
std::vector<Theorem> seqcomp_constructions();          // seqcomp_constructions.cc

// Tasks that follow a state, and every form of them; the forms of tracked recall.
inline const std::vector<std::string_view> kAutomatonTasks{"parity", "modulo", "group", "flipflop"};
inline const std::vector<OptionValues> kAutomatonForms{
    {"read", {"last", "all"}}, {"letters", {"all", "generators"}}, {"name", {}}};
inline const std::vector<OptionValues> kTrackedForms{{"group", {"symmetric", "cyclic", "xor"}}};
// Those of composition that the theorems are about, and of tasks that are read at one place or at every one.
inline const std::vector<OptionValues> kHardOrder{{"order", {"hard"}}};
// Questions of mqar behind the pairs, without gaps: with them its values are different, and no theorem counts those.
inline const std::vector<OptionValues> kNoGaps{{"gaps", {"none"}}};
inline const std::vector<OptionValues> kHopForms{{"read", {"last", "all"}}, {"neighbours", {"any"}}};
inline const std::vector<OptionValues> kEveryReading{{"read", {"last", "all"}}};

}  // namespace rung
