// The counts that the page opens with: one full layer and a hundred linear ones against three full ones, on
// composing two functions.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace rung::report {

// {"size": {L, m, n1}, "prompt", "width", "precision", "impossible": verdict of full+linear*100, "possible":
// verdict of full*3, "command"}:
// the verdicts as `rung bound --json` prints them. A size at which the first is certified.
nlohmann::ordered_json opening_counts();

// {"rows": [{"n", "p"}]}: the precision that the retrieval lemma proves enough for Eva by one full layer, n =
// 2, 4, .., 2^20.
nlohmann::ordered_json proved_precision();

}  // namespace rung::report
