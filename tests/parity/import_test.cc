// Layouts beside those of the cases, and what an import refuses.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <fstream>

#include "tests/parity/layer_run.h"
#include "tests/parity/released_case.h"

namespace rung::parity {
namespace {

ReleasedCase case_named(const std::string& name) {
  for (auto& one : released_cases())
    if (one.name == name) return one;
  ADD_FAILURE() << name;
  return {};
}
Result<ImportedLayer> changed(const std::string& name, const ChangeModel& change,
                              std::optional<std::int64_t> tokens = std::nullopt) {
  const auto folder = std::filesystem::path(testing::TempDir()) / fmt::format("import-{}-{}", name, getpid());
  std::filesystem::remove_all(folder);
  const auto directory = write_model(case_named(name), folder, change);
  auto layer = import_layer({.directory = directory.path.string(),
                             .from = directory.from,
                             .layer = directory.layer,
                             .tokens = tokens});
  std::filesystem::remove_all(folder);
  return layer;
}
std::string refused(const std::string& name, const ChangeModel& change) {
  const auto layer = changed(name, change);
  return layer ? "accepted" : layer.error().message;
}
std::vector<double> outputs(const ImportedLayer& layer, const ReleasedCase& one) {
  return Layer(layer.weights, one.tokens())
      .run(StoredRows(one.numbers("input"), one.width()), one.width(), true)
      .output;
}
void expect_outputs(const Result<ImportedLayer>& layer, const std::vector<double>& expected,
                    const ReleasedCase& one, double within) {
  ASSERT_TRUE(layer) << layer.error().message;
  const auto got = outputs(*layer, one);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], within);
}
Tensor rows(const Tensor& tensor, const std::vector<std::int64_t>& which) {
  const std::int64_t width = tensor.size() / tensor.shape[0];
  std::vector<double> values;
  for (const auto r : which)
    for (std::int64_t c = 0; c < width; ++c) values.push_back(tensor.real(r * width + c));
  return real_tensor({static_cast<std::int64_t>(which.size()), width}, values, DType::f64);
}
const std::string kFla = "model.layers.0.attn.", kSelf = "model.layers.0.self_attn.",
                  kLinear = "model.layers.0.linear_attn.";

// Kimi-Linear's names, and A_log as [1][1][H][1]; its output gate has no bias.
TEST(layer_import, knows_the_names_of_kimi_linear) {
  const auto one = case_named("kda");
  const auto no_bias = [](nlohmann::json&, std::map<std::string, Tensor>& tensors) {
    tensors.erase(kFla + "g_proj.1.bias");
  };
  const auto fla = changed("kda", no_bias);
  ASSERT_TRUE(fla) << fla.error().message;
  const auto expected = outputs(*fla, one);
  const auto folder = std::filesystem::path(testing::TempDir()) / fmt::format("import-kimi-{}", getpid());
  std::filesystem::remove_all(folder);
  const auto directory =
      write_model(one, folder, [&](nlohmann::json& config, std::map<std::string, Tensor>& tensors) {
        no_bias(config, tensors);
        std::map<std::string, Tensor> kimi;
        for (const auto& [name, tensor] : tensors) {
          std::string to = name;
          if (to.starts_with(kFla)) to.replace(0, kFla.size(), kSelf);
          for (const auto& [from, word] : {std::pair("f_proj.0", "f_a_proj"),
                                           {"f_proj.1", "f_b_proj"},
                                           {"g_proj.0", "g_a_proj"},
                                           {"g_proj.1", "g_b_proj"},
                                           {"attn_norm", "input_layernorm"},
                                           {"model.embeddings", "model.embed_tokens"}})
            if (const auto at = to.find(from); at != std::string::npos)
              to.replace(at, std::string(from).size(), word);
          kimi[to] = tensor;
        }
        kimi[kSelf + "A_log"].shape = {1, 1, kimi[kSelf + "A_log"].size(), 1};
        tensors = kimi;
        config = {{"model_type", "kimi_linear"},
                  {"hidden_size", one.width()},
                  {"rms_norm_eps", 1e-5},
                  {"linear_attn_config",
                   {{"num_heads", config["num_heads"]},
                    {"head_dim", config["head_dim"]},
                    {"short_conv_kernel_size", 4}}}};
      });
  expect_outputs(import_layer({.directory = folder.string(), .from = TensorNaming::transformers, .layer = 0}),
                 expected, one, 1e-12);
  std::filesystem::remove_all(folder);
}

