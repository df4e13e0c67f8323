// When the layers of a model come to rest while a word repeats: the count of docs/certificate_v1.md
// ("wrong-word") behind the word `forced`, for all weights of the model's shapes with decays >= 0 and
// states that saturate.
#pragma once

#include "check/model.h"

namespace rung_check {

// The number R such that u wᴿ v and u wⁿ v, n >= R, leave the same numbers in every layer, for all u and
// v and |w| = `length`. Rejected: a layer that is not known to rest, a negative decay, sums that wrap,
// positions, a context.
Int rests_after(const ModelHeader& header, const std::string& model, std::int64_t length, Budget& budget);

}  // namespace rung_check
