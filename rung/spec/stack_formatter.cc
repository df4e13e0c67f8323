// Stack to its canonical line.
#include <map>

#include "rung/base/require.h"
#include "rung/spec/mixers.h"
#include "rung/spec/repetition.h"

namespace rung {
namespace {

// What a line says beside the options that differ from their defaults.
enum class Spelling { canonical, forms, whole_forms };

// The base of angles means nothing where nothing turns.
bool is_idle(const Mixer& mixer, const OptionWord& option) {
  return option.name == "theta" && word_or_default(mixer, "rope") == "none" &&
         (mixer.kind != MixerKind::topk || word_or_default(mixer, "index_rope") == "none");
}

// A mixer as the parser would have left it: options in the order of the word list, without defaults. `forms`: with
// form=released where that is the default; `whole_forms`: with every option of that form too.
std::string format_options(const Mixer& mixer, Spelling spelling) {
  std::string out;
  const bool whole = spelling == Spelling::whole_forms && is_released(mixer);
  for (const auto& option : mixer_descriptor(mixer.kind).options) {
    auto number = mixer.number(option.name);
    auto word = mixer.word(option.name);
    const bool spell = option.name == "form" ? spelling != Spelling::canonical && documents_say_form(mixer)
                                             : whole && option.sets == Sets::form && !is_idle(mixer, option);
    if (spell && option.is_number) number = number ? number : default_number(mixer, option);
    if (spell && !option.is_number) word = word_or_default(mixer, option.name);
    if (!number && (!word || word->empty())) continue;
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

std::string mixer_text(const Mixer& mixer, Spelling spelling) {
  const MixerDescriptor& word = mixer_descriptor(mixer.kind);
  std::string inside;
  if (mixer.kind == MixerKind::heads) {
    RUNG_REQUIRE(!mixer.parts.empty(), "heads() without parts");
    for (const auto& part : mixer.parts)
      inside +=
          fmt::format("{}{}:{}", inside.empty() ? "" : ",", mixer_text(part.mixer, spelling), part.heads);
  } else {
    inside = format_options(mixer, spelling);
  }
  return inside.empty() ? std::string(word.name) : fmt::format("{}({})", word.name, inside);
}

std::string stack_text(const Stack& stack, Spelling spelling) {
  RUNG_REQUIRE(!stack.layers.empty(), "a stack has at least one layer");
  std::map<std::string, int> ids;
  std::vector<std::string> texts;
  std::vector<int> letters;
  letters.reserve(stack.layers.size());
  for (const auto& layer : stack.layers) {
    auto text = mixer_text(layer, spelling);
    const auto [found, is_new] = ids.try_emplace(text, static_cast<int>(texts.size()));
    if (is_new) texts.push_back(std::move(text));
    letters.push_back(found->second);
  }
  std::string out;
  write_pieces(fold(letters), texts, out);
  return out;
}

}  // namespace

std::string format_mixer(const Mixer& mixer) { return mixer_text(mixer, Spelling::canonical); }
std::string format_stack(const Stack& stack) { return stack_text(stack, Spelling::canonical); }
std::string format_spelled_stack(const Stack& stack) { return stack_text(stack, Spelling::forms); }
std::string format_whole_stack(const Stack& stack) { return stack_text(stack, Spelling::whole_forms); }
std::string format_spelled_mixer(const Mixer& mixer) { return mixer_text(mixer, Spelling::forms); }

std::string spelled_line(const std::string& text, UnsaidForm unsaid) {
  const auto stack = parse_stack(text, unsaid);
  const auto released = parse_stack(text), plain = parse_stack(text, UnsaidForm::plain);
  const bool depends = stack && released && plain && *released != *plain;
  return depends ? format_spelled_stack(*stack) : text;
}

}  // namespace rung