// Qwen3.5 keeps q, k, v, z, b and a apart, not interleaved by key heads.
TEST(layer_import, knows_the_names_of_qwen3_5) {
  const auto one = case_named("gated_deltanet_qwen3next");
  const auto layer = changed("gated_deltanet_qwen3next", [&](nlohmann::json& config,
                                                             std::map<std::string, Tensor>& tensors) {
    const std::int64_t heads = config["linear_num_key_heads"], k = config["linear_key_head_dim"],
                       r = config["linear_num_value_heads"].get<std::int64_t>() / heads,
                       v = config["linear_value_head_dim"], group = 2 * k + 2 * r * v;
    const Tensor qkvz = tensors[kLinear + "in_proj_qkvz.weight"], ba = tensors[kLinear + "in_proj_ba.weight"];
    std::vector<std::int64_t> qkv, z, b, a;
    for (const std::int64_t part : {0, 1, 2})
      for (std::int64_t h = 0; h < heads; ++h)
        for (std::int64_t i = 0; i < (part < 2 ? k : r * v); ++i) qkv.push_back(h * group + part * k + i);
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < r * v; ++i) z.push_back(h * group + 2 * k + r * v + i);
      for (std::int64_t i = 0; i < r; ++i) {
        b.push_back(h * 2 * r + i);
        a.push_back(h * 2 * r + r + i);
      }
    }
    tensors[kLinear + "in_proj_qkv.weight"] = rows(qkvz, qkv);
    tensors[kLinear + "in_proj_z.weight"] = rows(qkvz, z);
    tensors[kLinear + "in_proj_b.weight"] = rows(ba, b);
    tensors[kLinear + "in_proj_a.weight"] = rows(ba, a);
    tensors.erase(kLinear + "in_proj_qkvz.weight");
    tensors.erase(kLinear + "in_proj_ba.weight");
    config["model_type"] = "qwen3_5_text";
  });
  expect_outputs(layer, one.numbers("output"), one, 1e-7);
}

// A text model inside a larger one: its fields in text_config, its tensors one name deeper.
TEST(layer_import, finds_the_text_model_of_a_larger_one) {
  const auto one = case_named("gated_deltanet_qwen3next");
  for (const std::string inside : {"model.language_model.", "language_model.model."}) {
    const auto layer = changed(
        "gated_deltanet_qwen3next", [&](nlohmann::json& config, std::map<std::string, Tensor>& tensors) {
          std::map<std::string, Tensor> deeper;
          for (const auto& [name, tensor] : tensors)
            deeper[name.starts_with("model.") ? inside + name.substr(6) : name] = tensor;
          tensors = deeper;
          config = {{"model_type", "of_pictures"}, {"text_config", config}};
        });
    expect_outputs(layer, one.numbers("output"), one, 1e-7);
  }
}

// The gate comes before the norm in both libraries, whatever this field says.
TEST(layer_import, norm_before_gate_changes_no_mamba2) {
  const auto one = case_named("mamba2");
  expect_outputs(changed("mamba2", [](nlohmann::json& config,
                                      std::map<std::string, Tensor>&) { config["norm_before_gate"] = true; }),
                 one.numbers("output"), one, 1e-7);
}

TEST(layer_import, misses_a_shard_that_the_layer_or_the_tables_need) {
  const auto folder = std::filesystem::path(testing::TempDir()) / fmt::format("import-index-{}", getpid());
  const auto said = [&](const std::string& tensor) {
    std::filesystem::remove_all(folder);
    const auto directory = write_model(case_named("gla"), folder, {});
    std::ofstream(folder / "model.safetensors.index.json")
        << nlohmann::json{{"weight_map", {{tensor, "model-9.safetensors"}}}};
    const auto layer =
        import_layer({.directory = folder.string(), .from = directory.from, .layer = directory.layer});
    std::filesystem::remove_all(folder);
    return layer ? std::string("accepted") : layer.error().message;
  };
  for (const std::string tensor : {"lm_head.weight", "model.layers.0.attn.q_proj.weight"})
    EXPECT_NE(said(tensor).find(tensor), std::string::npos) << said(tensor);
  EXPECT_EQ(said("model.layers.7.attn.q_proj.weight"), "accepted");
}

