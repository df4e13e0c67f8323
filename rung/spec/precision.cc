#include <charconv>

#include "rung/base/nearest_word.h"
#include "rung/spec/architecture.h"
#include "rung/spec/number_words.h"

namespace rung {
namespace {

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
  if (const NumberWord* word = find_number_word(text)) {
    if (word->format != NumberFormat::unknown) return Precision{word->format, word->bits, 0};
    return fail(
        ErrorCode::parse,
        "[precision] {} is a type of stored numbers alone: nothing is evaluated in it; expected p or p.f "
        "(fixed point), bf16, fp16, e4m3, e5m2 or fp32, and {} bits as p = {}",
        rung::quoted(text), word->bits, word->bits);
  }
  if (text.empty() || text[0] < '0' || text[0] > '9') {
    std::vector<std::string_view> known;
    for (const NumberWord& word : number_words())
      if (word.format != NumberFormat::unknown) known.push_back(word.name);
    const auto near = nearest_word(text, known);
    return fail(ErrorCode::parse, "[precision] {} is not a number format; {}", rung::quoted(text),
                near.empty() ? "expected p, p.f, bf16, fp16, e4m3, e5m2 or fp32"
                             : fmt::format("did you mean \"{}\"?", near));
  }
  const std::size_t dot = text.find('.');
  const auto bits = small_number(text.substr(0, dot));
  const auto fraction =
      dot == std::string_view::npos ? std::optional<int>(0) : small_number(text.substr(dot + 1));
  if (!bits || !fraction)
    return fail(ErrorCode::parse, "[precision] {} is not a number format; expected p or p.f, as in 8.3",
                rung::quoted(text));
  if (*bits < kLeastBits || *bits > kMostBits)
    return fail(ErrorCode::range, "[precision] p = {} is outside {}..{}", *bits, kLeastBits, kMostBits);
  if (*fraction > *bits)
    return fail(ErrorCode::range, "[precision] f = {} is outside 0..p = {}", *fraction, *bits);
  return Precision{NumberFormat::fixed, *bits, *fraction};
}

std::string format_precision(const Precision& precision) {
  if (precision.format == NumberFormat::unknown) return "unknown";
  if (precision.format != NumberFormat::fixed)
    for (const NumberWord& word : number_words())
      if (word.format == precision.format) return std::string(word.name);  // the first of its names
  return precision.fraction == 0 ? fmt::format("{}", precision.bits)
                                 : fmt::format("{}.{}", precision.bits, precision.fraction);
}

}  // namespace rung
