#include "rung/evaluation/label.h"

#include <algorithm>
#include <bit>

#include "rung/evaluation/evaluation.h"
#include "rung/exact/model_parts.h"
#include "rung/exact/split_mixer.h"
#include "rung/spec/mixers.h"
#include "rung/theory/ceiling.h"
#include "rung/theory/theorem.h"

namespace rung {
namespace {

constexpr int kFloatBits = 32;

bool stored_width(const std::string& name) {
  if (!name.ends_with(".bits")) return false;
  const std::string stem = name.substr(0, name.size() - 5), last = stem.substr(stem.rfind('.') + 1);
  for (const char* stored : {"q", "k", "v", "x", "b", "c", "y", "conv", "feature", "index_q", "index_k",
                             "compress_k", "compress_v"})
    if (last == stored) return true;
  return false;
}

bool decays_forward(const Weights& weights, const MixerShape& mixer, const std::string& prefix) {
  for (std::size_t part = 0; part < mixer.parts.size(); ++part)
    if (!decays_forward(weights, mixer.parts[part], fmt::format("{}part.{}.", prefix, part))) return false;
  if (assumptions_of(mixer).decay != Decay::table) return true;
  const auto table = weights.tensors.find(fmt::format("{}{}.table", prefix, decay_table_of(mixer)));
  if (table == weights.tensors.end() || !table->second.is_integer()) return false;
  for (std::int64_t i = 0; i < table->second.size(); ++i)
    if (table->second.integer(i) < 0) return false;
  return true;
}

// Keys that the file brings to length 1 are a form of the layer, of which no construction is written down.
void set_keys(MixerShape& mixer, const Weights& weights, const std::string& prefix) {
  for (std::size_t part = 0; part < mixer.parts.size(); ++part)
    set_keys(mixer.parts[part], weights, fmt::format("{}part.{}.", prefix, part));
  if (weights.tensors.contains(prefix + "key.fraction")) mixer.form.key_norm = KeyNorm::l2;
}
Setting with_keys(Setting setting, const Weights& weights) {
  for (std::size_t i = 0; i < setting.layers.size(); ++i)
    set_keys(setting.layers[i].mixer, weights, fmt::format("layers.{}.", i));
  return setting;
}

// The accumulator of the file, which its lines do not say, and what its tables hold.
void set_states(Setting& setting, const Weights& weights) {
  const auto name_accumulator = [&](const auto& self, MixerShape& mixer) -> void {
    mixer.accumulator = weights.accumulator;
    for (auto& part : mixer.parts) self(self, part);
  };
  setting.saturating = weights.accumulator != Accumulator::wrap;
  for (std::size_t i = 0; i < setting.layers.size(); ++i) {
    name_accumulator(name_accumulator, setting.layers[i].mixer);
    setting.forward_decays = setting.forward_decays &&
                             decays_forward(weights, setting.layers[i].mixer, fmt::format("layers.{}.", i));
  }
}

}  // namespace

Result<Setting> model_setting(const Weights& weights, const Machine& machine, std::int64_t positions) {
  Architecture architecture = weights.architecture;
  auto& dimensions = architecture.dimensions;
  SettingOptions options{.context = std::max<std::int64_t>(2, positions),
                         .chain_of_thought = weights.decode.steps > 0};
  const ModelParts* parts = machine.parts();
  if (!parts) {
    dimensions.precision = Precision{NumberFormat::fp32, kFloatBits, 0};
    dimensions.accumulator_bits.reset();
    RUNG_TRY(Setting floating, make_setting(architecture, options));
    return with_keys(std::move(floating), weights);
  }
  int widest = dimensions.precision.bits,
      state = static_cast<int>(dimensions.accumulator_bits.value_or(widest));
  for (const auto& [name, tensor] : weights.tensors)
    if (stored_width(name) && tensor.is_integer())
      widest = std::max(widest, static_cast<int>(tensor.integer(0)));
  std::int64_t sums = 0;
  for (std::int64_t layer = 0; layer < parts->layers(); ++layer)
    for (const auto* mixer : parts->mixers(layer)) {
      if (const auto* softmax = mixer->softmax()) {
        const auto sizes = softmax->sizes();
        sums = std::max<std::int64_t>(sums, sizes.weight_bits + sizes.value_bits +
                                                std::bit_width(static_cast<std::uint64_t>(positions)) + 1);
      } else if (!mixer->selection() && dimensions.causal) {
        for (const int bits : mixer->state_widths(positions)) state = std::max(state, bits);
      }
    }
  dimensions.precision.bits = widest;
  options.storage.state = state;
  if (sums > 0) options.sum_bits = sums;
  RUNG_TRY(Setting setting, make_setting(architecture, options));
  set_states(setting, weights);
  return with_keys(std::move(setting), weights);
}

namespace {

void set_ceiling(Label& label, const Setting& setting, const Task& task, Variant variant) {
  const auto values = table_alphabet(task);
  if (!values) {
    label.ceiling_reason = "no ceiling is known for this task";
    return;
  }
  if (variant != Variant::uniform) {
    label.ceiling_reason = "a ceiling is known for uniform tables and queries only";
    return;
  }
  if (setting.word.full_letters() > 0 || setting.word.uncovered() || !setting.causal() ||
      setting.chain_of_thought) {
    label.ceiling_reason = "attention over the whole past is not bounded by a state";
    return;
  }
  const std::int64_t n = task.size().at("n"), alphabet = *values;
  const StateBits bits = setting.word.total();
  if (bits.levels()) {
    const Integer level = bits.one_level(n);
    label.ceiling = log_linear_ceiling(n, alphabet, level).average;
    label.ceiling_reason = fmt::format("{} bits a level of log-linear state", level.str());
  } else {
    const Integer state = bits.after(n);
    label.ceiling = accuracy_ceiling(n, alphabet, state);
    label.ceiling_reason = fmt::format("{} bits of state", state.str());
  }
}

}  // namespace

std::optional<std::int64_t> table_alphabet(const Task& task) {
  if (!task.built_in()) return std::nullopt;
  if (task.name() == "eva") return task.size().at("n").value;
  if (task.name() == "index" || task.name() == "retrieval") return task.size().at("sigma").value;
  return std::nullopt;
}

Label label_of(const Setting& setting, const Task& task, Variant variant, const Verdict& verdict) {
  Label label;
  set_ceiling(label, setting, task, variant);
  const bool proved = is_proved(verdict.status);
  const std::string by = verdict.theorem.empty()
                             ? "no theorem"
                             : fmt::format("{}, {}", verdict.theorem, status_name(verdict.status));
  if (verdict.outcome == Outcome::impossible && proved) label.letter = LabelClass::C;
  if (verdict.outcome == Outcome::possible && proved) label.letter = LabelClass::K;
  label.reason = fmt::format("{} ({})", outcome_name(verdict.outcome), by);
  if (verdict.outcome == Outcome::open)
    for (const auto& hypothesis : verdict.hypotheses)
      if (!hypothesis.holds) {
        label.reason += fmt::format("; fails: {}{}{}", hypothesis.text,
                                    hypothesis.numbers.empty() ? "" : ": ", hypothesis.numbers);
        break;
      }
  return label;
}

Label label_of(const Weights& weights, const Machine& machine, const Task& task, Variant variant) {
  const auto setting = model_setting(weights, machine, positions_needed(weights, task));
  if (!setting) return {.reason = setting.error().message};
  Label label;
  set_ceiling(label, *setting, task, variant);
  if (!task.built_in()) {
    label.reason = "no theorem covers this form of the task";
    return label;
  }
  TaskSizes sizes;
  for (const auto& [name, size] : task.size()) sizes[name] = size.value;
  const auto question = make_question(task.name(), sizes, setting->context, false,
                                      {.options = task.options(), .variant = variant});
  if (!question) {
    label.reason = question.error().message;
    return label;
  }
  label = label_of(*setting, task, variant, decide(*setting, *question));
  if (!machine.exact()) label.reason += fmt::format("; read as fp32, {} bits per stored number", kFloatBits);
  return label;
}

}  // namespace rung