TEST(layer_import, refuses_fields_that_contradict_the_tensors) {
  const auto with = [](const char* field, nlohmann::json value) {
    return refused("mamba2",
                   [=](nlohmann::json& config, std::map<std::string, Tensor>&) { config[field] = value; });
  };
  for (const auto& [field, value] :
       std::vector<std::pair<const char*, nlohmann::json>>{{"num_heads", "two"},
                                                           {"num_heads", 1000000000},
                                                           {"state_size", 1},
                                                           {"head_dim", 1},
                                                           {"expand", 77},
                                                           {"use_conv_bias", false},
                                                           {"num_hidden_layers", 0},
                                                           {"layer_norm_epsilon", -1},
                                                           {"time_step_limit", {0.5, 0.1}},
                                                           {"time_step_limit", {-1, -0.5}}})
    EXPECT_NE(with(field, value).find(field), std::string::npos) << field << ": " << with(field, value);
  EXPECT_EQ(changed("gla", {}, 10000).error().code, ErrorCode::range);
}

// Numbers keep their type: bfloat16 weights are read as they are.
TEST(layer_import, reads_bfloat16_as_it_is) {
  const auto one = case_named("gla");
  std::vector<std::shared_ptr<std::vector<std::uint16_t>>> kept;
  const auto narrowed = [&](bool as_bf16) {
    return [&, as_bf16](nlohmann::json&, std::map<std::string, Tensor>& tensors) {
      for (auto& [name, tensor] : tensors) {
        std::vector<double> values;
        auto bits = std::make_shared<std::vector<std::uint16_t>>();
        for (std::int64_t i = 0; i < tensor.size(); ++i) {
          const auto high = static_cast<std::uint16_t>(
              std::bit_cast<std::uint32_t>(static_cast<float>(tensor.real(i))) >> 16);
          bits->push_back(high);
          values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(high) << 16));
        }
        if (as_bf16)
          tensor = Tensor{DType::bf16, tensor.shape, bits, reinterpret_cast<const std::byte*>(bits->data())};
        else
          tensor = real_tensor(tensor.shape, values, DType::f64);
      }
    };
  };
  const auto wide = changed("gla", narrowed(false));
  ASSERT_TRUE(wide) << wide.error().message;
  expect_outputs(changed("gla", narrowed(true)), outputs(*wide, one), one, 0);
}

TEST(layer_import, keeps_as_many_tokens_as_it_is_told) {
  const auto layer = changed("gla", {}, 5);
  ASSERT_TRUE(layer) << layer.error().message;
  EXPECT_EQ(layer->weights.tensors.at("embed.token.table").shape, (std::vector<std::int64_t>{5, 16}));
  EXPECT_EQ(layer->weights.fields[0].size, 5);
  EXPECT_EQ(layer->left_out, std::vector<std::string>{"model.layers.0.mlp.up_proj.weight"});
}

// Each class has its own rule for a window; layer 0 is read.
TEST(layer_import, windows_are_those_of_the_class) {
  const auto windowed = [](const nlohmann::json& fields) {
    const auto layer = changed("attention_rope", [&](nlohmann::json& config, std::map<std::string, Tensor>&) {
      config.update(fields);
    });
    EXPECT_TRUE(layer) << (layer ? "" : layer.error().message);
    return layer && format_stack(layer->weights.architecture.stack).find("window=4") != std::string::npos;
  };
  const nlohmann::json window{{"sliding_window", 4}};
  const auto with = [&](nlohmann::json fields) { return fields.update(window), fields; };
  EXPECT_FALSE(windowed(with({{"model_type", "llama"}})));
  EXPECT_TRUE(windowed(with({{"model_type", "mistral"}})));
  EXPECT_FALSE(windowed(with({{"model_type", "qwen2"}})));
  EXPECT_FALSE(windowed(with({{"model_type", "qwen2"}, {"use_sliding_window", true}})));
  EXPECT_FALSE(
      windowed(with({{"model_type", "qwen2"}, {"use_sliding_window", true}, {"max_window_layers", 1}})));
  EXPECT_TRUE(
      windowed(with({{"model_type", "qwen2"}, {"use_sliding_window", true}, {"max_window_layers", 0}})));
}

