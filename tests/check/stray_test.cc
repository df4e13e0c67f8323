// A tensor that nothing reads is an error, to the exact machine and to the checker alike, in integer and in
// real files. The table says for every mixer which of all optional scalars of docs/weights.md it has;
// each of the others is added to it, one at a time, and refused by both in one line that names it; each that
// it has is accepted by both.
#include <gtest/gtest.h>

#include <set>

#include "check/model.h"
#include "rung/exact/machine.h"
#include "rung/exact/random_model.h"
#include "tests/check/model_bytes.h"
#include "tests/exact/random_real_model.h"

namespace rung {
namespace {

using ScalarNames = std::set<std::string>;

ScalarNames operator+(ScalarNames a, const ScalarNames& b) {
  a.insert(b.begin(), b.end());
  return a;
}
// shift and bits of maps.
ScalarNames map_scalars(const std::vector<std::string>& names) {
  ScalarNames all;
  for (const auto& name : names) all = all + ScalarNames{name + ".shift", name + ".bits"};
  return all;
}
ScalarNames table_scalars(const std::vector<std::string>& names) {  // none in a real file
  ScalarNames all;
  for (const auto& name : names) all.insert(name + ".low");
  return all;
}

struct StrayForm {
  std::string line;
  ScalarNames mixer;      // the scalars of the mixer, below layers.0.
  ScalarNames part = {};  // below layers.0.part.0.
};

const ScalarNames kSoftmax = map_scalars({"q", "k", "v"}) + table_scalars({"score"}) +
                             ScalarNames{"y.bits", "score.shift", "score.bits", "score.tau", "value.scale"};
const ScalarNames kLinear =
    map_scalars({"q", "k", "v"}) + ScalarNames{"y.bits", "value.scale", "update.shift", "read.shift"};
const ScalarNames kDelta =
    map_scalars({"q", "k", "v", "beta"}) + table_scalars({"beta"}) +
    ScalarNames{"y.bits", "predict.shift", "write.shift", "read.shift", "key.fraction"};
const ScalarNames kGatedDelta =
    kDelta + map_scalars({"gate"}) + table_scalars({"gate"}) + ScalarNames{"decay.shift"};
const ScalarNames kMamba2 = map_scalars({"x", "b", "c", "gate"}) + table_scalars({"gate"}) +
                            ScalarNames{"y.bits", "decay.shift", "read.shift"};
const ScalarNames kMamba =
    map_scalars({"x", "b", "c", "delta"}) + table_scalars({"delta", "decay"}) +
    ScalarNames{"y.bits", "decay.index_shift", "decay.shift", "update.shift", "read.shift", "skip.shift"};
const ScalarNames kConv = map_scalars({"conv"});
const ScalarNames kFeatureTable = ScalarNames{"feature.bits"} + table_scalars({"feature"});
const ScalarNames kTaylor = {"feature.bits", "feature.fraction", "feature.shift"};
const ScalarNames kUnit = {"key.extra", "key.bits"};  // where key.fraction is

const std::vector<StrayForm> kForms = {
    {"full", kSoftmax},
    {"full(window=2)", kSoftmax},
    {"full(conv=2)", kSoftmax + kConv},
    {"topk(k=2,form=plain)",
     kSoftmax + map_scalars({"index_q", "index_k", "index_mix"}) + ScalarNames{"index.shift"}},
    {"sparse(B=2,k=1,form=plain)",
     kSoftmax + map_scalars({"compress_k", "compress_v", "mix"}) + ScalarNames{"mix.fraction"}},
    {"linear(feature=identity)", kLinear},
    {"linear(feature=relu,normalised=no)", kLinear},
    {"linear(feature=elu1)", kLinear + kFeatureTable},
    {"linear(feature=exp,conv=2)", kLinear + kFeatureTable + kConv},
    {"linear(feature=taylor2)", kLinear + kTaylor},
    {"mamba(form=plain)", kMamba},
    {"mamba(conv=2,form=plain)", kMamba + kConv},
    {"mamba2(form=plain)", kMamba2},
    {"mamba2(conv=2,form=plain)", kMamba2 + kConv},
    {"delta(form=plain)", kDelta},
    {"delta(conv=2,form=plain)", kDelta + kConv},
    {"gdelta(form=plain)", kGatedDelta},
    {"loglinear", kLinear + map_scalars({"level"})},
    {"loglinear(feature=elu1)", kLinear + kFeatureTable + map_scalars({"level"})},
    {"loglinear(base=mamba2,form=plain)", kMamba2 + map_scalars({"level"})},
    {"loglinear(base=gdelta,form=plain)", kGatedDelta + map_scalars({"level"})},
    {"rnn", ScalarNames{"y.bits", "cell.shift"} + table_scalars({"cell"})},
    {"rnn(cell=relu)", {"y.bits", "cell.shift"}},
    {"gru",
     ScalarNames{"y.bits", "cell.shift", "gate.shift", "gate.fraction"} + table_scalars({"cell", "gate"})},
    {"conv(width=2)", map_scalars({"v"}) + ScalarNames{"y.bits", "taps.shift"}},
    {"identity", map_scalars({"v"}) + ScalarNames{"y.bits"}},
    {"none", {}},
    {"heads(identity:1,delta(form=plain):1)", {}, map_scalars({"v"}) + ScalarNames{"y.bits"}},
    {"heads(linear(feature=relu):2,full:1)", {}, kLinear},
};

// Released forms. What a real file has none of is below.
const ScalarNames kStage = ScalarNames{"read.bits",   "gated.shift", "gated.bits",   "ynorm.fraction",
                                       "ynorm.extra", "ynorm.bits",  "ynorm.epsilon"} +
                           map_scalars({"z"}) + table_scalars({"z"});
const ScalarNames kActed = ScalarNames{"act.bits"} + table_scalars({"act"});
const ScalarNames kStep = ScalarNames{"decay.index_shift"} + table_scalars({"decay"});
const ScalarNames kKeys =
    ScalarNames{"qk_act.bits", "key.fraction", "key.extra", "key.bits", "key.epsilon", "read.scale"} +
    table_scalars({"qk_act"});
const ScalarNames kSelectNorms = {"b_norm.fraction",  "b_norm.extra",    "b_norm.bits",
                                  "b_norm.epsilon",   "c_norm.fraction", "c_norm.extra",
                                  "c_norm.bits",      "c_norm.epsilon",  "delta_norm.fraction",
                                  "delta_norm.extra", "delta_norm.bits", "delta_norm.epsilon"};
const ScalarNames kWindows =
    kSoftmax + map_scalars({"mix"}) + table_scalars({"mix"}) +
    ScalarNames{"mix.fraction", "chance.fraction", "compress_k.bits", "compress_v.bits"};
const std::vector<StrayForm> kReleased = {
    {"topk(form=released,rope=none,index_rope=none,k=2)",
     kSoftmax + map_scalars({"index_q", "index_k", "index_mix"}) +
         ScalarNames{"index.shift", "index_norm.fraction", "index_norm.extra", "index_norm.bits",
                     "index_norm.epsilon"}},
    {"sparse(form=released,rope=none,B=2,k=1)", kWindows},
    {"sparse(form=released,rope=none,B=2,k=1,compress=weighted)",
     kWindows + ScalarNames{"compress_k.shift", "compress_v.shift"}},
    {"mamba2(form=released)",
     map_scalars({"x", "b", "c", "dt"}) + table_scalars({"dt"}) + kStage + kActed + kStep +
         ScalarNames{"y.bits", "decay.shift", "update.shift", "read.shift", "skip.shift"}},
    {"mamba2(gate=silu,form=plain)", kMamba2 + map_scalars({"z"}) + table_scalars({"z"}) +
                                         ScalarNames{"read.bits", "gated.shift", "gated.bits"}},
    {"mamba(form=released)", kMamba + kActed + map_scalars({"delta_low", "z"}) + table_scalars({"z"}) +
                                 ScalarNames{"read.bits", "gated.shift", "gated.bits"}},
    {"mamba(form=released,norms=after)",
     kMamba + kActed + map_scalars({"delta_low", "z"}) + table_scalars({"z"}) +
         ScalarNames{"read.bits", "gated.shift", "gated.bits"} + kSelectNorms},
    {"gdelta(form=released)", kGatedDelta + kStage + kActed + kStep + kKeys},
    {"delta(form=released,qk_norm=sum,beta=no)",
     map_scalars({"q", "k", "v"}) + kActed + table_scalars({"qk_act"}) +
         ScalarNames{"y.bits", "predict.shift", "write.shift", "read.shift", "read.scale", "qk_act.bits",
                     "key.fraction", "key.bits", "read.bits", "ynorm.fraction", "ynorm.extra", "ynorm.bits",
                     "ynorm.epsilon"}},
};

// Where a real file has the number itself, or none.
const ScalarNames kIntegersAlone = {
    "key.fraction",        "key.extra",        "key.epsilon",         "read.scale",       "ynorm.fraction",
    "ynorm.extra",         "chance.fraction",  "index_norm.fraction", "index_norm.extra", "b_norm.fraction",
    "b_norm.extra",        "b_norm.epsilon",   "c_norm.fraction",     "c_norm.extra",     "c_norm.epsilon",
    "delta_norm.fraction", "delta_norm.extra", "delta_norm.epsilon"};

// Everything that some mixer has, and what none has.
ScalarNames candidates() {
  ScalarNames all =
      kUnit + map_scalars({"o", "xz", "hz", "h", "taps", "compress_hidden", "mlp.0", "mlp.1", "mlp.2"}) +
      table_scalars({"conv", "level", "mlp.0", "q"}) +
      ScalarNames{"mlp.0.shift", "out.shift", "stream.bits", "scale"};
  for (const auto* forms : {&kForms, &kReleased})
    for (const auto& form : *forms) all = all + form.mixer + form.part;
  return all;
}

RandomModel stray_integer(const std::string& line) {
  RandomModel model;
  model.architecture.stack = *parse_stack(line);
  auto& d = model.architecture.dimensions;
  d.width = 6;
  d.heads = 2;
  d.state = 2;
  d.mlp = {4};
  d.mlp_given = true;
  d.vocabulary = 4;
  d.context = 8;
  d.norm = Norm::rms;
  d.precision.bits = 6;
  model.fields = {FieldSpec{"token", 4, 1, 0}};
  model.output = {OutputSpec::Kind::logits, 4, 0};
  model.accumulator = Accumulator::round;
  model.seed = 1;
  return model;
}
Weights stray_real(const std::string& line) {
  return random_real_weights({line, stray_integer(line).architecture.dimensions});
}

// What each of the two says; empty: accepted.
std::string machine_says(const Weights& weights) {
  const auto machine =
      Machine::load(weights, {.positions = 8, .unrounded = weights.mode == WeightMode::real});
  return machine ? "" : machine.error().message;
}
std::string checker_says(const Weights& weights) {
  const std::string bytes = model_bytes(weights);
  rung_check::Budget budget;
  try {
    if (weights.mode == WeightMode::real)
      rung_check::RealModel model(bytes, budget);
    else
      rung_check::Model model(bytes, budget);
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

struct StrayTally {
  int accepted = 0, refused = 0;
};

void expect_alike(const Weights& weights, const std::string& name, bool has, StrayTally& tally) {
  const std::string machine = machine_says(weights), checker = checker_says(weights);
  if (has) {
    EXPECT_EQ(machine, "") << name;
    EXPECT_EQ(checker, "") << name;
    ++tally.accepted;
    return;
  }
  for (const auto& said : {machine, checker}) {
    EXPECT_NE(said.find(name), std::string::npos) << name << ": \"" << said << "\"";
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
  ++tally.refused;
}

void add_scalar(Weights& weights, const std::string& name) {
  const double half = 0.5;
  weights.tensors[name] =
      name.ends_with(".tau") ? real_tensor({}, std::span(&half, 1), DType::f64) : integer_scalar(1);
}

// Adds every candidate below the prefix that is not there yet. `has`: what may stand there.
void add_each(const Weights& weights, const std::string& prefix, const ScalarNames& has, StrayTally& tally) {
  for (const auto& name : candidates()) {
    if (weights.tensors.contains(prefix + name)) continue;
    const bool low = name.ends_with(".low") && name != "dt.low";  // a limit in a real file
    const bool released = first_released(resolve(weights.architecture).value());
    Weights more = weights;
    add_scalar(more, prefix + name);
    const bool integers_alone = low || (kIntegersAlone.contains(name) && released);
    expect_alike(more, prefix + name,
                 has.contains(name) && !(integers_alone && weights.mode == WeightMode::real), tally);
  }
}

class Stray : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Modes, Stray, testing::Bool(),
                         [](const auto& info) { return info.param ? "real" : "integer"; });

TEST_P(Stray, scalar_is_refused_by_machine_and_checker_wherever_nothing_reads_it) {
  StrayTally tally;
  std::vector<StrayForm> forms = kForms;
  forms.insert(forms.end(), kReleased.begin(), kReleased.end());
  for (const auto& form : forms) {
    SCOPED_TRACE(form.line);
    Weights weights = GetParam() ? stray_real(form.line) : *random_weights(stray_integer(form.line));
    const std::string layer = "layers.0.";
    weights.tensors.erase(layer + "key.fraction");
    ASSERT_EQ(machine_says(weights), "");
    ASSERT_EQ(checker_says(weights), "");
    ScalarNames has = form.mixer + map_scalars({"mlp.0", "mlp.1"});
    if (form.line != "none") has = has + map_scalars({"o"});
    add_each(weights, layer, has, tally);
    if (form.mixer.contains("key.fraction") && form.line.find("released") == std::string::npos) {
      add_scalar(weights, layer + "key.fraction");
      add_each(weights, layer, has + kUnit, tally);
    }
    if (form.line.starts_with("heads")) add_each(weights, layer + "part.0.", form.part, tally);
    add_each(weights, "", ScalarNames{"stream.bits"}, tally);
  }
  EXPECT_GT(tally.accepted, 300);
  EXPECT_GT(tally.refused, 3000);
}

TEST_P(Stray, norms_outputs_and_tables_are_told_apart) {
  StrayTally tally;
  Weights weights = GetParam() ? stray_real("full(conv=2)+loglinear")
                               : *random_weights(stray_integer("full(conv=2)+loglinear"));
  ASSERT_EQ(machine_says(weights), "");
  const auto with = [&](const std::string& name, const Tensor& tensor, bool has) {
    Weights more = weights;
    more.tensors[name] = tensor;
    expect_alike(more, name, has, tally);
  };
  const double small = 1e-6;
  const bool real = GetParam();
  for (const char* norm : {"norm", "layers.0.norm1", "layers.1.norm2"}) {
    with(std::string(norm) + ".epsilon", real_tensor({}, std::span(&small, 1), DType::f64), real);
    for (const char* scalar : {".fraction", ".extra", ".bits"})
      with(norm + std::string(scalar), integer_scalar(2), true);
    with(std::string(norm) + ".shift", integer_scalar(1), false);
    with(std::string(norm) + ".bias", integer_tensor({6}, std::vector<std::int64_t>(6, 1)), real);
  }
  with("embed.shift", integer_scalar(1), true);
  with("embed.token.shift", integer_scalar(1), false);
  Weights two_forms = weights;
  two_forms.tensors["embed.token.binary"] = integer_tensor({3, 6}, std::vector<std::int64_t>(18, 1));
  EXPECT_NE(machine_says(two_forms), "");
  EXPECT_NE(checker_says(two_forms), "");
  with("out.bias", integer_tensor({4}, std::vector<std::int64_t>(4, 1)), true);
  with("out.threshold", integer_tensor({4}, std::vector<std::int64_t>(4, 1)), false);
  const Tensor table = integer_tensor({3}, std::vector<std::int64_t>{0, 1, 2});
  with("layers.0.conv.table", table, !real);
  with("layers.1.level.table", table, !real);
  for (const char* name :
       {"layers.0.level.table", "layers.1.conv.table", "layers.0.mlp.0.table", "layers.0.q.table"})
    with(name, table, false);
}

}  // namespace
}  // namespace rung
