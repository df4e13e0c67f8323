// The unit of a verdict's two sides.
#pragma once

#include <string>

#include "rung/theory/theorem.h"

namespace rung {

// Of left and right: "bits", or the resource that is scarcest ("head dimension"); empty where there are none.
std::string verdict_unit(const Verdict& verdict);

}  // namespace rung
