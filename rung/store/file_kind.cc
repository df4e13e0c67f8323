#include "rung/store/file_kind.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace rung {

Result<FileKind> file_kind(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return FileKind::absent;
  if (error) return fail(ErrorCode::io, "[store] {}: {}", path, error.message());
  if (!std::filesystem::is_regular_file(status))
    return fail(ErrorCode::io, "[store] {} is no regular file", path);
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorCode::io, "[store] {}: {}", path, std::strerror(errno));
  constexpr std::size_t kLook = 64;
  std::string head(kLook, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  if (head.empty()) return FileKind::empty;
  using namespace std::string_view_literals;
  if (head.starts_with("SQLite format 3\0"sv)) return FileKind::sqlite;
  // A record's line begins with its schema; so does a torn one, when the file is nothing else.
  constexpr std::string_view kBeginning = R"({"schema":"rung.record/)";
  if (head.starts_with(kBeginning) || kBeginning.starts_with(head)) return FileKind::json_lines;
  return FileKind::other;
}

}  // namespace rung
