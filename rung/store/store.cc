#include "rung/store/store.h"

#include <cstdlib>
#include <filesystem>
#include <unordered_map>
#include <unordered_set>

#include "rung/base/nearest_word.h"
#include "rung/store/file_kind.h"
#include "rung/store/harness.h"
#include "rung/store/json_lines.h"
#include "rung/store/provenance.h"
#include "rung/store/sqlite.h"

namespace rung {
namespace {

// How finished a record is: of two with one id, the larger one holds more of what happened.
int finish_rank(RecordState state) {
  switch (state) {
    case RecordState::running:
      return 0;
    case RecordState::failed:
    case RecordState::stopped:
      return 1;
    case RecordState::done:
      return 2;
  }
  return 0;
}

bool more_finished(const Record& theirs, const Record& ours) {
  if (finish_rank(theirs.state) != finish_rank(ours.state))
    return finish_rank(theirs.state) > finish_rank(ours.state);
  return theirs.finished > ours.finished;
}

Result<bool> prefers_json_lines(const std::string& path) {
  RUNG_TRY(const FileKind kind, file_kind(path));
  switch (kind) {
    case FileKind::sqlite:
      return false;
    case FileKind::json_lines:
      return true;
    case FileKind::absent:
    case FileKind::empty:
      return path.ends_with(".jsonl");
    case FileKind::other:
      break;
  }
  return fail(ErrorCode::format, "[store] {} is not a store; expected SQLite or JSON lines of rung.record/2",
              path);
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(const std::string& path, Access access) {
  if (path.empty()) return fail(ErrorCode::missing, "[store] an empty path; expected a file");
  RUNG_TRY(const bool json_lines, prefers_json_lines(path));
  if (access == Access::read) {
    if (!std::filesystem::exists(path))
      return fail(ErrorCode::missing, "[store] no store at {}; `store` or RUNG_STORE names another", path);
  } else if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return fail(ErrorCode::io, "[store] {}: {}", folder.string(), error.message());
  }
  return json_lines ? open_json_lines(path, access) : open_sqlite(path, access);
}

Result<std::string> Store::append(Record record) {
  std::vector<Record> one;
  one.push_back(std::move(record));
  RUNG_TRY(auto ids, append(std::move(one)));
  return std::move(ids.front());
}

Result<std::vector<std::string>> Store::append(std::vector<Record> records) {
  std::vector<std::string> ids;
  std::unordered_set<std::string> seen;
  for (Record& record : records) {
    stamp(record);
    RUNG_CHECK(normalise(record));
    if (!seen.insert(record.id).second)
      return fail(ErrorCode::range, "[store] record {} twice at once", record.id);
    ids.push_back(record.id);
  }
  RUNG_CHECK(transact([&](const Lookup& lookup) -> Result<std::vector<Record>> {
    for (const Record& record : records) {
      RUNG_TRY(const auto existing, lookup(record.id));
      if (existing) return fail(ErrorCode::range, "[store] record {} exists in {}", record.id, path());
    }
    return records;
  }));
  return ids;
}

Result<void> Store::update(std::vector<RecordUpdate> updates) {
  const std::string now = utc_now();
  return transact([&](const Lookup& lookup) -> Result<std::vector<Record>> {
    std::vector<Record> changed;
    std::unordered_map<std::string, std::size_t> places;
    for (const RecordUpdate& update : updates) {
      const auto [place, fresh] = places.emplace(update.id, changed.size());
      if (fresh) {
        RUNG_TRY(auto existing, lookup(update.id));
        if (!existing)
          return fail(ErrorCode::missing, "[store] no record {} in {}", rung::quoted(update.id), path());
        changed.push_back(std::move(*existing));
      }
      Record& record = changed[place->second];
      record.state = update.state;
      record.finished = update.state == RecordState::running ? std::string() : now;
      Record patch = record;
      patch.body = update.body;
      RUNG_CHECK(normalise(patch));
      record.body = merged_body(record.body, patch.body);
      RUNG_CHECK(normalise(record));
    }
    return changed;
  });
}

Result<void> Store::finish(const std::string& id, RecordState state, const std::string& body) {
  RUNG_REQUIRE(state != RecordState::running, "finish({}) with state running", id);
  return update({{.id = id, .state = state, .body = body}});
}

Result<std::vector<Record>> Store::query(const Filter& filter) {
  RUNG_TRY(auto records, scan(filter));
  arrange(records, filter);
  return records;
}

Result<std::optional<Record>> Store::find(const std::string& id) {
  RUNG_TRY(auto records, scan({.id = id}));
  for (Record& record : records)
    if (record.id == id) return std::optional<Record>(std::move(record));
  return std::optional<Record>();
}

Result<ImportCount> Store::merge(const std::vector<Record>& records) {
  std::vector<Record> theirs = records;
  for (Record& record : theirs) RUNG_CHECK(normalise(record));
  // By id, so that what is written does not depend on the order that a back end gives.
  arrange(theirs, {.descending = false});
  ImportCount count;
  const Change change = [&](const Lookup& lookup) -> Result<std::vector<Record>> {
    std::vector<Record> changed;
    for (const Record& record : theirs) {
      RUNG_TRY(auto ours, lookup(record.id));
      if (ours) RUNG_CHECK(normalise(*ours));  // a line that a person wrote may be laid out otherwise
      if (ours && *ours == record) {
        ++count.unchanged;
        continue;
      }
      const bool replaced = ours && more_finished(record, *ours);
      if (ours)
        count.conflicts.push_back({record.id, replaced});
      else
        ++count.added;
      if (!ours || replaced) changed.push_back(record);
    }
    return changed;
  };
  RUNG_CHECK(transact(change));
  return count;
}

Result<ForeignRecords> read_foreign_records(const std::string& path) {
  RUNG_TRY(const FileKind kind, file_kind(path));
  switch (kind) {
    case FileKind::absent:
      return fail(ErrorCode::missing, "[store] no file {}", path);
    case FileKind::empty:
      return fail(ErrorCode::format, "[store] {} is empty; expected a store or a result file", path);
    case FileKind::sqlite:
    case FileKind::json_lines: {
      RUNG_TRY(const auto other, Store::open(path, Store::Access::read));
      RUNG_TRY(auto records, other->query({.descending = false}));
      return ForeignRecords{.records = std::move(records)};
    }
    case FileKind::other:
      break;
  }
  RUNG_TRY(HarnessResults results, read_harness_results(path));
  return ForeignRecords{.records = std::move(results.records), .skipped = results.skipped};
}

std::string store_path(const std::optional<std::string>& flag) {
  if (flag) return *flag;
  if (const char* named = std::getenv("RUNG_STORE"); named && *named) return named;
  return sqlite_version().empty() ? "rung-runs/runs.jsonl" : "rung-runs/runs.sqlite";
}

}  // namespace rung
