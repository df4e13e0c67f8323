// Files that are torn, broken or somebody else's: an error in one line, never a crash, never a record made
// up.
#include <fcntl.h>

#include "rung/base/json_text.h"
#include "rung/base/random.h"
#include "tests/store/scratch.h"

#ifdef RUNG_HAS_SQLITE
#include <SQLiteCpp/SQLiteCpp.h>
#endif

namespace rung {
namespace {

std::string line_of(const std::string& id, const std::string& body = "{}") {
  return record_line({.id = id, .kind = "run", .created = "2026-01-01T00:00:00.000000Z", .body = body});
}

std::unique_ptr<Store> open_to_write(const std::string& path) {
  auto store = Store::open(path);
  return std::move(store.value());
}

// What a reader says of the file: the number of its records, or -1 with an error of one line.
int records_in(const std::string& path) {
  const auto store = Store::open(path, Store::Access::read);
  const Error* error = nullptr;
  if (store) {
    const auto found = (*store)->query({});
    if (found) return static_cast<int>(found->size());
    EXPECT_EQ(found.error().message.find('\n'), std::string::npos) << found.error().message;
    return -1;
  }
  error = &store.error();
  EXPECT_EQ(error->message.find('\n'), std::string::npos) << error->message;
  EXPECT_TRUE(error->message.starts_with("[store] ")) << error->message;
  return -1;
}

TEST(json_lines, every_tear_of_the_last_line_leaves_the_others) {
  const Scratch scratch;
  const std::string first = line_of("first") + "\n", second = line_of("second", R"({"a":"{}"})");
  for (std::size_t cut = 0; cut <= second.size(); ++cut) {
    const std::string path = scratch.write("runs.jsonl", first + second.substr(0, cut));
    EXPECT_EQ(records_in(path), cut == second.size() ? 2 : 1) << cut;
    // Appending waits for the disk: some cuts will do.
    if (cut % 16 != 0 && cut + 2 < second.size()) continue;
    ASSERT_TRUE(open_to_write(path)->append(Record{.id = "third", .kind = "note"})) << cut;
    EXPECT_EQ(records_in(path), cut == second.size() ? 3 : 2) << cut;
    EXPECT_TRUE(scratch.read("runs.jsonl").starts_with(first + (cut == second.size() ? second + "\n{" : "{")))
        << cut;
  }
}

TEST(json_lines, every_tear_of_the_only_line_leaves_an_empty_store) {
  const Scratch scratch;
  const std::string line = line_of("first");
  for (std::size_t cut = 0; cut < line.size(); ++cut)
    EXPECT_EQ(records_in(scratch.write("runs.jsonl", line.substr(0, cut))), 0) << cut;
}

TEST(json_lines, a_broken_line_in_the_middle_is_named) {
  const Scratch scratch;
  const std::string good = line_of("first") + "\n";
  for (const std::string& bad :
       {std::string("{"), std::string("null"), std::string("[]"), std::string("\0\0", 2), std::string("\xff"),
        std::string(R"({"schema":"rung.record/2"})"), line_of("x") + line_of("y"), line_of("a b"),
        std::string(100000, '['), line_of("x").replace(line_of("x").find("running"), 7, "walking"),
        line_of("x").replace(line_of("x").find("\"run\""), 5, "\"ran\""),
        line_of("x").replace(line_of("x").find("null"), 4, "1e99"),
        line_of("x").replace(line_of("x").find("null"), 4, "18446744073709551615"),
        line_of("x").insert(1, R"("more":1,)"), line_of("x", "[]")}) {
    const std::string path = scratch.write("runs.jsonl", good + bad + "\n" + line_of("last") + "\n");
    EXPECT_EQ(records_in(path), -1) << bad.substr(0, 80);
    const auto store = Store::open(path);
    ASSERT_FALSE(store);
    EXPECT_NE(store.error().message.find("runs.jsonl:2:"), std::string::npos) << store.error().message;
    EXPECT_EQ(scratch.read("runs.jsonl"), good + bad + "\n" + line_of("last") + "\n")
        << "a broken file was changed";
  }
}

TEST(json_lines, a_file_that_was_removed_or_replaced_is_made_anew) {
  const Scratch scratch;
  const auto opened = Store::open(scratch.at("runs.jsonl"));
  Store& store = **opened;
  ASSERT_TRUE(store.append(Record{.id = "first", .kind = "run"}));
  std::filesystem::remove(scratch.at("runs.jsonl"));
  ASSERT_TRUE(store.append(Record{.id = "second", .kind = "run"}));
  EXPECT_EQ(records_in(scratch.at("runs.jsonl")), 1);
  scratch.write("other", line_of("third") + "\n");
  std::filesystem::rename(scratch.at("other"), scratch.at("runs.jsonl"));
  ASSERT_TRUE(store.append(Record{.id = "fourth", .kind = "run"}));
  EXPECT_EQ(records_in(scratch.at("runs.jsonl")), 2);
}

TEST(store_files, an_empty_file_is_an_empty_store) {
  const Scratch scratch;
  for (const std::string& end : back_ends()) {
    const std::string path = scratch.write("runs." + end, "");
    EXPECT_EQ(records_in(path), 0);
    ASSERT_TRUE(open_to_write(path)->append(Record{.kind = "run"}));
    EXPECT_EQ(records_in(path), 1);
  }
}

TEST(store_files, strangers_files_are_refused_and_left_alone) {
  const Scratch scratch;
  for (const std::string& text : {std::string("hello\n"), std::string("{}"),
                                  std::string("\x7f"
                                              "ELF"),
                                  std::string(4096, '\0')}) {
    for (const char* name : {"runs.sqlite", "runs.jsonl", "runs"}) {
      const std::string path = scratch.write(name, text);
      EXPECT_FALSE(Store::open(path));
      EXPECT_EQ(records_in(path), -1);
      EXPECT_EQ(scratch.read(name), text);
    }
  }
}

#ifdef RUNG_HAS_SQLITE
TEST(sqlite, broken_pages_never_crash_and_never_make_a_record_up) {
  const Scratch scratch;
  {
    const auto store = open_to_write(scratch.at("good.sqlite"));
    std::vector<Record> records;
    for (int i = 0; i < 100; ++i)
      records.push_back({.id = fmt::format("r{}", i), .kind = "run", .body = R"({"task":"eva"})"});
    ASSERT_TRUE(store->append(std::move(records)));
  }
  const std::string good = scratch.read("good.sqlite");
  ASSERT_EQ(records_in(scratch.at("good.sqlite")), 100);
  Random random(1);
  for (int trial = 0; trial < 200; ++trial) {
    std::string bad = good;
    if (trial % 4 == 0) bad.resize(random.below(good.size()));
    for (int i = 0; i < 8 && !bad.empty(); ++i)
      bad[random.below(bad.size())] = static_cast<char>(random.below(256));
    EXPECT_LE(records_in(scratch.write("bad.sqlite", bad)), 101) << trial;
    std::filesystem::remove(scratch.at("bad.sqlite-wal"));
    std::filesystem::remove(scratch.at("bad.sqlite-shm"));
  }
}

TEST(sqlite, another_programs_database_is_refused_and_left_alone) {
  const Scratch scratch;
  const std::string path = scratch.at("theirs.sqlite");
  SQLite::Database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE records (id)");
  const std::string before = scratch.read("theirs.sqlite");
  EXPECT_FALSE(Store::open(path));
  EXPECT_EQ(records_in(path), -1);
  EXPECT_EQ(scratch.read("theirs.sqlite"), before);
}

TEST(sqlite, a_store_with_another_table_a_trigger_or_a_later_version_is_refused) {
  const Scratch scratch;
  for (const char* change : {"PRAGMA user_version = 2", "DROP TABLE records; CREATE TABLE records (id)",
                             "CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM records; END",
                             "CREATE VIEW v AS SELECT 1"}) {
    const std::string path = scratch.at("runs.sqlite");
    std::filesystem::remove(path);
    ASSERT_TRUE(open_to_write(path)->append(Record{.kind = "run"}));
    SQLite::Database(path, SQLite::OPEN_READWRITE).exec(change);
    EXPECT_FALSE(Store::open(path)) << change;
    EXPECT_EQ(records_in(path), -1) << change;
  }
}

TEST(sqlite, a_row_that_is_no_record_is_an_error) {
  const Scratch scratch;
  const std::string path = scratch.at("runs.sqlite");
  ASSERT_TRUE(open_to_write(path)->append(Record{.kind = "run"}));
  SQLite::Database(path, SQLite::OPEN_READWRITE).exec("UPDATE records SET record = x'00ff'");
  EXPECT_EQ(records_in(path), -1);
}
#endif

}  // namespace
}  // namespace rung
