// How many beginnings of a task every solver must keep apart, counted as docs/certificate_v1.md counts them
// ("collision"): where they outnumber the states of a model, two of them share one, for all weights.
#pragma once

#include <optional>

#include "rung/tasks/task.h"

namespace rung {

// The alphabet with which the task has more than 2^bits beginnings of `cut` positions that some common ending
// separates pairwise; nothing where the count proves nothing, or the task has none. Where the alphabet is free to
// choose (cgram, khop, istree) it is the one that counts most. Decided on integers.
std::optional<std::int64_t> forcing_alphabet(const Task& task, std::int64_t cut, std::int64_t bits);

// The number of positions after which the task's beginnings are counted most; nothing for a task without a
// count.
std::optional<std::int64_t> widest_cut(const Task& task);

}  // namespace rung
