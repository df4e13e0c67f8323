#include "rung/hierarchy/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "rung/base/text_columns.h"
#include "rung/hierarchy/recipe.h"

namespace rung {
namespace {

constexpr std::size_t kRowColumns = 11;

enum class Tone { plain, good, bad, proved, faint, bold };

struct Line {
  std::string text;
  Tone tone = Tone::plain;
};

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

// At most six columns or so.
std::string shown_number(double x) {
  if (x == std::floor(x) && std::abs(x) < 1e7) return fmt::format("{:.0f}", x);
  return fmt::format("{:.4g}", x);
}
std::string shown_number(const std::optional<double>& x) { return x ? shown_number(*x) : "?"; }

std::string with_shown(const std::string& shown, const std::string& text) {
  return shown.empty() ? text : shown + ": " + text;
}

// The numbers that say most: bits against bits, what a construction asks for, what it writes down.
std::string bound_numbers(const BoundEvidence& bound) {
  const NumberList& numbers = bound.numbers;
  const auto left = numbers.find("left"), right = numbers.find("right");
  switch (bound.state) {
    case Outcome::impossible:
      // Letters of a word against those from which no weights are right, or bits against bits.
      if (bound.theorem.starts_with("aperiodicity"))
        return fmt::format("{} ≥ {} letters", shown_number(left), shown_number(right));
      return fmt::format("{} > {} bits", shown_number(left), shown_number(right));
    case Outcome::vacuous:
      if (bound.theorem.starts_with("aperiodicity")) return "(not all lengths)";
      return left ? fmt::format("{} ≤ {}", shown_number(*left), shown_number(right)) : "";
    case Outcome::possible: {
      if (const auto written = numbers.find("generated"))
        return fmt::format("{} tokens written", shown_number(*written));
      const auto heads = numbers.find("heads"), dim = numbers.find("key_dim"), p = numbers.find("precision");
      if (heads && dim && p) return fmt::format("H d p={}", shown_number(*heads * *dim * *p));
      return left ? fmt::format("{} ≥ {}", shown_number(*left), shown_number(right)) : "";
    }
    case Outcome::open:
      return "";
  }
  return "";
}

Line bound_line(const BoundEvidence& bound) {
  if (bound.theorem.empty())
    return {fmt::format("{}, no theorem applies", outcome_name(bound.state)), Tone::faint};
  std::string text(outcome_name(bound.state));
  if (const std::string numbers = bound_numbers(bound); !numbers.empty()) text += " " + numbers;
  if (bound.status && !is_proved(*bound.status)) text += fmt::format(" [{}]", status_name(*bound.status));
  return {text, bound.state == Outcome::impossible ? Tone::bad
                : bound.state == Outcome::possible ? Tone::good
                                                   : Tone::faint};
}

// `bound` may speak of a smaller model than the one that is built: the line then says so.
Line construction_line(const ConstructionEvidence& evidence, const BoundEvidence& bound) {
  if (evidence.state == Evidence::none) return {"- " + evidence.brief, Tone::faint};
  if (evidence.state != Evidence::verified)
    return {with_shown(evidence.brief, std::string(evidence_name(evidence.state))), Tone::bad};
  const std::string wrong = fmt::format("{} of {} wrong", evidence.errors, evidence.instances);
  const bool larger = bound.state == Outcome::impossible && evidence.arch != bound.arch;
  return {evidence.brief.empty() ? fmt::format("{} p={}, {}", larger ? "larger:" : "built",
                                               evidence.precision_smallest.value_or(0), wrong)
                                 : with_shown(evidence.brief, wrong),
          Tone::good};
}

Line certificate_line(const CertificateEvidence& evidence) {
  if (evidence.state == Evidence::none) return {"- " + evidence.brief, Tone::faint};
  const std::string state(evidence_name(evidence.state));
  if (evidence.state != Evidence::verified)
    return {with_shown(evidence.brief, state + ": " + evidence.reason), Tone::bad};
  return {with_shown(evidence.brief, state + (evidence.label == ClaimLabel::forced ? " forced" : " found")),
          Tone::proved};
}

Line training_line(const TrainingEvidence& evidence) {
  if (evidence.state == TrainingState::none) return {"- " + evidence.brief, Tone::faint};
  return {fmt::format("{} {:.2f}{}", evidence.retry ? "cut short at" : name_of(evidence.state),
                      evidence.accuracy, evidence.ceiling ? fmt::format("/{:.2f}", *evidence.ceiling) : ""),
          Tone::plain};
}

std::string size_text(const SizeList& size, const char* separator, std::string_view left_out) {
  std::string text;
  for (const auto& [name, value] : size)
    if (left_out.find(name) == std::string_view::npos)
      text += fmt::format("{}{}={}", text.empty() ? "" : separator, name, value.value);
  return text;
}

// Whatever their order.
bool same_size(const SizeList& a, const SizeList& b) {
  return a.items().size() == b.items().size() && std::all_of(a.begin(), a.end(), [&](const auto& size) {
           return b.contains(size.first) && b.at(size.first) == size.second;
         });
}

std::vector<Line> cell_lines(const HierarchyCell& cell) {
  if (cell.state != CellState::done) return {{"- not run yet", Tone::faint}, {}, {}, {}};
  // Evidence that was taken elsewhere than at the column's size says so: "m=64,n1=4". What follows from it is left out.
  const auto at = [&](Line line, const SizeList& size) {
    if (!size.items().empty() && !same_size(size, cell.size)) line.text += " " + size_text(size, ",", "LM");
    return line;
  };
  return {at(bound_line(cell.bound), cell.bound.size),
          at(construction_line(cell.construction, cell.bound), cell.construction.size),
          at(certificate_line(cell.certificate), cell.certificate.size),
          at(training_line(cell.training), cell.training.size)};
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

std::string highlight_text(const HierarchyDocument::Highlight& highlight, bool colour) {
  std::string out =
      painted(cut(highlight.title, kTableColumns), Tone::bold, colour) + "\n" + wrapped(highlight.what, "  ");
  for (const HierarchyCell& cell : highlight.cells) {
    constexpr std::size_t kTitle = 22;
    std::string title = cell.title;
    if (cell.state != CellState::done) {
      out += trimmed("  " + padded({title, Tone::plain}, kTitle, colour) + "- not run yet");
      continue;
    }
    for (const Line& line :
         {Line{cell.certificate.arch + cell.construction.arch, Tone::faint},
          Line{fmt::format("{} {}", cell.task, size_text(cell.size, ", ", "L")), Tone::faint},
          bound_line(cell.bound), construction_line(cell.construction, cell.bound),
          certificate_line(cell.certificate)}) {
      out += trimmed("  " + padded({title, Tone::bold}, kTitle, colour) +
                     padded(line, kTableColumns - 2 - kTitle, colour));
      title.clear();
    }
  }
  return out;
}

}  // namespace

std::string hierarchy_table(const HierarchyDocument& document, const TableOptions& options) {
  // As many columns side by side as there is room for; the others below them.
  constexpr std::size_t kSideBySide = 3;
  constexpr std::size_t width = (kTableColumns - kRowColumns - kSideBySide) / kSideBySide;
  const auto line_of = [&](const Line& first, const std::vector<Line>& rest) {
    std::string line = padded(first, kRowColumns, options.colour);
    for (const Line& part : rest) line += " " + padded(part, width, options.colour);
    // Trailing spaces after the last colour code stay outside of it.
    return trimmed(line);
  };
  std::string out;
  for (std::size_t from = 0; from < document.columns.size(); from += kSideBySide) {
    const auto heads =
        std::span(document.columns).subspan(from, std::min(kSideBySide, document.columns.size() - from));
    std::vector<Line> titles, sizes;
    for (const auto& column : heads) {
      titles.push_back({column.title, Tone::bold});
      sizes.push_back({fmt::format("{}, {} tokens", size_text(column.size, ", ", "L"), column.prompt_tokens),
                       Tone::faint});
    }
    out += (from == 0 ? "" : "\n") + line_of({}, titles) + line_of({}, sizes);
    for (const auto& row : document.rows) {
      std::vector<std::vector<Line>> cells;
      for (const auto& column : heads)
        for (const HierarchyCell& cell : document.cells)
          if (cell.row == row.id && cell.column == column.id) cells.push_back(cell_lines(cell));
      if (cells.empty()) continue;
      out += "\n";
      for (std::size_t i = 0; i < 4; ++i) {
        std::vector<Line> parts;
        for (const auto& cell : cells) parts.push_back(cell[i]);
        out += line_of({i == 0 ? row.title : "", Tone::bold}, parts);
      }
    }
  }
  out += "\n";
  out += wrapped(
      "In each cell: what no weights can do (bits needed > bits available) or some can (not all lengths: no "
      "weights are right at every length); the weights that a proof writes down, verified, with the smallest "
      "precision p that passed (larger: a larger model than the one that cannot); two inputs that a model "
      "cannot tell apart (of an automaton: a word that it answers wrongly), verified by rung-check (forced: "
      "by a theorem, for all weights of this size); what training reached / the most that the state allows. "
      "A dash gives the reason.",
      "");
  for (const auto& highlight : document.highlights) out += "\n" + highlight_text(highlight, options.colour);
  return out;
}

std::string cell_summary(const HierarchyCell& cell) {
  std::string out;
  for (const Line& line : cell_lines(cell))
    if (!line.text.empty() && !line.text.starts_with("- ")) out += (out.empty() ? "" : "; ") + line.text;
  return out.empty() ? "nothing applies" : out;
}

}  // namespace rung
