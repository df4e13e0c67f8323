// Architecture to LayerShapes: every size that the line leaves open is filled in from Dimensions, and
// checked.
#include <algorithm>
#include <bit>

#include "rung/base/checked_size.h"
#include "rung/base/require.h"
#include "rung/spec/architecture.h"

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
    using enum MixerKind;
    switch (given.kind) {
      case full:
        RUNG_CHECK(attention(given, place, shape));
        break;
      case linear:
        RUNG_CHECK(linear_attention(given, place, shape));
        break;
      case rnn:
      case gru:
        shape.inner = given.number("size").value_or(dimensions_.width);
        shape.relu_cell = given.word("cell") == "relu";
        break;
      case mamba:
        shape.inner = given.number("inner").value_or(dimensions_.width);
        shape.state = given.number("state").value_or(dimensions_.state);
        shape.conv = given.number("conv").value_or(0);
        shape.conv_channels = shape.inner;
        break;
      case mamba2:
        RUNG_CHECK(state_space(given, place, shape));
        break;
      case delta:
      case gdelta:
        RUNG_CHECK(delta_rule(given, place, shape));
        break;
      case loglinear:
        RUNG_CHECK(log_linear(given, place, shape));
        break;
      case sparse:
        RUNG_CHECK(attention(given, place, shape));
        shape.block = *given.number("B");
        shape.select = *given.number("k");
        shape.groups = given.number("groups").value_or(shape.kv_heads);
        RUNG_CHECK(divides(place, "groups", shape.groups, "heads", shape.heads));
        shape.token_scores = given.word("score") == "tokens";
        if (given.number("index_dim") && !shape.token_scores)
          return error(place, ErrorCode::range, "option index_dim has no meaning for score=compressed");
        if (shape.token_scores) {
          shape.index_heads = shape.groups;
          shape.index_dim = given.number("index_dim").value_or(shape.key_dim);
        }
        break;
      case topk:
        RUNG_CHECK(attention(given, place, shape));
        shape.select = *given.number("k");
        shape.index_heads = given.number("index_heads").value_or(1);
        shape.index_dim = given.number("index_dim").value_or(shape.key_dim);
        break;
      case heads:
        RUNG_CHECK(head_groups(given, place, shape));
        break;
      case conv:
        shape.inner = given.number("channels").value_or(dimensions_.width);
        shape.conv = *given.number("width");
        shape.conv_channels = shape.inner;
        break;
      case identity: {
        set_heads(given, place, shape);
        RUNG_TRY(shape.value_dim, single_dim(given.number("vdim"), place));
        break;
      }
      case none:
        break;
      case recurrent:
        shape.released = *given.word("kind");
        shape.elements = *given.number("elements");
        // The buffer is given in elements: two taps, the earlier of which is that many numbers.
        shape.conv_channels = given.number("conv").value_or(0);
        shape.conv = shape.conv_channels > 0 ? 2 : 0;
        break;
      case compressed:
        shape.released = *given.word("kind");
        shape.block = *given.number("ratio");
        shape.elements = *given.number("entry");
        shape.window = given.number("window");
        shape.cache = given.number("cache").value_or(shape.elements);
        break;
    }
    if (shape.conv == 0) shape.conv_channels = 0;
    RUNG_CHECK(products_fit(place, shape, dimensions_.width));
    if (!dimensions_.causal) RUNG_CHECK(encoder_can(place, shape));
    return shape;
  }

 private:
  static Error error(const Place& place, ErrorCode code, const std::string& what) {
    return fail(code, "[arch] layer {}: {}", place.layer + 1, what);
  }
  static Result<void> divides(const Place& place, const char* small_name, std::int64_t small,
                              const char* large_name, std::int64_t large) {
    if (large % small == 0) return {};
    return error(place, ErrorCode::range,
                 fmt::format("{} = {} does not divide {} = {}", small_name, small, large_name, large));
  }

  void set_heads(const Mixer& given, const Place& place, MixerShape& shape) const {
    shape.heads = place.group_heads ? *place.group_heads : given.number("heads").value_or(dimensions_.heads);
    shape.kv_heads = shape.heads;
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
  Result<std::int64_t> single_dim(std::optional<std::int64_t> given, const Place& place,
                                  std::int64_t heads) const {
    if (!given && dimensions_.value_dim > 0) return dimensions_.value_dim;
    return head_dim(given, place, heads);
  }
  Result<std::int64_t> single_dim(std::optional<std::int64_t> given, const Place& place) const {
    return single_dim(given, place, place.layer_heads > 0 ? place.layer_heads : dimensions_.heads);
  }
  Result<void> key_value_dims(const Mixer& given, const Place& place, MixerShape& shape) const {
    RUNG_TRY(shape.key_dim, head_dim(given.number("dim"), place, shape.heads));
    shape.value_dim =
        given.number("vdim").value_or(dimensions_.value_dim > 0 ? dimensions_.value_dim : shape.key_dim);
    return {};
  }

  Result<void> attention(const Mixer& given, const Place& place, MixerShape& shape) const {
    set_heads(given, place, shape);
    const bool from_dimensions = !place.group_heads && dimensions_.kv_heads > 0;
    shape.kv_heads = given.number("kv").value_or(from_dimensions ? dimensions_.kv_heads : shape.heads);
    RUNG_CHECK(divides(place, "kv", shape.kv_heads, "heads", shape.heads));
    RUNG_CHECK(key_value_dims(given, place, shape));
    shape.window = given.number("window");
    shape.chunk = given.number("chunk");
    shape.cache = given.number("cache").value_or(0);
    shape.earlier_keys = given.word("keys") == "earlier";
    shape.conv = given.number("conv").value_or(0);
    shape.conv_channels = (CheckedSize(shape.heads) * shape.key_dim +
                           CheckedSize(shape.kv_heads) * (CheckedSize(shape.key_dim) + shape.value_dim))
                              .or_zero();
    return {};
  }

  static FeatureMap feature_map(const std::string& word) {
    if (word == "identity") return FeatureMap::identity;
    if (word == "relu") return FeatureMap::relu;
    if (word == "exp") return FeatureMap::exp;
    if (word == "taylor2") return FeatureMap::taylor2;
    RUNG_REQUIRE(word == "elu1", "feature={}", word);
    return FeatureMap::elu1;
  }
  Result<void> linear_attention(const Mixer& given, const Place& place, MixerShape& shape) const {
    set_heads(given, place, shape);
    RUNG_CHECK(key_value_dims(given, place, shape));
    const bool in_buckets = given.kind == MixerKind::loglinear;
    shape.feature = feature_map(given.word("feature").value_or(in_buckets ? "identity" : "elu1"));
    shape.normalised = !in_buckets && given.word("normalised").value_or("yes") == "yes";
    const std::string sums = given.word("acc").value_or("exact");
    shape.accumulator = sums == "wrap"    ? Accumulator::wrap
                        : sums == "round" ? Accumulator::round
                                          : Accumulator::exact;
    shape.conv = given.number("conv").value_or(0);
    shape.conv_channels =
        (CheckedSize(shape.heads) * (CheckedSize(shape.key_dim) + shape.key_dim + shape.value_dim)).or_zero();
    return {};
  }
  Result<void> delta_rule(const Mixer& given, const Place& place, MixerShape& shape) const {
    set_heads(given, place, shape);
    shape.kv_heads = given.number("kv").value_or(shape.heads);
    RUNG_CHECK(divides(place, "kv", shape.kv_heads, "heads", shape.heads));
    RUNG_CHECK(key_value_dims(given, place, shape));
    shape.conv = given.number("conv").value_or(0);
    shape.conv_channels =
        (CheckedSize(2) * shape.kv_heads * shape.key_dim + CheckedSize(shape.heads) * shape.value_dim)
            .or_zero();
    return {};
  }
  Result<void> state_space(const Mixer& given, const Place& place, MixerShape& shape) const {
    set_heads(given, place, shape);
    RUNG_TRY(shape.value_dim, single_dim(given.number("dim"), place, shape.heads));
    shape.key_dim = given.number("state").value_or(dimensions_.state);
    shape.kv_heads = shape.groups = given.number("groups").value_or(shape.heads);
    RUNG_CHECK(divides(place, "groups", shape.groups, "heads", shape.heads));
    shape.conv = given.number("conv").value_or(0);
    shape.conv_channels =
        (CheckedSize(shape.heads) * shape.value_dim + CheckedSize(2) * shape.groups * shape.key_dim)
            .or_zero();
    return {};
  }
  Result<void> log_linear(const Mixer& given, const Place& place, MixerShape& shape) const {
    const auto base = given.word("base").value_or("linear");
    const auto refuse = [&](const char* option) -> Result<void> {
      if (!given.number(option) && !given.word(option)) return {};
      return error(place, ErrorCode::range,
                   fmt::format("option {} has no meaning for base={}", option, base));
    };
    if (base == "linear") {
      shape.base = MixerKind::linear;
      for (const char* option : {"kv", "state", "groups"}) RUNG_CHECK(refuse(option));
      RUNG_CHECK(linear_attention(given, place, shape));
    } else if (base == "gdelta") {
      shape.base = MixerKind::gdelta;
      for (const char* option : {"feature", "acc", "state", "groups"}) RUNG_CHECK(refuse(option));
      RUNG_CHECK(delta_rule(given, place, shape));
    } else {
      shape.base = MixerKind::mamba2;
      for (const char* option : {"feature", "acc", "kv", "vdim"}) RUNG_CHECK(refuse(option));
      RUNG_CHECK(state_space(given, place, shape));
    }
    shape.normalised = false;
    if (dimensions_.context > 0) shape.levels = loglinear_levels(dimensions_.context);
    return {};
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
    using enum MixerKind;
    const bool has_meaning = shape.kind == full || shape.kind == linear || shape.kind == topk ||
                             shape.kind == identity || shape.kind == none || shape.kind == heads;
    if (has_meaning && shape.conv == 0 && !shape.chunk) return {};
    return error(
        place, ErrorCode::unsupported,
        fmt::format(
            "{}{} has no bidirectional meaning; expected full, full(window=w), linear, topk, identity, "
            "none or heads of those in an encoder",
            mixer_word(shape.kind).name,
            shape.chunk                     ? "(chunk)"
            : shape.conv > 0 && has_meaning ? "(conv)"
                                            : ""));
  }

  const Dimensions& dimensions_;

 public:
  static constexpr std::int64_t kWidestNumber = 160;  // bits: an exact sum of products of 48-bit numbers

  // An upper bound on every number that accounting or a tensor shape will derive from this mixer.
  static CheckedSize largest_count(const MixerShape& shape, std::int64_t width) {
    const CheckedSize key_feature =
        shape.feature == FeatureMap::taylor2
            ? CheckedSize(1) + shape.key_dim + CheckedSize(shape.key_dim) * shape.key_dim
            : CheckedSize(shape.key_dim);
    const CheckedSize levels = shape.levels > 0 ? shape.levels : 64;
    const CheckedSize all_tokens = std::max(shape.window.value_or(1), shape.chunk.value_or(1));
    const CheckedSize token =
        (CheckedSize(shape.heads) + shape.kv_heads) * (CheckedSize(shape.key_dim) + shape.value_dim) +
        shape.cache + shape.elements;
    CheckedSize sum =
        CheckedSize(shape.heads) * key_feature * (CheckedSize(shape.value_dim) + 1) * levels * kWidestNumber +
        CheckedSize(shape.inner) * std::max<std::int64_t>({shape.state, shape.inner, 1}) * kWidestNumber +
        CheckedSize(shape.conv) * std::max(shape.conv_channels, shape.inner) * kWidestNumber +
        token * all_tokens * kWidestNumber + token * std::max<std::int64_t>(shape.block, 1) * width +
        (CheckedSize(shape.index_heads) + 1) * shape.index_dim * (CheckedSize(width) + kWidestNumber) +
        (CheckedSize(shape.inner) + shape.conv_channels + shape.state + shape.heads * levels) * width;
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
  return is_opaque(kind) || token_scores || earlier_keys ||
         std::any_of(parts.begin(), parts.end(), [](const MixerShape& part) { return part.opaque(); });
}

std::string opaque_name(const MixerShape& mixer) {
  return fmt::format("{}({})", mixer_word(mixer.kind).name,
                     mixer.token_scores   ? "score=tokens"
                     : mixer.earlier_keys ? "keys=earlier"
                                          : mixer.released);
}

bool MixerShape::looks_back() const { return kind == MixerKind::full && !window && !chunk && !earlier_keys; }

std::int64_t MixerShape::output_width() const {
  using enum MixerKind;
  switch (kind) {
    case rnn:
    case gru:
    case mamba:
    case conv:
      return inner;
    case heads: {
      std::int64_t total = 0;
      for (const auto& part : parts) total += part.output_width();
      return total;
    }
    case none:
    case recurrent:
    case compressed:
      return 0;
    default:
      return this->heads * value_dim;
  }
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
