#include "rung/hierarchy/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "rung/base/text_columns.h"
#include "rung/hierarchy/recipe.h"

namespace rung {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kRowColumns = 11;

enum class Tone { plain, good, bad, proved, faint, bold };

struct Line {
  std::string text;
  Tone tone = Tone::plain;
};

// Terminal columns: bytes that do not continue a UTF-8 sequence.
// At most `width` columns, the last one an ellipsis where something was left out.
std::string cut(const std::string& text, std::size_t width) {
  if (text_columns(text) <= width) return text;
  std::string out;
  std::size_t used = 0;
  for (std::size_t i = 0; i < text.size() && used + 1 < width + ((text[i] & 0xC0) == 0x80); ++i) {
    out += text[i];
    used += (text[i] & 0xC0) != 0x80;
  }
  return out + "…";
}

std::string painted(const std::string& text, Tone tone, bool colour) {
  if (!colour || text.empty()) return text;
  const char* code = tone == Tone::good     ? "32"
                     : tone == Tone::bad    ? "31"
                     : tone == Tone::proved ? "1;35"
                     : tone == Tone::faint  ? "2"
                     : tone == Tone::bold   ? "1"
                                            : "";
  return *code ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
}

std::string padded(const Line& line, std::size_t width, bool colour) {
  const std::string text = cut(line.text, width);
  return painted(text, line.tone, colour) + std::string(width - text_columns(text), ' ');
}

std::string word(const ordered_json& json, const char* name) {
  return json.contains(name) && json[name].is_string() ? json[name].get<std::string>() : "";
}

// At most six columns or so.
std::string number(const ordered_json& value) {
  if (!value.is_number()) return "?";
  const double x = value.get<double>();
  if (x == std::floor(x) && std::abs(x) < 1e7) return fmt::format("{:.0f}", x);
  return fmt::format("{:.4g}", x);
}

std::string with_shown(const std::string& shown, const std::string& text) {
  return shown.empty() ? text : shown + ": " + text;
}

Line bound_line(const ordered_json& bound) {
  const std::string state = word(bound, "state"), tag = word(bound, "tag");
  const std::string mark =
      tag == "proved" || tag == "checked" || tag.empty() ? "" : fmt::format(" [{}]", tag);
  const ordered_json none;
  const auto value = [&](const char* name) -> const ordered_json& {
    return bound.contains("numbers") && bound["numbers"].contains(name) ? bound["numbers"][name] : none;
  };
  if (state == "impossible")
    return {fmt::format("impossible {} > {} bits{}", number(value("left")), number(value("right")), mark),
            Tone::bad};
  if (state == "possible" && value("generated").is_number())
    return {fmt::format("possible {} tokens written{}", number(value("generated")), mark), Tone::good};
  if (state == "possible" && value("key_dim").is_number() && value("heads").is_number() &&
      value("precision").is_number())
    return {fmt::format("possible H d p={}{}",
                        number(value("heads").get<double>() * value("key_dim").get<double>() *
                               value("precision").get<double>()),
                        mark),
            Tone::good};
  if (state == "possible" && value("left").is_number())
    return {fmt::format("possible {} ≥ {}{}", number(value("left")), number(value("right")), mark),
            Tone::good};
  if (state == "possible") return {fmt::format("possible{}", mark), Tone::good};
  if (state == "silent" && value("left").is_number())
    return {fmt::format("silent {} ≤ {}{}", number(value("left")), number(value("right")), mark),
            Tone::faint};
  if (state == "silent") return {"silent" + mark, Tone::faint};
  return {"- " + (word(bound, "brief").empty() ? std::string("no theorem speaks") : word(bound, "brief")),
          Tone::faint};
}

// `bound` may speak of a smaller model than the one that is built: the line then says so.
Line construction_line(const ordered_json& evidence, const ordered_json& bound) {
  const std::string state = word(evidence, "state");
  if (state == "none") return {"- " + word(evidence, "brief"), Tone::faint};
  if (state != "verified") return {with_shown(word(evidence, "brief"), "FAILED its verification"), Tone::bad};
  const std::string wrong =
      fmt::format("{} of {} wrong", number(evidence["errors"]), number(evidence["instances"]));
  const std::string shown = word(evidence, "brief");
  const bool larger = word(bound, "state") == "impossible" && word(evidence, "arch") != word(bound, "arch");
  return {shown.empty() ? fmt::format("{} p={}, {}", larger ? "larger:" : "built",
                                      number(evidence["precision_smallest"]), wrong)
                        : fmt::format("{}: {}", shown, wrong),
          Tone::good};
}

Line certificate_line(const ordered_json& evidence) {
  const std::string state = word(evidence, "state");
  if (state == "none") return {"- " + word(evidence, "brief"), Tone::faint};
  if (state != "VERIFIED")
    return {with_shown(word(evidence, "brief"), "unverified: " + word(evidence, "reason")), Tone::bad};
  const bool forced = word(evidence, "label") == "forced by theorem";
  return {with_shown(word(evidence, "brief"), fmt::format("VERIFIED {}", forced ? "forced" : "found")),
          Tone::proved};
}

Line training_line(const ordered_json& evidence) {
  const std::string state = word(evidence, "state");
  if (state == "none") return {"- " + word(evidence, "brief"), Tone::faint};
  const std::string ceiling = evidence.contains("ceiling") && evidence["ceiling"].is_number()
                                  ? fmt::format("/{:.2f}", evidence["ceiling"].get<double>())
                                  : "";
  const std::string said = evidence.value("retry", false) ? "cut short at" : state;
  return {fmt::format("{} {:.2f}{}", said, evidence["accuracy"].get<double>(), ceiling), Tone::plain};
}

// Sizes of evidence that was taken elsewhere than at the column's: "m=64,n1=4". What follows from them is
// left out.
std::string elsewhere(const ordered_json& size) {
  std::string text;
  for (const auto& [name, value] : size.items())
    if (name != "L" && name != "M")
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value.dump());
  return text;
}
bool same_size(const ordered_json& a, const ordered_json& b) {
  return nlohmann::json(a) == nlohmann::json(b);
}

