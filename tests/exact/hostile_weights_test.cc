// Models that nobody should run: the reader and the machine answer with one line, never with a crash, and
// never with memory for numbers that a file merely claims.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "rung/exact/machine.h"
#include "tests/exact/hand_made.h"
#include "tests/exact/strained_model.h"

namespace rung {
namespace {

Weights good_weights(const std::string& line = "full+linear", bool real = false) {
  RandomModel model;
  model.architecture.stack = *parse_stack(line);
  auto& d = model.architecture.dimensions;
  d.width = 4;
  d.heads = 2;
  d.mlp = {3};
  d.mlp_given = true;
  d.vocabulary = 5;
  d.context = 8;
  d.precision.bits = 6;
  model.fields = {FieldSpec{"token", 5, 1, 0}};
  model.output = {OutputSpec::Kind::logits, 5, 0};
  auto weights = random_weights(model);
  RUNG_REQUIRE(weights.ok(), "{}", weights.error().message);
  if (real) {
    weights->mode = WeightMode::real;
    std::erase_if(weights->tensors,
                  [](const auto& entry) {  // reals weigh by exp(tau s) and by phi itself, without a table
                    const std::string& name = entry.first;
                    return name.ends_with("score.table") || name.ends_with("score.low") ||
                           name.ends_with("feature.table") || name.ends_with("feature.low");
                  });
    for (auto& [name, tensor] : weights->tensors) {
      if (tensor.shape.empty()) continue;
      std::vector<double> values;
      for (std::int64_t i = 0; i < tensor.size(); ++i) values.push_back(tensor.real(i) / 8);
      if (!name.ends_with(".table") || name.starts_with("embed") || name.starts_with("out"))
        tensor = real_tensor(tensor.shape, values, DType::f32);
    }
  }
  return std::move(*weights);
}

void one_line(const Error& error) {
  EXPECT_TRUE(error.message.starts_with("[")) << error.message;
  EXPECT_EQ(error.message.find_first_of("\n\r"), std::string::npos) << error.message;
  EXPECT_LT(error.message.size(), 2000u);
}

// Refused when it is read (through its file form) or when it is loaded, with a message that contains `word`.
void refused(const Weights& weights, const std::string& word, std::int64_t positions = 8) {
  const auto machine = Machine::load(weights, {.positions = positions});
  ASSERT_FALSE(machine) << "expected: " << word;
  one_line(machine.error());
  EXPECT_NE(machine.error().message.find(word), std::string::npos) << machine.error().message;
}
void refused_metadata(const std::string& key, const std::string& content, const std::string& word = "") {
  TensorFile file = tensors_from_weights(good_weights());
  file.metadata[key] = content;
  const auto weights = weights_from_tensors(file, "test");
  if (weights) {
    const auto machine = Machine::load(*weights, {.positions = 8});
    ASSERT_FALSE(machine) << key << " = " << content;
    one_line(machine.error());
    return;
  }
  one_line(weights.error());
  EXPECT_NE(weights.error().message.find(word), std::string::npos) << weights.error().message;
}

TEST(HostileWeights, the_control_loads_and_answers) {
  for (const bool real : {false, true}) {
    const auto weights = good_weights("full+linear", real);
    const auto machine = Machine::load(weights, {.positions = 8});
    ASSERT_TRUE(machine) << machine.error().message;
    EXPECT_EQ((*machine)->exact(), !real);
    ASSERT_TRUE((*machine)->forward(random_prompt(weights.fields, 8, 1), all_positions(8)));
  }
}

TEST(HostileWeights, metadata_must_say_what_they_mean) {
  for (const char* key : {"format", "architecture", "dimensions", "mode", "fields", "output"}) {
    TensorFile file = tensors_from_weights(good_weights());
    file.metadata.erase(key);
    const auto weights = weights_from_tensors(file, "test");
    ASSERT_FALSE(weights) << key;
    one_line(weights.error());
    for (const char* content :
         {"", "{", "[]", "null", "1", "\"x\"", "{\"a\":1}", "\xff", "[[[[[[[[[[[[[[[[[[[["})
      refused_metadata(key, content);
    refused_metadata(key, std::string(100'000, '['));
    refused_metadata(key, std::string(100'000, 'x'));
  }
  refused_metadata("format", "rung.weights/3", "rung.weights/2");
  refused_metadata("architecture", "full+delta", "says no form");  // as version 1 may
  refused_metadata("mode", "Integer");
  refused_metadata("accumulator", "float");
  refused_metadata("decode", "[]");
  refused_metadata("decode", R"({"steps":-1})");
  refused_metadata("decode", R"({"steps":9223372036854775808})");
  refused_metadata("decode", R"({"steps":1e3})");
  refused_metadata("decode", R"({"steps":3,"stop":-1})");
  refused_metadata("tables", R"([])");
  refused_metadata("tables", R"({"layers.0.score":{"function":1}})");
  refused_metadata("tables", R"({"layers.0.score":{"function":"exp","in":1000}})");
  refused_metadata("tables", R"({"layers.0.score":{"function":"cosh"}})", "");
  refused_metadata("task", "{");
}

TEST(HostileWeights, fields_and_outputs_must_be_bounded) {
  for (const char* fields :
       {R"([])", R"([{}])", R"([{"name":"token"}])", R"([{"name":"token","size":0}])",
        R"([{"name":"token","size":-5}])", R"([{"name":"token","size":18446744073709551615}])",
        R"([{"name":"token","size":5,"length":0}])",
        R"([{"name":"token","size":5,"length":1152921504606846976}])",
        R"([{"name":"token","size":5,"low":9223372036854775807}])",
        R"([{"name":"token","size":4611686018427387904,"low":4611686018427387904}])",
        R"([{"name":"position","size":5}])", R"([{"name":"token","size":5},{"name":"token","size":5}])",
        R"([{"name":7,"size":5}])", R"([{"name":"token","size":"5"}])", R"([{"name":"other","size":5}])",
        R"([{"name":"token","size":5.5}])", R"({"name":"token","size":5})"})
    refused_metadata("fields", fields);
  for (const char* output :
       {R"({"kind":"logits"})", R"({"kind":"logits","size":0})",
        R"({"kind":"logits","size":1152921504606846976})", R"({"kind":"binary","size":63})",
        R"({"kind":"threshold","size":2})", R"({"kind":"softmax","size":5})", R"({"size":5})",
        R"({"kind":"vector","size":5,"fraction":-1})", R"({"kind":"logits","size":6})",
        R"({"kind":["logits"],"size":5})"})
    refused_metadata("output", output);
}

TEST(HostileWeights, dimensions_must_be_in_range) {
  const auto with = [](const std::string& key, const std::string& value) {
    auto json = nlohmann::json::parse(tensors_from_weights(good_weights()).metadata.at("dimensions"));
    json[key] = nlohmann::json::parse(value);
    refused_metadata("dimensions", json.dump());
  };
  for (const char* key : {"width", "heads", "state", "vocabulary", "context"})
    for (const char* value :
         {"-1", "1152921504606846976", "18446744073709551615", "1.5", "\"x\"", "null", "[1]", "true"})
      with(key, value);
  for (const char* value : {"\"0\"", "\"1\"", "\"49\"", "\"-8\"", "\"8.9\"", "\"999999999999999999999\"",
                            "\"\"", "\"fp64\"", "\"bf16\"", "[]"})
    with("precision", value);
  for (const char* value : {"0", "63", "-3", "1152921504606846976"}) with("accumulator_bits", value);
  for (const char* value : {"\"0\"", "\"-3\"", "\"x\"", "\"1152921504606846976\"", "\"3,\""})
    with("mlp", value);
  with("position", "\"rope\"");
  with("unknown", "1");
  with("heads", "3");  // does not divide the width
}

TEST(HostileWeights, tensors_must_be_complete_and_fit) {
  const Weights good = good_weights();
  for (const auto& [name, tensor] : good.tensors) {
    SCOPED_TRACE(name);
    Weights weights = good;
    if (!tensor.shape.empty()) {       // scalars have defaults
      if (!name.ends_with(".bias")) {  // biases are optional
        weights.tensors.erase(name);
        refused(weights, "missing");
      }
      weights = good;
      weights.tensors[name].shape.push_back(1);
      refused(weights, "");
      weights = good;
      if (!name.ends_with("score.table") && !name.ends_with("feature.table")) {
        auto shape = tensor.shape;
        shape[0] += 1;
        std::int64_t count = 1;
        for (const auto extent : shape) count *= extent;
        weights.tensors[name] = integer_tensor(shape, Numbers(static_cast<std::size_t>(count), 0));
        refused(weights, "shape");
      }
      weights = good;
      Numbers large(static_cast<std::size_t>(tensor.size()), std::numeric_limits<std::int64_t>::min());
      weights.tensors[name] = integer_tensor(tensor.shape, large);
      refused(weights, "2^46");
    } else if (!name.ends_with(".low") && !name.ends_with("tau")) {
      for (const std::int64_t value :
           {std::int64_t{-1000}, std::int64_t{1000}, std::numeric_limits<std::int64_t>::min(),
            std::numeric_limits<std::int64_t>::max()}) {
        weights.tensors[name] = integer_scalar(value);
        refused(weights, "expected");
      }
      weights.tensors[name] = integer_tensor({1}, Numbers{1});
      refused(weights, "0-d");
    }
    weights = good;
    const std::vector<double> reals(static_cast<std::size_t>(tensor.size()), 0.5);
    if (!name.ends_with("tau")) {
      weights.tensors[name] = real_tensor(tensor.shape, reals, DType::f64);
      refused(weights, "");
    }
  }
  Weights stray = good;
  stray.tensors["layers.0.extra.weight"] = integer_scalar(1);
  refused(stray, "layers.0.extra.weight");
  stray = good;
  stray.tensors["layers.7.q.weight"] = integer_scalar(1);
  refused(stray, "layers.7.q.weight");
  stray = good;
  stray.tensors["evil\nname"] = integer_scalar(1);
  refused(stray, "");
  Weights negative = good;
  negative.tensors["layers.0.score.table"] = integer_tensor({2}, Numbers{1, -1});
  refused(negative, "negative");
}

TEST(HostileWeights, real_numbers_must_be_finite) {
  for (const double bad :
       {std::nan(""), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    Weights weights = good_weights("full", true);
    const auto shape = weights.tensors.at("layers.0.q.weight").shape;
    std::vector<double> values(static_cast<std::size_t>(weights.tensors.at("layers.0.q.weight").size()),
                               0.25);
    values.back() = bad;
    weights.tensors["layers.0.q.weight"] = real_tensor(shape, values, DType::f32);
    refused(weights, "not finite");
    weights = good_weights("full", true);
    weights.tensors["layers.0.score.tau"] = real_tensor({}, std::span(&bad, 1), DType::f64);
    refused(weights, "not finite");
  }
}

TEST(HostileWeights, opaque_mixers_are_named) {
  Weights weights = good_weights("full");
  weights.architecture.stack = *parse_stack("recurrent(kind=rwkv7,elements=64)");
  refused(weights, "rwkv7");
}

TEST(HostileWeights, a_machine_is_loaded_for_a_sane_number_of_positions) {
  const Weights weights = good_weights();
  for (const std::int64_t positions :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 60, std::numeric_limits<std::int64_t>::min()})
    refused(weights, "positions", positions);
  EXPECT_TRUE(Machine::load(weights, {.positions = std::int64_t{1} << 30}));  // a promise costs nothing
}

TEST(HostilePrompts, are_refused_where_they_leave_their_domain) {
  const Weights weights = good_weights();
  const auto machine = Machine::load(weights, {.positions = 8});
  ASSERT_TRUE(machine);
  const auto refuse = [&](const Prompt& prompt, const std::string& word) {
    const auto out = (*machine)->forward(prompt, std::vector<std::int64_t>{});
    ASSERT_FALSE(out) << word;
    one_line(out.error());
    EXPECT_NE(out.error().message.find(word), std::string::npos) << out.error().message;
  };
  for (const std::int64_t token :
       {std::int64_t{5}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min()})
    refuse({2, {{0, token}}}, "position 1");
  refuse({9, {Numbers(9, 0)}}, "9");
  refuse({2, {{0}}}, "1 numbers for 2");
  refuse({2, {{0, 0}, {0, 0}}}, "2 fields");
  refuse({2, {}}, "0 fields");
}

TEST(HostilePrompts, no_wide_domain_overflows) {
  // Fields at the ends of 64-bit integers: values on the other end must not wrap into the domain.
  for (const std::int64_t low : {-(std::int64_t{1} << 62), std::int64_t{1} << 61}) {
    Weights weights = good_weights("none");
    weights.fields = {FieldSpec{"token", 16, 1, low}};
    weights.tensors.erase("embed.token.table");
    weights.tensors["embed.token.binary"] = integer_tensor({5, 4}, Numbers(20, 1));
    const auto machine = Machine::load(weights, {.positions = 8});
    ASSERT_TRUE(machine) << machine.error().message;
    EXPECT_TRUE((*machine)->forward({2, {{low, low + 15}}}, std::vector<std::int64_t>{0, 1}));
    for (const std::int64_t token : {low - 1, low + 16, std::numeric_limits<std::int64_t>::max(),
                                     std::numeric_limits<std::int64_t>::min()})
      EXPECT_FALSE((*machine)->forward({1, {{token}}}, std::vector<std::int64_t>{0})) << token;
  }
}

TEST(HostilePrompts, a_binary_code_does_not_widen_its_field) {
  Weights weights = good_weights("none");
  weights.tensors.erase("embed.token.table");
  weights.tensors["embed.token.binary"] =
      integer_tensor({4, 4}, Numbers(16, 1));  // three bits for five tokens
  const auto machine = Machine::load(weights, {.positions = 8});
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_TRUE((*machine)->forward({1, {{4}}}, std::vector<std::int64_t>{0}));
  EXPECT_FALSE((*machine)->forward({1, {{5}}}, std::vector<std::int64_t>{0}));
  weights.tensors["embed.token.binary"] = integer_tensor({3, 4}, Numbers(12, 1));  // two bits for five tokens
  refused(weights, "embed.token.binary");
}

TEST(HostilePrompts, longer_than_the_context_are_refused) {
  for (const PositionCode position : {PositionCode::none, PositionCode::binary, PositionCode::table}) {
    Weights weights = good_weights("loglinear");
    weights.architecture.dimensions.context = 8;
    weights.architecture.dimensions.position = position;
    weights.tensors.erase("embed.position.table");
    if (position == PositionCode::binary)
      weights.tensors["embed.position.binary"] = integer_tensor({4, 4}, Numbers(16, 1));
    if (position == PositionCode::table)
      weights.tensors["embed.position.table"] = integer_tensor({8, 4}, Numbers(32, 1));
    const auto machine = Machine::load(weights, {.positions = 15});  // 5 levels, as 8 positions have
    if (!machine) {
      one_line(machine.error());
      continue;
    }
    const auto out = (*machine)->forward({9, {Numbers(9, 0)}}, std::vector<std::int64_t>{8});
    ASSERT_FALSE(out);
    one_line(out.error());
    auto session = (*machine)->start();
    ASSERT_TRUE(session);
    for (int t = 0; t < 8; ++t) ASSERT_TRUE((*session)->append(Numbers{0}, true));
    EXPECT_FALSE((*session)->append(Numbers{0}, true));
  }
}

TEST(HostilePrompts, a_thought_that_leaves_the_domain_is_an_error) {
  Weights weights = good_weights("none");
  weights.output = {OutputSpec::Kind::binary, 5, 0};
  weights.tensors["out.table"] = integer_tensor({5, 4}, Numbers(20, 0));
  weights.tensors["out.bias"] = integer_tensor({5}, Numbers(5, 1));
  weights.tensors["out.threshold"] = integer_tensor({5}, Numbers(5, 0));  // always 31
  weights.decode = {3, std::nullopt};
  const auto machine = Machine::load(weights, {.positions = 8});
  ASSERT_TRUE(machine) << machine.error().message;
  const auto tokens = (*machine)->generate({1, {{0}}});
  ASSERT_FALSE(tokens);
  one_line(tokens.error());
  const auto long_thought = (*machine)->generate({9, {Numbers(9, 0)}});
  ASSERT_FALSE(long_thought);
}

// Mutants
// ----------------------------------------------------------------------------------------------------------

std::string file_bytes(const Weights& weights) {
  const std::string path = testing::TempDir() + fmt::format("rung-hostile-{}.safetensors", getpid());
  RUNG_REQUIRE(write_weights(path, weights).ok(), "{}", path);
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  std::filesystem::remove(path);
  return bytes;
}

// Reads, loads and runs; true when an answer came.
bool try_everything(const std::string& path) {
  const auto weights = read_weights(path);
  if (!weights) {
    one_line(weights.error());
    return false;
  }
  bool ran = false;
  for (const bool quantised : {false, true}) {
    MachineOptions options{.positions = 8};
    if (quantised) options.quantised = Precision{NumberFormat::fp8_e4m3};
    const auto machine = Machine::load(*weights, options);
    if (!machine) {
      one_line(machine.error());
      continue;
    }
    Prompt prompt{5, {}};
    for (const auto& field : weights->fields) {
      if (field.length > 100) return false;
      prompt.fields.emplace_back(static_cast<std::size_t>(5 * field.length), field.low);
    }
    const auto out = (*machine)->forward(prompt, std::vector<std::int64_t>{4});
    if (!out) one_line(out.error());
    ran |= out.ok();
    if (weights->decode.steps > 0) (void)(*machine)->generate(prompt);
  }
  return ran;
}

TEST(HostileFiles, flipped_bytes_never_crash) {
  const std::string path = testing::TempDir() + fmt::format("rung-mutant-{}.safetensors", getpid());
  int ran = 0, refused_count = 0;
  const std::vector<std::string> lines{"full(conv=2)+linear",
                                       "gdelta(form=plain)",
                                       "loglinear(base=mamba2,form=plain)",
                                       "sparse(B=2,k=1,form=plain)",
                                       "mamba(form=plain)+rnn",
                                       "gru",
                                       "topk(k=2,form=plain)",
                                       "heads(full:1,delta(form=plain):1)"};
  for (std::size_t which = 0; which < lines.size(); ++which) {
    Weights weights = good_weights(lines[which]);
    weights.decode = {2, std::nullopt};
    const std::string bytes = file_bytes(weights);
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), 8);
    Random random(which, 5);
    for (int mutant = 0; mutant < 500; ++mutant) {
      std::string changed = bytes;
      const int flips = 1 + static_cast<int>(random.below(3));
      for (int f = 0; f < flips; ++f) {
        // Half of the flips hit the header, which is where the meaning is.
        const std::uint64_t at = random.below(2) == 0 ? random.below(8 + header) : random.below(bytes.size());
        const auto old = static_cast<unsigned char>(changed[at]);
        // Digits become other digits: a file that is still JSON.
        changed[at] = static_cast<char>(old >= '0' && old <= '9' && random.below(4) != 0
                                            ? '0' + random.below(10)
                                            : old ^ (1u << random.below(8)));
      }
      std::ofstream(path, std::ios::binary) << changed;
      (try_everything(path) ? ran : refused_count) += 1;
    }
  }
  std::filesystem::remove(path);
  EXPECT_GT(ran, 100);
  EXPECT_GT(refused_count, 1000);
}

TEST(HostileFiles, a_changed_architecture_line_never_crashes) {
  const std::vector<std::string> words{"full",
                                       "linear",
                                       "rnn",
                                       "gru",
                                       "mamba(form=plain)",
                                       "mamba2(form=plain)",
                                       "delta(form=plain)",
                                       "gdelta(form=plain)",
                                       "loglinear",
                                       "sparse(B=2,k=1,form=plain)",
                                       "topk(k=1,form=plain)",
                                       "conv(width=2)",
                                       "identity",
                                       "none",
                                       "heads(full:1,delta(form=plain):1)",
                                       "full*100000",
                                       "full(dim=2147483648)",
                                       "sparse(B=2147483648,k=2147483648,form=plain)",
                                       "mamba(state=2147483648,form=plain)",
                                       "rnn(size=2147483648)"};
  for (const auto& from : words) {
    const auto stack = parse_stack(from);
    if (!stack || stack->layers.size() > 1 || from.find("2147483648") != std::string::npos) continue;
    const Weights weights = good_weights(from);
    for (const auto& to : words) {
      TensorFile file = tensors_from_weights(weights);
      file.metadata["architecture"] = to;
      const auto changed = weights_from_tensors(file, "test");
      if (!changed) {
        one_line(changed.error());
        continue;
      }
      const auto machine = Machine::load(*changed, {.positions = 8});
      EXPECT_EQ(machine.ok(), from == to)
          << from << " as " << to << ": " << (machine ? "" : machine.error().message);
      if (!machine) one_line(machine.error());
    }
  }
}

// Memory
// -----------------------------------------------------------------------------------------------------------

TEST(HostileFiles, claims_cost_no_memory) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's own address space is larger than any limit";
#endif
  const TensorFile good = tensors_from_weights(good_weights());
  const std::string path = testing::TempDir() + fmt::format("rung-claims-{}.safetensors", getpid());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // 96 MB of address space beyond what the program has now.
    std::ifstream statm("/proc/self/statm");
    std::uint64_t pages = 0;
    statm >> pages;
    const rlim_t limit =
        pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + (std::uint64_t{96} << 20);
    const rlimit bound{limit, limit};
    if (setrlimit(RLIMIT_AS, &bound) != 0) _exit(3);
    int accepted = 0;
    const auto try_container = [&](const std::string& header, const std::string& data, std::uint64_t claim) {
      std::ofstream out(path, std::ios::binary);
      out.write(reinterpret_cast<const char*>(&claim), 8);
      out << header << data;
      out.close();
      accepted += read_safetensors(path).ok();
    };
    try_container("{}", "", std::uint64_t{1} << 60);
    for (const char* shape :
         {"[1152921504606846976]", "[1073741824,1073741824]", "[0,1152921504606846976]", "[1099511627776]"}) {
      const std::string header = std::string(R"({"a":{"dtype":"I8","shape":)") + shape +
                                 R"(,"data_offsets":[0,1152921504606846976]}})";
      try_container(header, "0", header.size());
    }
    const auto try_metadata = [&](const char* key, const std::string& content) {
      TensorFile file = good;
      file.metadata[key] = content;
      const auto weights = weights_from_tensors(file, "test");
      if (weights) accepted += Machine::load(*weights, {.positions = std::int64_t{1} << 31}).ok();
    };
    for (const char* line :
         {"full*100000", "full(dim=2147483648)", "full(heads=2147483648,dim=1)", "full(conv=2147483648)",
          "linear(dim=65536,feature=taylor2)", "mamba(state=2147483648,inner=1,form=plain)",
          "rnn(size=2147483648)", "gru(size=1048576)", "sparse(B=2147483648,k=1,form=plain)",
          "topk(k=1,index_dim=2147483648,form=plain)", "loglinear(dim=1048576)", "conv(width=2147483648)",
          "identity(vdim=2147483648)", "delta(dim=1048576,form=plain)",
          "mamba2(state=2147483648,heads=1,form=plain)"})
      try_metadata("architecture", line);
    for (const char* key : {"width", "vocabulary", "outputs", "context", "state"}) {
      auto json = nlohmann::json::parse(good.metadata.at("dimensions"));
      json[key] = std::int64_t{1} << 31;
      if (std::string(key) == "width") json["heads"] = 1;
      // Sizes that no tensor carries do no harm; the others are refused.
      const int before = accepted;
      try_metadata("dimensions", json.dump());
      if (std::string(key) != "width" && std::string(key) != "context") accepted = before;
    }
    try_metadata("dimensions", R"({"width":4,"mlp":"2147483648"})");
    try_metadata("fields", R"([{"name":"token","size":4611686018427387904}])");
    try_metadata("fields", R"([{"name":"token","size":5,"length":1048576}])");
    try_metadata("output", R"({"kind":"logits","size":2147483648})");
    _exit(accepted == 0 ? 0 : 4);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  std::filesystem::remove(path);
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace rung
