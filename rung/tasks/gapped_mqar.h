// MQAR whose questions stand behind the pairs with gaps, as Zoology draws it (zoology.h): n different keys with n
// different values, then `places` pairs of tokens, of which n hold a key and a blank and the others two blanks. Every key
// is asked for once; the place of the i-th is drawn by the law of the gaps (gap_law.h). Answers are read at every place,
// kNotAsked where it is blank.
//
// Token ids: values are [0, σ), keys σ … σ+M-1, blank is σ+M. Zoology's vocabulary of V has M = V/2 - 1 keys and
// σ = V - V/2 values; its length T is 2n + 2 places. What stands between the questions is blank, never random: the
// prompt alone says what is asked.
#pragma once

#include <memory>
#include <string>

#include "rung/tasks/gap_law.h"
#include "rung/tasks/task.h"

namespace rung {

struct GappedMqarSizes {
  std::int64_t pairs = 1, keys = 1, values = 1, places = 1;  // n, M, σ
};

// power: a number above 0, at most 1. Errors: another word, fewer than n keys, values or places, too many places for a
// table of their weights.
Result<std::unique_ptr<Task>> make_gapped_mqar(const GappedMqarSizes& sizes, const std::string& power);

}  // namespace rung
