// Architecture to LayerShapes: every size that the line leaves open is filled in from Dimensions, and
// checked.
#include <algorithm>
#include <bit>

#include "rung/base/checked_size.h"
#include "rung/base/require.h"
#include "rung/spec/architecture.h"
#include "rung/spec/mixers.h"
#include "rung/spec/resolve_form.h"

namespace rung {
namespace {

// Where a mixer stands: alone in its layer, or as one group of heads(...).
struct Place {
  std::size_t layer = 0;
  std::optional<std::int64_t> group_heads;  // this group's heads
  std::int64_t layer_heads = 0;             // all heads of the layer; what width is divided by
};

class Resolver {
 public:
  explicit Resolver(const Dimensions& dimensions) : dimensions_(dimensions) {}

  Result<MixerShape> mixer(const Mixer& given, Place place) const {
    MixerShape shape{.kind = given.kind};
    if (given.kind == MixerKind::heads) RUNG_CHECK(head_groups(given, place, shape));
    RUNG_TRY(auto options, options_of(given, place, shape));
    std::stable_sort(options.begin(), options.end(),
                     [](const OptionWord& a, const OptionWord& b) { return a.sets.value < b.sets.value; });
    for (const auto& option : options) RUNG_CHECK(set(option, given, place, shape));
    if (shape.conv == 0) {
      shape.conv_channels = 0;
    } else if (shape.conv_channels == 0) {
      CheckedSize channels = 0;
      for (const auto& [name, rows] : convolved_channels(shape)) channels += rows;
      shape.conv_channels = channels.or_zero();
    }
    if (auto form = resolve_form(given, dimensions_, shape); !form)
      return error(place, form.error().code, form.error().message);
    RUNG_CHECK(products_fit(place, shape, dimensions_.width));
    if (!dimensions_.causal) RUNG_CHECK(encoder_can(place, shape));
    return shape;
  }

 private:
  static Error error(const Place& place, ErrorCode code, const std::string& what) {
    return fail(code, "[arch] layer {}: {}", place.layer + 1, what);
  }
  static Result<void> divides(const Place& place, std::string_view small_name, std::int64_t small,
                              std::string_view large_name, std::int64_t large) {
    if (large % small == 0) return {};
    return error(place, ErrorCode::range,
                 fmt::format("{} = {} does not divide {} = {}", small_name, small, large_name, large));
  }

  // The options that have a meaning here: all of the word's; of log-linear attention those that its base has, and
  // levels as the context needs them.
  Result<std::vector<OptionWord>> options_of(const Mixer& given, const Place& place,
                                             MixerShape& shape) const {
    const auto& own = mixer_descriptor(given.kind).options;
    if (given.kind != MixerKind::loglinear) return own;
    std::vector<OptionWord> out;
    shape.base = base_of(given);
    const auto& known = mixer_descriptor(shape.base).options;
    for (const auto& option : own) {
      if (option.sets == Sets::base || option.sets == Sets::form) continue;
      const auto found = std::find_if(known.begin(), known.end(),
                                      [&](const OptionWord& other) { return other.name == option.name; });
      if (found != known.end()) {
        out.push_back(*found);
        out.back().default_word = option.default_word;
      } else if (given.number(option.name) || given.word(option.name)) {
        return error(place, ErrorCode::range,
                     fmt::format("option {} has no meaning for base={}", option.name,
                                 mixer_descriptor(shape.base).name));
      }
    }
    shape.normalised = false;
    if (dimensions_.context > 0) shape.levels = loglinear_levels(dimensions_.context);
    return out;
  }

