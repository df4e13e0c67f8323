// Which records, in which order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rung/store/record.h"

namespace rung {

struct Filter {
  std::optional<std::string> id;  // begins with this, or is this after its dash
  std::optional<std::string> kind, parent, task, arch, label, host;
  std::optional<RecordState> state;
  std::optional<std::string> since;  // created at this time or later: Record::created or a beginning of it
  std::optional<std::string> text;   // occurs in the record, ASCII letters of either case
  // A field of the record or of its body ("accuracy", "size.n"); equal ones by id. Records without it come
  // last.
  std::string sort = "created";
  bool descending = true;  // newest or largest first
  std::size_t limit = 0;   // 0: all
};

bool matches(const Record& record, const BodyWords& words, const Filter& filter);
// The part of matches() that no database index answers: id and text.
bool matches_text(const Record& record, const Filter& filter);
// Sorts and cuts.
void arrange(std::vector<Record>& records, const Filter& filter);

// "2026-11-15", "2026-11-15T08:30", "90m", "12h" or "7d" (ago) as a beginning of Record::created.
Result<std::string> parse_since(const std::string& text);

}  // namespace rung
