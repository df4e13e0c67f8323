#include "rung/spec/number_words.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace rung {
namespace {

constexpr std::string_view kBlockScales = "counted as 4 bits a number, without the scales of its blocks";

constexpr std::array<NumberWord, 36> kNumberWords{{
    {"bf16", NumberFormat::bf16, 16},
    {"bfloat16", NumberFormat::bf16, 16},
    {"fp16", NumberFormat::fp16, 16},
    {"float16", NumberFormat::fp16, 16},
    {"f16", NumberFormat::fp16, 16},
    {"half", NumberFormat::fp16, 16},
    {"fp32", NumberFormat::fp32, 32},
    {"float32", NumberFormat::fp32, 32},
    {"f32", NumberFormat::fp32, 32},
    {"float", NumberFormat::fp32, 32},
    {"e4m3", NumberFormat::fp8_e4m3, 8},
    {"e4m3fn", NumberFormat::fp8_e4m3, 8},
    {"fp8_e4m3", NumberFormat::fp8_e4m3, 8},
    {"float8_e4m3fn", NumberFormat::fp8_e4m3, 8},
    {"fp8", NumberFormat::fp8_e4m3, 8, "e4m3; the other 8-bit float is e5m2"},
    {"float8", NumberFormat::fp8_e4m3, 8, "e4m3; the other 8-bit float is e5m2"},
    {"e5m2", NumberFormat::fp8_e5m2, 8},
    {"fp8_e5m2", NumberFormat::fp8_e5m2, 8},
    {"float8_e5m2", NumberFormat::fp8_e5m2, 8},
    {"int4", NumberFormat::fixed, 4},
    {"int8", NumberFormat::fixed, 8},
    {"int16", NumberFormat::fixed, 16},
    {"int32", NumberFormat::fixed, 32},
    {"fp64", NumberFormat::unknown, 64},
    {"float64", NumberFormat::unknown, 64},
    {"double", NumberFormat::unknown, 64},
    {"tf32", NumberFormat::unknown, 32},
    {"uint8", NumberFormat::unknown, 8},
    {"fp6", NumberFormat::unknown, 6},
    {"fp4", NumberFormat::unknown, 4, kBlockScales},
    {"e2m1", NumberFormat::unknown, 4, kBlockScales},
    {"nvfp4", NumberFormat::unknown, 4, kBlockScales},
    {"mxfp4", NumberFormat::unknown, 4, kBlockScales},
    {"nf4", NumberFormat::unknown, 4, kBlockScales},
    {"q4_0", NumberFormat::unknown, 4, kBlockScales},
    {"q8_0", NumberFormat::unknown, 8, "counted as 8 bits a number, without the scales of its blocks"},
}};

}  // namespace

std::span<const NumberWord> number_words() { return kNumberWords; }

const NumberWord* find_number_word(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower.starts_with("torch.")) lower.erase(0, 6);
  const auto found = std::find_if(kNumberWords.begin(), kNumberWords.end(),
                                  [&](const NumberWord& word) { return word.name == lower; });
  return found == kNumberWords.end() ? nullptr : &*found;
}

std::string number_note(std::string_view text) {
  const NumberWord* word = find_number_word(text);
  return word && !word->note.empty() ? fmt::format("{} is {}", text, word->note) : "";
}

}  // namespace rung
