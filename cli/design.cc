// rung design: which layouts provably do what is needed, at the least cost?
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/architecture_flags.h"
#include "cli/command.h"
#include "cli/text_table.h"
#include "rung/base/json_text.h"
#include "rung/base/plural.h"
#include "rung/base/size_text.h"
#include "rung/base/staged_file.h"
#include "rung/design/comparison.h"
#include "rung/design/design.h"
#include "rung/released/layer_types.h"
#include "rung/spec/dimensions_file.h"
#include "rung/spec/mixers.h"

namespace rung::cli {
namespace {

struct DesignFlags {
  std::optional<std::int64_t> layers;
  std::optional<std::string> mixers;
  std::vector<std::string> needs, budget;
  std::string minimise = "memory";
  ArchitectureFlags architecture;
  std::optional<std::string> write;
  std::int64_t choice = 1;
  bool thought = false, force = false, json = false;

  // REQUIRES a released base.
  std::string config_file() const {
    const std::string path = *architecture.config;
    return std::filesystem::is_directory(path) ? (std::filesystem::path(path) / "config.json").string()
                                               : path;
  }
};

// "full,gdelta(heads=2,dim=8)": at commas outside parentheses.
std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts{""};
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

// A mixer of the base with that name, and form where it is said, sizes and all; else the word as it stands.
Result<Mixer> allowed_mixer(const std::string& text, const std::optional<ChosenArchitecture>& base) {
  RUNG_TRY(const Stack stack, parse_stack(text));
  if (stack.layers.size() != 1)
    return fail(ErrorCode::parse, "[design] {} is {} layers; expected one mixer", text, stack.layers.size());
  const Mixer& mixer = stack.layers.front();
  const bool says_form = mixer.word("form").has_value();
  if (base && mixer.options.size() == (says_form ? 1 : 0) && mixer.parts.empty())
    for (const Mixer& own : base->architecture.stack.layers)
      if (own.kind == mixer.kind && !own.number("window") &&
          (!says_form || is_released(own) == is_released(mixer)))
        return own;
  return mixer;
}

Result<StorageBits> stored_types(const ArchitectureChoice& given) {
  StorageBits bits;
  for (const auto& [text, width] :
       {std::pair{&given.state_dtype, &bits.state}, std::pair{&given.conv_dtype, &bits.conv},
        std::pair{&given.cache_dtype, &bits.cache}})
    if (*text) {
      RUNG_TRY(*width, parse_dtype(**text));
    }
  return bits;
}

// A size or type that changes nothing about any of the mixers is refused by name.
Result<void> check_design_sizes(const DesignFlags& flags, const DesignRequest& request) {
  const auto all = [&](const ArchitectureChoice& choice) -> Result<ChosenArchitecture> {
    ChosenArchitecture together;
    RUNG_TRY(together.architecture.dimensions, choice.dimensions());
    RUNG_TRY(together.bits, stored_types(choice));
    together.architecture.stack.layers = request.mixers;
    RUNG_TRY(together.layers, resolve(together.architecture));
    return together;
  };
  const auto observed = [](const ChosenArchitecture& together) {
    const Account counted = together.count();
    return fmt::format("{} {}", counted.state_bits, counted.cache_bits_per_token);
  };
  if (flags.architecture.names_something())
    return check_sizes_used(flags.architecture, "design", {.observed = observed});
  return check_sizes_used(flags.architecture, "design", {.observed = observed, .choose = all});
}

Result<DesignRequest> design_request(const DesignFlags& flags, std::optional<ChosenArchitecture>& base) {
  DesignRequest request;
  if (flags.architecture.names_something()) {
    RUNG_TRY(base, flags.architecture.choose());
    if (base->released)
      for (Mixer& mixer : base->architecture.stack.layers) mixer = plain_form(std::move(mixer));
    request.dimensions = base->architecture.dimensions;
    request.bits = base->bits;
    request.layers = static_cast<std::int64_t>(base->architecture.stack.layers.size());
    for (const Mixer& mixer : base->architecture.stack.layers)
      if (std::find(request.mixers.begin(), request.mixers.end(), mixer) == request.mixers.end())
        request.mixers.push_back(mixer);
    if (base->released) {
      // Constructions know neither released forms nor rotary positions nor norms; the sizes are the model's, and this
      // is said.
      Dimensions& d = request.dimensions;
      request.assumes.push_back(
          fmt::format("the sizes of {} in the plain forms of its mixers, with positions of a table, no norm "
                      "between layers and exact integers of {} bits: no construction covers released forms, "
                      "rotary positions, norms or rounded sums",
                      base->released->model_type, d.precision.bits));
      d.position = PositionCode::table;
      d.norm = Norm::none;
      d.precision = {NumberFormat::fixed, d.precision.bits, 0};
      if (!request.bits.cache) request.bits.cache = d.precision.bits;
    }
  } else {
    if (flags.architecture.assume_defaults)
      return fail(ErrorCode::parse, "[design] --assume-defaults is not used without --config");
    RUNG_TRY(request.dimensions, flags.architecture.dimensions());
    RUNG_TRY(request.bits, stored_types(flags.architecture));
  }
  if (flags.layers) request.layers = *flags.layers;
  if (request.layers == 0)
    return fail(ErrorCode::missing, "[design] number of layers missing; expected --layers, or --config");
  if (flags.mixers) {
    request.mixers.clear();
    for (const std::string& text : split_list(*flags.mixers)) {
      RUNG_TRY(Mixer mixer, allowed_mixer(text, base));
      request.mixers.push_back(std::move(mixer));
    }
  }
  if (request.mixers.empty())
    return fail(ErrorCode::missing, "[design] no mixers given; expected --mixers full,gdelta, or --config");
  request.context = flags.architecture.context.value_or(
      request.dimensions.context > 0 ? request.dimensions.context : kDefaultContext);
  request.dimensions.context = request.context;
  request.chain_of_thought = flags.thought;
  for (const std::string& text : flags.needs) {
    RUNG_TRY(Need need, parse_need(text));
    request.needs.push_back(std::move(need));
  }
  request.minimise.clear();
  for (const std::string& text : split_list(flags.minimise)) {
    RUNG_TRY(const CostKind kind, parse_cost_kind(text));
    request.minimise.push_back(kind);
  }
  for (const std::string& text : flags.budget) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      return fail(ErrorCode::parse,
                  "[design] --budget {}; expected a cost and the most of it, as in cache=4G or full=6", text);
    RUNG_TRY(const CostKind kind, parse_cost_kind(text.substr(0, equals)));
    RUNG_TRY(const std::int64_t most, parse_size(text.substr(equals + 1)));
    request.budget.push_back({kind, most});
  }
  return request;
}

std::string costs_text(const LayoutCost& cost) {
  return fmt::format(
      "cache {}, state {}, {} full{}", bytes_text(cost.cache_bytes), bytes_text(cost.state_bytes), cost.full,
      cost.parameters ? fmt::format(", {} parameters", grouped(*cost.parameters)) : std::string());
}

std::string stack_text(const DesignRequest& request, const LayoutWord& word) {
  return format_stack(layout_stack(request, word));
}

std::string horizon_text(const Verdict& v) {
  if (!v.horizon) return "";
  if (bit_length(*v.horizon) < 40)
    return fmt::format(" (from {} tokens on)", grouped(v.horizon->convert_to<std::int64_t>()));
  return fmt::format(" (from 2^{} tokens on)", bit_length(*v.horizon) - 1);
}

std::string first_failing(const Verdict& v) {
  for (const Hypothesis& h : v.hypotheses)
    if (!h.holds) return h.numbers.empty() ? h.text : h.text + ": " + h.numbers;
  return "";
}

void print_layout(const DesignRequest& request, const DesignedLayout& layout, std::size_t number) {
  fmt::print("\n");
  print_labelled(fmt::format("{:<3} ", number), stack_text(request, layout.layers));
  print_labelled("    costs    ", costs_text(layout.cost));
  for (const NeedVerdict& need : layout.needs) {
    print_labelled("    does     ",
                   fmt::format("{}: {} by {} ({})", need.need, outcome_name(need.verdict.outcome),
                               need.verdict.theorem, status_name(need.verdict.status)));
    if (is_proved(need.verdict.status)) continue;
    // The gap of a sketch comes last of what is its own.
    std::vector<std::string> assumes = need.verdict.assumes;
    std::erase_if(assumes, [&](const std::string& text) {
      return std::find(request.assumes.begin(), request.assumes.end(), text) != request.assumes.end();
    });
    if (!assumes.empty()) print_labelled("             ", "assumes: " + assumes.back());
  }
  std::string orders;
  for (const LayoutWord& word : layout.suffices)
    orders +=
        (orders.empty() ? "" : ", or ") + (word.empty() ? std::string("nothing") : stack_text(request, word));
  print_labelled("    order    ",
                 layout.orders == 1
                     ? "the only one"
                     : fmt::format("any order with {} as a subsequence; all are equivalent, and the one "
                                   "shown is spread evenly",
                                   orders));
  if (layout.alike > 0)
    print_labelled("    alike    ",
                   fmt::format("{} the same cost and status",
                               layout.alike == 1 ? "1 more composition has"
                                                 : fmt::format("{} more compositions have", layout.alike)));
}

void print_excluded(const DesignRequest& request, const ExcludedLayouts& one) {
  print_labelled("  ",
                 down_set_text(request, one.set) + ", whatever else: " + costs_text(one.cost) + " or less");
  if (one.impossible) {
    print_labelled("    ",
                   fmt::format("{} is impossible for all of them by {} ({})", one.impossible->need,
                               one.impossible->verdict.theorem, status_name(one.impossible->verdict.status)));
    return;
  }
  for (const NeedVerdict& need : one.failing) {
    const Verdict& v = need.verdict;
    switch (v.outcome) {
      case Outcome::impossible:
        print_labelled(
            "    ",
            fmt::format("{} is impossible for {} by {} ({}); for other orders it is not decided", need.need,
                        stack_text(request, one.example), v.theorem, status_name(v.status)));
        break;
      case Outcome::possible:
        print_labelled("    ", fmt::format("{} is possible by {} ({}) alone", need.need, v.theorem,
                                           status_name(v.status)));
        break;
      case Outcome::vacuous:
        print_labelled("    ", fmt::format("{} is not decided: {} does not reach this size{}", need.need,
                                           v.theorem, horizon_text(v)));
        break;
      case Outcome::open:
        print_labelled("    ", fmt::format("{} is not decided: {}", need.need, first_failing(v)));
        break;
    }
  }
}

void print_design(const Design& design) {
  const DesignRequest& request = design.request;
  std::vector<std::string> mixers, needs, costs;
  for (const Mixer& mixer : request.mixers) mixers.push_back(format_mixer(mixer));
  for (const Need& need : request.needs) needs.push_back(need.text);
  for (const CostKind kind : request.minimise) costs.push_back(std::string(cost_kind_name(kind)));
  print_labelled("",
                 fmt::format("{} of {}, {} tokens of context; needed: {}.", counted(request.layers, "layer"),
                             fmt::join(mixers, ", "), grouped(request.context), fmt::join(needs, ", ")));
  print_labelled("", fmt::format("All orders of {} compositions were searched; questions to the theory: {}.",
                                 grouped(design.compositions), grouped(design.questions)));
  for (const std::string& text : request.assumes) print_labelled("Assumes ", text + ".");
  if (design.front.empty()) {
    fmt::print("\n");
    print_labelled("", request.budget.empty() || !design.lacking.empty()
                           ? "No layout of these mixers is proved to do all of it."
                           : "No layout within the budget is proved to do all of it.");
    for (const NeedVerdict& need : design.lacking)
      print_labelled(
          "  ",
          fmt::format(
              "{}: {}{}{}", need.need, outcome_name(need.verdict.outcome),
              need.verdict.theorem.empty()            ? ""
              : need.verdict.outcome == Outcome::open ? ": " + need.verdict.theorem + " does not decide it"
                                                      : " by " + need.verdict.theorem,
              first_failing(need.verdict).empty() ? "" : "; lacking: " + first_failing(need.verdict)));
  } else {
    fmt::print("\n");
    print_labelled(
        "",
        costs.size() == 1
            ? fmt::format("Least {} of all layouts that are known to do it, and how surely:", costs.front())
            : fmt::format("Least {}, a Pareto front: no layout of equal status is lower in one "
                          "cost and no higher in the rest.",
                          fmt::join(costs, ", ")));
    for (std::size_t i = 0; i < design.front.size(); ++i) print_layout(request, design.front[i], i + 1);
  }
  if (!design.excluded.empty()) {
    fmt::print("\nRuled out or undecided\n");
    for (const ExcludedLayouts& one : design.excluded) print_excluded(request, one);
  }
  fmt::print("\n");
  print_labelled("",
                 "Not considered: other mixers, sizes or windows than these, heads of several kinds in one "
                 "layer, whether training finds the weights, and doing two needs with one set of weights.");
}

// The base's own file with the new layout; without a released base a file with "arch" and dimensions.
Result<std::string> layout_file(const DesignFlags& flags, const std::optional<ChosenArchitecture>& base,
                                const DesignRequest& request, const Stack& stack) {
  if (base && base->released) {
    RUNG_TRY(const std::string text, read_text_file(flags.config_file(), "config"));
    Stack released = stack;
    for (Mixer& mixer : released.layers)
      for (const Mixer& own : base->released->architecture.stack.layers)
        if (plain_form(own) == mixer) {
          mixer = own;
          break;
        }
    return with_layer_types(text, released);
  }
  auto document = nlohmann::ordered_json::parse(dimensions_text(request.dimensions));
  nlohmann::ordered_json whole = {{"arch", format_spelled_stack(stack)}};
  whole.update(document);
  return whole.dump(2) + "\n";
}

Result<int> run_design(const DesignFlags& flags) {
  std::optional<ChosenArchitecture> base;
  RUNG_TRY(const DesignRequest request, design_request(flags, base));
  RUNG_CHECK(check_design_sizes(flags, request));
  RUNG_TRY(const Design design, search_design(request));
  if (flags.write) {
    if (flags.choice < 1 || flags.choice > static_cast<std::int64_t>(design.front.size()))
      return fail(ErrorCode::range, "[design] layout {} of a front of {}", flags.choice, design.front.size());
    const Stack stack =
        layout_stack(request, design.front[static_cast<std::size_t>(flags.choice - 1)].layers);
    RUNG_TRY(const std::string text, layout_file(flags, base, request, stack));
    RUNG_TRY(StagedFile file, StagedFile::open(*flags.write, flags.force));
    RUNG_CHECK(file.write(text));
    RUNG_CHECK(file.commit());
  }
  if (flags.json)
    print_json(design_document(design));
  else
    print_design(design);
  return design.front.empty() ? 1 : 0;
}

}  // namespace

