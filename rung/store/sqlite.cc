#include "rung/store/sqlite.h"

#ifdef RUNG_HAS_SQLITE
#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>

namespace rung {
namespace {

// "rung" in ASCII, in the file's header: whose database this is.
constexpr int kApplication = 0x72756E67;
constexpr int kVersion = 1;
// One statement, compared with what a file says before anything of it is believed.
constexpr const char* kTable =
    "CREATE TABLE records (id TEXT PRIMARY KEY NOT NULL, kind TEXT NOT NULL, parent TEXT NOT NULL, state "
    "TEXT NOT NULL, created TEXT NOT NULL, finished TEXT NOT NULL, seed INTEGER, task TEXT NOT NULL, arch "
    "TEXT NOT NULL, label TEXT NOT NULL, host TEXT NOT NULL, record TEXT NOT NULL) WITHOUT ROWID";
constexpr const char* kIndices =
    "CREATE INDEX records_by_parent ON records (parent); CREATE INDEX records_by_kind ON records (kind, "
    "created);";
constexpr const char* kUpsert =
    "INSERT INTO records (id, kind, parent, state, created, finished, seed, task, arch, label, host, record) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, parent "
    "= excluded.parent, state = excluded.state, created = excluded.created, finished = excluded.finished, "
    "seed = excluded.seed, task = excluded.task, arch = excluded.arch, label = excluded.label, host = "
    "excluded.host, record = excluded.record";
constexpr int kBusyMilliseconds = 20000;
constexpr int kOpenAttempts = 200;

class Sqlite final : public Store {
 public:
  Sqlite(std::string path, Access access) : Store(std::move(path)), access_(access) {}

