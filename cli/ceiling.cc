// rung ceiling: the best average accuracy of any model with so many bits of state, as a table and for plots.
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "rung/base/size_text.h"
#include "rung/theory/ceiling.h"
#include "rung/theory/horizon.h"
#include "rung/theory/outcome.h"

namespace rung::cli {
namespace {

constexpr std::int64_t kMostRows = 65'536;
constexpr std::int64_t kLargest = std::int64_t{1} << 60;
constexpr std::int64_t kMostQueried = std::int64_t{1}
                                      << 20;  // arguments of a query distribution that is not uniform

struct CeilingFlags {
  std::string bits, n, queries = "uniform";
  std::optional<std::int64_t> alphabet;
  bool log_linear = false, csv = false, json = false;
};

// "64", "16..1024" (doubling, the end included), "16..1024:16" (steps of 16), and lists of these with commas.
Result<std::vector<std::int64_t>> parse_range(std::string_view name, std::string_view text,
                                              std::int64_t low) {
  const auto bad = [&] {
    return fail(ErrorCode::parse,
                "[ceiling] {} = \"{}\"; expected a number, a..b (doubling), a..b:step, or a list of these",
                name, text);
  };
  const auto number = [](std::string_view part, std::int64_t& value) {
    const auto size = parse_size(part);
    if (size) value = *size;
    return size.ok();
  };
  std::vector<std::int64_t> values;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, comma - begin);
    begin = comma + 1;
    const std::size_t dots = item.find(".."), colon = item.find(':');
    std::int64_t from = 0, to = 0, step = 0;
    if (dots == std::string_view::npos) {
      if (!number(item, from)) return bad();
      to = from;
    } else {
      const std::size_t end = colon == std::string_view::npos ? item.size() : colon;
      if (end < dots + 2 || !number(item.substr(0, dots), from) ||
          !number(item.substr(dots + 2, end - dots - 2), to))
        return bad();
      if (colon != std::string_view::npos && (!number(item.substr(colon + 1), step) || step < 1))
        return bad();
    }
    if (from < low || to < from || to > kLargest)
      return fail(ErrorCode::range, "[ceiling] {} = {} to {}; expected {} to 2^60, in order", name, from, to,
                  low);
    if (step == 0 && from == 0 && to > 0)
      return fail(ErrorCode::range, "[ceiling] {} doubles from 0; expected a..b:step", name);
    for (std::int64_t value = from;; value = step > 0 ? value + step : 2 * value) {
      if (static_cast<std::int64_t>(values.size()) == kMostRows)
        return fail(ErrorCode::resource, "[ceiling] {} has more than {} values", name, kMostRows);
      values.push_back(std::min(value, to));
      if (value >= to || (step > 0 && to - value < step)) break;
    }
  }
  return values;
}

struct Row {
  std::int64_t n = 0, alphabet = 0, bits = 0;
  double needed = 0;  // bits for accuracy 1
  double ceiling = 1;
  std::optional<double> attained;  // queries that are not uniform
  std::vector<BucketCeiling> buckets;
};

Result<Row> row_of(const CeilingFlags& flags, const std::vector<double>& weights, std::int64_t n,
                   std::int64_t bits) {
  Row row{.n = n, .alphabet = flags.alphabet.value_or(n), .bits = bits};
  row.needed = index_count(n, row.alphabet).lg();
  if (flags.log_linear) {
    LogLinearCeiling ceiling = log_linear_ceiling(n, row.alphabet, bits);
    row.ceiling = ceiling.average;
    row.buckets = std::move(ceiling.buckets);
  } else if (flags.queries == "uniform" || row.alphabet == 1) {
    row.ceiling = accuracy_ceiling(n, row.alphabet, bits);
  } else {
    if (n > kMostQueried)
      return fail(ErrorCode::resource,
                  "[ceiling] n = {} with queries that are not uniform; expected at most {}", n, kMostQueried);
    if (flags.queries != "zipf" && n != static_cast<std::int64_t>(weights.size()))
      return fail(ErrorCode::range, "[ceiling] {} has {} weights; expected n = {}", flags.queries,
                  weights.size(), n);
    const QueryCeiling ceiling = query_ceiling(flags.queries == "zipf" ? zipf_queries(n) : weights,
                                               row.alphabet, static_cast<double>(bits));
    row.ceiling = ceiling.upper;
    row.attained = ceiling.attained;
  }
  return row;
}

