// The closed list of real functions that an integer table may stand for.
#include <array>
#include <cmath>

#include "rung/exact/arithmetic.h"

namespace rung {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct FunctionRow {
  const char* name;
  double (*apply)(double);
};
constexpr double kSqrtHalf = 0.70710678118654752440;
const std::array kFunctions = {
    FunctionRow{"identity", [](double x) { return x; }},
    FunctionRow{"relu", [](double x) { return x > 0 ? x : 0.0; }},
    FunctionRow{"sigmoid", [](double x) { return sigmoid(x); }},
    FunctionRow{"decay", [](double x) { return sigmoid(-x); }},
    FunctionRow{"softplus", [](double x) { return x > 30 ? x : std::log1p(std::exp(x)); }},
    FunctionRow{"tanh", [](double x) { return std::tanh(x); }},
    FunctionRow{"silu", [](double x) { return x * sigmoid(x); }},
    FunctionRow{"gelu", [](double x) { return 0.5 * x * (1 + std::erf(x * kSqrtHalf)); }},
    FunctionRow{"elu1", [](double x) { return x > 0 ? x + 1 : std::exp(x); }},
    FunctionRow{"exp", [](double x) { return std::exp(x); }},
};

const FunctionRow& function_row(const std::string& name) {
  for (const auto& row : kFunctions)
    if (name == row.name) return row;
  RUNG_REQUIRE(false, "function {}", name);
}

}  // namespace

bool known_function(const std::string& name) {
  for (const auto& row : kFunctions)
    if (name == row.name) return true;
  return false;
}

double apply_function(const std::string& name, double x) { return function_row(name).apply(x); }

Table make_table(const std::string& function, std::int64_t low, std::int64_t high, int in_fraction,
                 int out_fraction) {
  RUNG_REQUIRE(low <= high && high - low < (1 << 24), "low={} high={}", low, high);
  Table table{low, {}, TableFunction{function, in_fraction, out_fraction}};
  const FunctionRow& row = function_row(function);
  const double in = std::ldexp(1.0, -in_fraction), out = std::ldexp(1.0, out_fraction);
  table.values.reserve(static_cast<std::size_t>(high - low) + 1);
  for (std::int64_t x = low; x <= high; ++x)
    table.values.push_back(
        static_cast<std::int64_t>(std::nearbyint(out * row.apply(in * static_cast<double>(x)))));
  return table;
}

}  // namespace rung
