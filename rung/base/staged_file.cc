#include "rung/base/staged_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

namespace rung {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStagedPart = ".part-";
int staged_standard_output = STDOUT_FILENO;

Error staged_error(const std::string& path, int reason) {
  return fail(ErrorCode::io, "[write] {}: {}", path, std::strerror(reason));
}

// Where the bytes go, found out before anything is opened.
struct StagedPlace {
  std::string target;     // links followed
  bool in_place = false;  // a device, a FIFO or standard output
};

Result<StagedPlace> staged_place(const std::string& path, bool replace) {
  if (path == kStandardOutput) return StagedPlace{path, true};
  if (path.empty()) return fail(ErrorCode::io, "[write] an empty path; a file expected");
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0) {
    if (S_ISDIR(found.st_mode)) return fail(ErrorCode::io, "[write] {} is a folder; a file expected", path);
    if (S_ISCHR(found.st_mode) || S_ISFIFO(found.st_mode)) return StagedPlace{path, true};
    if (!S_ISREG(found.st_mode))
      return fail(ErrorCode::io, "[write] {} is a block device or a socket; a file expected", path);
    if (!replace) return fail(ErrorCode::io, "[write] {} exists; `force` replaces it", path);
    std::error_code code;
    const fs::path real = fs::canonical(path, code);
    if (code) return fail(ErrorCode::io, "[write] {}: {}", path, code.message());
    return StagedPlace{real.string(), false};
  }
  if (errno != ENOENT) return staged_error(path, errno);
  if (::lstat(path.c_str(), &found) == 0)
    return fail(ErrorCode::io, "[write] {} is a symbolic link to nothing; a file expected", path);
  return StagedPlace{path, false};
}

std::string staged_folder(const std::string& target) {
  const std::string folder = fs::path(target).parent_path().string();
  return folder.empty() ? "." : folder;
}

Result<void> make_staged_folder(const std::string& target) {
  std::error_code code;
  fs::create_directories(staged_folder(target), code);
  if (code) return fail(ErrorCode::io, "[write] {}: {}", target, code.message());
  return {};
}

// A file without a name: the kernel takes it back when its writer ends, however it ends. -1: not here.
int open_nameless_file(const std::string& target) {
  if (::access("/proc/self/fd", X_OK) != 0) return -1;  // commit() names it through there
  return ::open(staged_folder(target).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0644);
}

// A name of its own: process numbers repeat (in containers), and a killed writer's file must not stop the next.
std::string staged_part_name(const std::string& target) {
  std::random_device chance;
  return fmt::format("{}{}{}-{:08x}", target, kStagedPart, ::getpid(), chance());
}

// NAME.part-... of writers that are no more: a living one holds its lock.
void remove_abandoned_parts(const std::string& target) {
  const std::string beginning = fs::path(target).filename().string() + std::string(kStagedPart);
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(staged_folder(target), code)) {
    const fs::path& part = entry.path();
    if (!part.filename().string().starts_with(beginning)) continue;
    const int descriptor = ::open(part.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) continue;
    struct stat found {};
    if (::fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) &&
        ::flock(descriptor, LOCK_EX | LOCK_NB) == 0)
      ::unlink(part.c_str());
    ::close(descriptor);
  }
}

}  // namespace

