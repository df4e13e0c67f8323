// rung import: a layer of a released model as a weights file.
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "rung/base/nearest_word.h"
#include "rung/released/layer_import.h"

namespace rung::cli {
namespace {

struct ImportFlags {
  std::string directory, from, out;
  std::int64_t layer = 0;
  std::optional<std::int64_t> tokens;
  bool force = false, json = false;
};

Result<int> run_import(const ImportFlags& flags) {
  if (flags.layer < 0)
    return fail(ErrorCode::range, "[import] --layer {}; a number from 0 on expected", flags.layer);
  if (flags.tokens && *flags.tokens < 1)
    return fail(ErrorCode::range, "[import] --tokens {}; a number from 1 on expected", *flags.tokens);
  // What is read is never replaced, whatever --force says.
  std::error_code problem;
  const std::filesystem::path out(flags.out);
  const bool inside =
      std::filesystem::exists(out, problem) &&
      std::filesystem::equivalent(std::filesystem::absolute(out).parent_path(), flags.directory, problem);
  if (inside && (out.extension() == ".json" || out.extension() == ".safetensors"))
    return fail(ErrorCode::io, "[import] --out {} is a file of the model that is read; another one expected",
                rung::quoted(flags.out));
  RUNG_TRY(const ImportedLayer layer,
           import_layer({.directory = flags.directory,
                         .from = flags.from == "fla" ? TensorNaming::fla : TensorNaming::transformers,
                         .layer = flags.layer,
                         .tokens = flags.tokens}));
  const std::string line = format_stack(layer.weights.architecture.stack);
  RUNG_CHECK(write_weights(flags.out, layer.weights));
  if (flags.json) {
    print_json({{"schema", "rung.import/1"},
                {"model", flags.out},
                {"architecture", format_spelled_stack(layer.weights.architecture.stack)},
                {"width", layer.weights.architecture.dimensions.width},
                {"prefix", layer.prefix},
                {"tensors", layer.weights.tensors.size()},
                {"left_out", layer.left_out},
                {"notes", layer.notes}});
    return 0;
  }
  fmt::print("{}: {} of width {}, from {}*\n", flags.out, line, layer.weights.architecture.dimensions.width,
             layer.prefix);
  for (const auto& note : layer.notes) fmt::print("note      {}\n", note);
  for (const auto& name : layer.left_out) fmt::print("left out  {}\n", name);
  return 0;
}

}  // namespace

Command import_command() {
  auto flags = std::make_shared<ImportFlags>();
  Command command{.name = "import", .summary = "a layer of a released model as a weights file"};
  command.description =
      "Maps the tensors of one layer's norm and mixer, with the embedding and the output table, from "
      "config.json and *.safetensors of a directory into a rung weights file that means the same "
      "(docs/parity.md). The MLP is left out and named. What cannot be mapped is refused by name "
      "(docs/import.md).";
  command.examples = {"rung import DIR --from fla --layer 3 --out layer3.safetensors",
                      "rung import DIR --from transformers --layer 0 --tokens 256 --out layer0.safetensors"};
  command.options = {
      {"DIR", "a model's directory", &flags->directory, {.required = true}},
      {"--from",
       "whose tensor names it has",
       &flags->from,
       {.required = true, .choices = {"transformers", "fla"}}},
      {"--layer", "which layer, from 0", &flags->layer, {.required = true}},
      {"--tokens", "only the first N tokens of the vocabulary (all)", &flags->tokens},
      {"--out", "the weights file to write", &flags->out, {.required = true, .file = FileUse::write}},
      {"--force", "replace a file that exists", &flags->force},
      {"--json", "one JSON document", &flags->json},
  };
  command.run = [flags] { return run_import(*flags); };
  return command;
}

}  // namespace rung::cli
