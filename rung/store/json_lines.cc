#include "rung/store/json_lines.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <unordered_map>

#include "rung/base/json_text.h"

namespace rung {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }

 private:
  int number_;
};

// The lock on the whole file that goes with the open file, so that two stores of one process shut each other
// out too.
class FileLock {
 public:
  FileLock(int descriptor, int operation) : descriptor_(descriptor) {
    int answer;
    do answer = ::flock(descriptor, operation);
    while (answer != 0 && errno == EINTR);
    // Some file systems of clusters have no locks at all: one writer a file is safe there (docs/runs.md).
    held_ = answer == 0 || errno == ENOSYS || errno == EOPNOTSUPP;
  }
  ~FileLock() {
    if (held_) ::flock(descriptor_, LOCK_UN);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  bool held() const { return held_; }

 private:
  int descriptor_;
  bool held_ = false;
};

class JsonLines final : public Store {
 public:
  JsonLines(std::string path, Access access) : Store(std::move(path)), access_(access) {}

  Result<void> start() {
    const std::lock_guard thread(guard_);
    RUNG_CHECK(open_file());
    const FileLock lock(file_.get(), LOCK_SH);
    if (!lock.held()) return io_error("lock");
    return refresh();
  }

 protected:
  Result<void> transact(const Change& change) override {
    const std::lock_guard thread(guard_);
    if (access_ == Access::read) return fail(ErrorCode::io, "[store] {} was opened for reading", path());
    for (;;) {
      {
        const FileLock lock(file_.get(), LOCK_EX);
        if (!lock.held()) return io_error("lock");
        if (still_there()) {
          RUNG_CHECK(refresh());
          return write_change(change);
        }
      }
      // Somebody removed or replaced the file: what goes to the old one would be lost.
      RUNG_CHECK(open_file());
    }
  }

  Result<std::vector<Record>> scan(const Filter& filter) override {
    const std::lock_guard thread(guard_);
    const FileLock lock(file_.get(), LOCK_SH);
    if (!lock.held()) return io_error("lock");
    RUNG_CHECK(refresh());
    std::vector<Record> found;
    for (const auto& [id, entry] : entries_)
      if (matches(entry.record, entry.words, filter)) found.push_back(entry.record);
    return found;
  }

 private:
  struct Entry {
    Record record;
    BodyWords words;
  };

  Error io_error(const char* what) const {
    return fail(ErrorCode::io, "[store] {}: {}: {}", path(), what, std::strerror(errno));
  }

  Result<void> open_file() {
    const bool fresh = access_ == Access::write && ::access(path().c_str(), F_OK) != 0;
    const int flags = access_ == Access::write ? O_RDWR | O_CREAT | O_APPEND : O_RDONLY;
    file_ = Descriptor(::open(path().c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0644));
    if (file_.get() < 0) return io_error("open");
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) return io_error("stat");
    if (!S_ISREG(status.st_mode)) return fail(ErrorCode::io, "[store] {} is not a regular file", path());
    entries_.clear();
    read_to_ = 0;
    lines_ = 0;
    if (fresh) {  // the name itself has to survive, too
      const auto folder = std::filesystem::path(path()).parent_path();
      const Descriptor above(
          ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (above.get() >= 0) ::fsync(above.get());
    }
    return {};
  }

  bool still_there() const {
    struct stat named {
    }, held{};
    return ::stat(path().c_str(), &named) == 0 && ::fstat(file_.get(), &held) == 0 &&
           named.st_ino == held.st_ino && named.st_dev == held.st_dev;
  }

  // Reads the whole lines that others have added. REQUIRES the lock.
  Result<void> refresh() {
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) return io_error("stat");
    if (status.st_size < read_to_) {  // not ours to explain: start again
      entries_.clear();
      read_to_ = 0;
      lines_ = 0;
    }
    std::string pending;
    std::string chunk(kReadBytes, '\0');
    tail_.clear();
    for (off_t at = read_to_;;) {
      const ssize_t got = ::pread(file_.get(), chunk.data(), chunk.size(), at);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return io_error("read");
      if (got == 0) break;
      at += got;
      std::string_view rest(chunk.data(), static_cast<std::size_t>(got));
      for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
        pending.append(rest.substr(0, end));
        RUNG_CHECK(take_line(pending));
        read_to_ += static_cast<off_t>(pending.size()) + 1;
        pending.clear();
      }
      pending.append(rest);
      if (pending.size() > kMaxJsonBytes)
        return fail(ErrorCode::format, "[store] {}:{}: a line of more than {} bytes", path(), lines_ + 1,
                    kMaxJsonBytes);
    }
    // A torn line never parses: its closing brace comes last. A whole one that lacks only its newline counts.
    tail_ = std::move(pending);
    tail_is_whole_ = false;
    if (tail_.empty()) return {};
    if (auto record = parse_record(tail_, "last line")) {
      tail_is_whole_ = true;
      keep(std::move(*record));
    }
    return {};
  }

  Result<void> take_line(std::string_view line) {
    ++lines_;
    if (line.empty()) return {};
    RUNG_TRY(auto record, parse_record(line, fmt::format("{}:{}", path(), lines_)));
    keep(std::move(record));
    return {};
  }

  void keep(Record record) {
    BodyWords words = body_words(record);
    std::string id = record.id;
    entries_.insert_or_assign(std::move(id), Entry{std::move(record), std::move(words)});
  }

  // REQUIRES the exclusive lock and refresh().
  Result<void> write_change(const Change& change) {
    RUNG_TRY(std::vector<Record> records,
             change([this](const std::string& id) -> Result<std::optional<Record>> {
               const auto found = entries_.find(id);
               if (found == entries_.end()) return std::optional<Record>();
               return std::optional<Record>(found->second.record);
             }));
    if (records.empty()) return {};
    std::string text;
    if (tail_is_whole_)
      text = "\n";
    else if (!tail_.empty() && ::ftruncate(file_.get(), read_to_) != 0)
      return io_error("cut off the torn last line");
    for (const Record& record : records) text += record_line(record) + "\n";
    struct stat before {};
    if (::fstat(file_.get(), &before) != 0) return io_error("stat");
    for (std::string_view rest = text; !rest.empty();) {
      const ssize_t written = ::write(file_.get(), rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return undo(before.st_size, "write");
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::fsync(file_.get()) != 0) return undo(before.st_size, "write");
    read_to_ = before.st_size + static_cast<off_t>(text.size());
    lines_ += static_cast<std::int64_t>(records.size()) + (tail_is_whole_ ? 1 : 0);
    tail_.clear();
    tail_is_whole_ = false;
    for (Record& record : records) keep(std::move(record));
    return {};
  }

  Error undo(off_t size, const char* what) {
    Error error = io_error(what);
    // Where even this fails, what is left is a torn line, which readers ignore and the next writer cuts off.
    if (::ftruncate(file_.get(), size) != 0) error.message += "; a torn last line was left";
    return error;
  }

  const Access access_;
  std::mutex guard_;
  Descriptor file_;
  std::unordered_map<std::string, Entry> entries_;
  off_t read_to_ = 0;  // whole lines up to here are in entries_
  std::int64_t lines_ = 0;
  std::string tail_;  // what followed the last newline
  bool tail_is_whole_ = false;
};

}  // namespace

Result<std::unique_ptr<Store>> open_json_lines(const std::string& path, Store::Access access) {
  auto store = std::make_unique<JsonLines>(path, access);
  RUNG_CHECK(store->start());
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace rung
