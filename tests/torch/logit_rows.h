// A model with prompts, and what the exact machine says about every position of them, as files that another
// evaluator can be compared with: STEM.safetensors and STEM.jsonl. A row holds the prompt as `rung task`
// writes it, "logits" and "answer" for every position, and "generated" where the model has a chain of
// thought.
#pragma once

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "rung/exact/machine.h"

namespace rung {

inline nlohmann::json fields_json(const Prompt& prompt, const std::vector<FieldSpec>& fields) {
  nlohmann::json out = nlohmann::json::object();
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const auto length = static_cast<std::size_t>(fields[f].length);
    out[fields[f].name] = nlohmann::json::array();
    for (std::size_t t = 0; t < static_cast<std::size_t>(prompt.positions); ++t) {
      const auto* row = prompt.fields[f].data() + t * length;
      out[fields[f].name].push_back(
          length == 1 ? nlohmann::json(*row) : nlohmann::json(std::vector<std::int64_t>(row, row + length)));
    }
  }
  return out;
}

// real: the logits of mode Q in double, without rounding.
inline Result<void> write_logits(const std::string& stem, const Weights& weights,
                                 const std::vector<Prompt>& prompts, bool real) {
  std::int64_t longest = 1;
  for (const auto& prompt : prompts) longest = std::max(longest, prompt.positions);
  RUNG_TRY(const auto machine,
           Machine::load(weights, {.positions = longest + weights.decode.steps, .unrounded = real}));
  RUNG_CHECK(write_weights(stem + ".safetensors", weights));
  std::ofstream rows(stem + ".jsonl");
  for (const auto& prompt : prompts) {
    std::vector<std::int64_t> wanted(static_cast<std::size_t>(prompt.positions));
    std::iota(wanted.begin(), wanted.end(), 0);
    RUNG_TRY(const auto out, machine->forward(prompt, wanted));
    nlohmann::json row = {{"fields", fields_json(prompt, weights.fields)},
                          {"logits", nlohmann::json::array()},
                          {"answer", nlohmann::json::array()}};
    for (const auto& readout : out) {
      row["logits"].push_back(real ? nlohmann::json(readout.real_logits) : nlohmann::json(readout.logits));
      row["answer"].push_back(weights.output.kind == OutputSpec::Kind::vector
                                  ? nlohmann::json(readout.answer)
                                  : nlohmann::json(readout.answer[0]));
    }
    if (weights.decode.steps > 0) {
      RUNG_TRY(row["generated"], machine->generate(prompt));
    }
    rows << row.dump() << "\n";
  }
  return {};
}

}  // namespace rung
