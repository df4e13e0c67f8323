#include <nlohmann/json.hpp>

#include "rung/store/harness.h"
#include "rung/store/table.h"
#include "tests/store/scratch.h"

namespace rung {
namespace {

using Importing = BothBackEnds;
INSTANTIATE_TEST_SUITE_P(store, Importing, testing::ValuesIn(back_ends()), back_end_name);

Record done(const std::string& id, const std::string& body = "{}",
            const std::string& when = "2026-01-02T00:00:00.000000Z") {
  return {.id = id,
          .kind = "member",
          .state = RecordState::done,
          .created = "2026-01-01T00:00:00.000000Z",
          .finished = when,
          .body = body};
}

Result<ImportCount> import_file(Store& store, const std::string& path) {
  RUNG_TRY(const auto foreign, read_foreign_records(path));
  return store.merge(foreign.records);
}

const char* const kHarness = R"({
  "results": {"rung_two_sum": {"alias": "rung_two_sum", "exact_match,none": 0.25, "exact_match_stderr,none": 0.043},
              "rung_equality": {"acc,none": 1.0, "acc_stderr,none": "N/A", "alias": "rung_equality"},
              "hellaswag": {"acc,none": 0.5}},
  "configs": {"rung_two_sum": {"task": "rung_two_sum", "metadata": {"version": 1.0, "size": {"n": 8, "M": 17}, "variant": "uniform"}}},
  "versions": {"rung_two_sum": 1.0}, "n-shot": {"rung_two_sum": 0},
  "n-samples": {"rung_two_sum": {"original": 100, "effective": 100}},
  "config": {"model": "hf", "model_args": "pretrained=somebody/some-model", "device": "cuda:0", "limit": null, "random_seed": 3},
  "git_hash": "abc1234", "date": 1767225600.5, "transformers_version": "4.50.0", "model_name": "somebody/some-model"})";

TEST_P(Importing, a_store_of_the_other_kind_and_twice_is_as_good_as_once) {
  for (const std::string& other : back_ends()) {
    const std::string source = scratch.at("source-" + other + "." + other),
                      target = scratch.at("target-" + other + "." + GetParam());
    {
      const auto store = Store::open(source);
      std::vector<Record> records;
      for (int i = 0; i < 30; ++i)
        records.push_back({.kind = "member", .body = R"({"text":"a\nb, \"c\" é"})"});
      ASSERT_TRUE((*store)->append(std::move(records)));
    }
    const auto store = Store::open(target);
    const auto first = import_file(**store, source);
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(first->added, 30);
    const auto second = import_file(**store, source);
    EXPECT_EQ(second->added, 0);
    EXPECT_EQ(second->unchanged, 30);
    EXPECT_TRUE(second->conflicts.empty());
    const auto copied = (*store)->query({}),
               original = (*Store::open(source, Store::Access::read))->query({});
    EXPECT_EQ(*copied, *original);
  }
}

TEST_P(Importing, of_two_with_one_id_the_more_finished_wins_and_both_are_named) {
  const auto store = open();
  const auto started = [](const std::string& id) {
    Record r = done(id);
    r.state = RecordState::running;
    r.finished = "";
    return r;
  };
  Record failed = done("failed-there");
  failed.state = RecordState::failed;
  ASSERT_TRUE(store->append(std::vector<Record>{started("running-here"), done("done-here", R"({"loss":1})"),
                                                done("failed-there"), done("later-there", R"({"loss":1})"),
                                                done("earlier-there", R"({"loss":1})"), done("same")}));
  // What append stamps (host, command) is part of the content.
  const auto ours = [&](const std::string& id) { return **store->find(id); };
  const auto theirs = [&](Record record) {
    const Record mine = ours(record.id);
    record.version = mine.version, record.libraries = mine.libraries, record.host = mine.host,
    record.command = mine.command;
    return record;
  };
  const auto count = store->merge(
      {theirs(done("running-here", R"({"loss":0})")), theirs(started("done-here")), theirs(failed),
       theirs(done("later-there", R"({"loss":0})", "2026-01-03T00:00:00.000000Z")),
       theirs(done("earlier-there", R"({"loss":0})", "2026-01-01T00:00:00.000000Z")), theirs(done("same"))});
  ASSERT_TRUE(count) << count.error().message;
  EXPECT_EQ(count->added, 0);
  EXPECT_EQ(count->unchanged, 1);
  std::map<std::string, bool> replaced;
  for (const auto& conflict : count->conflicts) replaced[conflict.id] = conflict.replaced;
  EXPECT_EQ(replaced, (std::map<std::string, bool>{{"done-here", false},
                                                   {"earlier-there", false},
                                                   {"failed-there", false},
                                                   {"later-there", true},
                                                   {"running-here", true}}));
  EXPECT_EQ(ours("running-here").state, RecordState::done);
  EXPECT_EQ(ours("done-here").body, R"({"loss":1})");
  EXPECT_EQ(ours("later-there").body, R"({"loss":0})");
  EXPECT_EQ(ours("failed-there").state, RecordState::done);
}

