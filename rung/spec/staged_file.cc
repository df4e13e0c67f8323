#include "rung/spec/staged_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

namespace rung {

Result<StagedFile> StagedFile::open(std::string path, bool replace) {
  StagedFile staged;
  staged.replace_ = replace;
  if (!replace && ::access(path.c_str(), F_OK) == 0)
    return fail(ErrorCode::io, "[write] {} exists; --force replaces it", path);
  // A name of its own: process numbers repeat (in containers), and a killed writer's file must not stop the
  // next.
  std::random_device chance;
  staged.temporary_ = fmt::format("{}.part-{}-{:08x}", path, ::getpid(), chance());
  const int descriptor = ::open(staged.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor >= 0) staged.file_ = ::fdopen(descriptor, "wb");
  if (!staged.file_) {
    const int reason = errno;
    if (descriptor >= 0) ::close(descriptor);
    staged.temporary_.clear();
    return fail(ErrorCode::io, "[write] {}: {}", path, std::strerror(reason));
  }
  staged.path_ = std::move(path);
  return staged;
}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::exchange(other.file_, nullptr)),
      replace_(other.replace_) {}

StagedFile::~StagedFile() {
  if (file_) std::fclose(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<void> StagedFile::write(std::string_view bytes) {
  RUNG_REQUIRE(file_ != nullptr, "write after commit to {}", path_);
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size())
    return fail(ErrorCode::io, "[write] {}: {}", path_, std::strerror(errno));
  return {};
}

Result<void> StagedFile::commit() {
  RUNG_REQUIRE(file_ != nullptr, "second commit of {}", path_);
  if (std::fflush(file_) != 0 || (::fsync(::fileno(file_)) != 0 && errno != EINVAL && errno != EROFS))
    return fail(ErrorCode::io, "[write] {}: {}", path_, std::strerror(errno));
  if (std::fclose(std::exchange(file_, nullptr)) != 0)
    return fail(ErrorCode::io, "[write] {}: {}", path_, std::strerror(errno));
  // link() refuses an existing name, so that two writers cannot both believe they were first; where the file
  // system has no links, the look that open() took must do.
  const bool linked = !replace_ && ::link(temporary_.c_str(), path_.c_str()) == 0;
  if (!replace_ && !linked && errno == EEXIST)
    return fail(ErrorCode::io, "[write] {} exists; --force replaces it", path_);
  if (linked)
    ::unlink(temporary_.c_str());
  else if (::rename(temporary_.c_str(), path_.c_str()) != 0)
    return fail(ErrorCode::io, "[write] {}: {}", path_, std::strerror(errno));
  temporary_.clear();
  return {};
}

}  // namespace rung
