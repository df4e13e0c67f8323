// A sweep as a picture: one SVG document, black and coloured on white, for a paper or a README. Means are joined by
// lines, whiskers reach from the least to the largest of the seeds, ceilings are dashed and drawn once where they coincide.
#pragma once

#include <string>

#include "rung/store/sweep.h"

namespace rung::report {

std::string sweep_svg(const SweepFigure& figure);

}  // namespace rung::report
