// Small valid certificates of every kind and label.
#pragma once

#include "tests/check/brute_force.h"

namespace rung {

// One of every kind and label, and more than one task. Deterministic.
const std::vector<Issued>& issued_certificates();

}  // namespace rung