Result<StagedFile> StagedFile::open(std::string path, bool replace) {
  RUNG_TRY(const StagedPlace place, staged_place(path, replace));
  StagedFile staged;
  staged.path_ = std::move(path);
  staged.target_ = place.target;
  staged.replace_ = replace;
  staged.in_place_ = place.in_place;
  int descriptor = -1;
  if (place.target == kStandardOutput) {
    std::fflush(stdout);
    descriptor = ::fcntl(staged_standard_output, F_DUPFD_CLOEXEC, 0);
  } else if (place.in_place) {
    descriptor = ::open(place.target.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  } else {
    RUNG_CHECK(make_staged_folder(place.target));
    remove_abandoned_parts(place.target);
    descriptor = open_nameless_file(place.target);
    if (descriptor < 0) {
      staged.temporary_ = staged_part_name(place.target);
      descriptor = ::open(staged.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    }
    if (descriptor >= 0) ::flock(descriptor, LOCK_EX | LOCK_NB);
  }
  if (descriptor >= 0) staged.file_ = ::fdopen(descriptor, "wb");
  if (!staged.file_) {
    const int reason = errno;
    if (descriptor >= 0) ::close(descriptor);
    if (descriptor < 0) staged.temporary_.clear();  // it was not made
    return staged_error(staged.path_, reason);
  }
  return staged;
}

Result<void> StagedFile::check(const std::string& path, bool replace) {
  RUNG_TRY(const StagedPlace place, staged_place(path, replace));
  if (place.target == kStandardOutput) return {};
  if (place.in_place) {
    if (::access(path.c_str(), W_OK) != 0) return staged_error(path, errno);
    return {};
  }
  RUNG_TRY([[maybe_unused]] const StagedFile trial, open(path, replace));
  return {};
}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::exchange(other.file_, nullptr)),
      replace_(other.replace_),
      in_place_(other.in_place_) {}

StagedFile::~StagedFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  if (file_) std::fclose(file_);
}

Result<void> StagedFile::write(std::string_view bytes) {
  RUNG_REQUIRE(file_ != nullptr, "write after commit to {}", path_);
  if (bytes.empty()) return {};
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) return staged_error(path_, errno);
  return {};
}

// link() refuses an existing name, so that two writers cannot both believe they were first; where the file
// system has no links, the look that open() took must do.
Result<void> StagedFile::name_it() {
  const bool nameless = temporary_.empty();
  const std::string from = nameless ? fmt::format("/proc/self/fd/{}", ::fileno(file_)) : temporary_;
  const auto link = [&](const std::string& to) {
    return ::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), nameless ? AT_SYMLINK_FOLLOW : 0) == 0;
  };
  if (nameless || !replace_) {
    if (link(target_)) return {};
    if (errno == EEXIST && !replace_)
      return fail(ErrorCode::io, "[write] {} exists; `force` replaces it", path_);
    if (nameless && errno != EEXIST) return staged_error(path_, errno);
  }
  if (nameless) {  // a name for as long as the exchange of the two takes
    const std::string part = staged_part_name(target_);
    if (!link(part)) return staged_error(path_, errno);
    temporary_ = part;
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return staged_error(path_, errno);
  temporary_.clear();
  return {};
}

Result<void> StagedFile::commit() {
  RUNG_REQUIRE(file_ != nullptr, "second commit of {}", path_);
  if (std::fflush(file_) != 0) return staged_error(path_, errno);
  if (!in_place_) {
    if (::fsync(::fileno(file_)) != 0 && errno != EINVAL && errno != EROFS) return staged_error(path_, errno);
    RUNG_CHECK(name_it());
    if (!temporary_.empty()) ::unlink(temporary_.c_str());  // linked: its first name goes
    temporary_.clear();
  }
  if (std::fclose(std::exchange(file_, nullptr)) != 0) return staged_error(path_, errno);
  return {};
}

Result<void> keep_standard_output_for_a_file() {
  if (staged_standard_output != STDOUT_FILENO) return {};
  std::fflush(stdout);
  const int kept = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (kept < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    return fail(ErrorCode::io, "[write] standard output: {}", std::strerror(errno));
  staged_standard_output = kept;
  return {};
}

bool same_file(const std::string& a, const std::string& b) {
  if (a == kStandardOutput || b == kStandardOutput) return a == b;
  std::error_code code;
  if (fs::equivalent(a, b, code) && !code) return true;
  const auto place = [](const std::string& path) {
    std::error_code ignored;
    fs::path whole = fs::weakly_canonical(fs::absolute(path, ignored), ignored);
    return ignored ? fs::path(path) : whole;
  };
  return place(a) == place(b);
}

}  // namespace rung
