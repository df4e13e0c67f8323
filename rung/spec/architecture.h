// The architecture language: what a user says about a network, in one line and a handful of dimensions.
//
//   auto stack = parse_stack("(gdelta*3+full)*12");           // 48 layers, gdelta in its released form
//   format_stack(*stack) == "(gdelta*3+full)*12";             // canonical: parse(format(s)) == s for every s
//   Architecture a{*stack, Dimensions{.width = 64, .heads = 2}};
//   auto layers = resolve(a);                                 // every default filled in, every size checked
//
// A Stack is a flat list of layers: repetition and parentheses are notation. Options of a mixer are kept as
// the user gave them, in the order of the word's list (mixers.h), without those that equal the word's own
// default, so two spellings of the same network compare equal. Sizes that the line leaves open come from
// Dimensions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rung/base/result.h"
#include "rung/spec/mixer_form.h"
#include "rung/spec/mixer_kind.h"

namespace rung {

struct Mixer;

struct MixerOption {
  std::string name;
  std::variant<std::int64_t, std::string> value;  // a number, or a word such as "elu1"
  bool operator==(const MixerOption&) const = default;
};

// One group of equal heads inside heads(...).
struct HeadGroup;

struct Mixer {
  MixerKind kind = MixerKind::full;
  std::vector<MixerOption> options;
  std::vector<HeadGroup> parts;  // heads only, at least one; a part's mixer satisfies can_stand_in_heads
  bool operator==(const Mixer&) const;

