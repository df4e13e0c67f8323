// The names that people give to number formats: those of this language, of PyTorch, of engines and papers.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "rung/spec/architecture.h"

namespace rung {

struct NumberWord {
  std::string_view name;
  NumberFormat format = NumberFormat::unknown;  // unknown: stored and counted, nothing is evaluated in it
  int bits = 0;
  std::string_view note = {};  // what a reader should be told: "fp8 is e4m3; ..."
};
std::span<const NumberWord> number_words();
// Any case, and with "torch." in front. Nothing where no format has that name.
const NumberWord* find_number_word(std::string_view text);
// What the word was taken for, where that needs saying; else empty.
std::string number_note(std::string_view text);

}  // namespace rung
