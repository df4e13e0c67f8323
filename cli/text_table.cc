#include "cli/text_table.h"

#include <algorithm>
#include <cctype>
#include <iostream>

#include "rung/base/text_columns.h"

namespace rung::cli {
namespace {

constexpr std::size_t kTablePage = 100;

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string markdown_cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

// The titles, then every row.
template <class Line>
void each_line(const std::vector<TextColumn>& table, const Line& line) {
  for (std::size_t row = 0; row <= table.front().cells.size(); ++row) {
    std::vector<std::string> cells;
    for (const TextColumn& column : table) cells.push_back(row == 0 ? column.title : column.cells[row - 1]);
    line(row, cells);
  }
}

}  // namespace

void print_table(const std::vector<TextColumn>& table) {
  std::vector<std::size_t> widths;
  for (const auto& column : table) {
    std::size_t width = text_columns(column.title);
    for (const auto& cell : column.cells) width = std::max(width, text_columns(cell));
    widths.push_back(width);
  }
  each_line(table, [&](std::size_t, const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < table.size(); ++i) {
      const std::string padding(widths[i] - text_columns(cells[i]), ' ');
      if (i > 0) line += "  ";
      if (!table[i].left) line += padding;
      line += cells[i];
      if (table[i].left) line += padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::cout << line << "\n";
  });
}

void print_markdown(const std::vector<TextColumn>& table) {
  each_line(table, [&](std::size_t row, const std::vector<std::string>& cells) {
    for (const std::string& cell : cells)
      std::cout << "| " << markdown_cell(cell) << (cell.empty() ? "" : " ");
    std::cout << "|\n";
    if (row > 0) return;
    for (const TextColumn& column : table) std::cout << (column.left ? "| --- " : "| ---: ");
    std::cout << "|\n";
  });
}

void print_csv(const std::vector<TextColumn>& table) {
  each_line(table, [&](std::size_t, const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) std::cout << (i > 0 ? "," : "") << csv_cell(cells[i]);
    std::cout << "\n";
  });
}

void print_labelled(const std::string& label, const std::string& text) {
  const std::size_t room = kTablePage - text_columns(label);
  std::string rest = text, lead = label;
  // Not inside a number: 1,024.
  const auto breaks = [&](std::size_t at) {
    if (rest[at] == ' ' || rest[at] == '+') return true;
    return rest[at] == ',' &&
           (at + 1 == rest.size() || std::isdigit(static_cast<unsigned char>(rest[at + 1])) == 0);
  };
  while (text_columns(rest) > room) {
    std::size_t cut = 0;
    for (std::size_t at = 1; at < rest.size() && (cut == 0 || at < room); ++at)
      if (breaks(at)) cut = at;
    if (cut == 0 || cut + 1 >= rest.size()) break;
    std::cout << lead << rest.substr(0, rest[cut] == ' ' ? cut : cut + 1) << "\n";
    rest.erase(0, rest[cut + 1] == ' ' ? cut + 2 : cut + 1);
    lead.assign(text_columns(label), ' ');
  }
  std::cout << lead << rest << "\n";
}

}  // namespace rung::cli