  std::optional<std::int64_t> number(std::string_view option) const;  // as given; nullopt when left open
  std::optional<std::string> word(std::string_view option) const;
};

struct HeadGroup {
  Mixer mixer;
  std::int64_t heads = 1;
  bool operator==(const HeadGroup&) const = default;
};

struct Stack {
  std::vector<Mixer> layers;
  bool operator==(const Stack&) const = default;
};

inline constexpr std::int64_t kMaxLayers =
    100'000;  // a stack longer than this is refused before it is unrolled
inline constexpr std::int64_t kMaxSize = std::int64_t{1} << 31;      // largest width, head count, window, ...
inline constexpr std::int64_t kMaxDeltaSteps = 1024;                 // of the delta rule a token
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 50;  // largest state of an opaque mixer
inline constexpr std::size_t kMaxStackText = std::size_t{16} << 20;  // bytes of an architecture line
inline constexpr int kMaxNesting = 64;  // open parentheses of an architecture line

// The form of a mixer that says none and has two: released in the language; plain in documents, where rung 0.2 and
// earlier left it out; an error in weights files of version 2.
enum class UnsaidForm { released, plain, refused };

// ENSURES: an error is one line, "[arch] <what> at column <c>; <what was expected or the nearest word>".
Result<Stack> parse_stack(std::string_view text, UnsaidForm unsaid = UnsaidForm::released);
// Canonical, a function of the value alone: runs of equal layers are folded first, then groups of two, three,
// ... adjacent pieces that repeat, from the left (repetition.h).
std::string format_stack(const Stack& stack);
std::string format_mixer(const Mixer& mixer);
// The same, but mixers that are released when they say no form say form=released: whatever UnsaidForm, it is read as
// the same stack. Every document that rung writes has its lines so (docs/formats.md).
std::string format_spelled_stack(const Stack& stack);
std::string format_spelled_mixer(const Mixer& mixer);
// The same with every option of a released form, so that no default of the language gives a line its meaning: weights
// files of version 2. Sizes that a form derives from others (rank, norm_groups, span, stride, rope_dim) stay open.
std::string format_whole_stack(const Stack& stack);
// A line in that form; a text that is no line stays as it is.
std::string spelled_line(const std::string& text, UnsaidForm unsaid);

enum class Norm { none, rms };
enum class PositionCode { none, table, binary, rope };
enum class MlpActivation { relu, gelu, silu };

// How numbers are stored. p and f are the theory's: fixed point fx(p, f), or a named float format. Unknown:
// a configuration that names none; `bits` is then the most that a number is taken to have.
enum class NumberFormat { fixed, bf16, fp16, fp8_e4m3, fp8_e5m2, fp32, unknown };
struct Precision {
  NumberFormat format = NumberFormat::fixed;
  int bits = 16;     // p; implied by the format for floats
  int fraction = 0;  // f, fixed only
  bool operator==(const Precision&) const = default;
};
// "8", "8.3" (p.f), "bf16", "fp16", "e4m3", "e5m2", "fp32". REQUIRES nothing; range 2..48 for p, 0..p for f.
Result<Precision> parse_precision(std::string_view text);
std::string format_precision(const Precision& precision);  // "unknown" is not a word of parse_precision

// Sizes shared by all layers; 0 means "derive": kv_heads = heads, head_dim = width / heads (of the mixer at
// hand), value_dim = the mixer's key dimension.
struct Dimensions {
  std::int64_t width = 64;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t state = 16;        // N of mamba; key dimension of mamba2
  std::vector<std::int64_t> mlp;  // hidden widths, in order; empty: no MLP
  bool mlp_given = false;         // false: mlp = {4 * width}
  MlpActivation activation = MlpActivation::relu;
  Norm norm = Norm::none;
  PositionCode position = PositionCode::table;
  std::int64_t vocabulary = 256;
  std::int64_t outputs = 0;  // 0: = vocabulary
  std::int64_t context = 0;  // longest prompt for a position table; 0: not fixed
  bool causal = true;
  Precision precision;
  // Width of recurrent state entries; absent: precision.bits, and what the exact sums of linear attention need.
  std::optional<std::int64_t> accumulator_bits;
  bool operator==(const Dimensions&) const = default;
};
// From a TOML or JSON document with the field names above (`mlp` is a number, a list, or "none"; `precision`
// a text as for parse_precision); unknown fields are errors. "arch" may stand beside them:
// read_architecture_file.
Result<Dimensions> read_dimensions(const std::string& path);

// ENSURES: sizes in 1..kMaxSize (0 where it means "derive"), heads divisible by kv_heads. resolve() calls it.
Result<void> check_dimensions(const Dimensions& dimensions);
// "none" or hidden widths: "256", "256,128".
Result<std::vector<std::int64_t>> parse_mlp(std::string_view text);
std::string format_mlp(const std::vector<std::int64_t>& widths);
std::vector<std::int64_t> mlp_widths(
    const Dimensions& dimensions);                              // hidden widths with the default filled in
Result<Norm> parse_norm(std::string_view text);                 // none | rms
Result<PositionCode> parse_position(std::string_view text);     // none | table | binary | rope
Result<MlpActivation> parse_activation(std::string_view text);  // relu | gelu | silu
std::string_view norm_name(Norm norm);
std::string_view position_name(PositionCode position);
std::string_view activation_name(MlpActivation activation);

struct Architecture {
  Stack stack;
  Dimensions dimensions;
  bool operator==(const Architecture&) const = default;
};

// A dimensions file with the line it may carry.
struct ArchitectureFile {
  std::optional<std::string> arch;
  Dimensions dimensions;
};
Result<ArchitectureFile> read_architecture_file(const std::string& path);

// A mixer with every size known. Which fields mean something depends on the kind; the rest are 0.
struct MixerShape {
  MixerKind kind = MixerKind::full;
  std::int64_t heads = 0;      // query heads; value heads of a recurrence
  std::int64_t kv_heads = 0;   // key/value heads of softmax attention; key heads (groups) of a recurrence
  std::int64_t key_dim = 0;    // per head
  std::int64_t value_dim = 0;  // per head
  std::int64_t state = 0;      // mamba: N
  std::int64_t inner = 0;      // mamba, rnn, gru, conv: channels
  std::int64_t conv = 0;       // taps of the short convolution inside the layer; 0: none
  std::int64_t conv_channels = 0;
  std::optional<std::int64_t> window, chunk;    // full; sparse's window branch
  std::int64_t block = 0, select = 0;           // sparse: B, k; topk: select = k
  std::int64_t groups = 0;                      // sparse: selection groups; mamba2: = kv_heads
  std::int64_t index_heads = 0, index_dim = 0;  // topk; sparse by token scores
  bool token_scores =
      false;  // sparse: a block's score is its best token's index score; nothing is compressed
  bool earlier_keys = false;  // full: reads the keys and values of an earlier layer, which caches them
  std::int64_t cache =
      0;  // KV-cache elements per token where it is not 2-sided (latent attention); 0: derive
  FeatureMap feature = FeatureMap::identity;
  bool normalised = true;                        // linear
  Accumulator accumulator = Accumulator::exact;  // linear, and loglinear over linear
  bool relu_cell = false;                        // rnn: relu instead of tanh
  std::int64_t range = 1;                        // delta, gdelta: β reaches 1 or 2
  std::int64_t steps = 1;                        // delta, gdelta: writes a token
  MixerKind base = MixerKind::linear;            // loglinear; the other fields are the base's
  std::int64_t levels = 0;  // loglinear: levels of dimensions.context; 0: context not fixed
  std::string released;     // recurrent/compressed: the kind
  std::int64_t elements =
      0;           // recurrent: state elements; compressed: cached elements per entry (block = ratio)
  MixerForm form;  // what a released layer has around it
  bool signed_weights = false;    // topk: index weights count with their sign
  std::vector<MixerShape> parts;  // heads

