#include "rung/tasks/user_task.h"

#include <filesystem>
#include <fstream>

namespace rung {
namespace {

constexpr std::uintmax_t kMaxTaskFile = std::uintmax_t{1} << 28;  // bytes

Result<std::string> read_text(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return fail(ErrorCode::io, "[task] {}: {}", path, error ? error.message() : "not a file");
  const auto bytes = std::filesystem::file_size(path, error);
  if (error) return fail(ErrorCode::io, "[task] {}: {}", path, error.message());
  if (bytes > kMaxTaskFile)
    return fail(ErrorCode::resource, "[task] {} has {} bytes; expected at most {}", path, bytes,
                kMaxTaskFile);
  std::ifstream file(path, std::ios::binary);
  std::string text(bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  if (!file) return fail(ErrorCode::io, "[task] {} cannot be read", path);
  return text;
}

}  // namespace

bool is_user_task(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".json") || name.ends_with(".jsonl");
}

Result<std::unique_ptr<Task>> read_user_task(const std::string& path, const TaskSizes& sizes,
                                             const TaskOptions& options) {
  const bool table = path.ends_with(".jsonl");
  if (!table && !path.ends_with(".json"))
    return fail(ErrorCode::parse, "[task] {}; expected a table (.jsonl) or an automaton (.json)", path);
  if (table && !sizes.empty())
    return fail(ErrorCode::parse, "[task] {} is a table and has no size \"{}\"", path, sizes.begin()->first);
  if (table && !options.empty())
    return fail(ErrorCode::parse, "[task] {} is a table and has no option \"{}\"", path,
                options.begin()->first);
  RUNG_TRY(const std::string text, read_text(path));
  std::string name = std::filesystem::path(path).stem().string();
  auto task = table ? read_table_task(std::move(name), text)
                    : read_automaton_task(std::move(name), text, sizes, options);
  if (!task) return fail(task.error().code, "{}, in {}", task.error().message, path);
  return task;
}

}  // namespace rung
