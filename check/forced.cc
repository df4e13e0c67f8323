#include "check/forced.h"

#include "check/counting.h"

namespace rung_check {
namespace {

// Integers strictly between M/6 and M/3: no two or three of them sum to 0 modulo M.
std::int64_t three_sum_values(std::int64_t M) { return std::max<std::int64_t>(0, (M - 1) / 3 - M / 6); }

// base^exponent, or `most` where that is smaller.
std::int64_t power_up_to(std::int64_t base, std::int64_t exponent, std::int64_t most) {
  Int value = 1;
  for (std::int64_t i = 0; i < exponent && value < most && base > 1; ++i) value *= base;
  return static_cast<std::int64_t>(std::min<Int>(value, most));
}

// Corners (±r, …, ±r), r = 2^f/√d rounded, that differ in one place or more have products at least 2r² below
// their own: whether that is the margin of a prompt that asks for one of them.
bool corners_keep_margin(std::int64_t d, std::int64_t f, std::int64_t margin) {
  const Int r = (isqrt((Int{1} << (2 * f + 2)) / d) + 1) / 2;
  return 2 * r * r >= static_cast<Int>(margin) << f;
}

// z_L of seqcomp in the hard order: N_{L-1} arguments and values.
std::int64_t arguments_of(const Task& task) {
  std::int64_t arguments = task.size.at("m");
  for (std::int64_t level = 1; level < task.size.at("L"); ++level)
    arguments *= task.size.at(text("n", level));
  return arguments;
}

void same_outside(const Task& task, const PromptPair& pair, const std::function<bool(std::int64_t)>& part,
                  const char* name) {
  for (std::int64_t t = 0; t < task.length; ++t)
    holds(part(t) || row_at(task, pair.first, t) == row_at(task, pair.second, t),
          text("the prompts differ at position ", t, ", outside ", name));
}

// The model's one full layer, without window, chunk or convolution.
struct OneFullLayer {
  std::size_t layer = 0;
  const FullView* view = nullptr;
};
OneFullLayer one_full_layer(const Model& model) {
  OneFullLayer found;
  const auto& layers = model.architecture().layers;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if (layers[l].kind != "full" || layers[l].window != 0 || layers[l].chunk != 0) continue;
    holds(!found.view && layers[l].conv == 0,
          "the model has more than one full layer, or a convolution in it");
    found = {l, dynamic_cast<const FullView*>(model.mixer(l))};
  }
  holds(found.view, "the model has no full layer");
  return found;
}

std::string number(Int x) { return text(static_cast<std::int64_t>(kept(x))); }

}  // namespace

Beginnings::Beginnings(const Task& task, std::int64_t alphabet)
    : base_(alphabet), entries_([](std::int64_t c) { return c; }) {
  const auto& name = task.name;
  const auto size = [&](const char* what) { return task.size.at(what); };
  const auto same = [&](std::int64_t expected) { holds(alphabet == expected, "alphabet is not the task's"); };
  const auto from_to = [&](std::int64_t least, std::int64_t most) {
    holds(alphabet >= least && alphabet <= most,
          "alphabet leaves nothing to tell apart, or nothing to ask for");
  };
  if (name == "eva") {
    same(size("n"));
    most_positions_ = size("n");
  } else if (name == "index" || name == "retrieval") {
    same(size("sigma"));
    most_positions_ = size("n");
  } else if (name == "mqar") {
    same(size("sigma"));
    most_positions_ = 2 * size("n");
    // The ending writes the pairs that are left, and the value of a key that stands last: over keys that are
    // not asked for.
    entries_ = [keys = size("M"), all = most_positions_](std::int64_t c) {
      if (keys == 1 && c < all) return std::int64_t{0};
      return std::min(c / 2, c % 2 == 0 ? keys : keys - 1);
    };
  } else if (name == "two-sum" || name == "two-sum-exists" || name == "three-sum") {
    const std::int64_t M = size("M");
    same(name == "two-sum" ? M : name == "two-sum-exists" ? (M - 1) / 2 : three_sum_values(M));
    most_positions_ = size("n") - (name == "two-sum" ? 0 : name == "two-sum-exists" ? 1 : 2);
    form_ = Form::sets;
  } else if (name == "equality" || name == "disjointness") {
    same(2);
    most_positions_ = size("n");
  } else if (name == "seqcomp" && task.options.empty()) {
    same(arguments_of(task));
    most_positions_ = alphabet;
  } else if (name == "nearest") {
    same(size("sigma"));
    most_positions_ = 2 * size("n");
    holds(corners_keep_margin(size("d"), size("f"), size("margin")),
          "no corners keep the margin: not forced");
    const std::int64_t corners = std::int64_t{1} << std::min<std::int64_t>(size("d"), 62);
    // Every point that is there has a corner of its own, or the last corner repeats and is not asked for.
    entries_ = [corners](std::int64_t c) { return (c + 1) / 2 > corners ? corners - 1 : c / 2; };
  } else if (name == "cgram") {
    const std::int64_t block = size("c"), keys = size("sigma") - alphabet;
    from_to(2, size("sigma") - 1);
    most_positions_ = size("n") - block + 1;
    entries_ = [block, keys](std::int64_t c) { return power_up_to(keys, block - 1, c / block); };
  } else if (name == "khop") {
    const std::int64_t keys = size("sigma") - (size("k") - 1) - alphabet;
    from_to(2, size("sigma") - size("k"));
    most_positions_ = size("n") - (2 * size("k") - 1);
    entries_ = [keys](std::int64_t c) { return std::min(keys, c / 2); };
  } else if (name == "counting") {
    const std::int64_t k = size("k");
    same(size("sigma"));
    most_positions_ = size("n");
    form_ = k == 0 ? Form::multisets : Form::sets_or_empty;
    if (k > 0) entries_ = [k](std::int64_t c) { return c / k; };
    if (k > 0) base_ = alphabet - 1;
  } else if (name == "istree") {
    from_to(2, size("n") - 1);
    most_positions_ = 2 * (size("n") - alphabet);
    entries_ = [](std::int64_t c) { return c / 2; };
  } else if (name == "sparse-average") {
    same(2);
    holds(size("n") - 1 >= 2 * size("q"), "the subsets are too large to ask for every vector");
    most_positions_ = size("n") - 1;
    entries_ = [d = size("d")](std::int64_t c) { return kept(mul(c, d)); };
  } else if (name == "copy") {
    same(size("sigma"));
    most_positions_ = size("n");
  } else if (name == "parity" || name == "modulo" || name == "flipflop" ||
             (name == "group" && !task.options.contains("letters"))) {
    // ^ and one letter lead to every state; the letter that changes nothing fills the rest.
    same(task.answer_size);
    most_positions_ = size("n");
    entries_ = [](std::int64_t c) { return c >= 2 ? std::int64_t{1} : 0; };
  } else if (name == "tracked-recall") {
    same(size("sigma"));
    most_positions_ = size("n");
    const auto group = task.options.find("group");
    const std::int64_t w = size("w");
    if (group != task.options.end() && group->second == "xor")
      holds(w >= 62 || std::int64_t{1} << w >= size("n"), "the letters do not lead to every place");
    else
      entries_ = [w](std::int64_t c) { return c > w ? w + 1 : c; };
  } else {
    throw Rejected("no family of beginnings is known for this task: not forced");
  }
}

