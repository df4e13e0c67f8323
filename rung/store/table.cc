#include "rung/store/table.h"

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
  cells[taken ? "body." + name : name] = value.is_string() ? value.get<std::string>() : value.dump();
}

Cells own_cells(const Record& record) {
  return {{"id", record.id},
          {"kind", record.kind},
          {"parent", record.parent},
          {"state", std::string(state_name(record.state))},
          {"created", record.created},
          {"finished", record.finished},
          {"seed", record.seed ? std::to_string(*record.seed) : ""},
          {"version", record.version},
          {"libraries", Json(record.libraries).dump()},
          {"host", record.host},
          {"device", record.device},
          {"command", record.command}};
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
  for (const std::string& name : names) table.append(cell(name)).append(",");
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
