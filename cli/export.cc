// rung export: a model as something that runs without rung.
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "rung/exact/machine.h"
#include "rung/spec/torch_export.h"
#include "rung/spec/weights.h"

namespace rung::cli {
namespace {

// The prompt length that sums are measured at where a model does not fix its context.
constexpr std::int64_t kPositionsOfOpenContext = 4096;

struct ExportFlags {
  std::string model, to = "torch";
  std::optional<std::string> out;
  bool force = false, json = false;
};

Result<int> run_export(const ExportFlags& flags) {
  RUNG_TRY(const Weights weights, read_weights(flags.model));
  const auto& dimensions = weights.architecture.dimensions;
  const std::int64_t positions = dimensions.context > 0 ? dimensions.context : kPositionsOfOpenContext;
  RUNG_TRY(const auto layers, resolve(weights.architecture));
  if (const MixerShape* mixer = first_without_integers(layers))
    return fail(ErrorCode::unsupported, "[export] {} has no form in the exported file", form_name(*mixer));
  // Loading checks every tensor, so that the exported file is not the first to find a broken model.
  RUNG_TRY(const auto machine,
           Machine::load(weights, {.positions = positions, .unrounded = weights.mode == WeightMode::real}));
  const auto parent = std::filesystem::path(flags.model).parent_path();
  const std::string folder = flags.out.value_or(parent.empty() ? "." : parent.string());
  RUNG_TRY(const auto files, export_to_torch(flags.model, folder, flags.force));

  const std::string arithmetic =
      weights.mode == WeightMode::real ? "float64" : std::string(machine->arithmetic());
  const bool may_refuse = arithmetic == "int128";
  if (flags.json) {
    print_json({{"schema", "rung.export/1"},
                {"model", flags.model},
                {"to", flags.to},
                {"files", files},
                {"mode", weights.mode == WeightMode::real ? "real" : "integer"},
                {"positions", positions},
                {"arithmetic", arithmetic},
                {"may_refuse", may_refuse}});
    return 0;
  }
  fmt::print("{}\n{}\n", files[0], files[1]);
  if (may_refuse)
    fmt::print(stderr, "Some sums over {} positions can pass 2^63; {} refuses such prompts and says why.\n",
               positions, kTorchFileName);
  return 0;
}

}  // namespace

Command export_command() {
  auto flags = std::make_shared<ExportFlags>();
  Command command{.name = "export", .summary = "a model as one Python file that needs only torch"};
  command.description =
      "Writes model.py beside the weights. It reads the weights file and runs any rung model: integers in "
      "int64, bit for bit as the exact machine does, trained reals in float64 (docs/export.md).";
  command.examples = {"rung export eva.safetensors --to torch --out DIR",
                      "python3 DIR/model.py DIR/eva.safetensors --prompts prompts.jsonl"};
  command.options = {
      {"MODEL", "a weights file (docs/weights.md)", &flags->model, {.required = true, .file = FileUse::read}},
      {"--to", "torch (torch)", &flags->to, {.choices = {"torch"}}},
      {"--out", "folder to write into (the model's own)", &flags->out},
      {"--force", "replace files that exist", &flags->force},
      {"--json", "one JSON document", &flags->json},
  };
  command.run = [flags] { return run_export(*flags); };
  return command;
}

}  // namespace rung::cli
