// A record: one thing that was done (a run, a member of its ensemble, an evaluation, a certificate, a
// verdict), with everything needed to do it again. docs/runs.md is the format document.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "rung/base/result.h"
#include "rung/base/words.h"

namespace rung {

// stopped: by a person or a signal, may be resumed. failed: by itself (a NaN loss, no memory); the body's
// "reason" says why.
enum class RecordState { running, done, failed, stopped };
inline constexpr std::array<std::string_view, 4> kRecordStates = {"running", "done", "failed", "stopped"};
template <>
inline constexpr auto kWords<RecordState> = kRecordStates;
inline constexpr std::array<std::string_view, 7> kRecordKinds = {
    "run", "member", "evaluation", "certificate", "verdict", "checkpoint", "note"};

std::string_view state_name(RecordState state);
// Errors name the nearest word.
Result<RecordState> parse_state(std::string_view word);
Result<void> check_kind(std::string_view word);

// An empty string means "not known" wherever it may stand.
struct Record {
  std::string id;      // letters, digits and . _ : - (at most 64); Store::append makes one: time, then chance
  std::string kind;    // a word of kRecordKinds
  std::string parent;  // id of the run of a member, of the member of an evaluation
  RecordState state = RecordState::running;
  std::string created, finished;  // UTC, 2026-11-15T15:23:29.123456Z; finished is empty exactly while running
  std::optional<std::int64_t> seed;
  std::string version;                           // of rung
  std::map<std::string, std::string> libraries;  // name -> version
  std::string host, device, command;
  // A JSON object as text. `rung runs` filters by its strings "task", "arch" and "label" and lists its
  // numbers "accuracy" and "loss"; everything else is the writer's.
  std::string body = "{}";

  bool operator==(const Record&) const = default;
};

// The record as one line of JSON without its newline, fields in a fixed order: equal records give equal
// lines.
std::string record_line(const Record& record);
// The inverse. Errors: "[store] `where`: ..." for text that is no record: unknown, missing or ill-typed
// fields included.
Result<Record> parse_record(std::string_view line, std::string_view where);
// Errors: what is no record (its body is no JSON object, is too large or too deep; the id or a time is
// ill-formed). ENSURES: the body in canonical form, so that parse_record(record_line(record)) gives the
// record back.
Result<void> normalise(Record& record);
// `body` with the fields of `patch` in place of its own. REQUIRES both normalised.
std::string merged_body(const std::string& body, const std::string& patch);

// What a query looks for in a body. An architecture is held as format_spelled_stack writes it.
struct BodyWords {
  std::string task, arch, label;
};
BodyWords body_words(const Record& record);
// The same of a line that a user asks for, and how rung 0.2 and earlier held it.
std::string asked_arch(const std::string& line);
std::string earlier_arch(std::string asked);

}  // namespace rung
