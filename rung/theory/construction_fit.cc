#include "rung/theory/construction_fit.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "rung/base/plural.h"
#include "rung/base/require.h"
#include "rung/spec/mixers.h"

namespace rung {
namespace {

using Use = LayerCost::Use;

constexpr std::string_view
    kByBlocks = "lookups by selected blocks are argued in words, not written as weights",
    kBySelection = "lookups by selected tokens are argued in words, not written as weights",
    kThroughConvolution =
        "the short convolution is taken to pass the current token on, not written as weights",
    kLatent = "keys and values are taken to pass through the shared latent, not written as weights",
    kOtherCarrier = "a carrier other than linear attention is argued in words, not written as weights",
    kNormalised = "the norm is taken to be undone by the layers, not written as weights";

// Numbers that a carrier other than linear attention hands on to the next tokens.
std::int64_t carried_numbers(const MixerShape& m) {
  using enum MixerKind;
  const bool inner = m.kind == conv || m.kind == mamba || m.kind == rnn || m.kind == gru;
  return inner ? m.inner : (m.kind == full ? m.kv_heads : m.heads) * m.value_dim;
}

struct Room {
  std::int64_t heads, key_dim, value_dim;
};
bool fits(const Room& room, const LayerCost& need) {
  return room.heads >= need.heads && room.key_dim >= need.key_dim && room.value_dim >= need.value_dim;
}

std::optional<LayerService> attention_service(const MixerShape& m, const LayerCost& need) {
  const Room room{m.kv_heads, m.key_dim, m.value_dim};
  if (!fits(room, need)) return std::nullopt;
  using enum MixerKind;
  if (m.looks_back()) {
    if (m.conv > 0) return LayerService{0, kThroughConvolution};
    if (m.cache > 0) return LayerService{0, kLatent};
    return LayerService{};
  }
  if (need.use != Use::lookup) return std::nullopt;
  if (m.token_scores)  // every group ranks by the best index score: its own target's block comes first
    return 2 * m.index_dim >= need.key_dim && need.heads <= m.groups
               ? std::optional(LayerService{0, kByBlocks})
               : std::nullopt;
  if (m.kind == sparse && need.heads <= (m.groups > 1 ? std::max(m.groups, m.select) : m.select))
    return LayerService{0, kByBlocks};
  if (m.kind == topk && need.heads == 1 && 2 * m.index_dim >= need.key_dim)
    return LayerService{0, kBySelection};
  return std::nullopt;
}

// Linear attention with a weight of 1 for one token and 0 for the others: relu of code · c - (D-1), elu1 or exp of
// code · c - D. With one key feature a token the identity has no such weight.
std::optional<LayerService> carry_service(const MixerShape& m, const LayerCost& need) {
  const std::int64_t numbers = need.heads * need.key_dim * need.value_dim,
                     reach = need.heads * need.key_dim + 1;
  using enum MixerKind;
  switch (m.kind) {
    case linear: {
      if (!fits({m.heads, m.key_dim, m.value_dim}, need)) return std::nullopt;
      const bool built = m.feature == FeatureMap::relu || m.feature == FeatureMap::elu1 ||
                         (m.feature == FeatureMap::exp && need.key_dim == 1);  // columns weigh 1, 2, 4, ..
      if (!built) return LayerService{0, kOtherCarrier};
      return m.conv > 0 ? LayerService{0, kThroughConvolution} : LayerService{};
    }
    case full:  // a window: one head for each token, addressed by position
      if (!m.window || m.earlier_keys || *m.window < reach || m.key_dim < digits_for(reach) ||
          m.kv_heads < reach - 1 || m.value_dim < need.value_dim)
        return std::nullopt;
      return LayerService{0, kOtherCarrier};
    case conv:
      if (m.conv < reach || carried_numbers(m) < numbers) return std::nullopt;
      return LayerService{0, kOtherCarrier};
    case loglinear:
    case mamba2:
    case delta:
    case gdelta:
    case mamba:
    case rnn:
    case gru:
      if (carried_numbers(m) < numbers) return std::nullopt;
      return LayerService{0, kOtherCarrier};
    case sparse:
    case topk:
    case heads:
    case identity:
    case none:
    case gla:
    case kda:
    case rwkv7:
    case recurrent:
    case compressed:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<LayerService> table_service(const MixerShape& m, const LayerCost& need) {
  using enum MixerKind;
  const MixerKind wanted = need.use == Use::buckets  ? loglinear
                           : need.use == Use::delta  ? delta
                           : need.use == Use::gdelta ? gdelta
                           : need.use == Use::ssd    ? mamba2
                                                     : linear;
  if (m.kind != wanted || !fits({std::min(m.heads, m.kv_heads), m.key_dim, m.value_dim}, need))
    return std::nullopt;
  if (m.kind == loglinear && m.base != linear) return std::nullopt;
  if (m.steps < need.steps) return std::nullopt;
  if (m.kind == linear || m.kind == loglinear) {
    const bool whole =
        m.feature == FeatureMap::relu || (m.feature == FeatureMap::identity && need.use != Use::relu_table);
    if (!whole || m.normalised) return std::nullopt;
  }
  return m.conv > 0 ? LayerService{0, kThroughConvolution} : LayerService{};
}

// Whatever form the mixer has.
std::optional<LayerService> service_by_size(const MixerShape& m, const LayerCost& need) {
  switch (need.use) {
    case Use::mlp:
      return LayerService{};
    case Use::lookup:
    case Use::softmax:
      return attention_service(m, need);
    case Use::carry:
      return carry_service(m, need);
    case Use::table:
    case Use::relu_table:
    case Use::buckets:
    case Use::delta:
    case Use::gdelta:
    case Use::ssd:
      return table_service(m, need);
    case Use::elman:
    case Use::counter:
      if (m.kind != MixerKind::rnn || m.relu_cell != (need.use == Use::counter) || m.inner < need.value_dim)
        return std::nullopt;
      return LayerService{};
    case Use::gru:
      if (m.kind != MixerKind::gru || m.inner < need.value_dim) return std::nullopt;
      return LayerService{};
    case Use::slots:
      if (m.kind != MixerKind::sparse || m.token_scores || m.block != need.block ||
          !fits({m.kv_heads, m.key_dim, m.value_dim}, need))
        return std::nullopt;
      return LayerService{};
  }
  return std::nullopt;
}

std::optional<LayerService> whole_service(const MixerShape& m, const LayerCost& need) {
  const bool written =
      need.use == Use::mlp || assumptions_of(m).written_down;  // proofs write down the plain form
  return written ? service_by_size(m, need) : std::nullopt;
}

std::string layer_text(const LayerCost& need) {
  const auto heads = [&](std::string_view kind) {
    return fmt::format("{} of {} with dimension {} and value dimension {}", kind, counted(need.heads, "head"),
                       need.key_dim, need.value_dim);
  };
  const std::string text = [&]() -> std::string {
    switch (need.use) {
      case Use::mlp:
        return "any layer";
      case Use::lookup:
      case Use::softmax:
        return heads("full");
      case Use::carry:
        return heads("linear (a carrier)");
      case Use::table:
        return heads("linear, unnormalised, identity or relu,");
      case Use::relu_table:
        return heads("linear, unnormalised, relu,");
      case Use::buckets:
        return heads("log-linear");
      case Use::delta:
      case Use::gdelta:
        return heads(need.steps == 1 ? need.use == Use::delta ? "delta rule" : "gated delta rule"
                                     : fmt::format("{}(steps={})",
                                                   need.use == Use::delta ? "delta" : "gdelta", need.steps));
      case Use::ssd:
        return heads("mamba2");
      case Use::elman:
        return "rnn with a table of its own";
      case Use::counter:
        return need.value_dim == 1 ? "rnn with relu" : fmt::format("rnn with {} relu cells", need.value_dim);
      case Use::gru:
        return fmt::format("gru with {} cells", need.value_dim);
      case Use::slots:
        return heads(fmt::format("sparse with blocks of {}", need.block));
    }
    return "";
  }();
  return need.count == 1 ? text : fmt::format("{} × {}", need.count, text);
}

// Whole numbers that a float format holds exactly: up to 2^this.
std::optional<int> significand(NumberFormat format) {
  switch (format) {
    case NumberFormat::bf16:
      return 8;
    case NumberFormat::fp16:
      return 11;
    case NumberFormat::fp32:
      return 24;
    default:
      return std::nullopt;  // fixed; and the 8-bit floats, in which scores are rounded
  }
}

class Fitter {
 public:
  Fitter(const Setting& setting, ConstructionCost cost, bool sketches)
      : setting_(setting), sketches_(sketches) {
    fit_.cost = std::move(cost);
  }

  ConstructionFit take() {
    layers();
    const Dimensions& d = setting_.architecture.dimensions;
    resource("residual width", d.width, fit_.cost.width);
    numbers(d);
    storage();
    position(d);
    sight();
    if (d.norm != Norm::none) {
      if (sketches_) gap(kNormalised);
      fit_.hypotheses.push_back({"no norm between the layers", sketches_, std::string(norm_name(d.norm))});
    }
    if (fit_.cost.generated > 0)
      fit_.hypotheses.push_back({"a chain of thought", setting_.chain_of_thought,
                                 fmt::format("{} tokens written", fit_.cost.generated)});
    // What Coq has checked is a decoder on exact integers, layers as they are built.
    if (fit_.status == Status::proved && fit_.cost.formal && setting_.causal() && setting_.exact_sums())
      fit_.status = Status::checked;
    return std::move(fit_);
  }

 private:
  void gap(std::string_view text) {
    fit_.status = std::max(fit_.status, Status::sketch);
    if (std::find(fit_.gaps.begin(), fit_.gaps.end(), text) == fit_.gaps.end()) fit_.gaps.emplace_back(text);
  }

  void resource(std::string name, std::int64_t have, std::int64_t need) {
    fit_.scarcest.meet(name, static_cast<double>(have), static_cast<double>(need));
    fit_.hypotheses.push_back(
        {std::move(name), have >= need, fmt::format("{} there, {} needed", have, need)});
  }

  void layers() {
    std::string text, released;
    std::int64_t wanted = 0, found = 0;
    std::size_t next = 0;
    bool whole = true;
    for (const LayerCost& need : fit_.cost.layers) {
      text += (text.empty() ? "" : ", then ") + layer_text(need);
      wanted += need.count;
      for (std::int64_t i = 0; whole && i < need.count; ++i) {
        std::optional<LayerService> service;
        while (next < setting_.layers.size() &&
               !(service = layer_service(setting_.layers[next].mixer, need, sketches_)))
          ++next;
        whole = service.has_value();
        if (!whole) {
          released = released_form(need);
          break;
        }
        if (!service->gap.empty()) gap(service->gap);
        note(need, setting_.layers[next].mixer, service->part);
        fit_.places.push_back({next, service->part});
        if (need.use != Use::mlp) storing_.insert(next);
        ++next;
        ++found;
      }
    }
    fit_.hypotheses.push_back(
        {fmt::format("layers in order: {}", text), whole,
         fmt::format("{} of {} found in {}{}", found, wanted, setting_.word.folded, released)});
  }

  // Of a layer that is missing: whether one of its kind is there, in a form that no proof writes down.
  std::string released_form(const LayerCost& need) const {
    for (const LayerShape& layer : setting_.layers) {
      const MixerShape& m = layer.mixer;
      if (!assumptions_of(m).written_down && service_by_size(m, need))
        return fmt::format("; {} is large enough, but {}", mixer_descriptor(m.kind).name,
                           assumptions_of(m).turns ? "its keys turn with the position"
                                                   : "proofs write down the plain form alone");
    }
    return "";
  }

  void note(const LayerCost& need, const MixerShape& mixer, std::size_t part) {
    const MixerShape& m = mixer.kind == MixerKind::heads ? mixer.parts[part] : mixer;
    if (need.use == Use::mlp) return;
    const auto meet = [&](const char* name, std::int64_t have, std::int64_t needed) {
      fit_.scarcest.meet(name, static_cast<double>(have), static_cast<double>(needed));
    };
    if (need.use == Use::elman || need.use == Use::counter || need.use == Use::gru)
      return meet("hidden numbers", m.inner, need.value_dim);
    if (need.use == Use::carry && m.kind != MixerKind::linear)
      return meet("carried numbers", carried_numbers(m), need.heads * need.key_dim * need.value_dim);
    meet("heads", m.kv_heads > 0 ? std::min(m.heads, m.kv_heads) : m.heads, need.heads);
    meet("head dimension", m.key_dim, need.key_dim);
    meet("value dimension", m.value_dim, need.value_dim);
    if (need.use == Use::carry && m.kind == MixerKind::linear) {
      fit_.cost.options["feature"] = m.feature == FeatureMap::relu   ? "relu"
                                     : m.feature == FeatureMap::elu1 ? "elu1"
                                                                     : "exp";
      fit_.cost.options["normalised"] = m.normalised ? "yes" : "no";
      if (m.normalised) fit_.cost.entry_bits = std::max(fit_.cost.entry_bits, 2);  // a count of 1 has a sign
    }
  }

  void numbers(const Dimensions& d) {
    const Precision& precision = d.precision;
    if (setting_.exact_sums()) {
      resource("bits of a number", precision.bits, fit_.cost.precision);
      if (setting_.sum_bits && fit_.cost.sum_bits > 0)
        resource("bits of a softmax sum", *setting_.sum_bits, fit_.cost.sum_bits);
      if (fit_.cost.entry_bits > 0)
        resource("bits of a state entry", setting_.entry_bits, fit_.cost.entry_bits);
      return;
    }
    const auto whole = significand(precision.format);
    const bool attends = fit_.cost.full_layers() > 0,
               holds = whole && fit_.cost.float_whole && *fit_.cost.float_whole <= std::int64_t{1} << *whole;
    fit_.hypotheses.push_back(
        {attends ? "fixed point numbers, or a float format that holds every score"
                 : "fixed point numbers, or a float format that holds every number",
         holds,
         fit_.cost.float_whole
             ? fmt::format("{}; {} to {}", format_precision(precision), attends ? "scores" : "whole numbers",
                           *fit_.cost.float_whole)
             : fmt::format("{}; the construction rests on integers", format_precision(precision))});
    if (fit_.cost.entry_bits > 0)
      fit_.hypotheses.push_back({"state entries as wide as numbers", setting_.entry_bits >= precision.bits,
                                 fmt::format("{} and {} bits", setting_.entry_bits, precision.bits)});
  }

  // What is handed on is stored in p bits, but for state entries whose width the construction counts.
  void storage() {
    const std::int64_t p = setting_.p(), conv = setting_.storage.conv.value_or(p),
                       cache = setting_.storage.cache.value_or(p),
                       entry = fit_.cost.entry_bits > 0 ? p : setting_.entry_bits;
    if (std::min({conv, cache, entry}) >= p) return;
    const Account counted = account(setting_.architecture, setting_.layers, {});
    std::int64_t least = p;
    for (const std::size_t i : storing_) {
      const LayerAccount& layer = counted.layers[i];
      if (layer.state_elements > 0) least = std::min(least, entry);
      if (layer.conv_elements > 0) least = std::min(least, conv);
      if (layer.cache_elements + layer.window_elements > 0) least = std::min(least, cache);
    }
    if (least < p)
      fit_.hypotheses.push_back(
          {"stored as wide as numbers", false, fmt::format("{} and {} bits", least, p)});
  }

  void position(const Dimensions& d) {
    const PositionCode need = fit_.cost.position;
    const bool there = d.position == need || d.position == PositionCode::table ||
                       (need == PositionCode::none && d.position == PositionCode::binary);
    fit_.hypotheses.push_back(
        {fmt::format("positions: {}", need == PositionCode::none     ? "none, or added to the token"
                                      : need == PositionCode::binary ? "a table or a binary code"
                                                                     : "a table"),
         there, std::string(position_name(d.position))});
  }

  void sight() {
    if (fit_.cost.sight == Sight::either) return;
    const bool causal = fit_.cost.sight == Sight::causal;
    fit_.hypotheses.push_back({causal ? "causal" : "bidirectional", setting_.causal() == causal, ""});
  }

  const Setting& setting_;
  bool sketches_;
  ConstructionFit fit_;
  std::set<std::size_t> storing_;  // layers that hand something on from token to token
};

}  // namespace

void Scarcest::meet(std::string resource, double there, double needed) {
  if (needed <= 0) return;
  if (name.empty() || there / needed < ratio()) *this = {std::move(resource), there, needed};
}

bool ConstructionFit::holds() const {
  return std::all_of(hypotheses.begin(), hypotheses.end(), [](const Hypothesis& h) { return h.holds; });
}

std::optional<LayerService> layer_service(const MixerShape& mixer, const LayerCost& need, bool sketches) {
  if (mixer.kind != MixerKind::heads || need.use == Use::mlp) {
    const auto service = whole_service(mixer, need);
    return service && (sketches || service->gap.empty()) ? service : std::nullopt;
  }
  std::optional<LayerService> best;
  for (std::size_t part = 0; part < mixer.parts.size(); ++part) {
    auto service = layer_service(mixer.parts[part], need, sketches);
    if (!service || (best && (best->gap.empty() || !service->gap.empty()))) continue;
    best = service;
    best->part = part;
  }
  return best;
}

ConstructionFit fit_construction(const Setting& setting, ConstructionCost cost) {
  ConstructionFit built = Fitter(setting, cost, false).take();
  if (built.holds()) return built;
  ConstructionFit sketched = Fitter(setting, std::move(cost), true).take();
  return sketched.holds() ? sketched : built;
}

ConstructionFit best_fit(const Setting& setting, std::vector<ConstructionCost> costs) {
  RUNG_REQUIRE(!costs.empty(), "no cost");
  std::optional<ConstructionFit> best;
  const auto failing = [](const ConstructionFit& fit) {
    return std::count_if(fit.hypotheses.begin(), fit.hypotheses.end(),
                         [](const auto& h) { return !h.holds; });
  };
  const auto rank = [&](const ConstructionFit& fit) {
    return std::tuple(failing(fit), fit.holds() && !is_proved(fit.status) ? fit.status : Status::proved,
                      -static_cast<std::ptrdiff_t>(fit.holds() ? 0 : fit.places.size()));
  };
  for (auto& cost : costs) {
    ConstructionFit fit = fit_construction(setting, std::move(cost));
    if (!best || rank(fit) < rank(*best)) best = std::move(fit);
  }
  return std::move(*best);
}

std::vector<std::string> construction_assumptions(const Setting& setting, const ConstructionCost& cost) {
  std::vector<std::string> assumes{"arbitrary position-wise MLP", "vocabulary and output of the task"};
  if (cost.sum_bits > 0 && setting.exact_sums())
    assumes.push_back(fmt::format("exact softmax sums of {} bits", cost.sum_bits));
  if (setting.floating())
    assumes.push_back(setting.assume_exact ? setting.mode_x()
                      : cost.full_layers() > 0
                          ? "softmax sums to a relative error of 1/8"
                          : "stored numbers are rounded, not the sums inside a map (mode Q)");
  if (setting.floating() && !setting.assume_exact &&
      std::any_of(cost.layers.begin(), cost.layers.end(),
                  [](const auto& layer) { return layer.use == Use::delta || layer.use == Use::gdelta; }))
    assumes.push_back("keys as the maps give them, not brought to length 1");
  return assumes;
}

Verdict verdict_of_fit(const Theorem& theorem, const Setting& setting, const Question& question,
                       const ConstructionFit& fit) {
  Verdict v = verdict_of(theorem, question);
  const ConstructionCost& cost = fit.cost;
  if (question.fixed || question.task != "seqcomp")
    for (const auto& [name, value] : question.sizes) v.parameters[name] = value;
  v.parameters["construction"] = {{"build", cost.construction},
                                  {"word", cost.word},
                                  {"full_layers", cost.full_layers()},
                                  {"heads", cost.heads()},
                                  {"key_dim", cost.key_dim()},
                                  {"value_dim", cost.value_dim()},
                                  {"width", cost.width},
                                  {"precision", cost.precision},
                                  {"position", std::string(position_name(cost.position))}};
  Parameter& made = v.parameters["construction"];
  if (!cost.options.empty()) made["options"] = Parameter::object();
  for (const auto& [name, value] : cost.options) made["options"][name] = value;
  if (cost.recurrent_layers() > 0) {
    made["recurrent_layers"] = cost.recurrent_layers();
    made["state_bits"] = cost.state_bits();
  }
  v.hypotheses = fit.hypotheses;
  v.assumes = construction_assumptions(setting, cost);
  if (!fit.holds()) return v;
  v.outcome = Outcome::possible;
  v.status = std::max(v.status, fit.status);
  for (const auto& gap : fit.gaps) v.assumes.push_back(gap);
  v.left = fit.scarcest.have;
  v.right = fit.scarcest.need;
  v.margin = fit.scarcest.ratio();
  v.parameters["scarcest"] = fit.scarcest.name;
  return v;
}

}  // namespace rung
