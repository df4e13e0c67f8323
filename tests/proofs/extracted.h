// The counts that Coq extracted (proofs/Counts.v, proofs/driver.ml), asked in bulk.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rung/theory/logarithm.h"

namespace rung {

// One question: a name of proofs/driver.ml, its numbers, and what the program answers.
struct CountSetting {
  std::string_view count;
  std::vector<Integer> numbers;
  bool library = false;

  std::string line() const;
};

// What the extracted program says, in order. REQUIRES that proofs/check.sh has built it.
std::vector<bool> extracted(const std::vector<CountSetting>& settings);

// The extracted program and the library answer alike; expect_agreement: and not all with one answer.
void expect_agreement_of_each(const std::vector<CountSetting>& settings);
void expect_agreement(const std::vector<CountSetting>& settings);

// 2,000, or RUNG_PROOF_SETTINGS.
std::size_t settings_a_theorem();

}  // namespace rung
