#include "rung/theory/theorem_page.h"

#include <algorithm>

namespace rung {
namespace {

constexpr std::string_view kTheoremHeading = "\n### `";

// What stands between `before` and `after`; empty where they do not.
std::string_view text_between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t begin = text.find(before);
  if (begin == text.npos) return {};
  text.remove_prefix(begin + before.size());
  const std::size_t end = text.find(after);
  return end == text.npos ? std::string_view{} : text.substr(0, end);
}

Result<Theorem> read_theorem_entry(std::string_view entry) {
  const std::string_view said = text_between(entry, "`\n\n", "\n\n");
  const std::size_t stop = std::min(said.find(". "), said.size());
  Theorem t{.id = text_between(entry, kTheoremHeading, "`\n\n"),
            .title = said.substr(0, stop),
            .statement = said.substr(std::min(stop + 2, said.size())),
            .reference = text_between(entry, "\n- reference: ", "\n"),
            .formal = text_between(entry, "\n- checked by Coq: theorem `", "` of "),
            .file = text_between(entry, "\n- implemented in: `", "`; tested in: `"),
            .test = text_between(entry, "`; tested in: `", "`\n")};
  for (const auto part : {t.id, t.title, t.statement, t.reference, t.file, t.test})
    if (part.empty()) return fail(ErrorCode::format, "[theorems] the entry {} lacks a part", quoted(entry));
  std::string_view source = text_between(entry, "\n- source: ", "; status: ");
  source = source.substr(0, source.find(' '));  // "paper 2602.01763"
  RUNG_TRY(t.source, parse_word<Source>(source, "[theorems] source"));
  RUNG_TRY(t.status, parse_word<Status>(text_between(entry, "; status: ", "\n"), "[theorems] status"));
  if ((t.status == Status::checked) == t.formal.empty())
    return fail(ErrorCode::format, "[theorems] {}: checked and a theorem of Coq go together", t.id);
  return t;
}

}  // namespace

Result<std::vector<Theorem>> read_theorem_page(std::string_view page) {
  std::vector<Theorem> theorems;
  for (std::size_t at = page.find(kTheoremHeading); at != page.npos;) {
    const std::size_t next = page.find(kTheoremHeading, at + 1);
    RUNG_TRY(Theorem theorem, read_theorem_entry(page.substr(at, next == page.npos ? next : next + 1 - at)));
    theorems.push_back(std::move(theorem));
    at = next;
  }
  return theorems;
}

}  // namespace rung
