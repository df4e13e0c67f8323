#include "cli/mixer_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "rung/spec/mixers.h"

namespace rung::cli {
namespace {

// `window=N`, `feature=elu1|identity|relu`, and whether it must be given.
std::string option_form(const OptionWord& option) {
  std::string value = option.is_number ? "N" : "WORD";
  if (!option.words.empty()) value = fmt::format("{}", fmt::join(option.words, "|"));
  return fmt::format("{}={}{}", option.name, value, option.required ? " (required)" : "");
}

// What the released form takes instead, where that is another value.
std::string released_default(const OptionWord& option) {
  if (!option.released_word.empty()) return fmt::format(" (released: {})", option.released_word);
  return option.released_number ? fmt::format(" (released: {})", *option.released_number) : "";
}

}  // namespace

std::string mixer_list_text() {
  std::string out =
      "A stack is words joined by + and repeated by *, with parentheses: (gdelta*3+full)*12.\n"
      "Options follow a word in parentheses: full(window=128). The first of several words is the default, or "
      "in the\n"
      "released form what stands behind the option. A word that has both forms is released unless it says "
      "form=plain,\n"
      "full excepted; plain(STACK) and released(STACK) say it for a whole stack.\n";
  for (const MixerDescriptor& word : mixer_descriptors()) {
    out += fmt::format("\n{}: {}\n", word.name, word.help);
    for (const OptionWord& option : word.options)
      out += fmt::format("    {:<28} {}{}\n", option_form(option), option.help, released_default(option));
  }
  return out;
}

nlohmann::ordered_json mixer_list_document() {
  nlohmann::ordered_json mixers = nlohmann::ordered_json::array();
  for (const MixerDescriptor& word : mixer_descriptors()) {
    nlohmann::ordered_json options = nlohmann::ordered_json::array();
    for (const OptionWord& option : word.options) {
      nlohmann::ordered_json entry = {
          {"name", option.name}, {"help", option.help}, {"required", option.required}};
      if (option.is_number) {
        entry["low"] = option.low;
        entry["high"] = option.high;
        if (option.default_number) entry["default"] = *option.default_number;
      } else {
        entry["words"] = option.words;
        if (!option.default_word.empty()) entry["default"] = option.default_word;
      }
      if (option.released_number) entry["released"] = *option.released_number;
      if (!option.released_word.empty()) entry["released"] = option.released_word;
      options.push_back(std::move(entry));
    }
    mixers.push_back({{"name", word.name},
                      {"help", word.help},
                      {"opaque", word.opaque},
                      {"in_heads", can_stand_in_heads(word)},
                      {"options", std::move(options)}});
  }
  return {{"schema", "rung.mixers/1"}, {"mixers", std::move(mixers)}};
}

}  // namespace rung::cli