  Result<void> set(const OptionWord& option, const Mixer& given, const Place& place, MixerShape& s) const {
    const std::optional<std::int64_t> own = given.number(option.name),
                                      number = own ? own : option.default_number;
    const std::string word = given.word(option.name).value_or(std::string(option.default_word));
    const auto divisor_of_heads = [&](std::int64_t size) {
      return divides(place, option.name, size, "heads", s.heads);
    };
    switch (option.sets) {
      case Sets::base:
        return {};
      case Sets::heads:
        s.heads = s.kv_heads = place.group_heads ? *place.group_heads : number.value_or(dimensions_.heads);
        return {};
      case Sets::kv_heads: {
        const bool from_dimensions = !place.group_heads && dimensions_.kv_heads > 0;
        s.kv_heads = number.value_or(from_dimensions ? dimensions_.kv_heads : s.heads);
        return divisor_of_heads(s.kv_heads);
      }
      case Sets::key_heads:
        s.kv_heads = number.value_or(s.heads);
        return divisor_of_heads(s.kv_heads);
      case Sets::key_groups:
        s.kv_heads = s.groups = number.value_or(s.heads);
        return divisor_of_heads(s.groups);
      case Sets::selection_groups:
        s.groups = number.value_or(s.kv_heads);
        return divisor_of_heads(s.groups);
      case Sets::key_dim:
        return assign(s.key_dim, head_dim(number, place, s.heads));
      case Sets::state_rows:
        s.key_dim = number.value_or(dimensions_.state);
        return {};
      case Sets::value_dim:
        s.value_dim = number.value_or(dimensions_.value_dim > 0 ? dimensions_.value_dim : s.key_dim);
        return {};
      case Sets::only_dim:
        return assign(s.value_dim, value_or_head_dim(number, place, s.heads));
      case Sets::shared_dim:
        return assign(s.value_dim, value_or_head_dim(number, place, dimensions_.heads));
      case Sets::state:
        s.state = number.value_or(dimensions_.state);
        return {};
      case Sets::inner:
        s.inner = number.value_or(dimensions_.width);
        return {};
      case Sets::taps:
        s.conv = number.value_or(0);
        return {};
      case Sets::window:
        s.window = number;
        return {};
      case Sets::chunk:
        s.chunk = number;
        return {};
      case Sets::elements:
        s.elements = *number;
        return {};
      case Sets::cache:
        s.cache = number.value_or(s.elements);
        return {};
      case Sets::block:
        s.block = *number;
        return {};
      case Sets::select:
        s.select = *number;
        return {};
      case Sets::score:
        s.token_scores = word == "tokens";
        return {};
      case Sets::index_heads:
        s.index_heads = *number;
        return {};
      case Sets::index_dim:
        s.index_dim = number.value_or(s.key_dim);
        return {};
      case Sets::token_index_dim:
        if (number && !s.token_scores)
          return error(place, ErrorCode::range, "option index_dim has no meaning for score=compressed");
        if (s.token_scores) {
          s.index_heads = s.groups;
          s.index_dim = number.value_or(s.key_dim);
        }
        return {};
      case Sets::feature:
        s.feature = feature_map(word);
        return {};
      case Sets::normalised:
        s.normalised = word == "yes";
        return {};
      case Sets::accumulator:
        s.accumulator = word == "wrap"    ? Accumulator::wrap
                        : word == "round" ? Accumulator::round
                                          : Accumulator::exact;
        return {};
      case Sets::cell:
        s.relu_cell = word == "relu";
        return {};
      case Sets::key_source:
        s.earlier_keys = word == "earlier";
        return {};
      case Sets::released:
        s.released = word;
        return {};
      case Sets::buffer_elements:  // two taps, the earlier of which is that many numbers
        s.conv_channels = number.value_or(0);
        s.conv = s.conv_channels > 0 ? 2 : 0;
        return {};
      case Sets::range:
        s.range = number.value_or(1);
        return {};
      case Sets::steps:
        s.steps = number.value_or(1);
        return {};
      case Sets::form:  // together, when all sizes are known
        return {};
    }
    return {};
  }

  static Result<void> assign(std::int64_t& size, Result<std::int64_t> found) {
    RUNG_TRY(size, std::move(found));
    return {};
  }
  // Dimension of one head: as given, from Dimensions, or the layer's share of the width.
  Result<std::int64_t> head_dim(std::optional<std::int64_t> given, const Place& place,
                                std::int64_t heads) const {
    if (given) return *given;
    if (dimensions_.head_dim > 0) return dimensions_.head_dim;
    const std::int64_t shares = place.layer_heads > 0 ? place.layer_heads : heads;
    RUNG_CHECK(divides(place, "heads", shares, "width", dimensions_.width));
    return dimensions_.width / shares;
  }
  // For mixers with one dimension per head: it is a value dimension first.
  Result<std::int64_t> value_or_head_dim(std::optional<std::int64_t> given, const Place& place,
                                         std::int64_t heads) const {
    if (!given && dimensions_.value_dim > 0) return dimensions_.value_dim;
    return head_dim(given, place, heads);
  }

  static FeatureMap feature_map(const std::string& word) {
    if (word == "identity") return FeatureMap::identity;
    if (word == "relu") return FeatureMap::relu;
    if (word == "exp") return FeatureMap::exp;
    if (word == "taylor2") return FeatureMap::taylor2;
    RUNG_REQUIRE(word == "elu1", "feature={}", word);
    return FeatureMap::elu1;
  }

