// docs/theorems.md as data: what every theorem says, whose it is, how sure it is, and where it stands.
#pragma once

#include "rung/theory/theorem.h"

namespace rung {

extern const std::string_view kTheoremPage;  // the page, embedded

// The entries below "## The list", in their order, with nothing that their files say. Views into `page`. Errors: an
// entry without one of its lines, a source or status that is none.
Result<std::vector<Theorem>> read_theorem_page(std::string_view page);

}  // namespace rung
