#include "rung/report/opening.h"

#include "rung/base/command_line.h"
#include "rung/base/json_fields.h"
#include "rung/theory/constructions_cost.h"
#include "rung/theory/theorem.h"

namespace rung::report {
namespace {

// The smallest machine that tells the story: heads of two numbers of four bits, and tables large enough for
// the count to exceed the bits.
constexpr std::int64_t kWidth = 2;
constexpr const char* kPrecision = "4";
constexpr std::int64_t kFirstTable = 60, kRelations = 32;  // m, n_1
// What F F F needs to address a prompt of that length.
constexpr std::int64_t kBuiltWidth = 64, kBuiltHeads = 2;
constexpr const char* kBuiltPrecision = "5";

OpeningVerdict verdict_on(const char* line, std::int64_t width, std::int64_t heads, const char* precision) {
  Architecture architecture;
  architecture.stack = parse_stack(line).value();
  architecture.dimensions.width = width;
  architecture.dimensions.heads = heads;
  architecture.dimensions.precision = parse_precision(precision).value();
  const Setting setting = make_setting(architecture, {}).value();
  const Question question =
      make_question("seqcomp", {{"L", 2}, {"m", kFirstTable}, {"n1", kRelations}}, setting.context, false)
          .value();
  return {decide(setting, question), line, json_number(setting.word.total().after(setting.context))};
}

nlohmann::ordered_json opening_verdict_json(const OpeningVerdict& one) {
  nlohmann::ordered_json out = verdict_json(one.verdict);
  out["architecture"] = one.architecture;
  out["state_bits"] = one.state_bits;
  return out;
}

}  // namespace

template <class Fields>
void describe(Fields& field, ProvedPrecision& x) {
  field("n", x.n, "p", x.p);
}

Opening opening_counts() {
  const char* story = "full+linear*100";
  const SizeList size{{"L", 2}, {"m", kFirstTable}, {"n1", kRelations}};
  CommandLine command({"rung", "bound", story});
  command.option("width", kWidth).option("precision", kPrecision).option("task", "seqcomp");
  for (const auto& [name, value] : size) command.option(name, value.value);
  return {size, verdict_on(story, kWidth, 1, kPrecision),
          verdict_on("full*3", kBuiltWidth, kBuiltHeads, kBuiltPrecision), command.flag("explain").text()};
}

nlohmann::ordered_json opening_json(const Opening& opening) {
  return {{"size", opening.size},
          {"impossible", opening_verdict_json(opening.impossible)},
          {"possible", opening_verdict_json(opening.possible)},
          {"command", opening.command}};
}

std::vector<ProvedPrecision> proved_precision() {
  constexpr int kLargest = 20;
  std::vector<ProvedPrecision> rows;
  for (int k = 1; k <= kLargest; ++k) {
    const std::int64_t n = std::int64_t{1} << k;
    rows.push_back({n, static_cast<int>(eva_full_cost(n).precision)});
  }
  return rows;
}

nlohmann::ordered_json precision_json(const std::vector<ProvedPrecision>& rows) { return to_fields(rows); }

}  // namespace rung::report
