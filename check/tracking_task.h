// The tasks that follow a state or repeat what they saw: parity, modulo, group, flipflop, tracked-recall, copy,
// selective-copy. make_task, which checks the sizes, calls these.
#pragma once

#include "check/task.h"

namespace rung_check {

// ^ and n letters; read at the last letter, or at every one.
std::unique_ptr<Task> make_modular_sum(std::int64_t n, std::int64_t modulus, bool everywhere);
std::unique_ptr<Task> make_flipflop(std::int64_t n, std::int64_t values, bool everywhere);
// Malformed: a name that docs/tasks.md does not have, or a group of fewer than 2 or more than 1024 elements.
std::unique_ptr<Task> make_group(std::int64_t n, const std::string& group, bool generators, bool everywhere);

// `group`: symmetric, cyclic or xor. Malformed: others, and xor where n is no power of two.
std::unique_ptr<Task> make_tracked_recall(std::int64_t n, std::int64_t sigma, std::int64_t word,
                                          const std::string& group, Budget& budget);

std::unique_ptr<Task> make_copy(std::int64_t n, std::int64_t sigma);
std::unique_ptr<Task> make_selective_copy(std::int64_t n, std::int64_t places, std::int64_t sigma,
                                          Budget& budget);

}  // namespace rung_check
