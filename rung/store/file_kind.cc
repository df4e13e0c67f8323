#include "rung/store/file_kind.h"

#include <algorithm>
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
    return fail(ErrorCode::io, "[store] {} is not a regular file", path);
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorCode::io, "[store] {}: {}", path, std::strerror(errno));
  // The first line is enough, and of a long one its beginning: other programs may write the fields in another
  // order.
  constexpr std::size_t kLook = std::size_t{1} << 20;
  std::string head(kLook, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  if (head.empty()) return FileKind::empty;
  using namespace std::string_view_literals;
  if (head.starts_with("SQLite format 3\0"sv)) return FileKind::sqlite;
  const std::size_t newline = head.find('\n');
  const bool is_one_line = newline == std::string::npos;
  head.resize(std::min(newline, head.size()));
  constexpr std::string_view kSchema = "rung.record/", kBeginning = R"({"schema":"rung.record/)";
  const bool names_schema = head.starts_with('{') && head.find(kSchema) != std::string::npos;
  const bool is_torn = is_one_line && kBeginning.starts_with(head);  // the first line ever, and a kill
  return names_schema || is_torn ? FileKind::json_lines : FileKind::other;
}

}  // namespace rung