TEST(layer_import, refuses_by_name_what_it_cannot_map) {
  using Tensors = std::map<std::string, Tensor>;
  const auto drop = [](const std::string& name) {
    return [name](nlohmann::json&, Tensors& tensors) { ASSERT_EQ(tensors.erase(name), 1u) << name; };
  };
  const auto set = [](const char* field, nlohmann::json value) {
    return [=](nlohmann::json& config, Tensors&) { config[field] = value; };
  };
  EXPECT_EQ(refused("gla", drop(kFla + "q_proj.weight")),
            "[import] tensor \"model.layers.0.attn.q_proj.weight\" is missing; shape [8, 16] expected");
  EXPECT_EQ(refused("gla",
                    [](nlohmann::json&, Tensors& tensors) {
                      tensors[kFla + "q_proj.weight"].shape = {16, 8};
                    }),
            "[import] tensor \"model.layers.0.attn.q_proj.weight\" is F64 [16, 8]; floats [8, 16] expected");
  EXPECT_EQ(refused("gla",
                    [](nlohmann::json&, Tensors& tensors) {
                      tensors[kFla + "extra.weight"] = tensors[kFla + "q_proj.weight"];
                    }),
            "[import] tensor \"model.layers.0.attn.extra.weight\" of the layer is mapped to nothing");
  EXPECT_EQ(refused("gla", set("feature_map", "relu")),
            "[import] config.json: \"feature_map\" is \"\"relu\"\"; only null can be mapped");
  EXPECT_EQ(refused("gla", set("num_heads", 0)),
            "[import] config.json: \"num_heads\" is \"0\"; a whole number in 1..2^31 expected");
  EXPECT_EQ(refused("gla", drop("model.layers.0.attn_norm.weight")),
            "[import] tensor \"model.layers.0.attn_norm.weight\" of 16 floats is missing");
  EXPECT_EQ(refused("gla", drop("model.embeddings.weight")),
            "[import] tensor \"model.embeddings.weight\" of rows of 16 floats is missing");
  EXPECT_EQ(
      refused("attention_rope", set("rope_scaling", {{"rope_type", "yarn"}})),
      "[import] config.json: \"rope_scaling\" is \"{\"rope_type\":\"yarn\"}\"; only null can be mapped");
  EXPECT_EQ(refused("attention_rope", set("rope_parameters", {{"rope_type", "llama3"}})),
            "[import] config.json: rope_type \"llama3\" is not mapped; only default angles are");
  EXPECT_EQ(refused("attention_rope",
                    [](nlohmann::json&, Tensors& tensors) {
                      tensors[kSelf + "q_norm.weight"] = tensors["model.norm.weight"];
                    }),
            "[import] tensor \"model.layers.0.self_attn.q_norm.weight\": norms of q and k in softmax "
            "attention are not mapped");
  EXPECT_EQ(refused("mamba2",
                    [](nlohmann::json&, Tensors& tensors) {
                      auto& all = tensors["backbone.layers.0.mixer.in_proj.weight"];
                      std::vector<std::int64_t> more;
                      for (std::int64_t r = 0; r < all.shape[0]; ++r) more.push_back(r);
                      more.push_back(0);
                      all = rows(all, more);
                    }),
            "[import] \"backbone.layers.0.mixer.in_proj.weight\" has 1 rows more than z, x, B, C and dt "
            "take; an extra gated "
            "MLP in a projection is not mapped");
}

}  // namespace
}  // namespace rung::parity
