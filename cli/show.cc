// rung show: what an architecture is, layer by layer, and what it stores.
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/architecture_flags.h"
#include "cli/command.h"
#include "cli/mixer_list.h"
#include "cli/text_table.h"
#include "rung/base/json_fields.h"
#include "rung/base/size_text.h"
#include "rung/design/comparison.h"
#include "rung/spec/repetition.h"

namespace rung::cli {
namespace {

const std::string kShowMixers = "--mixers", kShowArchitecture = "an architecture";

// Equal layers in a row.
struct Run {
  const LayerAccount* layer;
  std::size_t first = 0, length = 0;
};

std::vector<Run> runs_of(const Account& account) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < account.layers.size(); ++i) {
    const LayerAccount& layer = account.layers[i];
    if (!runs.empty() && runs.back().layer->text == layer.text)
      ++runs.back().length;
    else
      runs.push_back({&layer, i, 1});
  }
  return runs;
}

// The runs that a table shows: of a repeated group of runs the first time alone, then how often it stands
// there.
struct ShowRow {
  Run run;
  std::string repeats;  // not empty: no run, but this remark
};

std::vector<ShowRow> rows_of(const Account& account) {
  const auto runs = runs_of(account);
  std::map<std::pair<std::string, std::size_t>, int> kinds;
  std::vector<int> letters;
  for (const auto& run : runs)
    letters.push_back(
        kinds.try_emplace({run.layer->text, run.length}, static_cast<int>(kinds.size())).first->second);
  std::vector<ShowRow> rows;
  std::size_t next = 0;
  for (const auto& piece : fold(letters)) {
    const std::vector<Repetition> once =
        piece.children.empty() ? std::vector<Repetition>{{.letter = piece.letter}} : piece.children;
    const std::size_t length = unfold(once).size();
    for (std::size_t i = 0; i < length; ++i) rows.push_back({runs[next + i], ""});
    next += length * static_cast<std::size_t>(piece.count);
    const std::size_t last = runs[next - 1].first + runs[next - 1].length;
    if (piece.count > 1) rows.push_back({{}, fmt::format("to {}: {} times in all", last, piece.count)});
  }
  return rows;
}

