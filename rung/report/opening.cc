#include "rung/report/opening.h"

#include <nlohmann/json.hpp>

#include "rung/theory/constructions_cost.h"
#include "rung/theory/theorem.h"

namespace rung::report {
namespace {

using nlohmann::ordered_json;

// The smallest machine that tells the story: heads of two numbers of four bits, and tables large enough for
// the count to bite.
constexpr std::int64_t kWidth = 2;
constexpr const char* kPrecision = "4";
constexpr std::int64_t kFirstTable = 60, kRelations = 32;  // m, n_1
// What F F F needs to address a prompt of that length.
constexpr std::int64_t kBuiltWidth = 64, kBuiltHeads = 2;
constexpr const char* kBuiltPrecision = "5";

ordered_json verdict_on(const char* line, std::int64_t width, std::int64_t heads, const char* precision) {
  Architecture architecture;
  architecture.stack = parse_stack(line).value();
  architecture.dimensions.width = width;
  architecture.dimensions.heads = heads;
  architecture.dimensions.precision = parse_precision(precision).value();
  const Setting setting = make_setting(architecture, {}).value();
  const Question question =
      make_question("seqcomp", {{"L", 2}, {"m", kFirstTable}, {"n1", kRelations}}, setting.context, false)
          .value();
  ordered_json out = verdict_json(decide(setting, question));
  out["architecture"] = line;
  out["state_bits"] = json_number(setting.word.total().after(setting.context));
  return out;
}

}  // namespace

ordered_json opening_counts() {
  const std::string sizes = fmt::format("--task seqcomp --L 2 --m {} --n1 {}", kFirstTable, kRelations);
  return {{"size", {{"L", 2}, {"m", kFirstTable}, {"n1", kRelations}}},
          {"impossible", verdict_on("full+linear*100", kWidth, 1, kPrecision)},
          {"possible", verdict_on("full*3", kBuiltWidth, kBuiltHeads, kBuiltPrecision)},
          {"command", fmt::format("rung bound \"full+linear*100\" --width {} --precision {} {} --explain",
                                  kWidth, kPrecision, sizes)}};
}

ordered_json proved_precision() {
  constexpr int kLargest = 20;
  ordered_json rows = ordered_json::array();
  for (int k = 1; k <= kLargest; ++k) {
    const std::int64_t n = std::int64_t{1} << k;
    rows.push_back({{"n", n}, {"p", eva_full_cost(n).precision}});
  }
  return {{"rows", std::move(rows)}};
}

}  // namespace rung::report
