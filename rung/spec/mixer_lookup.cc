// What is asked of a descriptor: sizes, letters, defaults of options.
#include <algorithm>

#include "rung/base/require.h"
#include "rung/spec/mixers.h"

namespace rung {
namespace {

CheckedSize extent_size(Extent extent, const MixerShape& m, std::int64_t width) {
  switch (extent) {
    case Extent::width:
      return width;
    case Extent::heads:
      return m.heads;
    case Extent::kv_heads:
      return m.kv_heads;
    case Extent::key_dim:
      return m.key_dim;
    case Extent::feature_dim:
      return m.feature == FeatureMap::taylor2
                 ? CheckedSize(1) + m.key_dim + CheckedSize(m.key_dim) * m.key_dim
                 : CheckedSize(m.key_dim);
    case Extent::value_dim:
      return m.value_dim;
    case Extent::inner:
      return m.inner;
    case Extent::state:
      return m.state;
    case Extent::block:
      return m.block;
    case Extent::branches:
      return m.window ? 3 : 1;
    case Extent::index_heads:
      return m.index_heads;
    case Extent::index_dim:
      return m.index_dim;
    case Extent::steps:
      return m.steps;
    case Extent::elements:
      return m.elements;
  }
  return 0;
}

}  // namespace

const MixerDescriptor& recurrence_of(const MixerShape& mixer) {
  return mixer_descriptor(mixer.kind == MixerKind::loglinear ? mixer.base : mixer.kind);
}

bool can_stand_in_heads(const MixerDescriptor& mixer) {
  if (mixer.kind == MixerKind::rwkv7) return false;  // what it passes on to later layers is the whole layer's
  return std::any_of(mixer.options.begin(), mixer.options.end(),
                     [](const OptionWord& option) { return option.name == "heads"; });
}

namespace {

const OptionWord& option_named(const Mixer& mixer, std::string_view name) {
  const MixerDescriptor& descriptor = mixer_descriptor(mixer.kind);
  for (const auto& option : descriptor.options)
    if (option.name == name) return option;
  RUNG_REQUIRE(false, "{} has no option {}", descriptor.name, name);
}
const OptionWord* form_of(const Mixer& mixer) {
  for (const auto& option : mixer_descriptor(mixer.kind).options)
    if (option.name == "form") return &option;
  return nullptr;
}
bool several_steps(const Mixer& mixer) { return mixer.number("steps").value_or(1) > 1; }
// Log-linear attention over linear attention, blocks ranked by their tokens and several steps of a delta rule a token
// have no released form.
bool plain_alone(const Mixer& mixer) {
  return several_steps(mixer) ||
         (mixer.kind == MixerKind::loglinear && word_or_default(mixer, "base") == "linear") ||
         (mixer.kind == MixerKind::sparse && word_or_default(mixer, "score") == "tokens");
}

}  // namespace

std::string_view default_form(const Mixer& mixer) {
  const OptionWord* form = form_of(mixer);
  return form == nullptr ? "" : plain_alone(mixer) ? "plain" : form->default_word;
}
bool has_two_forms(const Mixer& mixer) {
  const OptionWord* form = form_of(mixer);
  return form != nullptr && form->words.size() > 1 && !plain_alone(mixer);
}
bool documents_say_form(const Mixer& mixer) {
  return default_form(mixer) == "released" || several_steps(mixer);
}
bool is_released(const Mixer& mixer) {
  const auto said = mixer.word("form");
  return (said ? *said : default_form(mixer)) == "released";
}
MixerKind base_of(const Mixer& mixer) {
  const std::string base = word_or_default(mixer, "base");
  for (const auto& descriptor : mixer_descriptors())
    if (descriptor.name == base) return descriptor.kind;
  RUNG_REQUIRE(false, "base {}", base);
}
std::optional<std::int64_t> default_number(const Mixer& mixer, const OptionWord& option) {
  return is_released(mixer) && option.released_number ? option.released_number : option.default_number;
}
std::string_view default_word(const Mixer& mixer, const OptionWord& option) {
  if (option.name == "form") return default_form(mixer);
  if (option.sets != Sets::form) return option.default_word;
  if (!is_released(mixer)) return option.default_word;
  const auto released = [](const OptionWord& one) {
    return one.released_word.empty() ? one.default_word : one.released_word;
  };
  if (mixer.kind != MixerKind::loglinear || option.default_word != "auto") return released(option);
  for (const auto& own : mixer_descriptor(base_of(mixer)).options)
    if (own.name == option.name) return released(own);
  return "";
}
std::int64_t number_or_default(const Mixer& mixer, std::string_view name) {
  if (const auto given = mixer.number(name)) return *given;
  const auto value = default_number(mixer, option_named(mixer, name));
  RUNG_REQUIRE(value, "option {} has no default", name);
  return *value;
}
std::string word_or_default(const Mixer& mixer, std::string_view name) {
  if (const auto given = mixer.word(name)) return *given;
  return std::string(default_word(mixer, option_named(mixer, name)));
}

Mixer plain_form(Mixer mixer) {
  for (HeadGroup& part : mixer.parts) part.mixer = plain_form(std::move(part.mixer));
  if (default_form(mixer) != "plain" && !has_two_forms(mixer)) return mixer;
  std::erase_if(mixer.options,
                [&](const MixerOption& given) { return option_named(mixer, given.name).sets == Sets::form; });
  if (default_form(mixer) != "plain") mixer.options.push_back({"form", std::string("plain")});
  return mixer;
}

CheckedSize size_of(const Extents& extents, const MixerShape& mixer, std::int64_t width) {
  CheckedSize product = 1;
  for (const Extent extent : extents) product = product * extent_size(extent, mixer, width);
  return product;
}

std::vector<std::pair<std::string_view, std::int64_t>> convolved_channels(const MixerShape& mixer) {
  std::vector<std::pair<std::string_view, std::int64_t>> out;
  for (const MixerTensor& tensor : recurrence_of(mixer).tensors.value)
    if (tensor.convolved) out.emplace_back(tensor.name, size_of(tensor.rows, mixer, 1).or_zero());
  return out;
}

Letter letter_of(const MixerShape& mixer) {
  const MixerDescriptor& descriptor = mixer_descriptor(mixer.kind);
  const bool bounded = descriptor.cache == Cache::tokens && (mixer.window || mixer.chunk);
  return bounded ? Letter::recurrent : descriptor.letter.value;
}

Coverage coverage_of(const MixerShape& mixer) {
  const Coverage own = mixer_descriptor(mixer.kind).coverage;
  return own == Coverage::sketch && !assumptions_of(mixer).block_messages ? Coverage::none : own;
}

Assumptions assumptions_of(const MixerShape& mixer) {
  const MixerDescriptor& descriptor = mixer_descriptor(mixer.kind);
  const MixerForm& form = mixer.form;
  Assumptions out{.update = descriptor.update, .decay = descriptor.decay, .written_down = form.plain()};
  out.negative_eigenvalues = mixer.range > 1 || mixer.kind == MixerKind::rwkv7;
  out.turns = form.rope != Rope::none || form.index_rope != Rope::none;
  // A block has no message where its tokens are scored one by one, or where it is ranked by a probability, whose
  // denominator takes every other block.
  out.block_messages = descriptor.cache == Cache::blocks && !mixer.token_scores && form.plain();
  out.doubling_levels = descriptor.memory == Memory::levels && !form.strong;
  return out;
}

std::string_view decay_table_of(const MixerShape& mixer) {
  const std::string_view plain = mixer_descriptor(mixer.kind).decay_table;
  RUNG_REQUIRE(!plain.empty(), "{} has no table of decays", mixer_descriptor(mixer.kind).name);
  return mixer.form.step ? "decay" : plain;
}

bool has_part(const MixerShape& mixer, const StatePart& part) {
  return part.holds != StatePart::Holds::counts || mixer.normalised;
}

std::int64_t state_numbers(const MixerShape& mixer) {
  CheckedSize total = 0;
  for (const StatePart& part : recurrence_of(mixer).state.value)
    if (has_part(mixer, part)) total += size_of(part.extents, mixer, 1);
  RUNG_REQUIRE(total.ok(), "a state of more than 2^62 numbers");
  return *total.value();
}

bool Mixer::operator==(const Mixer& other) const {
  return kind == other.kind && options == other.options && parts == other.parts;
}

std::optional<std::int64_t> Mixer::number(std::string_view option) const {
  for (const auto& given : options)
    if (given.name == option && std::holds_alternative<std::int64_t>(given.value))
      return std::get<std::int64_t>(given.value);
  return std::nullopt;
}

std::optional<std::string> Mixer::word(std::string_view option) const {
  for (const auto& given : options)
    if (given.name == option && std::holds_alternative<std::string>(given.value))
      return std::get<std::string>(given.value);
  return std::nullopt;
}

}  // namespace rung