TEST_P(Importing, lines_that_another_program_wrote_in_its_own_layout) {
  auto line = nlohmann::json::parse(record_line(done("theirs", R"({"b":1,"a":{"c":[1,2]}})")));
  std::string spaced = line.dump();  // fields in alphabetic order
  for (std::size_t at = 0; (at = spaced.find("\":", at)) != std::string::npos; at += 3)
    spaced.replace(at, 2, "\": ");
  const auto store = open();
  const std::string file = scratch.write("theirs.jsonl", spaced + "\n");
  const auto first = import_file(*store, file);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->added, 1);
  EXPECT_EQ(import_file(*store, file)->unchanged, 1);
  EXPECT_EQ((*store->find("theirs"))->body, R"({"a":{"c":[1,2]},"b":1})");
  // Also where such a line is the store itself.
  const auto itself = Store::open(file);
  const auto again = (*itself)->merge({done("theirs", R"({"a":{"c":[1,2]},"b":1})")});
  EXPECT_EQ(again->unchanged, 1);
  EXPECT_TRUE(again->conflicts.empty());
}

TEST_P(Importing, results_of_the_harness_become_evaluations_once) {
  const auto store = open();
  const std::string file = scratch.write("results_2026.json", kHarness);
  const auto first = import_file(*store, file);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->added, 2);
  EXPECT_EQ(read_foreign_records(file)->skipped, 1);
  EXPECT_EQ(import_file(*store, file)->added, 0);
  EXPECT_EQ(import_file(*store, file)->unchanged, 2);
  const std::vector<Record> found = store->query({.kind = "evaluation", .task = "two-sum"}).value();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].state, RecordState::done);
  EXPECT_EQ(found[0].created, "2026-01-01T00:00:00.500000Z");
  EXPECT_EQ(found[0].device, "cuda:0");
  EXPECT_EQ(found[0].seed, 3);
  EXPECT_EQ(found[0].libraries.at("transformers"), "4.50.0");
  const auto body = nlohmann::json::parse(found[0].body);
  EXPECT_EQ(body["accuracy"], 0.25);
  EXPECT_EQ(body["stderr"], 0.043);
  EXPECT_EQ(body["size"], (nlohmann::json{{"n", 8}, {"M", 17}}));
  EXPECT_EQ(body["variant"], "uniform");
  EXPECT_EQ(body["count"], 100);
  EXPECT_EQ(body["model"], "somebody/some-model");
}

TEST_P(Importing, a_result_without_a_date_takes_the_time_of_its_name) {
  const auto store = open();
  const std::string text = R"({"results":{"rung_eva":{"exact_match,none":0.5}},"n-samples":{"rung_eva":7}})";
  ASSERT_TRUE(import_file(*store, scratch.write("results_2026-01-31T23-59-58.123456.json", text)));
  ASSERT_TRUE(import_file(*store, scratch.write("results_of_mine.json", text)));
  const std::vector<Record> found = store->query({.descending = false}).value();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].created, "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(found[1].created, "2026-01-31T23:59:58.000000Z");
  EXPECT_EQ(nlohmann::json::parse(found[1].body)["count"], 7);
}