void print_layers(const Account& account) {
  TextColumn range{"layers", {}, true}, mixer{"mixer", {}, true}, letters{"F/R", {}, true};
  TextColumn state{"state"}, levels{"levels"}, conv{"conv"}, window{"window"}, bits{"state bits"};
  TextColumn cache{"cache bits/token"}, parameters{"parameters"};
  bool any_levels = false, any_conv = false, any_window = false, any_parameters = false;
  for (const auto& row : rows_of(account)) {
    if (!row.repeats.empty()) {
      range.cells.push_back("...");
      mixer.cells.push_back(row.repeats);
      for (TextColumn* column : {&letters, &state, &levels, &conv, &window, &bits, &cache, &parameters})
        column->cells.push_back("");
      continue;
    }
    const LayerAccount& layer = *row.run.layer;
    const std::size_t first = row.run.first + 1, last = row.run.first + row.run.length;
    range.cells.push_back(first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
    mixer.cells.push_back(layer.mixer);
    letters.cells.push_back(layer.letters);
    state.cells.push_back(grouped(layer.state_elements));
    levels.cells.push_back(grouped(layer.levels));
    conv.cells.push_back(grouped(layer.conv_elements));
    window.cells.push_back(grouped(layer.window_elements));
    bits.cells.push_back(grouped(layer.state_bits));
    cache.cells.push_back(grouped(layer.cache_bits));
    parameters.cells.push_back(layer.parameters ? grouped(*layer.parameters) : "-");
    any_levels = any_levels || layer.levels > 1;
    any_conv = any_conv || layer.conv_elements > 0;
    any_window = any_window || layer.window_elements > 0;
    any_parameters = any_parameters || layer.parameters;
  }
  std::vector<TextColumn> table{range, mixer, letters, state};
  if (any_levels) table.push_back(levels);
  if (any_conv) table.push_back(conv);
  if (any_window) table.push_back(window);
  table.push_back(bits);
  table.push_back(cache);
  if (any_parameters) table.push_back(parameters);
  print_table(table);
}

// The context that was asked for, or the model's own; 0: none.
std::int64_t show_context(const ChosenArchitecture& chosen) {
  return chosen.bits.context.value_or(chosen.architecture.dimensions.context);
}

void print_text(const ChosenArchitecture& chosen, const Account& account) {
  if (chosen.released) print_labelled("model       ", chosen.released->model_type);
  print_labelled("stack       ", format_stack(chosen.architecture.stack));
  std::cout << "\n";
  print_layers(account);
  std::cout << "\n";
  std::string counts;
  for (const auto& [word, number] : account.counts)
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", number, word);
  print_labelled("layers      ", fmt::format("{}: {}", account.layers.size(), counts));
  print_labelled("state       ", fmt::format("{} bits ({})", grouped(account.state_bits),
                                             bytes_text(bytes_of_bits(account.state_bits))));
  const std::int64_t context = show_context(chosen);
  const KeptBytes kept = kept_bytes(account, std::max<std::int64_t>(context, 1), 1);
  std::string cache = fmt::format("{} bits per token ({})", grouped(account.cache_bits_per_token),
                                  bytes_text(bytes_of_bits(account.cache_bits_per_token)));
  if (context > 0) cache += fmt::format(", {} at {} tokens", bytes_text(kept.cache), grouped(context));
  print_labelled("cache       ", cache);
  if (context > 0) print_labelled("together    ", fmt::format("{} a sequence", bytes_text(kept.total())));
  print_labelled("parameters  ", account.parameters
                                     ? grouped(*account.parameters)
                                     : fmt::format("not counted: {}", account.parameters_reason));
  print_labelled("pattern     ", fold_pattern(account.layers));
  for (const auto& note : account.pattern_notes) print_labelled("note        ", note);
  for (const auto& note : account.notes) print_labelled("note        ", note);
}

nlohmann::ordered_json document(const ChosenArchitecture& chosen, const Account& account) {
  const Dimensions& d = chosen.architecture.dimensions;
  nlohmann::ordered_json out = {{"schema", "rung.show/1"},
                                {"architecture", format_spelled_stack(chosen.architecture.stack)}};
  if (chosen.released) out["model_type"] = chosen.released->model_type;
  out["dimensions"] =
      dimensions_document(d, chosen.released ? chosen.released->unknown : std::vector<std::string>{});
  out["storage_bits"] = {
      {"state", chosen.bits.state.value_or(static_cast<int>(d.accumulator_bits.value_or(d.precision.bits)))},
      {"conv", chosen.bits.conv.value_or(d.precision.bits)},
      {"cache", chosen.bits.cache.value_or(d.precision.bits)}};
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < account.layers.size(); ++i) {
    const LayerAccount& layer = account.layers[i];
    layers.push_back(json_object(
        "index", i, "mixer", layer.mixer, "text", format_spelled_mixer(chosen.architecture.stack.layers[i]),
        "letters", layer.letters, "state_elements", layer.state_elements, "levels", layer.levels,
        "conv_elements", layer.conv_elements, "window_elements", layer.window_elements, "state_bits",
        layer.state_bits, "cache_elements_per_token", layer.cache_elements, "cache_bits_per_token",
        layer.cache_bits, "parameters", layer.parameters));
  }
  out.update(json_object("layers", layers, "counts", account.counts, "state_bits", account.state_bits,
                         "cache_bits_per_token", account.cache_bits_per_token));
  if (const std::int64_t context = show_context(chosen); context > 0) {
    const KeptBytes kept = kept_bytes(account, context, 1);
    out.update(json_object("state_bytes", json_number(kept.state), "cache_bytes", json_number(kept.cache),
                           "total_bytes", json_number(kept.total())));
  }
  out["parameters"] = to_fields(account.parameters);
  if (!account.parameters) out["parameters_reason"] = account.parameters_reason;
  out.update(json_object("pattern", account.pattern, "pattern_folded", fold_pattern(account.layers),
                         "pattern_notes", account.pattern_notes, "notes", account.notes));
  return out;
}

std::string stored_bits(const ChosenArchitecture& chosen) {
  const Account account = chosen.count();
  return fmt::format("{} {}", account.state_bits, account.cache_bits_per_token);
}

}  // namespace

Command show_command() {
  struct Flags {
    ArchitectureFlags architecture;
    bool json = false, mixers = false;
  };
  auto flags = std::make_shared<Flags>();
  Command command{.name = "show", .summary = "layers, state bits and pattern word of an architecture"};
  command.description =
      "Counts everything that a later token can depend on (recurrent state, convolution buffer, window) in "
      "elements and bits, the KV cache per token, the parameters, and writes the word over F (full) and R "
      "(recurrent).";
  command.examples = {"rung show '(gdelta*3+full)*12' --width 64 --heads 2",
                      "rung show --config config.json --json",
                      "rung show 'loglinear(base=gdelta)*4' --context 4096", "rung show --mixers"};
  flags->architecture.declare(command.options);
  for (Option& option : command.options) option.forms = {kShowArchitecture};
  command.options.push_back({"--mixers", "list the words of the language", &flags->mixers});
  command.options.push_back({"--json", "one JSON document", &flags->json});
  command.form = [flags] { return flags->mixers ? kShowMixers : kShowArchitecture; };
  command.run = [flags]() -> Result<int> {
    if (flags->mixers) {
      if (flags->json)
        print_json(mixer_list_document());
      else
        std::cout << mixer_list_text();
      return 0;
    }
    RUNG_TRY(const ChosenArchitecture chosen, flags->architecture.choose());
    RUNG_CHECK(check_sizes_used(flags->architecture, "show", {.observed = stored_bits}));
    const Account account = chosen.count();
    if (flags->json)
      print_json(document(chosen, account));
    else
      print_text(chosen, account);
    return 0;
  };
  return command;
}

}  // namespace rung::cli
