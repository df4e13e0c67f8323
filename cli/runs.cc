// rung runs: the records of what was done: listed, shown, exported, merged.
#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/task_flags.h"
#include "cli/text_table.h"
#include "cli/written_files.h"
#include "rung/base/nearest_word.h"
#include "rung/base/plural.h"
#include "rung/report/sweep_drawing.h"
#include "rung/store/store.h"
#include "rung/store/sweep.h"
#include "rung/store/table.h"

namespace rung::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::array<std::string_view, 5> kActions = {"list", "show", "plot", "export", "import"};

struct RunsFlags {
  std::string action = "list";
  std::vector<std::string> names;
  std::optional<std::string> store, kind, state, task, arch, label, since, host, text, parent, sort, out, x,
      series, panel;
  std::string y = "accuracy";
  std::int64_t limit = 0;
  bool reverse = false, csv = false, jsonl = false, force = false, json = false;
};

Result<Filter> filter_of(const RunsFlags& flags) {
  Filter filter{.kind = flags.kind,
                .parent = flags.parent,
                .task = flags.task,
                .arch = flags.arch,
                .label = flags.label,
                .host = flags.host,
                .text = flags.text};
  if (flags.kind) RUNG_CHECK(check_kind(*flags.kind));
  if (flags.state) {
    RUNG_TRY(filter.state, parse_state(*flags.state));
  }
  if (flags.since) {
    RUNG_TRY(filter.since, parse_since(*flags.since));
  }
  if (flags.limit < 0)
    return fail(ErrorCode::range, "[runs] limit = {}; expected at least 0 (0: all)", flags.limit);
  if (flags.sort) filter.sort = *flags.sort;
  filter.descending = !flags.reverse;
  filter.limit = static_cast<std::size_t>(flags.limit);
  return filter;
}