bool Beginnings::exceed(std::int64_t c, std::int64_t bits, Budget& budget) const {
  switch (form_) {
    case Form::functions:
      return power_exceeds(base_, entries_(c), bits, budget);
    case Form::sets:
      return subsets_exceed(base_, 1, entries_(c), bits, budget);
    case Form::sets_or_empty:
      return subsets_exceed(base_, 0, entries_(c), bits, budget);
    case Form::multisets:
      return binomial_exceeds(c + base_ - 1, base_ - 1, bits, budget);
  }
  return false;
}

std::string Beginnings::shown(std::int64_t c) const {
  switch (form_) {
    case Form::functions:
      return text(base_, "^", entries_(c), " beginnings");
    case Form::sets:
      return text("sets of up to ", entries_(c), " of ", base_, " values");
    case Form::sets_or_empty:
      return text("sets of none to ", entries_(c), " of ", base_, " symbols");
    case Form::multisets:
      return text("counts of ", base_, " symbols in ", c, " places");
  }
  return {};
}

std::string forced_by_partial_sums(Model& model, const Task& task, const PromptPair& pair,
                                   std::int64_t partial_bits, Budget& budget) {
  const OneFullLayer full = one_full_layer(model);
  const auto& layers = model.architecture().layers;
  for (std::size_t l = 0; l < layers.size(); ++l)
    holds(l == full.layer || !layers[l].sees_other_tokens(), "another layer sees other tokens");
  holds(model.steps() == 0, "a forced fooling pair has no chain of thought");
  const Int part = full.view->partial_sum_bits(task.length);
  holds(partial_bits == part,
        text("partial_bits is ", partial_bits, "; the partial sums have ", number(part)));
  const auto size = [&](const char* what) { return task.size.at(what); };
  const auto first_positions = [&](std::int64_t count, const char* name) {
    same_outside(
        task, pair, [count](std::int64_t t) { return t < count; }, name);
  };
  const char* const too_few = "at least as many partial sums as contents of the part: not forced";
  const auto said = [&](const std::string& contents) {
    return text("forced: ", contents, ", 2^", partial_bits, " partial sums");
  };
  if (task.name == "equality" || task.name == "disjointness") {
    first_positions(size("n"), "the first string");
    holds(power_exceeds(2, size("n"), partial_bits, budget), too_few);
    return said(text("2^", size("n"), " first strings"));
  }
  if (task.name == "three-sum") {
    const std::int64_t places = size("n") - 2, values = three_sum_values(size("M"));
    first_positions(places, "the first n - 2 numbers");
    holds(row_at(task, pair.first, task.length - 1) == Row{0}, "the last number is not 0");
    holds(subsets_exceed(values, 1, places, partial_bits, budget), too_few);
    return said(text("sets of up to ", places, " of ", values, " values"));
  }
  if (task.name == "dyck") {
    const std::int64_t n = size("n");
    holds(n % 2 == 0, "an odd number of brackets never nests");
    same_outside(
        task, pair, [n](std::int64_t t) { return t % 2 == 0 && t < n - 2; },
        "the opening brackets of all pairs but the last");
    holds(power_exceeds(size("k"), n / 2 - 1, partial_bits, budget), too_few);
    return said(text(size("k"), "^", n / 2 - 1, " opening brackets"));
  }
  if (task.name == "seqcomp" && task.size.at("L") == 1 && task.options.empty()) {
    first_positions(size("m"), "z_1");
    holds(power_exceeds(size("m"), size("m"), partial_bits, budget), too_few);
    return said(text(size("m"), "^", size("m"), " functions z_1"));
  }
  throw Rejected("no part of this task is counted against partial sums: not forced");
}

