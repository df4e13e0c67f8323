// The architecture line and its dimensions (docs/language.md), every open size filled in.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "check/verdict.h"

namespace rung_check {

// What a released layer has around its recurrence (docs/weights.md, "Released forms").
struct Form {
  bool conv_bias = false, step = false, scale = false, beta = true;
  std::string act = "none", qk_act = "none", gate = "none";
  bool select_conv = false;  // mamba
  bool strong = false;       // loglinear: the strong partition
  std::string qk_norm = "none", skip = "none", norm = "none", norms = "none";  // norms: of mamba
  std::int64_t norm_groups = 1, rank = 0;  // mamba2; mamba's bottleneck, 0: none
  std::string compress = "map";            // sparse: of windows of `span` tokens every `stride`
  std::int64_t span = 0, stride = 0, first = 0, local = 0;
  bool index_norm = false;  // topk

  bool operator==(const Form&) const = default;
  bool plain() const { return *this == Form{}; }
};

// One mixer. Letters as in docs/weights.md: H heads, K key/value heads, dk, dv dimensions of a key and a
// value.
struct Shape {
  std::string kind;
  std::int64_t heads = 1, kv = 1, dk = 0, dv = 0;
  std::int64_t conv = 0;                           // taps of the short convolution; `width` of conv
  std::int64_t window = 0, chunk = 0;              // 0: none
  std::int64_t block = 0, select = 0, groups = 1;  // sparse (B, k, groups), topk (k)
  std::int64_t index_heads = 0, index_dim = 0;     // topk
  bool signed_weights = false;                     // topk: index weights with their sign
  std::int64_t inner = 0, state = 0;               // rnn, gru (inner), mamba (I, N), conv (channels)
  std::string feature, base;                       // linear, loglinear
  bool normalised = false, relu_cell = false;
  std::int64_t range = 1, steps = 1;  // of the delta rule
  Form form;
  std::vector<Shape> parts;  // heads

  const std::string& base_rule() const { return kind == "loglinear" ? base : kind; }
  std::int64_t features() const;  // D
  std::int64_t outputs() const;   // numbers that the mixer hands over
  bool sees_other_tokens() const;
};

struct Architecture {
  std::vector<Shape> layers;
  std::int64_t width = 64, heads = 1, kv_heads = 0, head_dim = 0, value_dim = 0, state = 16, context = 0;
  std::vector<std::int64_t> mlp;  // hidden widths
  bool has_mlp = true, causal = true, rms = false;
  std::string activation = "relu", position = "table";
  std::int64_t precision = 16, accumulator_bits = 16;
};

// `dimensions` is the JSON text of the metadata. `real`: the precision may be a float's name, and is not
// used. `says_forms`: version 2, in which a mixer that has two forms says its own.
Architecture read_architecture(const std::string& line, const std::string& dimensions, bool real,
                               bool says_forms);

}  // namespace rung_check