// Text of records on a terminal: control bytes could move its cursor.
std::string plain(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

OrderedJson document_of(const Record& record) { return OrderedJson::parse(record_line(record)); }

OrderedJson head(const char* action, const Store& store) {
  return {{"schema", "rung.runs/1"}, {"action", action}, {"store", store.path()}};
}

// The columns in which the records differ, and what came of them; what they all share stands in `shared`.
struct RunsTable {
  std::vector<TextColumn> columns;
  std::string shared;
};

RunsTable runs_table(const std::vector<Record>& records) {
  std::vector<SweepFields> asked, measured;
  for (const Record& record : records) {
    RecordFields fields = record_fields(record);
    fields.asked["state"] = {.text = std::string(state_name(record.state))};
    if (!fields.label.empty()) fields.asked["label"] = {.text = fields.label};
    if (fields.asked.contains("arch"))  // which say the same
      for (const char* name : {"layers", "mixers"}) fields.asked.erase(name);
    asked.push_back(std::move(fields.asked));
    measured.push_back(std::move(fields.measured));
  }
  RunsTable table;
  const auto column = [&](const std::string& name, const auto& text, bool left) {
    table.columns.push_back({.title = name, .cells = {}, .left = left});
    for (std::size_t i = 0; i < records.size(); ++i) table.columns.back().cells.push_back(text(i));
  };
  const auto value_in = [](const std::vector<SweepFields>& all, const std::string& name) {
    return [&all, name](std::size_t i) {
      const auto found = all[i].find(name);
      if (found == all[i].end()) return std::string("-");
      return found->second.number && found->second.text.find('.') != std::string::npos
                 ? fmt::format("{:.4g}", *found->second.number)
                 : plain(found->second.text);
    };
  };
  column(
      "id", [&](std::size_t i) { return records[i].id; }, true);
  auto differ = differing_fields(asked);
  if (records.size() == 1)  // nothing differs: what it is about
    for (const char* name : {"kind", "state", "task", "arch", "label"})
      if (asked.front().contains(name)) differ.emplace_back(name);
  const auto differs = [&](std::string_view name) {
    return std::find(differ.begin(), differ.end(), name) != differ.end();
  };
  static constexpr std::string_view kFirst[] = {"kind", "state", "task"}, kLast[] = {"arch", "label"};
  const auto ordinary = [&](const std::string& name) {
    return std::find(std::begin(kFirst), std::end(kFirst), name) == std::end(kFirst) &&
           std::find(std::begin(kLast), std::end(kLast), name) == std::end(kLast);
  };
  for (const auto name : kFirst)
    if (differs(name)) column(std::string(name), value_in(asked, std::string(name)), true);
  for (const std::string& name : differ)
    if (ordinary(name)) column(name, value_in(asked, name), true);
  for (const auto name : kLast)
    if (differs(name)) column(std::string(name), value_in(asked, std::string(name)), true);
  const auto seeds = differing_fields(measured);
  if (std::find(seeds.begin(), seeds.end(), "seed") != seeds.end())
    column("seed", value_in(measured, "seed"), true);
  for (const char* name : {"accuracy", "loss"})
    if (std::any_of(measured.begin(), measured.end(),
                    [&](const SweepFields& one) { return one.contains(name); }))
      column(name, value_in(measured, name), true);
  if (records.size() > 1)
    for (const auto& [name, value] : asked.front())
      if (!differs(name))
        table.shared += fmt::format("{}{} {}", table.shared.empty() ? "" : ", ", name, plain(value.text));
  return table;
}

// What they share, for the line below.
std::string print_runs(const std::vector<Record>& records) {
  if (records.empty()) return "";
  const RunsTable table = runs_table(records);
  print_table(table.columns);
  return table.shared;
}

Result<int> list(const RunsFlags& flags) {
  RUNG_TRY(const Filter filter, filter_of(flags));
  RUNG_TRY(const auto store, Store::open(store_path(flags.store), Store::Access::read));
  RUNG_TRY(const auto records, store->query(filter));
  if (flags.json) {
    OrderedJson document = head("list", *store);
    document["count"] = records.size();
    document["records"] = OrderedJson::array();
    for (const Record& record : records) document["records"].push_back(document_of(record));
    print_json(document);
  } else {
    const std::string shared = print_runs(records);
    std::fflush(stdout);
    fmt::print(stderr, "{} in {}{}{}\n", counted(records.size(), "record"), store->path(),
               shared.empty()        ? ""
               : records.size() == 1 ? ": "
                                     : ", all of them: ",
               shared);
  }
  return 0;
}

Result<Record> one_record(Store& store, const std::string& id) {
  if (id.empty()) return fail(ErrorCode::missing, "[runs] an empty id; rung runs list shows them");
  RUNG_TRY(const auto exact, store.find(id));
  if (exact) return *exact;
  RUNG_TRY(const auto found, store.query({.id = id}));
  if (found.empty())
    return fail(ErrorCode::missing, "[runs] no record {} in {}; rung runs list shows them", rung::quoted(id),
                store.path());
  if (found.size() > 1)
    return fail(ErrorCode::missing,
                "[runs] {} begins {} records, {} and {} among them; expected more of the id",
                rung::quoted(id), found.size(), found[0].id, found[1].id);
  return found[0];
}

// One field a line, cut where a curve would fill the screen.
void print_body(const std::string& text) {
  constexpr std::size_t kLongest = 200;
  const auto body = nlohmann::json::parse(text);
  std::size_t width = 0;
  for (const auto& [name, value] : body.items()) width = std::max(width, name.size());
  if (!body.empty()) fmt::print("\n");
  for (const auto& [name, value] : body.items()) {
    std::string shown = value.is_string() ? plain(value.get<std::string>()) : value.dump(-1, ' ', true);
    if (shown.size() > kLongest)
      shown = fmt::format("{}... ({} bytes; --json shows all)", shown.substr(0, kLongest), shown.size());
    fmt::print("{:<{}}  {}\n", plain(name), width, shown);
  }
}

Result<int> show(const RunsFlags& flags) {
  if (flags.names.size() != 1)
    return fail(ErrorCode::missing, "[runs] show takes one ID, got {}", flags.names.size());
  RUNG_TRY(const auto store, Store::open(store_path(flags.store), Store::Access::read));
  RUNG_TRY(const Record record, one_record(*store, flags.names[0]));
  RUNG_TRY(const auto children, store->query({.parent = record.id, .descending = false}));
  if (flags.json) {
    OrderedJson document = head("show", *store);
    document["record"] = document_of(record);
    document["children"] = OrderedJson::array();
    for (const Record& child : children) document["children"].push_back(child.id);
    print_json(document);
    return 0;
  }
  const auto line = [](std::string_view name, const std::string& value) {
    if (!value.empty()) fmt::print("{:<10}{}\n", name, plain(value));
  };
  line("id", record.id);
  line("kind", record.kind);
  line("state", std::string(state_name(record.state)));
  line("parent", record.parent);
  line("created", record.created);
  line("finished", record.finished);
  if (record.seed) line("seed", std::to_string(*record.seed));
  line("version", record.version);
  std::string libraries;
  for (const auto& [name, version] : record.libraries)
    libraries += fmt::format("{}{} {}", libraries.empty() ? "" : ", ", name, version);
  line("libraries", libraries);
  line("host", record.host);
  line("device", record.device);
  line("command", record.command);
  print_body(record.body);
  if (!children.empty()) fmt::print("\n");
  print_runs(children);
  return 0;
}

std::vector<TextColumn> points_table(const SweepFigure& figure) {
  std::vector<TextColumn> table;
  const auto column = [&](const std::string& name, bool left, const auto& text) {
    table.push_back({.title = name, .cells = {}, .left = left});
    for (const SweepPanel& panel : figure.panels)
      for (const SweepLine& line : panel.lines)
        for (const SweepPoint& point : line.points) table.back().cells.push_back(text(panel, line, point));
  };
  const auto number = [&](const std::string& name, const auto& value) {
    column(name, false, [&](const auto&, const auto&, const SweepPoint& point) {
      return fmt::format("{:.6g}", value(point));
    });
  };
  if (!figure.panel.empty())
    column(figure.panel, true,
           [](const SweepPanel& panel, const auto&, const auto&) { return plain(panel.name); });
  if (!figure.series.empty())
    column("series", true, [](const auto&, const SweepLine& line, const auto&) { return plain(line.name); });
  number(figure.x, [](const SweepPoint& point) { return point.x; });
  number(figure.y, [](const SweepPoint& point) { return point.mean; });
  number("least", [](const SweepPoint& point) { return point.low; });
  number("largest", [](const SweepPoint& point) { return point.high; });
  number("records", [](const SweepPoint& point) { return static_cast<double>(point.count); });
  column("ceiling", false, [](const auto&, const auto&, const SweepPoint& point) {
    return point.ceiling ? fmt::format("{:.6g}", *point.ceiling) : std::string();
  });
  column("label", true, [](const auto&, const auto&, const SweepPoint& point) { return point.label; });
  return table;
}

OrderedJson figure_json(const SweepFigure& figure) {
  OrderedJson panels = OrderedJson::array();
  for (const SweepPanel& panel : figure.panels) {
    OrderedJson lines = OrderedJson::array();
    for (const SweepLine& line : panel.lines) {
      OrderedJson points = OrderedJson::array();
      for (const SweepPoint& point : line.points)
        points.push_back({{"x", point.x},
                          {"mean", point.mean},
                          {"low", point.low},
                          {"high", point.high},
                          {"count", point.count},
                          {"ceiling", point.ceiling ? OrderedJson(*point.ceiling) : OrderedJson(nullptr)},
                          {"label", point.label}});
      lines.push_back({{"name", line.name}, {"points", points}});
    }
    panels.push_back({{"name", panel.name}, {"lines", lines}});
  }
  return {{"x", figure.x},
          {"y", figure.y},
          {"series", figure.series},
          {"panel", figure.panel},
          {"left_out", figure.left_out},
          {"panels", panels}};
}

Result<int> plot(const RunsFlags& flags) {
  RUNG_TRY(const Filter filter, filter_of(flags));
  RUNG_TRY(const auto store, Store::open(store_path(flags.store), Store::Access::read));
  RUNG_TRY(const auto records, store->query(filter));
  SweepQuestion question{.x = flags.x, .y = flags.y, .panel = flags.panel};
  if (flags.series)
    question.series = flags.series->empty() ? std::vector<std::string>{} : comma_words(*flags.series);
  RUNG_TRY(const SweepFigure figure, sweep_figure(records, question));
  if (flags.out) RUNG_CHECK(write_text(*flags.out, report::sweep_svg(figure), flags.force));
  if (flags.json) {
    OrderedJson document = head("plot", *store);
    document.update(figure_json(figure));
    if (flags.out) document["file"] = *flags.out;
    print_json(document);
    return 0;
  }
  if (flags.csv)
    print_csv(points_table(figure));
  else if (flags.out)
    fmt::print("{}\n", *flags.out);
  else
    print_table(points_table(figure));
  std::fflush(stdout);
  if (figure.left_out > 0)
    fmt::print(stderr, "{} left out, without {} or {}\n", counted(figure.left_out, "record"), figure.x,
               figure.y);
  return 0;
}

Result<int> export_records(const RunsFlags& flags) {
  if (flags.csv == flags.jsonl)
    return fail(ErrorCode::missing, "[runs] export takes either --csv or --jsonl");
  RUNG_TRY(const Filter filter, filter_of(flags));
  RUNG_TRY(const auto store, Store::open(store_path(flags.store), Store::Access::read));
  RUNG_TRY(const auto records, store->query(filter));
  std::string text;
  if (flags.csv)
    text = csv_table(records);
  else
    for (const Record& record : records) text += record_line(record) + "\n";
  if (!flags.out && !flags.json) {
    std::cout << text;  // main checks that it was written
    return 0;
  }
  OrderedJson document = head("export", *store);
  document["format"] = flags.csv ? "csv" : "jsonl";
  document["count"] = records.size();
  if (flags.out) {
    RUNG_CHECK(write_text(*flags.out, text, flags.force));
    document["file"] = *flags.out;
  } else {
    document["text"] = text;
  }
  if (flags.json)
    print_json(document);
  else
    fmt::print("{}\n", *flags.out);
  return 0;
}

Result<int> import(const RunsFlags& flags) {
  if (flags.names.empty())
    return fail(ErrorCode::missing,
                "[runs] import takes files: stores, JSON lines, results of the lm-evaluation-harness");
  // All are read before anything is written: one bad file of several changes nothing.
  std::vector<ForeignRecords> read;
  for (const std::string& name : flags.names) {
    RUNG_TRY(auto records, read_foreign_records(name));
    read.push_back(std::move(records));
  }
  RUNG_TRY(const auto store, Store::open(store_path(flags.store)));
  OrderedJson files = OrderedJson::array();
  for (std::size_t i = 0; i < read.size(); ++i) {
    const std::string& name = flags.names[i];
    RUNG_TRY(const ImportCount count, store->merge(read[i].records));
    OrderedJson conflicts = OrderedJson::array();
    for (const auto& conflict : count.conflicts)
      conflicts.push_back({{"id", conflict.id}, {"kept", conflict.replaced ? "theirs" : "ours"}});
    files.push_back({{"file", name},
                     {"added", count.added},
                     {"unchanged", count.unchanged},
                     {"skipped", read[i].skipped},
                     {"conflicts", conflicts}});
    if (flags.json) continue;
    fmt::print("{}: {} added, {} there already", name, count.added, count.unchanged);
    if (read[i].skipped > 0) fmt::print(", {} not rung's", read[i].skipped);
    if (!conflicts.empty()) fmt::print(", {} in conflict", conflicts.size());
    fmt::print("\n");
    for (const auto& conflict : count.conflicts)
      fmt::print("  {}: {}\n", conflict.id, conflict.replaced ? "took theirs" : "kept ours");
  }
  if (flags.json) {
    OrderedJson document = head("import", *store);
    document["files"] = files;
    print_json(document);
  }
  return 0;
}

Result<int> run_runs(const RunsFlags& flags) {
  if (flags.action == "list") return list(flags);
  if (flags.action == "show") return show(flags);
  if (flags.action == "plot") return plot(flags);
  if (flags.action == "export") return export_records(flags);
  if (flags.action == "import") return import(flags);
  return fail(ErrorCode::parse, "[runs] no action {}; {}", rung::quoted(flags.action),
              suggest(flags.action, kActions));
}

}  // namespace