TranscriptCount transcript_count(const TranscriptBits& given, std::int64_t T, std::int64_t x0,
                                 std::int64_t y) {
  const auto& [part, before, after, early] = given;
  const Int calls = mul(T, x0);
  if (!early) return {mul(calls, y), add(mul(add(static_cast<Int>(x0) + y, 1), part), mul(T, after))};
  return {mul((calls + 1) / 2, y),
          add(add(mul(T, add(before, after)), add(before, 1)), mul(mul(part, x0), add(mul(2, y), 1)))};
}

std::string forced_by_transcripts(Model& model, const Task& task, const PromptPair& pair, std::int64_t T,
                                  std::int64_t x0, std::int64_t y, Budget& budget) {
  holds(task.name == "seqcomp" && task.size.at("L") == 2 && task.options.empty(),
        "T, x0 and y speak of seqcomp with L = 2 in the hard order");
  const std::int64_t m = task.size.at("m"), n1 = task.size.at("n1"), N1 = m * n1;
  same_outside(
      task, pair, [N1](std::int64_t t) { return t < N1; }, "z_2");
  const Int calls = mul(T, x0);
  holds(calls <= m && y <= n1, "the proof's sizes do not fit the task's");
  holds(model.architecture().causal && model.steps() == 0,
        "a forced fooling pair has neither an encoder nor a chain of thought");
  const OneFullLayer full = one_full_layer(model);
  const auto& layers = model.architecture().layers;
  Int before = 0, after = 0;  // s_0, s_1
  bool early = false;
  model.reset();
  for (const std::int64_t cut : {N1, N1 + m}) {
    model.feed(pair.first, cut, {});
    Int below = 0, above = 0;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      if (l == full.layer || !layers[l].sees_other_tokens()) continue;
      early = early || l < full.layer;
      State state;
      model.mixer(l)->state(state, cut);
      (l < full.layer ? below : above) = add(l < full.layer ? below : above, state.bits);
    }
    before = std::max(before, below);
    after = above;
  }
  const Int part = full.view->partial_sum_bits(task.length);
  const auto [arguments, bits] = transcript_count({part, before, after, early}, T, x0, y);
  if (early)
    holds(images_spread(m, T, x0, before, budget),
          "T functions z_1 of one class need not have many images: not forced");
  holds(power_exceeds(N1, arguments, bits, budget),
        "at least as many transcripts as functions z_2: not forced");
  return text("forced: ", N1, "^", number(arguments), " tables, 2^", number(bits), " transcripts (M_part ",
              number(part), early ? ", s_0 " + number(before) : "", ", s_1 ", number(after), ")");
}

std::string forced_by_messages(const Model& model, const Task& task, const Shape& sparse, std::int64_t bits,
                               std::optional<std::int64_t> values, Budget& budget) {
  holds(task.name == "two-sum", "a forced sparse pair speaks of two-sum");
  holds(model.steps() == 0, "a forced sparse pair has no chain of thought, whose tokens would select again");
  return contents_exceed_messages(task.size.at("n"), task.size.at("M"), sparse, bits, values, budget);
}

std::string contents_exceed_messages(std::int64_t n, std::int64_t M, const Shape& sparse, std::int64_t bits,
                                     std::optional<std::int64_t> values, Budget& budget) {
  const std::int64_t blocks = n / sparse.block;
  const Int read = mul(sparse.select, sparse.groups);
  holds(blocks > read, "every complete block can be selected");
  if (!values) {
    holds(binomial_exceeds(M, sparse.block, bits, budget),
          "at least as many messages as contents: not forced");
    return text("forced: C(", M, ", ", sparse.block, ") contents, 2^", bits, " messages");
  }
  holds(*values <= M - sparse.block, "values leaves too few others to fill a block");
  holds(subsets_exceed(*values, 0, sparse.block, bits, budget),
        "a message can determine so many values: not forced");
  holds(mul(M - *values + 1, blocks) > mul(read, M),
        "no value need be undetermined in more blocks than are selected");
  return text("forced: sets of none to ", sparse.block, " of ", *values, " values, 2^", bits,
              " messages; so each of ", blocks, " blocks leaves ", M - *values + 1, " of ", M,
              " values open");
}

}  // namespace rung_check
