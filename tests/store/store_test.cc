#include "rung/store/store.h"

#include <thread>

#include "rung/store/provenance.h"
#include "tests/store/scratch.h"

namespace rung {
namespace {

using StoreOfBothKinds = BothBackEnds;
INSTANTIATE_TEST_SUITE_P(store, StoreOfBothKinds, testing::ValuesIn(back_ends()), back_end_name);

Record member(const std::string& body, const std::string& parent = "") {
  return {.kind = "member", .parent = parent, .seed = 7, .device = "cpu", .body = body};
}

TEST_P(StoreOfBothKinds, refuses_what_is_no_record) {
  const auto store = open();
  EXPECT_FALSE(store->append(Record{.kind = "ran"}));
  EXPECT_NE(store->append(Record{.kind = "rum"}).error().message.find("did you mean \"run\"?"),
            std::string::npos);
  EXPECT_FALSE(store->append(member("")));
  EXPECT_FALSE(store->append(member("[1]")));
  EXPECT_FALSE(store->append(member("{},{}")));
  EXPECT_FALSE(store->append(member("{\"a\":\"\xff\"}")));
  EXPECT_FALSE(store->append(member("{\"a\":" + std::string(64, '[') + std::string(64, ']') + "}")));
  EXPECT_FALSE(store->append(Record{.id = "a b", .kind = "run"}));
  EXPECT_FALSE(store->append(Record{.id = std::string(65, 'a'), .kind = "run"}));
  EXPECT_FALSE(store->append(Record{.kind = "run", .created = "yesterday"}));
  EXPECT_FALSE(
      store->append(std::vector<Record>{{.id = "same", .kind = "run"}, {.id = "same", .kind = "run"}}));
  EXPECT_FALSE(store->finish("nobody", RecordState::done));
  EXPECT_TRUE(store->query({})->empty());
}

TEST_P(StoreOfBothKinds, gives_back_what_was_appended_and_says_where_it_came_from) {
  const auto id = open()->append(member(R"({"task": "eva", "b": 1.5, "a": NaN})", "the-run"));
  ASSERT_TRUE(id) << id.error().message;
  const auto found = open(Store::Access::read)->find(*id);
  ASSERT_TRUE(found && *found);
  const Record& record = **found;
  EXPECT_EQ(record.id, *id);
  EXPECT_EQ(record.kind, "member");
  EXPECT_EQ(record.parent, "the-run");
  EXPECT_EQ(record.state, RecordState::running);
  EXPECT_EQ(record.seed, 7);
  EXPECT_EQ(record.body, R"({"a":null,"b":1.5,"task":"eva"})");
  EXPECT_TRUE(is_utc_time(record.created)) << record.created;
  EXPECT_EQ(record.finished, "");
  EXPECT_FALSE(record.version.empty());
  EXPECT_FALSE(record.host.empty());
  EXPECT_NE(record.command.find("rung_store_tests"), std::string::npos) << record.command;
  EXPECT_TRUE(record.libraries.contains("fmt"));
}

TEST_P(StoreOfBothKinds, an_update_replaces_fields_and_keeps_the_others) {
  const auto store = open();
  const std::string id = *store->append(member(R"({"task":"eva","loss":3})"));
  ASSERT_TRUE(store->finish(id, RecordState::stopped, R"({"loss":2,"step":10})"));
  EXPECT_EQ((*store->find(id))->state, RecordState::stopped);
  EXPECT_NE((*store->find(id))->finished, "");
  ASSERT_TRUE(store->update({{.id = id, .state = RecordState::running}}));
  EXPECT_EQ((*store->find(id))->finished, "");
  ASSERT_TRUE(store->finish(id, RecordState::done, R"({"loss":1})"));
  EXPECT_EQ((*open()->find(id))->body, R"({"loss":1,"step":10,"task":"eva"})");
  EXPECT_EQ((*open()->find(id))->state, RecordState::done);
  EXPECT_EQ(open()->query({})->size(), 1u);
}

TEST_P(StoreOfBothKinds, one_bad_update_of_several_changes_nothing) {
  const auto store = open();
  const std::string id = *store->append(member("{}"));
  EXPECT_FALSE(store->update({{.id = id}, {.id = "nobody"}}));
  EXPECT_FALSE(store->update({{.id = id}, {.id = id, .body = "[]"}}));
  EXPECT_EQ((*store->find(id))->state, RecordState::running);
  ASSERT_TRUE(store->update({{.id = id, .body = R"({"a":1})"}, {.id = id, .body = R"({"b":2})"}}));
  EXPECT_EQ((*store->find(id))->body, R"({"a":1,"b":2})");
}

TEST_P(StoreOfBothKinds, an_id_is_taken_once) {
  const auto store = open();
  ASSERT_TRUE(store->append(Record{.id = "mine", .kind = "run"}));
  EXPECT_FALSE(store->append(Record{.id = "mine", .kind = "run"}));
  EXPECT_FALSE(
      store->append(std::vector<Record>{{.id = "other", .kind = "run"}, {.id = "mine", .kind = "run"}}));
  EXPECT_EQ(store->query({})->size(), 1u);
}

TEST_P(StoreOfBothKinds, filters_and_sorts) {
  const auto store = open();
  const std::string run =
      *store->append(Record{.kind = "run", .host = "elsewhere", .body = R"({"task":"mqar","label":"C"})"});
  const std::string best = *store->append(member(R"({"task":"eva","arch":"full * 2","accuracy":0.9})", run));
  const std::string worst = *store->append(member(R"({"task":"eva","arch":"full*2","accuracy":0.1})", run));
  const std::string none =
      *store->append(member(R"({"task":"eva","arch":"delta","reason":"Loss is NaN"})", run));
  ASSERT_TRUE(store->finish(none, RecordState::failed));
  const auto ids = [&](const Filter& filter) {
    std::vector<std::string> found;
    const auto records = store->query(filter);
    for (const Record& record : records.value()) found.push_back(record.id);
    return found;
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(ids({}), (Ids{none, worst, best, run}));
  EXPECT_EQ(ids({.descending = false}), (Ids{run, best, worst, none}));
  EXPECT_EQ(ids({.kind = "member", .sort = "accuracy"}), (Ids{best, worst, none}));
  EXPECT_EQ(ids({.kind = "member", .sort = "accuracy", .descending = false}), (Ids{worst, best, none}));
  EXPECT_EQ(ids({.limit = 2}), (Ids{none, worst}));
  EXPECT_EQ(ids({.parent = run, .state = RecordState::running}), (Ids{worst, best}));
  EXPECT_EQ(ids({.task = "mqar"}), (Ids{run}));
  EXPECT_EQ(ids({.arch = "full*2"}), (Ids{worst, best}));
  EXPECT_EQ(ids({.arch = "full  *2"}), (Ids{worst, best}));
  EXPECT_EQ(ids({.label = "C"}), (Ids{run}));
  EXPECT_EQ(ids({.host = "elsewhere"}), (Ids{run}));
  EXPECT_EQ(ids({.text = "loss IS nan"}), (Ids{none}));
  EXPECT_EQ(ids({.id = best.substr(0, best.size() - 1)}), (Ids{best}));
  EXPECT_EQ(ids({.id = best.substr(best.rfind('-') + 1)}), (Ids{best}));
  EXPECT_EQ(ids({.since = "2999-01-01"}), Ids{});
  EXPECT_EQ(ids({.since = "2000-01-01"}).size(), 4u);
  EXPECT_EQ(ids({.task = "it's \" \\ ; DROP TABLE records"}), Ids{});
}

TEST_P(StoreOfBothKinds, threads_of_one_process_lose_nothing) {
  const auto store = open();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        const auto id = store->append(member("{}"));
        EXPECT_TRUE(id && store->finish(*id, RecordState::done));
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(store->query({.state = RecordState::done})->size(), 40u);
}

TEST_P(StoreOfBothKinds, two_stores_on_one_file_see_each_other) {
  const auto first = open(), second = open();
  const std::string id = *first->append(member("{}"));
  ASSERT_TRUE(second->finish(id, RecordState::done, R"({"loss":1})"));
  EXPECT_EQ((*first->find(id))->body, R"({"loss":1})");
}

TEST_P(StoreOfBothKinds, reading_makes_no_file_and_writes_nothing) {
  EXPECT_FALSE(Store::open(path(), Store::Access::read));
  EXPECT_FALSE(std::filesystem::exists(path()));
  ASSERT_TRUE(open()->append(member("{}")));
  EXPECT_FALSE(open(Store::Access::read)->append(member("{}")));
  EXPECT_FALSE(Store::open("", Store::Access::read));
  EXPECT_FALSE(Store::open(scratch.at(""), Store::Access::write));
  EXPECT_FALSE(Store::open("/dev/null", Store::Access::write));
}

TEST(store_path, prefers_the_flag_then_the_environment) {
  ::setenv("RUNG_STORE", "named.jsonl", 1);
  EXPECT_EQ(store_path("flag.jsonl"), "flag.jsonl");
  EXPECT_EQ(store_path({}), "named.jsonl");
  ::unsetenv("RUNG_STORE");
  EXPECT_TRUE(store_path({}).starts_with("rung-runs/runs."));
}

}  // namespace
}  // namespace rung
