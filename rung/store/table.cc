#include "rung/store/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace rung {
namespace {

using Json = nlohmann::json;
using Cells = std::map<std::string, std::string>;

constexpr std::array<std::string_view, 12> kColumns = {"id",        "kind",     "parent", "state",
                                                       "created",   "finished", "seed",   "version",
                                                       "libraries", "host",     "device", "command"};

// Text as a spreadsheet may have it: what it would take for a formula begins with an apostrophe, and control
// bytes, which a terminal would obey, are written as \xNN.
std::string harmless_text(const std::string& text) {
  constexpr std::string_view kFormula = "=+-@\t\r", kLayout = "\t\r\n";
  std::string out;
  if (!text.empty() && kFormula.find(text.front()) != std::string_view::npos) out += '\'';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 || byte == 0x7f) && kLayout.find(c) == std::string_view::npos)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out;
}

std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  quoted += '"';
  return quoted;
}

void flatten(const Json& value, const std::string& name, Cells& cells) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items())
      flatten(inner, name.empty() ? key : name + "." + key, cells);
    return;
  }
  if (value.is_null()) return;
  const bool taken = std::find(kColumns.begin(), kColumns.end(), name) != kColumns.end();
  cells[taken ? "body." + name : name] =
      value.is_string() ? harmless_text(value.get<std::string>()) : value.dump(-1, ' ', true);
}

Cells own_cells(const Record& record) {
  return {{"id", record.id},
          {"kind", record.kind},
          {"parent", harmless_text(record.parent)},
          {"state", std::string(state_name(record.state))},
          {"created", record.created},
          {"finished", record.finished},
          {"seed", record.seed ? std::to_string(*record.seed) : ""},
          {"version", harmless_text(record.version)},
          {"libraries", Json(record.libraries).dump(-1, ' ', true)},
          {"host", harmless_text(record.host)},
          {"device", harmless_text(record.device)},
          {"command", harmless_text(record.command)}};
}

}  // namespace

std::string csv_table(const std::vector<Record>& records) {
  std::vector<Cells> bodies;
  std::set<std::string> names;
  for (const Record& record : records) {
    bodies.emplace_back();
    flatten(Json::parse(record.body), "", bodies.back());
    for (const auto& [name, text] : bodies.back()) names.insert(name);
  }
  std::string table;
  for (const std::string_view column : kColumns) table.append(column).append(",");
  for (const std::string& name : names) table.append(cell(harmless_text(name))).append(",");
  table.back() = '\n';
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Cells own = own_cells(records[i]);
    for (const std::string_view column : kColumns)
      table.append(cell(own.at(std::string(column)))).append(",");
    for (const std::string& name : names) {
      const auto found = bodies[i].find(name);
      if (found != bodies[i].end()) table.append(cell(found->second));
      table += ',';
    }
    table.back() = '\n';
  }
  return table;
}

}  // namespace rung
