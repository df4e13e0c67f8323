// The hierarchy's document as a table for a terminal: at most 100 columns, whatever the cells say.
#pragma once

#include <string>

#include "rung/records/hierarchy_document.h"

namespace rung {

struct TableOptions {
  bool colour = false;
};
inline constexpr std::size_t kTableColumns = 100;

// Ends with a newline.
std::string hierarchy_table(const HierarchyDocument& document, const TableOptions& options);

// A cell in one line: "impossible 64 > 36 bits; built; verified forced; trained 0.08 of 0.71".
std::string cell_summary(const HierarchyCell& cell);

}  // namespace rung
