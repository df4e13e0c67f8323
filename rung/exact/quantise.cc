// What surrounds the mixers: the input, norms, W_O, MLPs, the output; and the choice between scales that clip
// nothing and scales that clip what is rare, by what the integers answer on the calibration prompts.
#include "rung/exact/quantise.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "rung/exact/machine.h"
#include "rung/exact/quantise_model.h"
#include "rung/spec/parameters.h"
#include "rung/spec/quantisable.h"

namespace rung {
namespace {

constexpr int kEmbedExtra = 8;  // bits by which embeddings are finer than the stream before they are added
constexpr int kNormExtra = 8;   // e: the root of a norm is finer by these
constexpr int kMostFractionOfNorm = 24;
constexpr int kLogitBits = 62;
constexpr int kOutputFraction = 62;  // of OutputSpec
// How much worse than rounding an error by clipping counts.
constexpr std::array kClipPenalties = {1.0, 16.0, 1e12};

class NetworkQuantiser {
 public:
  NetworkQuantiser(IntegerModel& model, const std::vector<LayerShape>& layers)
      : model_(model),
        layers_(layers),
        dimensions_(model.real().architecture.dimensions),
        p_(model.bits()),
        stream_(model.fraction("stream", model.bits())) {}

  void run() {
    embedding();
    model_.record("stream", p_, stream_);
    for (std::size_t i = 0; i < layers_.size(); ++i) layer(layers_[i], fmt::format("layers.{}.", i));
    output();
  }

 private:
  void embedding() {
    const int own = model_.shift("embed.shift"), extra = kEmbedExtra;
    for (const auto& [name, tensor] : model_.real().tensors) {
      if (!name.starts_with("embed.") || tensor.shape.size() != 2) continue;
      std::vector<std::int64_t> integers;
      for (const double value : model_.numbers(name, static_cast<std::size_t>(tensor.size())))
        integers.push_back(clipped(std::ldexp(value, stream_ + extra - own), name));
      model_.put(name, tensor.shape, integers);
    }
    model_.put_shift("embed.shift", extra);
  }

  // What maps read: the stream, or the row brought to length sqrt(width) with the gain left to the maps'
  // weights.
  InputScale input(const std::string& norm) {
    InputScale in = InputScale::of(dimensions_.width, stream_);
    if (dimensions_.norm != Norm::rms) return in;
    if (model_.has(norm + ".bias"))
      model_.refuse(
          fail(ErrorCode::unsupported,
               "[quantise] \"{}.bias\" makes a layer norm, which has no integer form; a root-mean-square "
               "norm expected",
               norm));
    const int bits = model_.guarded_bits();
    // No entry of a normed row is larger than sqrt(width).
    const int room = static_cast<int>(std::ceil(0.5 * std::log2(static_cast<double>(dimensions_.width))));
    const int fraction = std::clamp(bits - 1 - room, 0, kMostFractionOfNorm);
    const auto width = static_cast<std::size_t>(dimensions_.width);
    in.fraction.assign(width, fraction);
    in.factor = model_.numbers(norm + ".gain", width);
    const int own = static_cast<int>(model_.number(norm + ".fraction", 0));
    for (auto& factor : in.factor) factor = std::ldexp(factor, own);
    model_.put(norm + ".gain", {dimensions_.width}, std::vector<std::int64_t>(width, 1));
    model_.put_scalar(norm + ".fraction", fraction);
    model_.put_scalar(norm + ".extra", kNormExtra);
    model_.put_width(norm, bits);
    return in;
  }