std::vector<Line> cell_lines(const ordered_json& cell) {
  if (word(cell, "state") != "done") return {{"- not run yet", Tone::faint}, {}, {}, {}};
  std::vector<Line> lines{bound_line(cell["bound"]), construction_line(cell["construction"], cell["bound"]),
                          certificate_line(cell["certificate"]), training_line(cell["training"])};
  const char* parts[] = {"bound", "construction", "certificate", "training"};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto& part = cell[parts[i]];
    if (part.contains("size") && !same_size(part["size"], cell["size"]))
      lines[i].text += " " + elsewhere(part["size"]);
  }
  return lines;
}

std::string size_text(const ordered_json& size) {
  std::string text;
  for (const auto& [name, value] : size.items())
    if (name != "L") text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value.dump());
  return text;
}

std::string trimmed(std::string text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text + "\n";
}

// Wrapped at words; every line begins with `indent`.
std::string wrapped(const std::string& text, const std::string& indent) {
  std::string out, line = indent;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find(' ', at);
    if (end == std::string::npos) end = text.size();
    const std::string next = cut(text.substr(at, end - at), kTableColumns - text_columns(indent));
    if (line != indent && text_columns(line) + 1 + text_columns(next) > kTableColumns) {
      out += trimmed(line);
      line = indent;
    }
    line += (line == indent ? "" : " ") + next;
    at = end + 1;
  }
  return out + trimmed(line);
}

std::string highlight_text(const ordered_json& highlight, bool colour) {
  std::string out = painted(cut(word(highlight, "title"), kTableColumns), Tone::bold, colour) + "\n" +
                    wrapped(word(highlight, "what"), "  ");
  for (const auto& cell : highlight["cells"]) {
    constexpr std::size_t kTitle = 22;
    std::string title = word(cell, "title");
    if (word(cell, "state") != "done") {
      out += trimmed("  " + padded({title, Tone::plain}, kTitle, colour) + "- not run yet");
      continue;
    }
    const std::string at = fmt::format("{} {}", word(cell, "task"), size_text(cell["size"]));
    for (const Line& line :
         {Line{word(cell["certificate"], "arch") + word(cell["construction"], "arch"), Tone::faint},
          Line{at, Tone::faint}, bound_line(cell["bound"]),
          construction_line(cell["construction"], cell["bound"]), certificate_line(cell["certificate"])}) {
      out += trimmed("  " + padded({title, Tone::bold}, kTitle, colour) +
                     padded(line, kTableColumns - 2 - kTitle, colour));
      title.clear();
    }
  }
  return out;
}

}  // namespace

std::string hierarchy_table(const ordered_json& document, const TableOptions& options) {
  const auto& heads = document["columns"];
  const std::size_t width =
      (kTableColumns - kRowColumns - heads.size()) / std::max<std::size_t>(1, heads.size());
  const auto line_of = [&](const Line& first, const std::vector<Line>& rest) {
    std::string line = padded(first, kRowColumns, options.colour);
    for (const Line& part : rest) line += " " + padded(part, width, options.colour);
    // Trailing spaces after the last colour code stay outside of it.
    return trimmed(line);
  };
  std::vector<Line> titles, sizes;
  for (const auto& column : heads) {
    titles.push_back({word(column, "title"), Tone::bold});
    sizes.push_back({fmt::format("{}, {} tokens", size_text(column["size"]), column["prompt_tokens"].dump()),
                     Tone::faint});
  }
  std::string out = line_of({}, titles) + line_of({}, sizes);
  for (const auto& row : document["rows"]) {
    std::vector<std::vector<Line>> cells;
    for (const auto& column : heads)
      for (const auto& cell : document["cells"])
        if (cell["row"] == row["id"] && cell["column"] == column["id"]) cells.push_back(cell_lines(cell));
    out += "\n";
    for (std::size_t i = 0; i < 4; ++i) {
      std::vector<Line> parts;
      for (const auto& cell : cells) parts.push_back(cell[i]);
      out += line_of({i == 0 ? word(row, "title") : "", Tone::bold}, parts);
    }
  }
  out += "\n";
  out += wrapped(
      "In each cell: what no weights can do (bits needed > bits there are) or some can; the weights that a "
      "proof writes down, verified, "
      "with the smallest precision p that passed (larger: a larger model than the one that cannot); two "
      "inputs that a model cannot tell apart, VERIFIED by "
      "rung-check (forced: by a theorem, for all weights of this size); what training "
      "reached / the most that the state allows. A dash gives the reason.",
      "");
  for (const auto& highlight : document["highlights"])
    out += "\n" + highlight_text(highlight, options.colour);
  return out;
}

std::string cell_summary(const ordered_json& cell) {
  std::string out;
  for (const Line& line : cell_lines(cell))
    if (!line.text.empty() && !line.text.starts_with("- ")) out += (out.empty() ? "" : "; ") + line.text;
  return out.empty() ? "nothing applies" : out;
}

}  // namespace rung