  Result<void> head_groups(const Mixer& given, Place place, MixerShape& shape) const {
    CheckedSize total = 0;
    for (const auto& part : given.parts) total += part.heads;
    if (!total.ok() || total.or_zero() > kMaxSize)
      return error(place, ErrorCode::range, fmt::format("more than {} heads", kMaxSize));
    shape.heads = place.layer_heads = total.or_zero();
    for (const auto& part : given.parts) {
      place.group_heads = part.heads;
      RUNG_TRY(MixerShape resolved, mixer(part.mixer, place));
      shape.parts.push_back(std::move(resolved));
    }
    return {};
  }

  static Result<void> products_fit(const Place& place, const MixerShape& shape, std::int64_t width) {
    if (largest_count(shape, width).ok()) return {};
    return error(place, ErrorCode::range, "its sizes multiply to more than 2^62; expected a smaller network");
  }

  static Result<void> encoder_can(const Place& place, const MixerShape& shape) {
    // Rotary positions turn in both directions; what else a released form has is causal.
    const bool has_meaning =
        mixer_descriptor(shape.kind).encoder && (shape.form.plain() || shape.kind == MixerKind::full);
    if (has_meaning && shape.conv == 0 && !shape.chunk) return {};
    std::string known;
    for (const auto& mixer : mixer_descriptors())
      if (mixer.encoder && mixer.letter != Letter::of_parts)
        known += (known.empty() ? "" : ", ") + std::string(mixer.name);
    return error(
        place, ErrorCode::unsupported,
        fmt::format("{}{} has no bidirectional meaning; expected {}, full(window=w) or heads of those in an "
                    "encoder",
                    mixer_descriptor(shape.kind).name,
                    shape.chunk                     ? "(chunk)"
                    : shape.conv > 0 && has_meaning ? "(conv)"
                                                    : "",
                    known));
  }

  const Dimensions& dimensions_;

 public:
  static constexpr std::int64_t kWidestNumber = 160;  // bits: an exact sum of products of 48-bit numbers

