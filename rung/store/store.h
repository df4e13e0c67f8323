// The store: records on disk. SQLite with a write-ahead log, or append-only JSON lines where SQLite is absent
// or the path ends in .jsonl; one interface, the same behaviour. docs/runs.md is the format document.
//
//   RUNG_TRY(auto store, Store::open(store_path(flags.store)));
//   RUNG_TRY(const std::string run, store->append({.kind = "run", .seed = 1, .device = "cpu", .body =
//   R"({"task":"eva"})"}));
//   ... train ...
//   RUNG_CHECK(store->finish(run, RecordState::done, R"({"accuracy":0.99})"));
//
// What append, update or merge has answered with success is on the disk: killing the program or the
// machine's power does not lose it, and what was not answered yet is there whole or not at all. Several
// threads and several processes may use one store; an error (a full disk) leaves it as it was.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rung/base/result.h"
#include "rung/store/filter.h"
#include "rung/store/record.h"

namespace rung {

struct RecordUpdate {
  std::string id;
  RecordState state = RecordState::done;  // running: a resumed run
  std::string body = "{}";                // its fields replace those of the record's body; the others stay
};

struct ImportCount {
  struct Conflict {  // the same id with other content
    std::string id;
    bool replaced =
        false;  // theirs was more finished (done > failed, stopped > running; then the later one) and won
  };
  std::int64_t added = 0, unchanged = 0;
  std::vector<Conflict> conflicts;
};

class Store {
 public:
  enum class Access { read, write };  // write makes the file and its folder where they are missing

  static Result<std::unique_ptr<Store>> open(const std::string& path, Access access = Access::write);
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Fills what is empty of id, times, version, libraries, host and command; returns the id. Errors: an id
  // that exists, a body that is no JSON object, the file system.
  Result<std::string> append(Record record);
  // All of them with one synchronisation of the disk: a whole ensemble at once. An error appends none.
  virtual Result<std::vector<std::string>> append(std::vector<Record> records);

  // Errors: no such record. Of several updates, one error means none.
  virtual Result<void> update(std::vector<RecordUpdate> updates);
  Result<void> finish(const std::string& id, RecordState state, const std::string& body = "{}");

  Result<std::vector<Record>> query(const Filter& filter);
  // Nothing when there is no such record. `id` in full.
  virtual Result<std::optional<Record>> find(const std::string& id);

  // Adds records that were made elsewhere, as they are. Twice is as good as once.
  Result<ImportCount> merge(const std::vector<Record>& records);

  const std::string& path() const { return path_; }

 protected:
  explicit Store(std::string path) : path_(std::move(path)) {}

  using Lookup = std::function<Result<std::optional<Record>>(const std::string& id)>;
  using Change = std::function<Result<std::vector<Record>>(const Lookup& lookup)>;
  // With every other writer shut out: asks `change` which records to write, given those that are there;
  // writes them, new or in place of those with their ids; all or none. Each record that change returns is
  // normalised, and no id is twice among them.
  virtual Result<void> transact(const Change& change) = 0;
  // Those that match, in any order.
  virtual Result<std::vector<Record>> scan(const Filter& filter) = 0;

 private:
  std::string path_;
};

// What a file holds that somebody else wrote: a store of either kind, or results of EleutherAI's harness.
struct ForeignRecords {
  std::vector<Record> records;
  std::int64_t skipped = 0;  // results of tasks that are not rung's
};
Result<ForeignRecords> read_foreign_records(const std::string& path);

// `flag` where given, else $RUNG_STORE, else rung-runs/runs.sqlite below the working folder (.jsonl without
// SQLite).
std::string store_path(const std::optional<std::string>& flag);

}  // namespace rung
