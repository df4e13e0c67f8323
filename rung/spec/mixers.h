// What rung knows of each mixer, as data: one MixerDescriptor a word. The language, the sizes, the tensors, the bits of
// state and cache, the letters and what a theorem may assume of a mixer all derive from it; docs/mixers.md lists what
// a mixer needs beside it.
//
//   const MixerDescriptor& gdelta = mixer_descriptor(MixerKind::gdelta);
//   gdelta.letter == Letter::recurrent;  gdelta.update == Update::coupled;
//
// What a descriptor must say has no default: a mixer that leaves out its state or its letter does not compile.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "rung/base/checked_size.h"
#include "rung/spec/architecture.h"

namespace rung {

// A value that has to be given.
template <class T>
struct Said {
  Said(T said) : value(std::move(said)) {}
  operator const T&() const { return value; }
  T value;
};

// What an option sets in a MixerShape, with the rule for an option that is left open. In the order in which resolve()
// finds them: a later one may rest on an earlier one.
enum class Sets {
  base,              // loglinear: the recurrence, whose options its own are
  heads,             // heads and kv_heads; open: the dimension heads
  kv_heads,          // a divisor of heads; open: the dimension kv_heads, or heads
  key_heads,         // a divisor of heads; open: heads
  key_groups,        // kv_heads and groups, a divisor of heads; open: heads
  selection_groups,  // groups, a divisor of heads; open: kv_heads
  key_dim,           // open: the dimension head_dim, or the layer's share of the width
  state_rows,        // key_dim; open: the dimension state
  value_dim,         // open: the dimension value_dim, or key_dim
  only_dim,    // value_dim of a mixer without keys; open: value_dim, head_dim, or the share of the width
  shared_dim,  // the same, shares counted by the dimension heads
  state,       // open: the dimension state
  inner,       // open: the width
  taps,
  window,
  chunk,
  elements,
  cache,  // open: elements, which attention that keeps its own keys has none of
  block,
  select,
  score,  // token_scores
  index_heads,
  index_dim,        // open: key_dim
  token_index_dim,  // index_heads = groups and index_dim, for token scores alone
  feature,
  normalised,
  accumulator,
  cell,
  key_source,  // earlier_keys
  released,
  buffer_elements,  // the convolution's buffer, in elements
  range,            // of β
  steps,            // writes a token
  form,             // of a released layer, and what goes with it: resolve_form.h
};

// What the language knows of one option; drives the parser, the formatter, `rung show --mixers` and the suggestions.
struct OptionWord {
  std::string_view name;
  std::string_view help;
  Said<Sets> sets;
  bool is_number = true;
  std::int64_t low = 0, high = 0;              // numbers: the allowed range
  std::optional<std::int64_t> default_number;  // nullopt: by the rule of `sets`, or absent
  std::vector<std::string_view> words;         // words: the allowed ones (empty: any identifier)
  std::string_view default_word;               // empty: none
  bool required = false;
  // The defaults of form=released, where they are others.
  std::optional<std::int64_t> released_number = {};
  std::string_view released_word = {};
};

// The form that a mixer has when it says none, "plain" or "released": released where the word has such a form beside
// the plain one. `full` is plain, for its forms differ in the turning of keys alone, which is a dimension (position).
// Empty: its word has one form, without a name.
std::string_view default_form(const Mixer& mixer);
bool has_two_forms(const Mixer& mixer);  // with the other options that it has
// Whether a line of a document says its form: where the language's default is released, and for several steps a token,
// which had that default once.
bool documents_say_form(const Mixer& mixer);
bool is_released(const Mixer& mixer);  // in the form that it says or has when it says none
// The value of an option that a mixer leaves out, by its form; nullopt and empty: none.
std::optional<std::int64_t> default_number(const Mixer& mixer, const OptionWord& option);
std::string_view default_word(const Mixer& mixer, const OptionWord& option);
// As given, or the default. REQUIRES an option of the mixer's word that has one or the other.
std::int64_t number_or_default(const Mixer& mixer, std::string_view option);
std::string word_or_default(const Mixer& mixer, std::string_view option);
MixerKind base_of(const Mixer& mixer);  // REQUIRES loglinear

// A size of a MixerShape; `width` is that of the layer's input.
enum class Extent {
  width,
  heads,
  kv_heads,
  key_dim,
  feature_dim,
  value_dim,
  inner,
  state,
  block,
  branches,  // sparse: compression and selection, and the window's: 3 with a window, else 1 weight a head
  index_heads,
  index_dim,
  elements,
  steps,
};
using Extents = std::vector<Extent>;  // their product

// "q" is the tensor q.weight [rows, columns]. Channels are maps of the layer's input.
struct MixerTensor {
  std::string_view name;
  Extents rows;
  Extents columns = {Extent::width};  // empty: a vector
  bool convolved = false;             // a channel that the short convolution reads
};

// Numbers of a recurrent state.
struct StatePart {
  enum class Holds {
    entries,  // of the width of a state entry
    sums,     // of products v φ(k): with exact sums as wide as they grow (accounting.h)
    counts,   // of features, where the mixer is normalised
  };
  Extents extents;
  Holds holds = Holds::entries;
};
using StateParts = std::vector<StatePart>;

// The letter in the pattern word; behind a short convolution F is RF.
enum class Letter { none, recurrent, full, of_parts };

// Whether the theorems on words cover a mixer of this letter.
enum class Coverage { proved, sketch, none };

// What grows with the prompt.
enum class Memory {
  none,      // position-wise: no token sees another
  fixed,     // a fixed number of stored numbers, which each token updates
  levels,    // one such state for each power of two of the past
  past,      // every token stays, unless a window or chunk bounds them
  of_parts,  // heads(...)
};

// What attention keeps of a token (accounting.h).
enum class Cache {
  none,
  tokens,      // keys and values
  index_keys,  // and an index key
  blocks,      // and its share of a block's compressed entry, or an index key with token scores
  entries,     // compressed entries alone
  of_parts,
};

// The sign of the factor by which a state entry is multiplied at each token.
enum class Decay {
  none,  // no such factor: entries are added to, or replaced
  table,  // that of the values of the file's table `decay_table`, which are any integers; the functions that a real
          // file may name for it by default (weights.md) are not negative
  positive,  // an exponential or a logistic function, whatever the weights
  unknown,   // opaque
};

// How the new value of a state entry depends on the old state, the input fixed.
enum class Update {
  none,       // there is no recurrent state
  entrywise,  // h ← settle(rsh(a h) + b): on h alone, and non-decreasing in it where a >= 0 and settle saturates
  coupled,      // on other entries too
  by_position,  // which entries are merged depends on the position
  of_parts,
  unknown,  // opaque
};

struct MixerDescriptor {
  MixerKind kind;
  std::string_view name;
  std::string_view help;
  std::vector<OptionWord> options;
  Said<std::vector<MixerTensor>>
      tensors;             // in the order of the file; W_O, the taps and log-linear's levels follow
  Said<StateParts> state;  // log-linear: the base's
  Said<Extents> output;    // numbers that it hands to W_O; empty: none
  Said<Letter> letter;
  Coverage coverage = Coverage::proved;
  Said<Memory> memory;
  Said<Cache> cache;
  Said<Decay> decay;
  std::string_view decay_table;  // Decay::table: its name in the plain form (decay_table_of)
  Said<Update> update;
  Said<bool> encoder;              // has a bidirectional meaning
  bool opaque = false;             // a released mixer that is counted and bounded, not evaluated
  std::string_view taps = "conv";  // the tensor of its convolution
};

std::span<const MixerDescriptor> mixer_descriptors();  // in the order of MixerKind
const MixerDescriptor& mixer_descriptor(MixerKind kind);
// The recurrence that a mixer computes: log-linear attention has its base's tensors and state.
const MixerDescriptor& recurrence_of(const MixerShape& mixer);
// The same sizes in the plain form; a mixer that has none stays what it is.
Mixer plain_form(Mixer mixer);
// Mixers made of heads; their `heads` option is then the part's count.
bool can_stand_in_heads(const MixerDescriptor& mixer);

// The product; a size that does not fit is not ok().
CheckedSize size_of(const Extents& extents, const MixerShape& mixer, std::int64_t width);
// The channels that a short convolution reads, in their order, with their rows.
std::vector<std::pair<std::string_view, std::int64_t>> convolved_channels(const MixerShape& mixer);
// Whether a part of the state is there: counts are where the mixer is normalised.
bool has_part(const MixerShape& mixer, const StatePart& part);
// What a theorem may assume of a mixer in the form that it has: the descriptor's data, and what the form changes.
struct Assumptions {
  Update update = Update::unknown;
  Decay decay = Decay::unknown;
  // Transitions may have negative eigenvalues: β up to 2, and RWKV-7's removal, which may outweigh its decay.
  bool negative_eigenvalues = false;
  bool turns = false;  // keys, queries or index keys depend on the position (rope)
  // sparse: a block is ranked by the score of its one compression, and k are read beside the own one.
  bool block_messages = false;
  bool doubling_levels = false;  // loglinear: level l holds 2^l tokens, the oldest 2^⌊lg t⌋ share a state
  bool written_down = false;     // the form that constructions write
};
Assumptions assumptions_of(const MixerShape& mixer);
// The table of an integer file whose values multiply state entries. REQUIRES Decay::table.
std::string_view decay_table_of(const MixerShape& mixer);

// Of this shape: a window or a chunk makes full attention R; token scores and released forms leave the block-sparse
// theorem.
Letter letter_of(const MixerShape& mixer);
Coverage coverage_of(const MixerShape& mixer);
// Numbers of the recurrent state, one level of it. REQUIRES a shape of resolve().
std::int64_t state_numbers(const MixerShape& mixer);

}  // namespace rung
