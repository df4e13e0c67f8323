// A transcript as JSON (docs/protocol.md has every field).
#pragma once

#include <nlohmann/json.hpp>

#include "rung/protocol/protocol.h"

namespace rung {

// What a transcript is about: shown beside it.
struct TranscriptSubject {
  std::string model;
  const Weights& weights;
  const Task& task;
  const Prompt& prompt;
  std::optional<int> sum_bits;
};

// The tokens of positions [first, end), as the task writes them: "1 1 2 3", fields of one position joined by
// ':'.
std::vector<std::string> token_symbols(const Task& task, const Prompt& prompt, std::int64_t first,
                                       std::int64_t end);

// "schema": "rung.protocol/1".
nlohmann::ordered_json transcript_json(const Transcript& transcript, const TranscriptSubject& subject);
// "schema": "rung.protocol-trace/1": the same, and what every player knows after every epoch; a page steps
// through it.
nlohmann::ordered_json trace_json(const Transcript& transcript, const TranscriptSubject& subject);

}  // namespace rung
