#include "rung/spec/accounting.h"

#include <algorithm>
#include <charconv>

#include "rung/base/ceil_lg.h"
#include "rung/base/nearest_word.h"
#include "rung/base/require.h"
#include "rung/spec/mixers.h"
#include "rung/spec/number_words.h"
#include "rung/spec/parameters.h"
#include "rung/spec/repetition.h"

namespace rung {
namespace {

// Elements of one mixer, and the bits of its recurrent state.
struct Elements {
  std::int64_t state = 0, levels = 1, conv = 0, window = 0, cache = 0;
  StateWidths widths;
};

// Exact sums grow: only fixed point has them, and only where nobody gave the entries a width.
bool grows(const MixerShape& m, const Dimensions& d, const StorageBits& bits) {
  return m.accumulator == Accumulator::exact && d.precision.format == NumberFormat::fixed &&
         !d.accumulator_bits && !bits.state;
}

StateWidths recurrent_widths(const MixerShape& m, const Dimensions& d, const StorageBits& bits) {
  using Holds = StatePart::Holds;
  const std::int64_t p = d.precision.bits;
  const std::int64_t entry = bits.state.value_or(static_cast<int>(d.accumulator_bits.value_or(p)));
  StateWidths out;
  for (const StatePart& part : recurrence_of(m).state.value) {
    if (!has_part(m, part)) continue;
    const std::int64_t numbers = size_of(part.extents, m, 0).or_zero();
    if (part.holds == Holds::entries || !grows(m, d, bits)) {
      out.fixed += numbers * entry;
      out.entries += numbers;
      continue;
    }
    const std::int64_t count = m.feature == FeatureMap::relu ? p - 1 : p;
    out.fixed += numbers * (part.holds == Holds::sums ? 2 * p - 1 : count);
    out.sums += numbers;
  }
  // The strong partition has ⌈lg t⌉ + 1 live levels after t tokens, and no theorem on levels covers it: its state is one
  // that grows with every doubling.
  if (m.kind == MixerKind::loglinear && !assumptions_of(m).doubling_levels)
    return {.fixed = out.fixed, .sums = out.fixed, .entries = out.entries};
  if (m.kind == MixerKind::loglinear)
    return {.level_fixed = out.fixed, .level_sums = out.sums, .entries = out.entries};
  return out;
}

Elements count(const MixerShape& m, const Dimensions& d, const StorageBits& bits,
               std::optional<std::int64_t> context) {
  Elements e;
  for (const auto& part : m.parts) {
    const Elements inner = count(part, d, bits, context);
    e.widths.fixed += inner.widths.fixed;
    e.widths.sums += inner.widths.sums;
    e.widths.level_fixed += inner.widths.level_fixed;
    e.widths.level_sums += inner.widths.level_sums;
    e.widths.entries += inner.widths.entries;
    // Levels of a group are inside its state here: groups of one layer may differ in them.
    e.state += inner.state * inner.levels;
    e.conv += inner.conv;
    e.window += inner.window;
    e.cache += inner.cache;
  }
  if (!m.parts.empty()) return e;
  e.state = state_numbers(m);
  e.widths = recurrent_widths(m, d, bits);
  if (m.conv > 0) e.conv = (m.conv - 1) * m.conv_channels;
  if (m.kind == MixerKind::loglinear && context)
    e.levels =
        m.form.strong ? ceil_lg(static_cast<std::uint64_t>(*context)) + 1 : loglinear_live_states(*context);
  const std::int64_t token = m.cache > 0 ? m.cache : m.kv_heads * (m.key_dim + m.value_dim);
  switch (mixer_descriptor(m.kind).cache) {
    case Cache::none:
    case Cache::of_parts:
      break;
    case Cache::tokens:
      // A window over an earlier layer's keys counts as if it kept its own: never less than what crosses.
      if (m.window || m.chunk)
        e.window = (m.window ? *m.window - 1 : *m.chunk - 1) * token;
      else if (!m.earlier_keys)
        e.cache = token;
      break;
    case Cache::blocks: {  // means are found again
      const std::int64_t block = m.form.stride > 0 ? m.form.stride : m.block;
      const bool means = m.form.compress == Compression::mean;
      e.cache = token + (m.token_scores ? m.index_dim : means ? 0 : (token + block - 1) / block);
      break;
    }
    case Cache::index_keys:
      e.cache = token + m.index_dim;
      break;
    case Cache::entries:
      e.cache = (m.elements + m.block - 1) / m.block;
      if (m.window) e.window = (*m.window - 1) * m.cache;
      break;
  }
  e.widths.fixed +=
      e.conv * bits.conv.value_or(d.precision.bits) + e.window * bits.cache.value_or(d.precision.bits);
  return e;
}

std::string letters_of(const MixerShape& m) {
  switch (letter_of(m)) {
    case Letter::none:
      return "";
    case Letter::recurrent:
      return "R";
    case Letter::full:
      return m.conv > 1 ? "RF" : "F";
    case Letter::of_parts:
      break;
  }
  std::vector<std::string> kinds;
  for (const auto& part : m.parts) {
    const auto letters = letters_of(part);
    if (!letters.empty() && std::find(kinds.begin(), kinds.end(), letters) == kinds.end())
      kinds.push_back(letters);
  }
  if (kinds.size() <= 1) return kinds.empty() ? "" : kinds[0];
  std::sort(kinds.begin(), kinds.end(),
            [](const auto& a, const auto& b) { return a.size() != b.size() ? a.size() > b.size() : a < b; });
  std::string out;
  for (const auto& kind : kinds) out += (out.empty() ? "(" : "∥") + kind;
  return out + ")";
}

std::string count_word(const MixerShape& m) {
  if (m.kind == MixerKind::full && m.window) return fmt::format("full(window={})", *m.window);
  if (m.kind == MixerKind::full && m.chunk) return fmt::format("full(chunk={})", *m.chunk);
  return std::string(mixer_descriptor(m.kind).name);
}

bool contains(const MixerShape& m, MixerKind kind) {
  if (m.kind == kind) return true;
  return std::any_of(m.parts.begin(), m.parts.end(),
                     [&](const MixerShape& part) { return contains(part, kind); });
}

// A message without its area, to stand inside another sentence.
std::string reason_of(const Error& error) {
  const std::size_t end = error.message.find("] ");
  return end == std::string::npos ? error.message : error.message.substr(end + 2);
}

std::int64_t total_size(const std::vector<ParameterTensor>& tensors) {
  std::int64_t total = 0;
  for (const auto& tensor : tensors) total += tensor.size();
  return total;
}

void add_notes(const std::vector<LayerShape>& layers, std::optional<std::int64_t> context, Account& out) {
  bool growing = false;
  for (std::size_t i = 0; i < layers.size(); ++i)
    growing = growing || (!layers[i].mixer.form.strong &&
                          (out.layers[i].widths.sums > 0 || out.layers[i].widths.level_sums > 0));
  const auto any = [&](MixerKind kind) {
    return std::any_of(layers.begin(), layers.end(),
                       [&](const LayerShape& l) { return contains(l.mixer, kind); });
  };
  const auto by_tokens = [](const LayerShape& l) { return l.mixer.token_scores; };
  if (std::any_of(layers.begin(), layers.end(), by_tokens))
    out.pattern_notes.push_back(
        "sparse layers that score tokens are written F: nothing is compressed, so the block-sparse theorem "
        "does not cover them");
  else if (any(MixerKind::sparse))
    out.pattern_notes.push_back("sparse layers are written F: sketch, not proved");
  if (any(MixerKind::topk))
    out.pattern_notes.push_back(
        "topk layers are written F: token selection lies outside the block-sparse theorem");
  if (any(MixerKind::compressed))
    out.pattern_notes.push_back("compressed layers are written F: no theorem covers them");
  if (any(MixerKind::loglinear) && !context)
    out.notes.push_back("loglinear: one level is counted, because no context was given");
  if (growing && !context)
    out.notes.push_back(
        "linear: exact sums are counted for one token, because no context was given; an entry "
        "gains a bit whenever the tokens double");
}

}  // namespace

Result<int> parse_dtype(std::string_view text) {
  if (const NumberWord* word = find_number_word(text)) return word->bits;
  int bits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
  if (!text.empty() && error == std::errc() && end == text.data() + text.size()) {
    if (bits >= 1 && bits <= 64) return bits;
    return fail(ErrorCode::range, "[dtype] {} bits are outside 1..64", bits);
  }
  std::vector<std::string_view> known;
  for (const NumberWord& word : number_words()) known.push_back(word.name);
  const auto near = nearest_word(text, known);
  return fail(ErrorCode::parse, "[dtype] unknown type {}; {}", rung::quoted(text),
              near.empty() ? "expected fp32, bf16, fp16, fp8, int8, fp4, ... or a number of bits"
                           : fmt::format("did you mean \"{}\"?", near));
}

std::string fold_pattern(const std::vector<LayerAccount>& layers) {
  std::vector<std::string> words;
  std::vector<int> letters;
  for (const auto& layer : layers) {
    if (layer.letters.empty()) continue;
    // "RF" is two letters, a head-wise group one.
    const bool group = layer.letters[0] == '(';
    for (std::size_t i = 0; i < (group ? 1 : layer.letters.size()); ++i) {
      const std::string word = group ? layer.letters : layer.letters.substr(i, 1);
      auto found = std::find(words.begin(), words.end(), word);
      if (found == words.end()) found = words.insert(words.end(), word);
      letters.push_back(static_cast<int>(found - words.begin()));
    }
  }
  const auto write = [&](const auto& self, const std::vector<Repetition>& pieces) -> std::string {
    std::string out;
    for (const auto& piece : pieces) {
      if (!out.empty()) out += ' ';
      out += piece.children.empty() ? words[static_cast<std::size_t>(piece.letter)]
                                    : fmt::format("({})", self(self, piece.children));
      if (piece.count > 1) out += fmt::format("^{}", piece.count);
    }
    return out;
  };
  return write(write, fold(letters));
}

std::int64_t StateWidths::after(std::int64_t tokens) const {
  const std::int64_t doublings = ceil_lg(static_cast<std::uint64_t>(tokens));
  return fixed + sums * doublings + loglinear_live_states(tokens) * (level_fixed + level_sums * doublings);
}

Account account(const Architecture& architecture, const std::vector<LayerShape>& layers,
                const StorageBits& bits) {
  RUNG_REQUIRE(architecture.stack.layers.size() == layers.size(), "{} layers, {} shapes",
               architecture.stack.layers.size(), layers.size());
  const Dimensions& d = architecture.dimensions;
  const std::int64_t cache_width = bits.cache.value_or(d.precision.bits);
  std::optional<std::int64_t> context = bits.context;
  if (!context && d.context > 0) context = d.context;

  Account out;
  std::int64_t parameters = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const MixerShape& m = layers[i].mixer;
    if (i > 0 && architecture.stack.layers[i] == architecture.stack.layers[i - 1]) {
      out.layers.push_back(out.layers.back());  // long runs are counted once
    } else {
      const Elements e = count(m, d, bits, context);
      LayerAccount layer;
      layer.mixer = count_word(m);
      layer.text = format_mixer(architecture.stack.layers[i]);
      layer.state_elements = e.state;
      layer.levels = e.levels;
      layer.conv_elements = e.conv;
      layer.window_elements = e.window;
      layer.widths = e.widths;
      layer.state_bits = e.widths.after(context.value_or(1));
      layer.cache_elements = e.cache;
      layer.cache_bits = e.cache * cache_width;
      layer.letters = letters_of(m);
      if (auto tensors = layer_tensors(layers[i], i, d.norm))
        layer.parameters = total_size(*tensors);
      else
        layer.parameters_reason = reason_of(tensors.error());
      out.layers.push_back(std::move(layer));
    }
    const LayerAccount& layer = out.layers.back();
    ++out.counts[layer.mixer];
    out.state_bits += layer.state_bits;
    out.cache_bits_per_token += layer.cache_bits;
    out.pattern += layer.letters;
    parameters += layer.parameters.value_or(0);
    if (!layer.parameters && out.parameters_reason.empty()) out.parameters_reason = layer.parameters_reason;
  }
  if (out.parameters_reason.empty()) {
    Dimensions outside = d;
    if (d.context == 0 && (d.position == PositionCode::table || d.position == PositionCode::binary)) {
      outside.position = PositionCode::none;
      out.notes.push_back("parameters without the position code, whose rows a context would fix");
    }
    out.parameters = parameters + total_size(*outer_tensors(outside));
  }
  add_notes(layers, context, out);
  return out;
}

}  // namespace rung
