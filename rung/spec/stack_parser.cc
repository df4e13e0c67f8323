// Text to Stack, by recursive descent:
//   stack   = product { "+" product }
//   product = atom { "*" number }
//   atom    = "(" stack ")" | form "(" stack ")" | mixer          form = "released" | "plain"
//   mixer   = word [ "(" [ option { "," option } ] ")" ]          option = word "=" ( number | word )
//           | "heads" "(" mixer ":" number { "," mixer ":" number } ")"
// White space may stand between any two of these. Repetition is checked against kMaxLayers before it is
// unrolled.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "rung/base/nearest_word.h"
#include "rung/base/size_text.h"
#include "rung/spec/architecture.h"
#include "rung/spec/mixer_alias.h"
#include "rung/spec/mixers.h"

namespace rung {
namespace {

// Configurations use it for different recurrences.
constexpr std::string_view kTwoMeanings = "linear_attention";

bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Digits, a point, and the letters of 4k, 1M and 1e6.
bool is_number_char(char c) { return is_digit(c) || is_word_start(c) || c == '.'; }
bool is_word_char(char c) { return is_word_start(c) || is_digit(c) || c == '-' || c == '.'; }

class Parser {
 public:
  Parser(std::string_view text, UnsaidForm unsaid)
      : text_(text),
        form_(unsaid == UnsaidForm::plain ? "plain" : ""),
        says_forms_(unsaid == UnsaidForm::refused) {}

  Result<Stack> parse() {
    if (text_.size() > kMaxStackText)
      return fail(ErrorCode::resource, "[arch] line of {} bytes; at most {} are read", text_.size(),
                  kMaxStackText);
    RUNG_TRY(Stack stack, parse_sum());
    if (at() != '\0' || position_ < text_.size()) return unexpected("\"+\", \"*\" or the end");
    return stack;
  }