  // Released models alone have it: counted and bounded, not evaluated. Opaque kinds, and the two flags above.
  bool opaque() const;
  // Softmax over the whole past with keys and values of its own: what constructions look up with.
  bool looks_back() const;
  std::int64_t output_width() const;  // numbers that the mixer hands to W_O, all heads; 0 for none and opaque
  std::int64_t feature_dim() const;   // of one key after the feature map: taylor2 1 + d + d², else d
};

// How messages name an opaque mixer: "recurrent(kda)", "sparse(score=tokens)". REQUIRES mixer.opaque().
std::string opaque_name(const MixerShape& mixer);

// How messages name a mixer by its form: "gla", "sparse in a released form". REQUIRES a mixer whose
// form is not plain.
std::string form_name(const MixerShape& mixer);
// How a message that refuses a form goes on: "; form=plain is the plain form" where the word has one, else nothing.
std::string plain_form_hint(const MixerShape& mixer);

struct LayerShape {
  MixerShape mixer;
  std::int64_t width = 0;
  std::vector<std::int64_t> mlp;  // hidden widths; empty: no MLP
};

// The first mixer, in a layer or in its head groups, whose form is not plain; null: none.
const MixerShape* first_released(const std::vector<LayerShape>& layers);
// Whether mode X knows the mixer in its form (docs/weights.md): every plain one, and released forms that are made of
// tables, shifts and norms. REQUIRES a mixer that is not opaque.
bool has_integer_form(const MixerShape& mixer);
// The first mixer, in a layer or in its head groups, that has none; null: all have one.
const MixerShape* first_without_integers(const std::vector<LayerShape>& layers);

// Levels that log-linear attention distinguishes within `context` tokens (one weight each): ⌊lg context⌋ + 2.
// REQUIRES context >= 1.
std::int64_t loglinear_levels(std::int64_t context);
// The most that hold a state at once: after t tokens the set bits of t - 1, and the last token's own, so at
// most ⌊lg context⌋ + 1 within a context. REQUIRES context >= 1.
std::int64_t loglinear_live_states(std::int64_t context);

// ENSURES on success: sizes positive, divisible where they must be, products below 2^62; encoder stacks hold
// only mixers that have a bidirectional meaning (full, windowed full, linear, topk, identity, none, and heads
// of those, without a short convolution). Opaque mixers resolve: only evaluation refuses them.
Result<std::vector<LayerShape>> resolve(const Architecture& architecture);

}  // namespace rung
