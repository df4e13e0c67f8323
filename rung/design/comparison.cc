#include "rung/design/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rung/base/require.h"
#include "rung/base/size_text.h"
#include "rung/theory/strongest_construction.h"

namespace rung {
namespace {

SettingOptions setting_options(const ChosenArchitecture& chosen, std::int64_t context,
                               const CompareOptions& options) {
  SettingOptions out;
  out.context = context;
  out.chain_of_thought = options.chain_of_thought;
  out.assume_exact = options.assume_exact;
  out.storage = chosen.bits;
  out.assumes = chosen.assumes;
  out.count = [&chosen](const StorageBits& bits) { return chosen.count(bits); };
  return out;
}

std::string storage_types(const ChosenArchitecture& chosen) {
  const Dimensions& d = chosen.architecture.dimensions;
  const auto state =
      chosen.bits.state.value_or(static_cast<int>(d.accumulator_bits.value_or(d.precision.bits)));
  return fmt::format("state {} bits, convolution {}, cache {}", state,
                     chosen.bits.conv.value_or(d.precision.bits),
                     chosen.bits.cache.value_or(d.precision.bits));
}

// The largest L in 1..high for which `solves` holds; it may only turn from true to false. 0: none.
template <class Solves>
int deepest(int high, const Solves& solves) {
  if (high < 1 || !solves(1)) return 0;
  int low = 1;
  ++high;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (solves(middle) ? low : high) = middle;
  }
  return low;
}

std::string list_of(const std::vector<std::string>& names) {
  if (names.size() < 2) return names.empty() ? "" : names.front();
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

// "one function fewer", "3 functions fewer".
std::string fewer_functions(std::int64_t fewer) {
  return fewer == 1 ? "one function fewer" : fmt::format("{} functions fewer", fewer);
}

// What no weights do: the proved impossibilities that not all models share.
std::string impossible_clause(const Comparison& c) {
  const auto forbidden = [](const ComparedModel& model, const std::string& task) {
    return std::any_of(model.verdicts.begin(), model.verdicts.end(), [&](const Verdict& v) {
      return v.task == task && v.outcome == Outcome::impossible && is_proved(v.status);
    });
  };
  std::vector<std::string> common, clauses;
  for (const Verdict& verdict : c.models.front().verdicts)
    if (std::all_of(c.models.begin(), c.models.end(),
                    [&](const auto& model) { return forbidden(model, verdict.task); }))
      common.push_back(verdict.task);
  for (const auto& model : c.models) {
    std::vector<std::string> own;
    for (const auto& verdict : model.verdicts)
      if (forbidden(model, verdict.task) &&
          std::find(common.begin(), common.end(), verdict.task) == common.end())
        own.push_back(verdict.task);
    if (!own.empty())
      clauses.push_back(fmt::format("{} {} provably impossible for {}", list_of(own),
                                    own.size() == 1 ? "is" : "are", model.name));
  }
  const std::string where = fmt::format(" at {} tokens", grouped(c.context));
  if (!clauses.empty()) return fmt::format("{}{}", fmt::join(clauses, ", "), where);
  const std::string whom = c.models.size() == 1   ? c.models.front().name
                           : c.models.size() == 2 ? "either"
                                                  : "any of them";
  return fmt::format("nothing {}is provably impossible for {}{}",
                     common.empty() ? "" : fmt::format("but {} ", list_of(common)), whom, where);
}

// One thing said of one model.
struct Remark {
  std::string about, text;
};

std::optional<Remark> memory_remark(const Comparison& c) {
  const auto [least, most] =
      std::minmax_element(c.models.begin(), c.models.end(),
                          [](const auto& a, const auto& b) { return a.kept.total() < b.kept.total(); });
  const Integer less = most->kept.total() - least->kept.total();
  if (less == 0) return std::nullopt;
  return Remark{least->name, fmt::format("keeps {} less{}", bytes_text(less),
                                         c.models.size() > 2 ? fmt::format(" than {}", most->name) : "")};
}

// Depth by what is proved here; where nothing is, by the word, which is said.
std::optional<Remark> depth_remark(const Comparison& c) {
  const bool proved = std::all_of(c.models.begin(), c.models.end(),
                                  [](const auto& model) { return model.depth.proved.has_value(); });
  const auto depth = [&](const ComparedModel& model) {
    return proved ? static_cast<std::int64_t>(*model.depth.proved) : model.depth.of_word;
  };
  const auto [low, high] = std::minmax_element(
      c.models.begin(), c.models.end(), [&](const auto& a, const auto& b) { return depth(a) < depth(b); });
  const std::int64_t fewer = depth(*high) - depth(*low);
  if (fewer == 0) return std::nullopt;
  return Remark{low->name, fmt::format("{}composes {}{}{}", proved ? "provably " : "", fewer_functions(fewer),
                                       c.models.size() > 2 ? fmt::format(" than {}", high->name) : "",
                                       proved ? "" : " by its word (not proved at these sizes)")};
}

std::string plain_sentence(const Comparison& c) {
  std::string out = impossible_clause(c), subject;
  for (const auto& remark : {memory_remark(c), depth_remark(c)}) {
    if (!remark) continue;
    out += remark->about == subject ? " and " + remark->text
                                    : fmt::format("; {} {}", remark->about, remark->text);
    subject = remark->about;
  }
  out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  return out + ".";
}

nlohmann::ordered_json whole_number(const Integer& value) { return json_number(value); }

template <class Number>
nlohmann::ordered_json number_or_null(const std::optional<Number>& number) {
  return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json();
}

nlohmann::ordered_json depth_document(const CompositionDepth& depth) {
  return {{"proved", number_or_null(depth.proved)},
          {"proved_by", depth.proved_by},
          {"sketched", number_or_null(depth.sketched)},
          {"sketched_by", depth.sketched_by},
          {"impossible", number_or_null(depth.impossible)},
          {"impossible_by", depth.impossible_by},
          {"word", depth.of_word}};
}

}  // namespace

Integer bytes_of_bits(const Integer& bits) { return (bits + 7) / 8; }

KeptBytes kept_bytes(const Account& account, std::int64_t context, std::int64_t batch) {
  RUNG_REQUIRE(context >= 1 && batch >= 1, "context={} batch={}", context, batch);
  return {.state = bytes_of_bits(account.state_bits) * batch,
          .cache = bytes_of_bits(Integer(account.cache_bits_per_token) * context) * batch};
}

std::string bytes_text(const Integer& bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double amount = bytes.convert_to<double>();
  std::size_t unit = 0;
  while (amount >= 1024 && unit + 1 < std::size(kUnits)) amount /= 1024, ++unit;
  return fmt::format("{:.{}f} {}", amount, unit == 0 ? 0 : 2, kUnits[unit]);
}

CompositionDepth composition_depth(const Setting& setting) {
  CompositionDepth depth;
  const PatternSummary summary = summarise_pattern(setting);
  depth.of_word = summary.asymptotic;
  if (summary.impossible) {
    depth.impossible = summary.impossible;
    depth.impossible_by = summary.impossible_by->theorem;
    depth.impossible_status = summary.impossible_by->status;
  }
  if (!summary.solvable) return depth;
  depth.sketched = summary.solvable;
  depth.sketched_by = summary.solvable_by->theorem;
  std::string by;
  const int proved = deepest(*summary.solvable, [&](int L) {
    const auto question = make_question("seqcomp", {{"L", L}}, setting.context, false);
    if (!question) return false;
    const auto built = strongest_construction(setting, *question);
    if (!built || !is_proved(built->status)) return false;
    by = built->theorem;
    return true;
  });
  if (proved > 0) {
    depth.proved = proved;
    const auto question = make_question("seqcomp", {{"L", proved}}, setting.context, false);
    depth.proved_by = strongest_construction(setting, *question)->theorem;
  }
  return depth;
}

Result<Comparison> compare(std::vector<NamedArchitecture> architectures, const CompareOptions& options) {
  RUNG_REQUIRE(!architectures.empty(), "nothing to compare");
  Comparison out;
  out.batch = options.batch;
  out.chain_of_thought = options.chain_of_thought;
  out.context = options.context.value_or(0);
  if (!options.context) {
    for (const auto& [name, chosen] : architectures)
      if (const std::int64_t own = chosen.architecture.dimensions.context; own > 0)
        out.context = out.context == 0 ? own : std::min(out.context, own);
    if (out.context == 0) out.context = kDefaultContext;
  }
  if (out.context < 2 || out.context > kMaxContext)
    return fail(ErrorCode::range, "[compare] context {}; expected 2 to {} tokens", out.context, kMaxContext);
  if (options.batch < 1 || options.batch > kMaxSize)
    return fail(ErrorCode::range, "[compare] batch {}; expected 1 to {}", options.batch, kMaxSize);
  for (auto& [name, chosen] : architectures) {
    chosen.bits.context = out.context;
    RUNG_TRY(const Setting setting,
             make_setting(chosen.architecture, setting_options(chosen, out.context, options)));
    ComparedModel model{.name = name, .account = chosen.count(), .types = storage_types(chosen)};
    model.kept = kept_bytes(model.account, out.context, options.batch);
    model.depth = composition_depth(setting);
    for (const TaskWord& word : task_words()) {
      const auto question = make_question(word.name, {}, out.context, true);
      if (!question) continue;  // no instance of it fits the context
      model.verdicts.push_back(decide(setting, *question));
      if (word.name == "eva") model.recall = model.verdicts.back();
    }
    model.chosen = std::move(chosen);
    out.models.push_back(std::move(model));
  }
  for (std::size_t i = 0; i < out.models.front().verdicts.size(); ++i) {
    const Verdict& first = out.models.front().verdicts[i];
    const bool differs = std::any_of(out.models.begin(), out.models.end(), [&](const ComparedModel& model) {
      const Verdict& v = model.verdicts[i];  // an open verdict says nothing, whatever its theorem's status
      return v.outcome != first.outcome || (v.outcome != Outcome::open && v.status != first.status);
    });
    if (differs) out.differing.push_back(first.task);
  }
  out.sentence = plain_sentence(out);
  return out;
}

nlohmann::ordered_json comparison_document(const Comparison& c) {
  nlohmann::ordered_json models = nlohmann::ordered_json::array();
  for (const ComparedModel& model : c.models) {
    nlohmann::ordered_json verdicts = nlohmann::ordered_json::array();
    for (const Verdict& verdict : model.verdicts) verdicts.push_back(verdict_json(verdict));
    nlohmann::ordered_json one = {{"name", model.name},
                                  {"architecture", format_spelled_stack(model.chosen.architecture.stack)},
                                  {"layers", model.account.layers.size()},
                                  {"counts", model.account.counts},
                                  {"pattern", fold_pattern(model.account.layers)},
                                  {"parameters", number_or_null(model.account.parameters)},
                                  {"state_bytes", whole_number(model.kept.state)},
                                  {"cache_bytes", whole_number(model.kept.cache)},
                                  {"total_bytes", whole_number(model.kept.total())},
                                  {"types", model.types},
                                  {"depth", depth_document(model.depth)},
                                  {"verdicts", std::move(verdicts)}};
    if (!model.account.parameters) one["parameters_reason"] = model.account.parameters_reason;
    models.push_back(std::move(one));
  }
  return {{"schema", "rung.compare/1"}, {"context", c.context},
          {"batch", c.batch},           {"chain_of_thought", c.chain_of_thought},
          {"sentence", c.sentence},     {"differing", c.differing},
          {"models", std::move(models)}};
}

}  // namespace rung
