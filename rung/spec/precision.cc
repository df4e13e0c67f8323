#include <array>
#include <charconv>

#include "rung/base/nearest_word.h"
#include "rung/spec/architecture.h"

namespace rung {
namespace {

struct FloatWord {
  std::string_view name;
  Precision precision;
};
constexpr std::array<FloatWord, 5> kFloats{{{"bf16", {NumberFormat::bf16, 16, 0}},
                                            {"fp16", {NumberFormat::fp16, 16, 0}},
                                            {"e4m3", {NumberFormat::fp8_e4m3, 8, 0}},
                                            {"e5m2", {NumberFormat::fp8_e5m2, 8, 0}},
                                            {"fp32", {NumberFormat::fp32, 32, 0}}}};
constexpr int kLeastBits = 2, kMostBits = 48;

std::optional<int> small_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty() || text[0] == '-')
    return std::nullopt;
  return value;
}

}  // namespace

Result<Precision> parse_precision(std::string_view text) {
  std::vector<std::string_view> known;
  for (const auto& word : kFloats) {
    if (word.name == text) return word.precision;
    known.push_back(word.name);
  }
  if (text.empty() || text[0] < '0' || text[0] > '9') {
    const auto near = nearest_word(text, known);
    return fail(ErrorCode::parse, "[precision] {} is no number format; {}", rung::quoted(text),
                near.empty() ? "expected p, p.f, bf16, fp16, e4m3, e5m2 or fp32"
                             : fmt::format("did you mean \"{}\"?", near));
  }
  const std::size_t dot = text.find('.');
  const auto bits = small_number(text.substr(0, dot));
  const auto fraction =
      dot == std::string_view::npos ? std::optional<int>(0) : small_number(text.substr(dot + 1));
  if (!bits || !fraction)
    return fail(ErrorCode::parse, "[precision] {} is no number format; expected p or p.f, as in 8.3",
                rung::quoted(text));
  if (*bits < kLeastBits || *bits > kMostBits)
    return fail(ErrorCode::range, "[precision] p = {} is outside {}..{}", *bits, kLeastBits, kMostBits);
  if (*fraction > *bits)
    return fail(ErrorCode::range, "[precision] f = {} is outside 0..p = {}", *fraction, *bits);
  return Precision{NumberFormat::fixed, *bits, *fraction};
}

std::string format_precision(const Precision& precision) {
  if (precision.format == NumberFormat::unknown) return "unknown";
  for (const auto& word : kFloats)
    if (word.precision.format == precision.format) return std::string(word.name);
  return precision.fraction == 0 ? fmt::format("{}", precision.bits)
                                 : fmt::format("{}.{}", precision.bits, precision.fraction);
}

}  // namespace rung
