#include "rung/constructions/precision_search.h"

#include <algorithm>

namespace rung {
namespace {

// Integers of this many bits are no limit beside an 8- or 16-bit float.
constexpr int kIntegerBitsForFloats = 12;

}  // namespace

Result<PrecisionSearch> search_precision(ConstructionRequest request, VerificationOptions options, int from,
                                         int to) {
  RUNG_REQUIRE(2 <= from && from <= to && to <= 48, "from={} to={}", from, to);
  options.stop_at_first_error = true;
  PrecisionSearch search;
  for (int p = from; p <= to; ++p) {
    request.precision = p;
    if (options.quantised) options.quantised->bits = p;
    const auto made = build_construction(request);
    if (!made) {
      if (p == to && !search.failed_at) return made.error();
      continue;
    }
    RUNG_TRY(Verification verification, verify(*made, options));
    if (verification.passed()) {
      search.p_measured = p;
      search.passed = std::move(verification);
      return search;
    }
    search.failed_at = p;
    search.failure = std::move(verification.failure);
  }
  return search;
}

Result<FormatReach> search_format(ConstructionRequest request, VerificationOptions options,
                                  const std::string& size, std::int64_t from, std::int64_t to,
                                  const Precision& format) {
  FormatReach reach{.format = format};
  options.stop_at_first_error = true;
  options.quantised = format;
  for (std::int64_t n = from; n <= to; n *= 2) {
    request.sizes[size] = n;
    request.precision.reset();
    RUNG_TRY(const Construction proved, build_construction(request));
    // Wide integers overflow a small exponent, narrow ones waste a long mantissa: any width will do.
    bool works = false;
    for (int p = std::max(proved.weights.architecture.dimensions.precision.bits, kIntegerBitsForFloats);
         p >= 2 && !works; --p) {
      request.precision = p;
      const auto made = build_construction(request);
      if (!made) continue;
      RUNG_TRY(Verification verification, verify(*made, options));
      works = verification.passed();
      if (!works && verification.failure) reach.failure = std::move(verification.failure);
    }
    if (!works) {
      reach.fails_at = n;
      return reach;
    }
    reach.failure.reset();
    reach.works_up_to = n;
  }
  return reach;
}

}  // namespace rung