Command runs_command() {
  auto flags = std::make_shared<RunsFlags>();
  Command command{.name = "runs", .summary = "records of what was trained, evaluated and certified"};
  command.description =
      "ACTION is list (the default), show ID (a beginning of it is enough), plot (a sweep, as a table or a "
      "picture: seeds are one point, and records that differ otherwise are never put together), export "
      "(--csv or --jsonl), or import FILE...: another store, JSON lines from another machine, result files "
      "of the lm-evaluation-harness on tasks that rung exported. Importing twice adds nothing "
      "(docs/runs.md).";
  command.examples = {"rung runs",
                      "rung runs list --task eva --state done --sort accuracy --limit 10",
                      "rung runs show 20261115T1523",
                      "rung runs plot --task eva --x size.n --series arch --out sweep.svg",
                      "rung runs export --csv --kind member --out members.csv",
                      "rung runs import gpu/runs.jsonl results_*.json"};
  const std::vector<std::string> selecting = {"list", "plot", "export"}, ordering = {"list", "export"},
                                 drawing = {"plot"};
  command.options = {
      {"ACTION", "list, show, plot, export or import (list)", &flags->action},
      {"NAME", "the ID to show, the files to import", &flags->names, {.forms = {"show", "import"}}},
      {"--store",
       "the store (RUNG_STORE, else rung-runs/runs.sqlite)",
       &flags->store,
       {.file = FileUse::keep}},
      {"--kind",
       "run, member, evaluation, certificate, verdict, checkpoint or note",
       &flags->kind,
       {.forms = selecting}},
      {"--state", "running, done, failed or stopped", &flags->state, {.forms = selecting}},
      {"--task", "of this task", &flags->task, {.forms = selecting}},
      {"--arch", "of this architecture", &flags->arch, {.forms = selecting}},
      {"--label", "with this label", &flags->label, {.forms = selecting}},
      {"--since",
       "made since: 2026-01-31, 2026-01-31T23:59 (UTC), or 90m, 12h, 7d ago",
       &flags->since,
       {.forms = selecting}},
      {"--host", "made on this machine", &flags->host, {.forms = selecting}},
      {"--parent", "that belong to this record", &flags->parent, {.forms = selecting}},
      {"--text", "that contain this text, in either case", &flags->text, {.forms = selecting}},
      {"--sort",
       "by a field of the record or its body, largest first (created: newest first)",
       &flags->sort,
       {.forms = ordering}},
      {"--reverse", "smallest or oldest first", &flags->reverse, {.forms = ordering}},
      {"--limit", "at most so many (0: all)", &flags->limit, {.forms = ordering}},
      {"--x",
       "the field along the axis, size.n, dimensions.width, layers, rate (the first number that differs)",
       &flags->x,
       {.forms = drawing}},
      {"--y", "the number that is drawn (accuracy)", &flags->y, {.forms = drawing}},
      {"--series",
       "fields that make a line each, with commas between them (whatever else differs)",
       &flags->series,
       {.forms = drawing}},
      {"--panel", "the field that makes a panel each", &flags->panel, {.forms = drawing}},
      {"--csv",
       "records, or the points of a plot, as CSV",
       &flags->csv,
       {.forms = {"export", "plot"}, .excludes = {"--jsonl"}}},
      {"--jsonl", "export as JSON lines, which import takes", &flags->jsonl, {.forms = {"export"}}},
      {"--out",
       "file to export into (standard output); of a plot, an SVG picture",
       &flags->out,
       {.forms = {"export", "plot"}, .file = FileUse::write}},
      {"--force", "replace a file that exists", &flags->force, {.needs = {"--out"}}},
      {"--json", "one JSON document", &flags->json},
  };
  command.form = [flags] {
    const bool known = std::find(kActions.begin(), kActions.end(), flags->action) != kActions.end();
    return known ? flags->action : "";
  };
  command.run = [flags] { return run_runs(*flags); };
  return command;
}

}  // namespace rung::cli