  void layer(const LayerShape& shape, const std::string& prefix) {
    if (shape.mixer.kind != MixerKind::none) {
      const InputScale in = input(prefix + "norm1");
      InputScale mixed;
      mixed.fraction = quantise_mixer(model_, shape.mixer, prefix, in);
      mixed.factor.assign(mixed.fraction.size(), 1.0);
      model_.map(prefix + "o", dimensions_.width, mixed, stream_, p_);
    }
    if (shape.mlp.empty()) return;
    InputScale in = input(prefix + "norm2");
    const bool table = dimensions_.activation != MlpActivation::relu;
    for (std::size_t k = 0; k < shape.mlp.size(); ++k) {
      const std::string name = fmt::format("{}mlp.{}", prefix, k);
      const int bits = table ? std::min(p_, kTableBits) : p_;
      // max(0, x) keeps the fraction; a table has another behind it.
      int fraction = model_.fraction(name, bits, !table);
      model_.map(name, shape.mlp[k], in, fraction, bits);
      if (table) {
        const int before = fraction;
        fraction = model_.fraction(name + ".act", bits);
        model_.channel_table(name, dimensions_.activation == MlpActivation::gelu ? "gelu" : "silu", bits,
                             before, fraction, bits);
        model_.record(name + ".act", bits, fraction);
      } else {
        model_.record(name, bits, fraction);
      }
      in = InputScale::of(shape.mlp[k], fraction);
    }
    model_.map(fmt::format("{}mlp.{}", prefix, shape.mlp.size()), dimensions_.width, in, stream_, p_);
  }

  void output() {
    const InputScale in = input("norm");
    auto& spec = model_.out.output;
    const auto rows = static_cast<std::size_t>(spec.size), cols = static_cast<std::size_t>(dimensions_.width);
    auto table = model_.numbers("out.table", rows * cols);
    for (std::size_t i = 0; i < table.size(); ++i) table[i] *= in.factor[i % cols];
    const bool bias = model_.has("out.bias"), threshold = model_.has("out.threshold");
    const auto biases = bias ? model_.numbers("out.bias", rows) : std::vector<double>{};
    const auto thresholds = threshold ? model_.numbers("out.threshold", rows) : std::vector<double>{};
    // Logits are not rounded: weights of 16 bits or more, as long as sums stay within 62.
    const int input_bits = dimensions_.norm == Norm::rms ? model_.guarded_bits() : p_;
    const int terms = ceil_lg(cols) + 3;
    const int bits = std::min(default_weight_bits(p_), kLogitBits - input_bits - terms);
    if (bits < 2) {
      model_.refuse(fail(ErrorCode::range,
                         "[quantise] logits of {} numbers of {} bits; at most {} bits expected", cols,
                         input_bits, kLogitBits));
      return;
    }
    double largest = 0, constant = 0;
    for (const double weight : table) largest = std::max(largest, std::fabs(weight));
    for (const auto& list : {biases, thresholds})
      for (const double value : list) constant = std::max(constant, std::fabs(value));
    int product = kHighestFraction + bits;
    if (largest > 0)
      product =
          in.fraction[0] + static_cast<int>(std::floor(std::log2((std::ldexp(1.0, bits - 1) - 1) / largest)));
    if (constant > 0)
      product = std::min(product,
                         static_cast<int>(std::floor(std::log2(static_cast<double>(kMaxWeight) / constant))));
    if (spec.kind == OutputSpec::Kind::vector) {
      product = std::min(product, kOutputFraction - spec.fraction);
      spec.fraction += product;
      if (spec.fraction < 0)
        model_.refuse(
            fail(ErrorCode::range, "[quantise] outputs of fraction {}; 0 or more expected", spec.fraction));
    }
    std::vector<std::int64_t> integers;
    for (const double weight : table)
      integers.push_back(clipped(std::ldexp(weight, product - in.fraction[0]), "out.table"));
    model_.put("out.table", {spec.size, dimensions_.width}, integers);
    auto constants = [&](const char* name, const std::vector<double>& values) {
      std::vector<std::int64_t> all;
      for (const double value : values) all.push_back(clipped(std::ldexp(value, product), name));
      model_.put(name, {spec.size}, all);
    };
    if (bias) constants("out.bias", biases);
    if (threshold) constants("out.threshold", thresholds);
  }

  std::int64_t clipped(double value, const std::string& name) {
    if (std::fabs(value) > static_cast<double>(kMaxWeight)) {
      model_.refuse(fail(ErrorCode::range, "[quantise] \"{}\" would hold {:g}; at most 2^46 in size expected",
                         name, value));
      return 0;
    }
    return static_cast<std::int64_t>(std::nearbyint(value));
  }