TEST_P(Importing, what_is_neither_a_store_nor_a_result_is_an_error_and_adds_nothing) {
  const auto store = open();
  auto broken = [](const std::string& pointer, const nlohmann::json& value) {
    auto file = nlohmann::json::parse(kHarness);
    file[nlohmann::json::json_pointer(pointer)] = value;
    return file.dump();
  };
  for (const std::string& text :
       {std::string(), std::string("hello"), std::string("{}"), std::string(R"({"results": 3})"),
        std::string(R"({"results": {}})"), std::string(R"({"results": {"hellaswag": {"acc,none": 1}}})"),
        broken("/date", "today"), broken("/date", -1), broken("/date", 1e300),
        broken("/results/rung_two_sum", 1), broken("/results/rung_two_sum", nlohmann::json::object()),
        broken("/results/rung_two_sum/exact_match,none", 1.5),
        broken("/results/rung_two_sum/exact_match,none", nullptr), std::string(kHarness).substr(0, 400),
        std::string(200000, '{')}) {
    const auto count = import_file(*store, scratch.write("bad.json", text));
    ASSERT_FALSE(count) << text.substr(0, 80);
    EXPECT_EQ(count.error().message.find('\n'), std::string::npos) << count.error().message;
  }
  EXPECT_FALSE(import_file(*store, scratch.at("absent.json")));
  EXPECT_FALSE(import_file(*store, scratch.at("")));
  EXPECT_TRUE(store->query({})->empty());
}

// A reader of RFC 4180, written apart from the writer.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inside && c == '"' && i + 1 < text.size() && text[i + 1] == '"')
      rows.back().back() += text[++i];
    else if (c == '"')
      inside = !inside;
    else if (!inside && c == ',')
      rows.back().emplace_back();
    else if (!inside && c == '\n')
      rows.push_back({""});
    else
      rows.back().back() += c;
  }
  rows.pop_back();
  return rows;
}

TEST(csv_table, quotes_what_needs_it_and_keeps_every_cell) {
  Record first =
      done("first", R"({"text":"a,\"b\"\nc","size":{"n":8},"state":"inner","curve":[1,2],"none":null})");
  first.command = "rung train 'a, \"b\"'";
  Record second = done("second", R"({"accuracy":0.5,"odd,name":true})");
  second.seed = -3;
  const std::string table = csv_table({first, second});
  const auto rows = read_csv(table);
  ASSERT_EQ(rows.size(), 3u);
  const auto value = [&](std::size_t row, const std::string& column) {
    for (std::size_t i = 0; i < rows[0].size(); ++i)
      if (rows[0][i] == column) return rows[row][i];
    return std::string("no such column");
  };
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  EXPECT_EQ(value(1, "id"), "first");
  EXPECT_EQ(value(1, "state"), "done");
  EXPECT_EQ(value(1, "body.state"), "inner");
  EXPECT_EQ(value(1, "text"), "a,\"b\"\nc");
  EXPECT_EQ(value(1, "size.n"), "8");
  EXPECT_EQ(value(1, "curve"), "[1,2]");
  EXPECT_EQ(value(1, "accuracy"), "");
  EXPECT_EQ(value(1, "command"), first.command);
  EXPECT_EQ(value(2, "accuracy"), "0.5");
  EXPECT_EQ(value(2, "odd,name"), "true");
  EXPECT_EQ(value(2, "seed"), "-3");
  EXPECT_EQ(read_csv(csv_table({})).size(), 1u);
}

TEST(since, takes_days_times_and_ages_and_nothing_else) {
  EXPECT_EQ(*parse_since("2026-01-31"), "2026-01-31");
  EXPECT_EQ(*parse_since("2026-01-31T08:30"), "2026-01-31T08:30");
  EXPECT_EQ(*parse_since("2026-01-31T08:30:00Z"), "2026-01-31T08:30:00");
  EXPECT_LT(*parse_since("2d"), *parse_since("3h"));
  EXPECT_LT(*parse_since("3h"), *parse_since("5m"));
  for (const char* bad :
       {"", "yesterday", "2026", "2026-1-31", "-3d", "3", "3w", "99999999999999999999d", "d", "2026-01-31Z?"})
    EXPECT_FALSE(parse_since(bad)) << bad;
}

}  // namespace
}  // namespace rung
