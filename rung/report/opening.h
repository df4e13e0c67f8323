// The counts that the page opens with: one full layer and a hundred linear ones against three full ones, on
// composing two functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "rung/theory/theorem.h"

namespace rung::report {

struct OpeningVerdict {
  Verdict verdict;  // as `rung bound` gives it
  std::string architecture;
  Parameter state_bits;
};

struct Opening {
  SizeList size;  // one at which the first is certified
  OpeningVerdict impossible, possible;
  std::string command;
};

Opening opening_counts();
nlohmann::ordered_json opening_json(const Opening& opening);

// The precision that the retrieval lemma proves enough for Eva by one full layer, n = 2, 4, .., 2^20.
struct ProvedPrecision {
  std::int64_t n = 0;
  int p = 0;
};
std::vector<ProvedPrecision> proved_precision();
nlohmann::ordered_json precision_json(const std::vector<ProvedPrecision>& rows);

}  // namespace rung::report