  IntegerModel& model_;
  const std::vector<LayerShape>& layers_;
  const Dimensions& dimensions_;
  int p_, stream_;
};

Result<void> check(const Weights& real, const QuantiseOptions& options) {
  if (real.mode != WeightMode::real)
    return fail(
        ErrorCode::unsupported,
        "[quantise] the file holds integers already (mode integer); trained weights (mode real) expected");
  RUNG_CHECK(quantisable(real.architecture));
  for (const auto& [name, table] : real.tables)
    if (!known_function(table.function))
      return fail(ErrorCode::unsupported,
                  "[quantise] table \"{}\" stands for \"{}\", which has no integer form", name,
                  table.function);
  auto within = [](const char* what, std::optional<int> value, int low, int high) -> Result<void> {
    if (value && (*value < low || *value > high))
      return fail(ErrorCode::range, "[quantise] {} = {}; {} to {} expected", what, *value, low, high);
    return {};
  };
  RUNG_CHECK(within("precision", options.precision, 2, 48));
  RUNG_CHECK(within("accumulator-bits", options.accumulator_bits, 1, 62));
  RUNG_CHECK(within("weight-bits", options.weight_bits, 2, 32));
  RUNG_CHECK(within("refine", options.refine, 0, 100));
  for (const auto& [name, text] : real.notes) {
    if (!name.starts_with(kFractionNote)) continue;
    int value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size())
      return fail(ErrorCode::format, "[quantise] note \"{}\" is \"{}\"; a whole number expected", name, text);
  }
  return {};
}

// How far integers are from the real model on the calibration prompts. Integer logits have one factor of
// their own, the least squares fit. `distance` is what refining lowers: for logits the mean of
// -log(probability of the right answer), else the error of the numbers.
struct Likeness {
  double agreement = 0, right = 0, logit_error = 0, distance = 0;
};
Likeness compare(const Calibration::Reference& real, const std::vector<std::vector<std::int64_t>>& answers,
                 const Calibration::Reference& integer, const OutputSpec& output) {
  std::uint64_t same = 0, right = 0, all = 0;
  double cross = 0, own = 0, spread = 0, error = 0;
  for (std::size_t i = 0; i < real.answers.size(); ++i) {
    // Numbers of a vector are told by their error alone.
    for (std::size_t j = 0; output.kind != OutputSpec::Kind::vector && j < real.answers[i].size();
         ++j, ++all) {
      same += real.answers[i][j] == integer.answers[i][j];
      right += answers[i][j] == integer.answers[i][j];
    }
    for (std::size_t j = 0; j < real.logits[i].size(); ++j) {
      cross += real.logits[i][j] * integer.logits[i][j];
      own += integer.logits[i][j] * integer.logits[i][j];
    }
  }
  const double factor = own > 0 ? cross / own : 0;
  double surprise = 0;
  for (std::size_t i = 0; i < real.logits.size(); ++i) {
    for (std::size_t j = 0; j < real.logits[i].size(); ++j) {
      const double difference = real.logits[i][j] - factor * integer.logits[i][j];
      error += difference * difference;
      spread += real.logits[i][j] * real.logits[i][j];
    }
    const auto size = static_cast<std::size_t>(output.size);
    for (std::size_t query = 0; query * size < real.logits[i].size(); ++query) {
      const double* z = integer.logits[i].data() + query * size;
      const double top = *std::max_element(z, z + size);
      double total = 0;
      for (std::size_t c = 0; c < size; ++c) total += std::exp(factor * (z[c] - top));
      if (output.kind == OutputSpec::Kind::logits)
        surprise += std::log(total) - factor * (z[answers[i][query]] - top);
    }
  }
  Likeness likeness;
  likeness.agreement = all ? static_cast<double>(same) / static_cast<double>(all) : 0;
  likeness.right = all ? static_cast<double>(right) / static_cast<double>(all) : 0;
  likeness.logit_error = spread > 0 ? std::sqrt(error / spread) : 0;
  likeness.distance = output.kind == OutputSpec::Kind::logits && all ? surprise / static_cast<double>(all)
                                                                     : likeness.logit_error;
  // A chain of thought has no logits here; its answers are all there is.
  if (spread == 0) likeness.distance = 1 - likeness.right;
  return likeness;
}

// One choice of scales, and how well it does.
struct Candidate {
  Quantised quantised;
  std::set<std::string> chosen;
  double right = 0, distance = 0;  // share of right answers on the calibration prompts; what refining lowers
};

class Search {
 public:
  Search(const Weights& real, const CalibrationSet& set, const QuantiseOptions& options,
         const std::vector<LayerShape>& layers, const Calibration& seen,
         const Calibration::Reference& reference)
      : real_(real), set_(set), options_(options), layers_(layers), seen_(seen), reference_(reference) {}

