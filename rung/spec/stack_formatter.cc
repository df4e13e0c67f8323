// Stack to its canonical line.
#include <map>

#include "rung/base/require.h"
#include "rung/spec/mixers.h"
#include "rung/spec/repetition.h"

namespace rung {
namespace {

// A mixer as the parser would have left it: options in the order of the word list, without defaults. `spelled`: with
// form=released where that is the default.
std::string format_options(const Mixer& mixer, bool spelled) {
  std::string out;
  for (const auto& option : mixer_descriptor(mixer.kind).options) {
    const auto number = mixer.number(option.name);
    auto word = mixer.word(option.name);
    const bool spell = spelled && option.name == "form" && default_form(mixer) == "released";
    if (spell && !word) word = "released";
    if (!number && !word) continue;
    if (!spell && (number ? default_number(mixer, option) == *number : default_word(mixer, option) == *word))
      continue;
    out +=
        fmt::format("{}{}={}", out.empty() ? "" : ",", option.name, number ? std::to_string(*number) : *word);
  }
  return out;
}

void write_pieces(const std::vector<Repetition>& pieces, const std::vector<std::string>& texts,
                  std::string& out) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0) out += '+';
    const Repetition& piece = pieces[i];
    if (piece.children.empty()) {
      out += texts[static_cast<std::size_t>(piece.letter)];
    } else {
      out += '(';
      write_pieces(piece.children, texts, out);
      out += ')';
    }
    if (piece.count > 1) out += fmt::format("*{}", piece.count);
  }
}

std::string mixer_text(const Mixer& mixer, bool spelled) {
  const MixerDescriptor& word = mixer_descriptor(mixer.kind);
  std::string inside;
  if (mixer.kind == MixerKind::heads) {
    RUNG_REQUIRE(!mixer.parts.empty(), "heads() without parts");
    for (const auto& part : mixer.parts)
      inside +=
          fmt::format("{}{}:{}", inside.empty() ? "" : ",", mixer_text(part.mixer, spelled), part.heads);
  } else {
    inside = format_options(mixer, spelled);
  }
  return inside.empty() ? std::string(word.name) : fmt::format("{}({})", word.name, inside);
}

std::string stack_text(const Stack& stack, bool spelled) {
  RUNG_REQUIRE(!stack.layers.empty(), "a stack has at least one layer");
  std::map<std::string, int> ids;
  std::vector<std::string> texts;
  std::vector<int> letters;
  letters.reserve(stack.layers.size());
  for (const auto& layer : stack.layers) {
    auto text = mixer_text(layer, spelled);
    const auto [found, is_new] = ids.try_emplace(text, static_cast<int>(texts.size()));
    if (is_new) texts.push_back(std::move(text));
    letters.push_back(found->second);
  }
  std::string out;
  write_pieces(fold(letters), texts, out);
  return out;
}

}  // namespace

std::string format_mixer(const Mixer& mixer) { return mixer_text(mixer, false); }
std::string format_stack(const Stack& stack) { return stack_text(stack, false); }
std::string format_spelled_stack(const Stack& stack) { return stack_text(stack, true); }
std::string format_spelled_mixer(const Mixer& mixer) { return mixer_text(mixer, true); }

std::string spelled_line(const std::string& text, UnsaidForm unsaid) {
  const auto stack = parse_stack(text, unsaid);
  const auto released = parse_stack(text), plain = parse_stack(text, UnsaidForm::plain);
  const bool depends = stack && released && plain && *released != *plain;
  return depends ? format_spelled_stack(*stack) : text;
}

}  // namespace rung
