#include "rung/exact/number_format.h"

#include <cfenv>
#include <cmath>
#include <limits>

#include "rung/base/require.h"

namespace rung {
namespace {

// Of a float format: significand bits (with the hidden one), smallest exponent, largest number.
struct FloatLayout {
  int significand, min_exponent;
  double largest;
  bool saturates;
};
FloatLayout float_layout(NumberFormat format) {
  switch (format) {
    case NumberFormat::bf16:
      return {8, -126, 0x1.FEp127, false};
    case NumberFormat::fp16:
      return {11, -14, 65504.0, false};
    case NumberFormat::fp8_e4m3:
      return {4, -6, 448.0, true};
    case NumberFormat::fp8_e5m2:
      return {3, -14, 57344.0, true};
    case NumberFormat::fp32:
      return {24, -126, static_cast<double>(std::numeric_limits<float>::max()), false};
    case NumberFormat::fixed:
    case NumberFormat::unknown:
      break;
  }
  RUNG_REQUIRE(false, "no float layout");
}

}  // namespace

double round_to_format(double x, const Precision& precision) {
  if (std::isnan(x)) return x;
  if (precision.format == NumberFormat::fixed) {
    const double high = std::ldexp(1.0, precision.bits - 1) - 1;
    const double units = std::nearbyint(std::ldexp(x, precision.fraction));  // default mode: ties to even
    return std::ldexp(std::fmin(std::fmax(units, -high - 1), high), -precision.fraction);
  }
  const FloatLayout layout = float_layout(precision.format);
  if (std::isinf(x)) return layout.saturates ? std::copysign(layout.largest, x) : x;
  if (x == 0) return x;
  int exponent = std::ilogb(x);
  if (exponent < layout.min_exponent)
    exponent = layout.min_exponent;  // subnormals keep the smallest exponent's step
  const int step = exponent - (layout.significand - 1);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -step)), step);
  if (std::fabs(rounded) > layout.largest)
    return std::copysign(layout.saturates ? layout.largest : std::numeric_limits<double>::infinity(), x);
  return rounded;
}

}  // namespace rung