  Result<Quantised> run() {
    std::optional<Candidate> best;
    ScaleChoice choice;
    auto noted = notes();
    for (bool again = true; again;) {
      for (const double penalty : kClipPenalties) {
        const ScaleChoice one{penalty, noted, {}};
        RUNG_TRY(auto candidate, make(one));
        // The file's own fractions stay unless more answers agree without them (they are of another
        // precision).
        const bool better = !best || candidate.right > best->right ||
                            (candidate.right == best->right && noted.size() == choice.noted.size() &&
                             candidate.distance < best->distance);
        if (better) best = std::move(candidate), choice = one;
      }
      again = !noted.empty();
      noted.clear();
    }
    for (int round = 0; round < options_.refine; ++round) {
      if (best->right == 1 && best->quantised.logit_error < kCloseEnough) break;
      bool improved = false;
      const auto names = best->chosen;
      for (const auto& name : names)
        for (const int step : {1, -1}) {
          ScaleChoice trial = choice;
          trial.moved[name] += step;
          auto candidate = make(trial);
          if (!candidate || candidate->distance > (1 - kWorthwhile) * best->distance)
            continue;  // a scale too fine for its formula is no choice
          best = std::move(*candidate);
          choice = std::move(trial);
          improved = true;
          break;
        }
      if (!improved) break;
    }
    return std::move(best->quantised);
  }

 private:
  static constexpr double kWorthwhile = 0.002;

  // REQUIRES notes that check() has found to be numbers.
  std::map<std::string, int> notes() const {
    std::map<std::string, int> fractions;
    const std::string_view prefix = kFractionNote;
    for (const auto& [name, text] : real_.notes)
      if (name.starts_with(prefix))
        fractions[name.substr(prefix.size())] =
            std::clamp(std::stoi(text), kLowestFraction, kHighestFraction);
    return fractions;
  }

  Result<Candidate> make(const ScaleChoice& choice) {
    IntegerModel model(real_, seen_, options_, choice);
    NetworkQuantiser(model, layers_).run();
    if (model.error()) return *model.error();
    Candidate candidate{{std::move(model.out), std::move(model.scales)}, std::move(model.chosen)};
    RUNG_TRY(const auto answers, read_all(candidate.quantised.weights, set_, nullptr));
    ++evaluations_;
    if (options_.progress) options_.progress(evaluations_);
    const Likeness likeness = compare(reference_, set_.answers.empty() ? reference_.answers : set_.answers,
                                      answers, candidate.quantised.weights.output);
    candidate.quantised.agreement = likeness.agreement;
    candidate.right = likeness.right;
    candidate.quantised.logit_error = likeness.logit_error;
    candidate.distance = likeness.distance;
    return candidate;
  }

  const Weights& real_;
  const CalibrationSet& set_;
  const QuantiseOptions& options_;
  const std::vector<LayerShape>& layers_;
  const Calibration& seen_;
  const Calibration::Reference& reference_;
  std::uint64_t evaluations_ = 0;
};

}  // namespace

int default_weight_bits(int precision) { return std::clamp(precision + 4, 16, 32); }

Result<Quantised> quantise(const Weights& real, const CalibrationSet& set, const QuantiseOptions& options) {
  RUNG_CHECK(check(real, options));
  RUNG_TRY(const auto layers, resolve(real.architecture));
  Calibration seen;
  RUNG_TRY(const auto reference, seen.run(real, set));
  if (const auto name = seen.not_finite(); !name.empty())
    return fail(ErrorCode::range,
                "[quantise] \"{}\" is not finite on a calibration prompt; finite numbers expected", name);
  return Search(real, set, options, layers, seen, reference).run();
}

}  // namespace rung
