// The bound explorer's other half: a query (and a document that was dropped on the page) is an BoundQuery, and
// its answer is byte for byte what `rung bound --json` prints. Parameters are the command's flags without
// their dashes, ARCH is `arch`; what names a file there (--config, --dims) is no parameter here, and `arch`
// is a line whatever it looks like.
#pragma once

#include <cstdint>
#include <string>

#include "rung/base/result.h"
#include "rung/serve/parameters.h"
#include "rung/serve/response_cache.h"
#include "rung/theory/bound_query.h"

namespace rung::serve {

// A deeper stack is a matter for the command line: one query must not take seconds.
inline constexpr std::int64_t kMostLayersServed = 1024;

// Errors: unknown parameters with the nearest one, values that are no numbers.
Result<BoundQuery> read_query(const Parameters& parameters);

class BoundExplorer {
 public:
  explicit BoundExplorer(std::size_t memory_bytes = std::size_t{64} << 20) : memory_(memory_bytes) {}

  // What is known already; null otherwise. `document`: the body of a POST, empty for a GET.
  ResponseCache::Text recall(const Parameters& parameters, const std::string& document);
  // REQUIRES nothing. Threads may ask at once.
  Result<ResponseCache::Text> find_out(const Parameters& parameters, const std::string& document);

 private:
  ResponseCache memory_;
};

}  // namespace rung::serve