 private:
  // The next character that is not white space, or '\0' at the end.
  char at() {
    while (position_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos)
      ++position_;
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  bool take(char c) {
    if (at() != c || position_ >= text_.size()) return false;
    ++position_;
    return true;
  }
  // 1-based, in characters of UTF-8.
  std::size_t column(std::size_t position) const {
    return 1 + static_cast<std::size_t>(
                   std::count_if(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(position),
                                 [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  }
  Error unexpected(std::string_view expected) {
    at();
    if (position_ >= text_.size())
      return fail(ErrorCode::parse, "[arch] line ends at column {}; expected {}", column(position_),
                  expected);
    std::size_t length = 1;
    while (position_ + length < text_.size() &&
           (static_cast<unsigned char>(text_[position_ + length]) & 0xC0) == 0x80)
      ++length;
    return fail(ErrorCode::parse, "[arch] unexpected {} at column {}; expected {}",
                rung::quoted(text_.substr(position_, length)), column(position_), expected);
  }
  std::string_view word() {
    at();
    const std::size_t start = position_;
    if (start < text_.size() && is_word_start(text_[start]))
      while (position_ < text_.size() && is_word_char(text_[position_])) ++position_;
    return text_.substr(start, position_ - start);
  }
  // As people write sizes (size_text.h), without separators. REQUIRES a digit or a minus sign next.
  Result<std::int64_t> number(std::string_view what, std::int64_t low, std::int64_t high) {
    at();
    const std::size_t start = position_;
    take('-');
    if (position_ == text_.size() || !is_digit(text_[position_])) return unexpected("a number");
    while (position_ < text_.size() && is_number_char(text_[position_])) ++position_;
    const std::string_view digits = text_.substr(start, position_ - start);
    const auto value = parse_size(digits);
    if (!value && value.error().code == ErrorCode::parse)
      return fail(ErrorCode::parse,
                  "[arch] {} = {} at column {} is not a whole number; expected one such as 4096 or 4k", what,
                  rung::quoted(digits.substr(0, 24)), column(start));
    if (!value || *value < low || *value > high)
      return fail(ErrorCode::range, "[arch] {} = {} at column {} is outside {}..{}", what,
                  digits.substr(0, 24), column(start), low, high);
    return *value;
  }
  bool number_follows() { return is_digit(at()) || at() == '-'; }

  Result<Stack> parse_sum() {
    RUNG_TRY(Stack stack, parse_product());
    while (true) {
      const std::size_t where = position_;
      if (!take('+')) return stack;
      RUNG_TRY(Stack next, parse_product());
      if (stack.layers.size() + next.layers.size() > static_cast<std::size_t>(kMaxLayers))
        return too_many(where);
      stack.layers.insert(stack.layers.end(), std::make_move_iterator(next.layers.begin()),
                          std::make_move_iterator(next.layers.end()));
    }
  }

  Error too_many(std::size_t where) const {
    return fail(ErrorCode::resource, "[arch] more than {} layers at column {}", kMaxLayers, column(where));
  }

  Result<Stack> parse_product() {
    RUNG_TRY(Stack stack, parse_atom());
    while (take('*')) {
      at();
      const std::size_t where = position_;
      if (!number_follows()) return unexpected("how many times");
      if (text_[where] == '0' && (where + 1 == text_.size() || !is_number_char(text_[where + 1])))
        return fail(ErrorCode::range,
                    "[arch] *0 at column {} leaves no layer; expected 1 or more, or the layer left out",
                    column(where));
      RUNG_TRY(const std::int64_t times, number("repetition", 1, std::int64_t{1} << 60));
      const auto once = static_cast<std::int64_t>(stack.layers.size());
      if (times > kMaxLayers / once) return too_many(where);
      stack.layers.reserve(static_cast<std::size_t>(once * times));
      for (std::int64_t i = once; i < once * times; ++i)
        stack.layers.push_back(stack.layers[static_cast<std::size_t>(i - once)]);
    }
    return stack;
  }

  Result<Stack> parse_atom() {
    at();
    const std::size_t where = position_;
    if (take('(')) {
      if (++depth_ > kMaxNesting)
        return fail(ErrorCode::resource, "[arch] more than {} open parentheses at column {}", kMaxNesting,
                    column(where));
      RUNG_TRY(Stack stack, parse_sum());
      if (!take(')')) return unexpected("\")\"");
      --depth_;
      return stack;
    }
    if (const std::string_view form = form_follows(); !form.empty()) {
      const std::string_view outer = std::exchange(form_, form);
      RUNG_TRY(Stack stack, parse_atom());
      form_ = outer;
      return stack;
    }
    RUNG_TRY(Mixer mixer, parse_mixer(false));
    return Stack{{std::move(mixer)}};
  }

  // released(STACK), plain(STACK): every mixer of it in this form, unless it says its form itself. Takes the word.
  std::string_view form_follows() {
    const std::size_t where = position_;
    const std::string_view form = word();
    if (std::find(kForms.begin(), kForms.end(), form) != kForms.end() && at() == '(') return form;
    position_ = where;
    return {};
  }

  Result<Mixer> parse_mixer(bool in_heads) {
    at();
    const std::size_t where = position_;
    const std::string_view name = word();
    if (name.empty()) return unexpected(in_heads ? "a mixer" : "a mixer or \"(\"");
    const MixerDescriptor* entry = nullptr;
    std::vector<std::string_view> known;
    const auto named = find_mixer(name);
    for (const auto& candidate : mixer_descriptors()) {
      const bool meant = named && named->kind == candidate.kind;
      if (in_heads && !can_stand_in_heads(candidate)) {
        if (meant)
          return fail(ErrorCode::parse, "[arch] {} at column {} is not made of heads; heads(...) takes {}",
                      rung::quoted(name), column(where), heads_words());
        continue;
      }
      known.push_back(candidate.name);
      if (meant) entry = &candidate;
    }
    if (entry == nullptr && name == kTwoMeanings)
      return fail(ErrorCode::parse,
                  "[arch] {} at column {} is gdelta in some files and linear in others; expected one of the "
                  "two words",
                  rung::quoted(name), column(where));
    if (entry == nullptr) {
      std::vector<std::string_view> names = known;
      for (const MixerAlias& alias : mixer_aliases())
        if (!in_heads || can_stand_in_heads(mixer_descriptor(alias.kind))) names.push_back(alias.name);
      const auto near = nearest_word(name, names);
      return fail(ErrorCode::parse, "[arch] unknown mixer {} at column {}; {}", rung::quoted(name),
                  column(where), suggest(name, near.empty() ? known : std::vector{near}));
    }
    Mixer mixer{.kind = entry->kind};
    if (mixer.kind == MixerKind::heads) {
      if (!take('(')) return unexpected("\"(\" and the groups of heads, as in heads(full:2,delta:2)");
      RUNG_CHECK(parse_parts(mixer));
      return mixer;
    }
    RUNG_CHECK(parse_options(*entry, in_heads, where, mixer));
    for (const auto& option : entry->options)
      if (option.required && !mixer.number(option.name) && !mixer.word(option.name))
        return fail(ErrorCode::parse, "[arch] {} at column {} needs {}= ({})", rung::quoted(name),
                    column(where), option.name, option.help);
    if (!named->needs.empty() && !mixer.number(named->needs))
      return fail(ErrorCode::parse, "[arch] {} at column {} is {} with {}= and needs it, as in {}({}=128)",
                  rung::quoted(name), column(where), entry->name, named->needs, named->name, named->needs);
    if (mixer.number("window") && mixer.number("chunk"))
      return fail(ErrorCode::parse, "[arch] {} at column {} has both window and chunk; expected one of them",
                  rung::quoted(name), column(where));
    return mixer;
  }

  static std::string heads_words() {
    std::string list;
    for (const auto& candidate : mixer_descriptors())
      if (can_stand_in_heads(candidate)) list += (list.empty() ? "" : ", ") + std::string(candidate.name);
    return list;
  }

  Result<void> parse_parts(Mixer& mixer) {
    do {
      RUNG_TRY(Mixer part, parse_mixer(true));
      if (!take(':')) return unexpected("\":\" and the number of heads");
      if (!number_follows()) return unexpected("the number of heads");
      RUNG_TRY(const std::int64_t count, number("heads", 1, kMaxSize));
      mixer.parts.push_back({std::move(part), count});
    } while (take(','));
    if (!take(')')) return unexpected("\",\" or \")\"");
    return {};
  }

  // After the word of column `start`; fills mixer.options in the order of the word list, without values that equal
  // the default.
  Result<void> parse_options(const MixerDescriptor& entry, bool in_heads, std::size_t start, Mixer& mixer) {
    std::map<std::string_view, std::variant<std::int64_t, std::string>> given;
    std::vector<std::string_view> known;
    for (const auto& option : entry.options)
      if (!(in_heads && option.name == "heads")) known.push_back(option.name);
    bool more = take('(') && !take(')');
    while (more) {
      at();
      const std::size_t where = position_;
      const std::string_view name = word();
      if (name.empty()) return unexpected("an option");
      if (in_heads && name == "heads")
        return fail(ErrorCode::parse,
                    "[arch] option \"heads\" at column {}; inside heads(...) write {}:count", column(where),
                    entry.name);
      const auto option = std::find_if(entry.options.begin(), entry.options.end(),
                                       [&](const OptionWord& candidate) { return candidate.name == name; });
      if (option == entry.options.end())
        return fail(ErrorCode::parse, "[arch] unknown option {} of {} at column {}; {}", rung::quoted(name),
                    entry.name, column(where), known.empty() ? "it has none" : suggest(name, known));
      if (given.contains(option->name))
        return fail(ErrorCode::parse, "[arch] option \"{}\" of {} given twice at column {}", name, entry.name,
                    column(where));
      if (!take('=')) return unexpected("\"=\"");
      if (option->is_number) {
        if (!number_follows()) return unexpected("a number");
        RUNG_TRY(const std::int64_t value, number(option->name, option->low, option->high));
        given.emplace(option->name, value);
      } else {
        RUNG_TRY(std::string value, parse_word_value(*option));
        given.emplace(option->name, std::move(value));
      }
      more = take(',');
      if (!more && !take(')')) return unexpected("\",\" or \")\"");
    }
    const auto put_options = [&] {
      mixer.options.clear();
      for (const auto& option : entry.options)
        if (const auto value = given.find(option.name); value != given.end())
          mixer.options.push_back({std::string(option.name), value->second});
    };
    put_options();
    if (!given.contains("form")) {
      if (says_forms_ && documents_say_form(mixer))
        return fail(ErrorCode::parse,
                    "[arch] {} at column {} says no form; expected form=released or form=plain",
                    rung::quoted(entry.name), column(start));
      if (!form_.empty() && has_two_forms(mixer)) {
        given.emplace("form", std::string(form_));
        put_options();
      }
    }
    const Mixer spelled = mixer;  // defaults depend on the form, which may be one of the options
    std::erase_if(mixer.options, [&](const MixerOption& one) {
      const auto option =
          std::find_if(entry.options.begin(), entry.options.end(),
                       [&](const OptionWord& candidate) { return candidate.name == one.name; });
      if (option->is_number) return default_number(spelled, *option) == std::get<std::int64_t>(one.value);
      const auto& word = std::get<std::string>(one.value);
      const bool as_base = mixer.kind == MixerKind::loglinear && word == "auto";
      return as_base || default_word(spelled, *option) == word;
    });
    return {};
  }

  Result<std::string> parse_word_value(const OptionWord& option) {
    at();
    const std::size_t where = position_;
    const std::string_view value = word();
    if (value.empty()) return unexpected("a word");
    if (!option.words.empty() &&
        std::find(option.words.begin(), option.words.end(), value) == option.words.end())
      return fail(ErrorCode::parse, "[arch] unknown {} {} at column {}; {}", option.name, rung::quoted(value),
                  column(where), suggest(value, option.words));
    if (value.size() > kLongestKind)
      return fail(ErrorCode::parse, "[arch] {} of {} letters at column {}; at most {} are read", option.name,
                  value.size(), column(where), kLongestKind);
    return std::string(value);
  }

  static constexpr std::size_t kLongestKind = 64;
  static constexpr std::array<std::string_view, 2> kForms{"released", "plain"};

  std::string_view text_;
  std::size_t position_ = 0;
  int depth_ = 0;
  std::string_view form_;  // of mixers that say none; empty: the default
  bool says_forms_;        // a mixer that is released when it says no form has to say its own
};

}  // namespace

Result<Stack> parse_stack(std::string_view text, UnsaidForm unsaid) { return Parser(text, unsaid).parse(); }

}  // namespace rung
