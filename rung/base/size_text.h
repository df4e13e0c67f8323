// Whole numbers as people write them: 131072, 131,072, 131_072, 128k, 1M, 1.5k, 1e6.
//
// k, M, G and T are powers of 1024, as in the names of models and contexts ("a 128k model" has 131,072
// tokens); e is a power of ten. Whoever reads such a number says back what was understood (size_note).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rung/base/result.h"

namespace rung {

// ENSURES: an error is one line that names the text. The value is exact: 1.5k is 1536, 0.1k is refused.
Result<std::int64_t> parse_size(std::string_view text);

// 131072 -> "131,072".
std::string grouped(std::int64_t number);

// "128k is 131,072"; empty where the text is the plain number, or no number.
std::string size_note(std::string_view text);

}  // namespace rung