  Result<void> start() {
    // Two processes that make one new file at the same moment can be told "busy" without having waited.
    for (int attempt = 1;; ++attempt) {
      try {
        return connect();
      } catch (const SQLite::Exception& exception) {
        const Error error = sqlite_error(exception);
        database_.reset();
        const bool busy =
            exception.getErrorCode() == SQLITE_BUSY || exception.getErrorCode() == SQLITE_LOCKED;
        // A reader shares a file beside the log with the others. Where that cannot be made (a full disk) and
        // there is no log, nobody writes: the file is read as one that stays as it is.
        if (!busy && access_ == Access::read && !immutable_ && !has_log()) {
          immutable_ = true;
          continue;
        }
        if (!busy || attempt == kOpenAttempts) return error;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
  }

 protected:
  Result<void> transact(const Change& change) override {
    const std::lock_guard thread(guard_);
    if (access_ == Access::read) return fail(ErrorCode::io, "[store] {} was opened for reading", path());
    try {
      SQLite::Transaction transaction(*database_, SQLite::TransactionBehavior::IMMEDIATE);
      SQLite::Statement select(*database_, "SELECT record FROM records WHERE id = ?");
      RUNG_TRY(const auto records, change([&](const std::string& id) -> Result<std::optional<Record>> {
                 select.reset();
                 select.bind(1, id);
                 if (!select.executeStep()) return std::optional<Record>();
                 RUNG_TRY(auto record, parse_record(select.getColumn(0).getString(), path()));
                 return std::optional<Record>(std::move(record));
               }));
      select.reset();
      SQLite::Statement upsert(*database_, kUpsert);
      for (const Record& record : records) write(upsert, record);
      transaction.commit();
      return {};
    } catch (const SQLite::Exception& exception) {
      return sqlite_error(exception);
    }
  }

  Result<std::vector<Record>> scan(const Filter& filter) override {
    const std::lock_guard thread(guard_);
    std::string where;
    std::vector<std::string> values;
    const auto ask = [&](const char* condition, std::string value) {
      where += (where.empty() ? " WHERE " : " AND ") + std::string(condition);
      values.push_back(std::move(value));
    };
    if (filter.id) ask("instr(id, ?) > 0", *filter.id);  // narrows; matches_text decides
    if (filter.kind) ask("kind = ?", *filter.kind);
    if (filter.parent) ask("parent = ?", *filter.parent);
    if (filter.state) ask("state = ?", std::string(state_name(*filter.state)));
    if (filter.task) ask("task = ?", *filter.task);
    if (filter.arch) {
      const std::string line = asked_arch(*filter.arch);
      ask("arch IN (?, ?)", line);
      values.push_back(earlier_arch(line));
    }
    if (filter.label) ask("label = ?", *filter.label);
    if (filter.host) ask("host = ?", *filter.host);
    if (filter.since) ask("created >= ?", *filter.since);
    try {
      if (access_ == Access::read && is_blank())
        return std::vector<Record>();  // made, and killed before its table
      SQLite::Statement select(*database_, "SELECT record FROM records" + where);
      for (std::size_t i = 0; i < values.size(); ++i) select.bind(static_cast<int>(i) + 1, values[i]);
      std::vector<Record> found;
      while (select.executeStep()) {
        RUNG_TRY(auto record, parse_record(select.getColumn(0).getString(), path()));
        if (matches_text(record, filter)) found.push_back(std::move(record));
      }
      return found;
    } catch (const SQLite::Exception& exception) {
      return sqlite_error(exception);
    }
  }

 private:
  Result<void> connect() {
    if (access_ == Access::write) {
      database_ = std::make_unique<SQLite::Database>(path(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE,
                                                     kBusyMilliseconds);
    } else if (!immutable_ && can_write_beside()) {
      // Only who may write tidies up what readers of a log leave beside it.
      database_ = std::make_unique<SQLite::Database>(path(), SQLite::OPEN_READWRITE, kBusyMilliseconds);
      database_->exec("PRAGMA query_only = ON");
    } else {
      database_ = std::make_unique<SQLite::Database>(
          has_log() ? path() : immutable_uri(), SQLite::OPEN_READONLY | SQLite::OPEN_URI, kBusyMilliseconds);
    }
    // The file may come from anywhere: nothing in it may run.
    sqlite3_db_config(database_->getHandle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database_->getHandle(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    if (access_ == Access::write) {
      database_->exec("PRAGMA synchronous = FULL");
      // Before the log changes, so that a stranger's database stays as it is.
      RUNG_CHECK(check_or_make(/*make=*/false));
      database_->execAndGet("PRAGMA journal_mode = WAL");
    }
    return check_or_make(access_ == Access::write);
  }

  Error sqlite_error(const SQLite::Exception& exception) const {
    // What the system said, where it said something: "disk I/O error" alone does not tell of a full disk.
    const int code = exception.getErrorCode();
    int reason = code == SQLITE_IOERR && database_ ? sqlite3_system_errno(database_->getHandle()) : 0;
    if (code == SQLITE_CANTOPEN && access_ == Access::write && ::access(path().c_str(), W_OK) != 0)
      reason = errno;
    if (reason != 0)
      return fail(ErrorCode::io, "[store] {}: {} ({})", path(), exception.what(), std::strerror(reason));
    return fail(ErrorCode::io, "[store] {}: {}", path(), exception.what());
  }

  bool has_log() const {
    std::error_code error;
    const auto size = std::filesystem::file_size(path() + "-wal", error);
    return !error && size > 0;
  }

  bool can_write_beside() const {
    const auto folder = std::filesystem::path(path()).parent_path();
    return ::access(path().c_str(), W_OK) == 0 && ::access(folder.empty() ? "." : folder.c_str(), W_OK) == 0;
  }

  std::string immutable_uri() const {
    std::string uri = "file:";
    for (const char c : path()) {
      const auto byte = static_cast<unsigned char>(c);
      if (std::isalnum(byte) || c == '/' || c == '.' || c == '-' || c == '_')
        uri += c;
      else
        uri += fmt::format("%{:02X}", byte);
    }
    return uri + "?immutable=1";
  }

  int pragma(const char* name) { return database_->execAndGet(std::string("PRAGMA ") + name).getInt(); }

  Result<void> check_or_make(bool make) {
    if (make && is_blank()) {
      SQLite::Transaction transaction(*database_, SQLite::TransactionBehavior::IMMEDIATE);
      if (is_blank()) {
        database_->exec(
            fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kApplication, kVersion));
        database_->exec(kTable);
        database_->exec(kIndices);
      }
      transaction.commit();
    } else if (is_blank()) {
      return {};
    }
    if (pragma("application_id") != kApplication)
      return fail(ErrorCode::format, "[store] {} is a database of another program", path());
    if (pragma("user_version") != kVersion)
      return fail(ErrorCode::unsupported, "[store] {} has version {} of the format; this program knows {}",
                  path(), pragma("user_version"), kVersion);
    SQLite::Statement schema(*database_,
                             "SELECT sql FROM sqlite_schema WHERE name = 'records' AND type = 'table'");
    if (!schema.executeStep() || schema.getColumn(0).getString() != kTable)
      return fail(ErrorCode::format, "[store] {}: its table of records is not the one that rung makes",
                  path());
    SQLite::Statement others(
        *database_,
        "SELECT name FROM sqlite_schema WHERE type NOT IN ('table', 'index') OR sql LIKE '%VIRTUAL%'");
    if (others.executeStep())
      return fail(ErrorCode::format, "[store] {}: {} is a trigger, view or virtual table; rung makes none",
                  path(), others.getColumn(0).getString());
    return {};
  }

  bool is_blank() {
    return pragma("application_id") == 0 &&
           database_->execAndGet("SELECT count(*) FROM sqlite_schema").getInt() == 0;
  }

  static void write(SQLite::Statement& upsert, const Record& record) {
    const BodyWords words = body_words(record);
    upsert.reset();
    upsert.clearBindings();
    int place = 0;
    for (const std::string& text : {record.id, record.kind, record.parent,
                                    std::string(state_name(record.state)), record.created, record.finished})
      upsert.bind(++place, text);
    ++place;
    if (record.seed) upsert.bind(place, static_cast<std::int64_t>(*record.seed));
    for (const std::string& text : {words.task, words.arch, words.label, record.host, record_line(record)})
      upsert.bind(++place, text);
    upsert.exec();
  }

  const Access access_;
  bool immutable_ = false;
  std::mutex guard_;
  std::unique_ptr<SQLite::Database> database_;
};

}  // namespace

std::string sqlite_version() { return sqlite3_libversion(); }

Result<std::unique_ptr<Store>> open_sqlite(const std::string& path, Store::Access access) {
  auto store = std::make_unique<Sqlite>(path, access);
  RUNG_CHECK(store->start());
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace rung

#else

namespace rung {

std::string sqlite_version() { return {}; }

Result<std::unique_ptr<Store>> open_sqlite(const std::string& path, Store::Access) {
  return fail(ErrorCode::unsupported,
              "[store] {}: this build has no SQLite; expected JSON lines, which rung runs export "
              "makes where SQLite is",
              path);
}

}  // namespace rung

#endif
