// Small valid certificates of every kind and label.
#pragma once

#include "tests/check/brute_force.h"

namespace rung {

// One of every kind and label, and more than one task. Deterministic.
const std::vector<Issued>& issued_certificates();

// A built model, right on a walk, on listed prompts and, where `all`, on every instance.
Issued certified_construction(const std::string& name, const TaskSizes& sizes,
                              const std::map<std::string, std::string>& options, bool all);

}  // namespace rung