Command design_command() {
  auto flags = std::make_shared<DesignFlags>();
  Command command{.name = "design", .summary = "layouts that provably do what is needed, at the least cost"};
  command.description =
      "Given layers, mixers, a context and needs, searches all layouts exactly and prints the front: layouts "
      "for which the theory writes weights for every need, and that no other such layout beats in every "
      "cost. Beside them: the order that each proof uses, what rests on a sketch, and which cheaper layouts "
      "are ruled out by a theorem or undecided. Exit code 1: no layout is proved to do it.";
  command.examples = {
      "rung design --layers 24 --mixers full,gdelta --context 32k --need seqcomp:L=4 --width 1k --heads 8",
      "rung design --config config.json --need mqar:n=4096 --need seqcomp:L=3 --minimise cache --write "
      "new.json"};
  command.options = {
      {"--layers", "how many (default: those of the base)", &flags->layers},
      {"--mixers", "which, with commas: full,gdelta(dim=64) (default: those of the base)", &flags->mixers},
      {"--need",
       "a task with its sizes: seqcomp:L=4, mqar:n=4k; may be repeated",
       &flags->needs,
       {.required = true}},
      {"--minimise",
       "costs that count, with commas: memory (cache and state), cache, state, full, parameters (memory)",
       &flags->minimise},
      {"--budget", "the most of a cost: cache=4G, full=6; may be repeated", &flags->budget},
      {"--cot", "with chain of thought", &flags->thought},
      {"--write",
       "the layout as a file: the base's config.json with layer_types, or arch and dimensions",
       &flags->write,
       {.file = FileUse::write}},
      {"--choice", "which layout of the front is written (1)", &flags->choice, {.needs = {"--write"}}},
      {"--force", "replace a file that exists", &flags->force, {.needs = {"--write"}}},
      {"--json", "one JSON document, schema rung.design/2", &flags->json}};
  flags->architecture.declare(command.options, false);
  std::erase_if(command.options, [](const Option& option) {
    for (const char* name : {"--encoder", "--activation"})
      if (option.names == name) return true;
    return false;
  });
  command.run = [flags] { return run_design(*flags); };
  return command;
}

}  // namespace rung::cli