nlohmann::ordered_json document(const CeilingFlags& flags, const std::vector<Row>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json entry = {{"n", row.n},
                                    {"alphabet", row.alphabet},
                                    {"state_bits", row.bits},
                                    {"bits_for_certainty", row.needed},
                                    {"ceiling", row.ceiling}};
    if (row.attained) entry["attained"] = *row.attained;
    if (flags.log_linear) {
      entry["buckets"] = nlohmann::ordered_json::array();
      for (const BucketCeiling& bucket : row.buckets)
        entry["buckets"].push_back(
            {{"size", bucket.size}, {"ungated", bucket.ungated}, {"gated", bucket.gated}});
    }
    list.push_back(entry);
  }
  return {{"schema", "rung.ceiling/1"},
          {"queries", flags.queries},
          {"form", flags.log_linear ? "loglinear" : "recurrent"},
          {"source", source_name(Source::ours)},
          {"status", status_name(Status::proved)},
          {"rows", list}};
}

void print_csv(const std::vector<Row>& rows) {
  fmt::print("n,alphabet,state_bits,bits_for_certainty,ceiling\n");
  for (const Row& row : rows)
    fmt::print("{},{},{},{:.6f},{}\n", row.n, row.alphabet, row.bits, row.needed,
               format_ceiling(row.ceiling, 6));
}

void print_table(const CeilingFlags& flags, const std::vector<Row>& rows) {
  fmt::print("{:>12}  {:>12}  {:>14}  {:>8}\n", "state bits", "n", "n lg alphabet", "ceiling");
  for (const Row& row : rows) {
    fmt::print("{:>12}  {:>12}  {:>14.1f}  {:>8}\n", row.bits, row.n, row.needed,
               format_ceiling(row.ceiling));
    for (const BucketCeiling& bucket : row.buckets)
      fmt::print("{:>12}  {:>12}  {:>14}  {:>8}  gated {}\n", "bucket", bucket.size, "",
                 format_ceiling(bucket.ungated), format_ceiling(bucket.gated));
  }
  if (flags.log_linear)
    fmt::print("state bits: of one level, summed over the layers; the query stands at position n\n");
}

Result<int> run_ceiling(const CeilingFlags& flags) {
  if (flags.alphabet && (*flags.alphabet < 1 || *flags.alphabet > kLargest))
    return fail(ErrorCode::range, "[ceiling] alphabet = {}; expected 1 to 2^60", *flags.alphabet);
  RUNG_TRY(const auto bits, parse_range("state-bits", flags.bits, 0));
  RUNG_TRY(const auto sizes, parse_range("n", flags.n, 1));
  if (static_cast<std::int64_t>(bits.size() * sizes.size()) > kMostRows)
    return fail(ErrorCode::resource, "[ceiling] {} rows; expected at most {}", bits.size() * sizes.size(),
                kMostRows);
  std::vector<double> weights;
  if (flags.queries != "uniform" && flags.queries != "zipf") {
    RUNG_TRY(weights, read_queries(flags.queries));
  }
  std::vector<Row> rows;
  for (const std::int64_t s : bits)
    for (const std::int64_t n : sizes) {
      RUNG_TRY(Row row, row_of(flags, weights, n, s));
      rows.push_back(std::move(row));
    }
  if (flags.json)
    print_json(document(flags, rows));
  else if (flags.csv)
    print_csv(rows);
  else
    print_table(flags, rows);
  return 0;
}

}  // namespace

Command ceiling_command() {
  auto flags = std::make_shared<CeilingFlags>();
  Command command{.name = "ceiling", .summary = "best average accuracy that so many state bits allow"};
  command.description =
      "A table f of n random values is read once, then one value is asked for. The ceiling is an upper bound "
      "for every model that keeps that many bits, however it was trained; printed numbers are rounded up "
      "(docs/counting.md).";
  command.examples = {"rung ceiling --state-bits 1024 --n 128..1024",
                      "rung ceiling --state-bits 256,1024 --n 16..1024 --csv",
                      "rung ceiling --state-bits 1024 --n 1023 --loglinear"};
  command.options = {
      {"--state-bits",
       "bits of state over all layers: a number, a..b, a..b:step, or a list",
       &flags->bits,
       {.required = true}},
      {"--n", "values before the query, written the same way", &flags->n, {.required = true}},
      {"--alphabet", "number of different values (n)", &flags->alphabet},
      {"--queries",
       "uniform, zipf, or a file with one weight a line (uniform)",
       &flags->queries,
       {.excludes = {"--loglinear"}}},
      {"--loglinear", "a log-linear stack: bits are those of one level", &flags->log_linear},
      {"--csv", "comma-separated, for plots", &flags->csv, {.excludes = {"--json"}}},
      {"--json", "one JSON document", &flags->json},
  };
  command.run = [flags] { return run_ceiling(*flags); };
  return command;
}

}  // namespace rung::cli
