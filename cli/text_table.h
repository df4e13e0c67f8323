// Tables on standard output: aligned columns, Markdown, CSV.
#pragma once

#include <string>
#include <vector>

namespace rung::cli {

struct TextColumn {
  std::string title;
  std::vector<std::string> cells;
  bool left = false;
};
// REQUIRES at least one column, equally many cells in each; here and below.
void print_table(const std::vector<TextColumn>& table);
void print_markdown(const std::vector<TextColumn>& table);
void print_csv(const std::vector<TextColumn>& table);

// Broken after "+", "," or a space so that it fits a page of 100 columns; later lines are indented by the
// label's width. An architecture line stays an architecture line.
void print_labelled(const std::string& label, const std::string& text);

}  // namespace rung::cli