  // An upper bound on every number that accounting or a tensor shape will derive from this mixer.
  static CheckedSize largest_count(const MixerShape& shape, std::int64_t width) {
    const CheckedSize key_feature = size_of({Extent::feature_dim}, shape, width);
    const CheckedSize levels = shape.levels > 0 ? shape.levels : 64;
    const CheckedSize all_tokens = std::max(shape.window.value_or(1), shape.chunk.value_or(1));
    const CheckedSize token = (CheckedSize(shape.heads) + shape.kv_heads) *
                                  (CheckedSize(shape.key_dim) + shape.value_dim) * shape.steps +
                              shape.cache + shape.elements;
    CheckedSize sum =
        CheckedSize(shape.heads) * key_feature * (CheckedSize(shape.value_dim) + 1) * levels * kWidestNumber +
        CheckedSize(shape.inner) * std::max<std::int64_t>({shape.state, shape.inner, 1}) * kWidestNumber +
        CheckedSize(shape.conv) * std::max(shape.conv_channels, shape.inner) * kWidestNumber +
        token * all_tokens * kWidestNumber + token * std::max<std::int64_t>(shape.block, 1) * width +
        (CheckedSize(shape.index_heads) + 1) * shape.index_dim * (CheckedSize(width) + kWidestNumber) +
        (CheckedSize(shape.inner) + shape.conv_channels + shape.state + shape.heads * levels) * width;
    const MixerForm& f = shape.form;
    const CheckedSize ranks = CheckedSize(f.rank) + f.rank_a + f.rank_g + f.rank_v + f.q_rank + f.kv_rank;
    sum += ranks * (CheckedSize(width) + token + CheckedSize(shape.inner) + f.rope_dim +
                    CheckedSize(shape.index_heads) * shape.index_dim);
    sum += CheckedSize(f.span) * token * std::max<std::int64_t>({shape.key_dim, shape.value_dim, 1});
    for (const auto& part : shape.parts) sum += largest_count(part, width);
    return sum;
  }
};

}  // namespace

std::int64_t loglinear_levels(std::int64_t context) {
  RUNG_REQUIRE(context >= 1, "context={}", context);
  return std::bit_width(static_cast<std::uint64_t>(context)) + 1;  // ⌊lg t⌋ + 2
}

std::int64_t loglinear_live_states(std::int64_t context) {
  RUNG_REQUIRE(context >= 1, "context={}", context);
  return std::bit_width(static_cast<std::uint64_t>(context));  // ⌊lg t⌋ + 1
}

std::int64_t MixerShape::feature_dim() const {
  return feature == FeatureMap::taylor2 ? 1 + key_dim + key_dim * key_dim : key_dim;
}

bool MixerShape::opaque() const {
  return mixer_descriptor(kind).opaque || token_scores || earlier_keys ||
         std::any_of(parts.begin(), parts.end(), [](const MixerShape& part) { return part.opaque(); });
}

std::string opaque_name(const MixerShape& mixer) {
  return fmt::format("{}({})", mixer_descriptor(mixer.kind).name,
                     mixer.token_scores   ? "score=tokens"
                     : mixer.earlier_keys ? "keys=earlier"
                                          : mixer.released);
}

std::string form_name(const MixerShape& mixer) {
  const std::string word(mixer_descriptor(mixer.kind).name);
  using enum MixerKind;
  if (mixer.kind == gla || mixer.kind == kda || mixer.kind == rwkv7) return word;
  if (mixer.form.rope != Rope::none || mixer.form.index_rope != Rope::none) return word + " with rope";
  return word + " in a released form";
}

std::string plain_form_hint(const MixerShape& mixer) {
  const bool has_one = mixer.kind != MixerKind::full && has_two_forms(Mixer{.kind = mixer.kind});
  return has_one || mixer.kind == MixerKind::loglinear ? "; form=plain is the plain form" : "";
}

namespace {

template <class Wanted>
const MixerShape* first_mixer(const std::vector<LayerShape>& layers, Wanted wanted) {
  for (const auto& layer : layers) {
    if (wanted(layer.mixer)) return &layer.mixer;
    for (const auto& part : layer.mixer.parts)
      if (wanted(part)) return &part;
  }
  return nullptr;
}

}  // namespace

const MixerShape* first_released(const std::vector<LayerShape>& layers) {
  return first_mixer(layers, [](const MixerShape& mixer) { return !mixer.form.plain(); });
}

bool has_integer_form(const MixerShape& mixer) {
  using enum MixerKind;
  const MixerForm& f = mixer.form;
  const bool turns = f.rope != Rope::none || f.index_rope != Rope::none,
             by_channel = mixer.kind == gla || mixer.kind == kda || mixer.kind == rwkv7;
  return !turns && !by_channel;
}

const MixerShape* first_without_integers(const std::vector<LayerShape>& layers) {
  return first_mixer(layers, [](const MixerShape& mixer) { return !has_integer_form(mixer); });
}

bool MixerShape::looks_back() const { return kind == MixerKind::full && !window && !chunk && !earlier_keys; }

std::int64_t MixerShape::output_width() const {
  std::int64_t total = 0;
  for (const auto& part : parts) total += part.output_width();
  const Extents& own = mixer_descriptor(kind).output;
  return own.empty() ? total : size_of(own, *this, 0).or_zero();
}

Result<std::vector<LayerShape>> resolve(const Architecture& architecture) {
  const Dimensions& dimensions = architecture.dimensions;
  RUNG_CHECK(check_dimensions(dimensions));
  const auto& layers = architecture.stack.layers;
  if (layers.empty()) return fail(ErrorCode::range, "[arch] a network needs at least one layer");
  if (layers.size() > static_cast<std::size_t>(kMaxLayers))
    return fail(ErrorCode::resource, "[arch] {} layers; at most {} are allowed", layers.size(), kMaxLayers);
  const Resolver resolver(dimensions);
  const auto mlp = mlp_widths(dimensions);
  std::vector<LayerShape> out;
  out.reserve(layers.size());
  CheckedSize mlp_count = CheckedSize(dimensions.width) * 8, layer_count = 0;
  for (std::size_t k = 0; k <= mlp.size(); ++k)
    mlp_count += (CheckedSize(k < mlp.size() ? mlp[k] : dimensions.width)) *
                 (CheckedSize(k > 0 ? mlp[k - 1] : dimensions.width) + 1);
  CheckedSize total =
      CheckedSize(dimensions.width) *
      (CheckedSize(dimensions.vocabulary) + dimensions.outputs + dimensions.vocabulary + dimensions.context);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (i > 0 && layers[i] == layers[i - 1]) {  // long runs cost one resolution
      out.push_back(out.back());
    } else {
      RUNG_TRY(MixerShape shape, resolver.mixer(layers[i], {.layer = i}));
      layer_count = Resolver::largest_count(shape, dimensions.width) + mlp_count;
      out.push_back({std::move(shape), dimensions.width, mlp});
    }
    total += layer_count;
  }
  if (!total.ok())
    return fail(ErrorCode::range,
                "[arch] the sizes of the network multiply to more than 2^62; expected a smaller one");
  return out;
}

}  // namespace rung
