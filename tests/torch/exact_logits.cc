// exact_logits DIR: models over every mixer, prompts for each, and what the exact machine says, as files that
// another evaluator can be compared with. DIR/NAME.safetensors and DIR/NAME.jsonl; a row holds the prompt as
// `rung task` writes it, "logits" for every position, and "generated" where the model has a chain of thought.
// Names with "real-" in front have the logits of mode Q in double, without rounding; "trained-" are real
// files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rung/base/random.h"
#include "rung/exact/random_model.h"
#include "tests/exact/mixer_lines.h"
#include "tests/torch/logit_rows.h"

namespace rung {
namespace {

constexpr std::int64_t kContext = 24;
constexpr int kInstances = 7;  // a model; there are more than 200

struct Case {
  std::string line;
  RandomModel model;
  bool wide_channels = false;  // queries, keys and values of more than p bits, and that large
};

RandomModel small_model(const std::string& line, std::uint64_t seed) {
  RandomModel model;
  auto stack = parse_stack(line);
  RUNG_REQUIRE(bool(stack), "{}", line);
  model.architecture.stack = *stack;
  auto& d = model.architecture.dimensions;
  d.width = 8;
  d.heads = 2;
  d.state = 3;
  d.mlp = {6};
  d.mlp_given = true;
  d.vocabulary = 5;
  d.context = kContext;
  d.precision.bits = 8;
  model.fields = {FieldSpec{"token", 5, 1, 0}};
  model.output = {OutputSpec::Kind::logits, 5, 0};
  model.seed = seed;
  return model;
}

const std::vector<std::string> kDecoders =
    and_released({"full",
                  "full(kv=1)",
                  "full(window=3)",
                  "full(chunk=4)",
                  "full(conv=3)",
                  "full(dim=3,vdim=5)",
                  "linear",
                  "linear(normalised=no,feature=identity)",
                  "linear(feature=relu)",
                  "linear(feature=exp)",
                  "linear(feature=taylor2)",
                  "linear(conv=2,vdim=3)",
                  "rnn",
                  "rnn(cell=relu,size=5)",
                  "gru",
                  "gru(size=3)",
                  "mamba(form=plain)",
                  "mamba(conv=3,inner=5,form=plain)",
                  "mamba2(form=plain)",
                  "mamba2(groups=1,conv=2,dim=3,form=plain)",
                  "delta(form=plain)",
                  "delta(kv=1,dim=3,vdim=2,form=plain)",
                  "gdelta(form=plain)",
                  "gdelta(kv=1,conv=3,form=plain)",
                  "delta(steps=3,range=2,form=plain)",
                  "gdelta(kv=1,conv=2,steps=2,form=plain)",
                  "loglinear",
                  "loglinear(feature=taylor2,conv=2)",
                  "loglinear(base=mamba2,form=plain)",
                  "loglinear(base=gdelta,form=plain)",
                  "sparse(B=4,k=2,form=plain)",
                  "sparse(B=3,k=1,window=2,groups=2,form=plain)",
                  "sparse(B=2,k=3,kv=1,form=plain)",
                  "topk(k=3,form=plain)",
                  "topk(k=2,index_heads=2,index_dim=3,form=plain)",
                  "heads(full:1,delta(form=plain):1)",
                  "heads(linear(feature=relu):2,full(window=2):1,identity:1)",
                  "conv(width=3)",
                  "conv(width=40,channels=3)",
                  "identity",
                  "none",
                  "(full+delta(form=plain))*2+none+mamba2(form=plain)"});
const std::vector<std::string> kEncoders = {"full",
                                            "full(window=3)",
                                            "linear",
                                            "linear(feature=taylor2)",
                                            "topk(k=3,form=plain)",
                                            "identity+full",
                                            "none",
                                            "heads(full:1,linear:1)"};

// Every mixer once plainly, and once in each of a few variations that change how its numbers are made.
std::vector<Case> cases() {
  std::vector<Case> all;
  std::uint64_t seed = 1;
  for (const auto& line : kDecoders) {
    for (int variation = 0; variation < 4; ++variation) {
      Case c{line, small_model(line, seed++)};
      auto& d = c.model.architecture.dimensions;
      if (variation == 0) c.model.accumulator = Accumulator::exact;
      if (variation == 1) {  // narrow numbers that saturate, wrapped states, norms, two hidden layers
        d.precision.bits = 5;
        d.norm = Norm::rms;
        d.mlp = {6, 5};
        d.accumulator_bits = 6;
        d.position = PositionCode::binary;
      }
      if (variation == 2) {  // states rounded at every step, further fields, tables for activations, a vector
        c.model.accumulator = Accumulator::round;
        c.model.fields = {FieldSpec{"token", 5, 1, 0}, FieldSpec{"wide", 1 << 20, 1, -7},
                          FieldSpec{"vector", 9, 3, -4}};
        c.model.output = {OutputSpec::Kind::vector, 3, 2};
        d.activation = seed % 2 ? MlpActivation::gelu : MlpActivation::silu;
        d.position = PositionCode::none;
        d.accumulator_bits = 12;
      }
      if (variation == 3) {  // a chain of thought, wider numbers, no MLP
        d.precision.bits = 12;
        d.mlp.clear();
        c.model.output = {seed % 2 ? OutputSpec::Kind::binary : OutputSpec::Kind::logits, seed % 2 ? 2 : 5,
                          0};
        c.model.decode = {.steps = 4, .stop = 3};
        c.wide_channels = true;
      }
      all.push_back(c);
    }
  }
  for (const auto& line : kEncoders) {
    Case c{line, small_model(line, seed++)};
    c.model.architecture.dimensions.causal = false;
    c.model.output = {OutputSpec::Kind::threshold, 1, 0};
    all.push_back(c);
  }
  return all;
}

Prompt random_prompt(const std::vector<FieldSpec>& fields, std::int64_t positions, Random& random) {
  Prompt prompt{positions, {}};
  for (const auto& field : fields) {
    prompt.fields.emplace_back();
    for (std::int64_t i = 0; i < positions * field.length; ++i)
      prompt.fields.back().push_back(random.between(field.low, field.low + field.size - 1));
  }
  return prompt;
}

Result<void> write_case(const std::string& stem, const Weights& weights, std::uint64_t seed, bool real) {
  Random random(seed, 7);
  std::vector<Prompt> prompts;
  for (int i = 0; i < kInstances; ++i)
    prompts.push_back(
        random_prompt(weights.fields, random.between(1, kContext - weights.decode.steps), random));
  return write_logits(stem, weights, prompts, real);
}

// The same architecture with real weights and no tables: what a trainer writes.
Weights as_trained(Weights weights) {
  weights.mode = WeightMode::real;
  weights.tables.clear();
  const bool released =
      first_released(resolve(weights.architecture).value());  // keys of a length by their form
  std::map<std::string, Tensor> kept;
  for (const auto& [name, tensor] : weights.tensors) {
    const bool table = name.ends_with(".table") && !name.starts_with("embed.") && name != "out.table";
    const bool length = name.ends_with("key.fraction") && !released;
    if (table || (tensor.shape.empty() && !length)) continue;
    std::vector<double> values;
    for (std::int64_t i = 0; i < tensor.size(); ++i)
      values.push_back(static_cast<double>(tensor.integer(i)) * 0.0625);
    kept[name] = length ? integer_scalar(0) : real_tensor(tensor.shape, values, DType::f32);
  }
  weights.tensors = std::move(kept);
  return weights;
}

void widen_channels(Weights& weights) {
  constexpr int kMoreBits = 4;
  const int p = weights.architecture.dimensions.precision.bits;
  for (const auto& [name, tensor] : std::map(weights.tensors)) {
    const std::string map = name.substr(0, name.rfind('.'));
    if (!name.ends_with("q.weight") && !name.ends_with("k.weight") && !name.ends_with("v.weight")) continue;
    const auto shift = weights.tensors.find(map + ".shift");
    const std::int64_t by = shift == weights.tensors.end() ? 0 : shift->second.integer(0);
    weights.tensors[map + ".shift"] = integer_scalar(by - kMoreBits);
    weights.tensors[map + ".bits"] = integer_scalar(p + kMoreBits);
  }
}

Result<void> write_all(const std::string& folder) {
  int number = 0;
  for (const auto& c : cases()) {
    RUNG_TRY(Weights weights, random_weights(c.model));
    weights.notes["line"] = c.line;
    if (c.wide_channels) widen_channels(weights);
    const std::string name = fmt::format("{:03}", number++);
    RUNG_CHECK(write_case(fmt::format("{}/{}", folder, name), weights, c.model.seed, false));
    if (number % 4 != 1) continue;
    RUNG_CHECK(write_case(fmt::format("{}/real-{}", folder, name), weights, c.model.seed, true));
    RUNG_CHECK(
        write_case(fmt::format("{}/trained-{}", folder, name), as_trained(weights), c.model.seed, true));
  }
  return {};
}

}  // namespace
}  // namespace rung

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (const auto done = rung::write_all(argv[1]); !done) {
    fmt::print(stderr, "exact_logits: {}\n", done.error().message);
    return 2;
  }
  return 0;
}
