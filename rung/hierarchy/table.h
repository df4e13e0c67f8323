// The hierarchy's document as a table for a terminal: at most 100 columns, whatever the cells say.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace rung {

struct TableOptions {
  bool colour = false;
};
inline constexpr std::size_t kTableColumns = 100;

// REQUIRES a document of schema rung.hierarchy/1. Ends with a newline.
std::string hierarchy_table(const nlohmann::ordered_json& document, const TableOptions& options);

// A cell in one line: "impossible 64 > 36 bits; built; VERIFIED (forced); trained 0.08 of 0.71".
std::string cell_summary(const nlohmann::ordered_json& cell);

}  // namespace rung
