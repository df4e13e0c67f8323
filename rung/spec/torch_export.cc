#include "rung/spec/torch_export.h"

#include <filesystem>
#include <fstream>
#include <vector>

#include "rung/base/staged_file.h"

namespace rung {

extern const std::string_view kTorchModel;  // cmake/RungEmbed.cmake

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCopyBlock = std::size_t{1} << 20;

bool same_text(const fs::path& path, std::string_view text) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored) || fs::file_size(path, ignored) != text.size()) return false;
  std::ifstream file(path, std::ios::binary);
  std::string content(text.size(), '\0');
  return file.read(content.data(), static_cast<std::streamsize>(content.size())) && content == text;
}

bool same_file_content(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  if (!fs::is_regular_file(b, ignored) || fs::file_size(a, ignored) != fs::file_size(b, ignored))
    return false;
  std::ifstream one(a, std::ios::binary), two(b, std::ios::binary);
  std::vector<char> left(kCopyBlock), right(kCopyBlock);
  while (one && two) {
    one.read(left.data(), static_cast<std::streamsize>(left.size()));
    two.read(right.data(), static_cast<std::streamsize>(right.size()));
    if (one.gcount() != two.gcount() || !std::equal(left.begin(), left.begin() + one.gcount(), right.begin()))
      return false;
  }
  return true;
}

}  // namespace

Result<std::vector<std::string>> export_to_torch(const std::string& model_path, const std::string& folder,
                                                 bool replace) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail(ErrorCode::io, "[export] {}: {}", folder, error.message());
  const fs::path script = fs::path(folder) / kTorchFileName,
                 copy = fs::path(folder) / fs::path(model_path).filename();
  std::vector<std::string> written = {script.string(), copy.string()};
  const bool copied =
      !fs::equivalent(fs::path(model_path), copy, error) && !same_file_content(model_path, copy);

  std::optional<StagedFile> weights;
  if (copied) {
    RUNG_TRY(auto opened, StagedFile::open(copy.string(), replace));
    std::ifstream source(model_path, std::ios::binary);
    std::vector<char> block(kCopyBlock);
    while (source.read(block.data(), static_cast<std::streamsize>(block.size())) || source.gcount() > 0)
      RUNG_CHECK(opened.write({block.data(), static_cast<std::size_t>(source.gcount())}));
    if (!source.eof()) return fail(ErrorCode::io, "[export] {} could not be read to its end", model_path);
    weights.emplace(std::move(opened));
  }
  if (!same_text(script, kTorchModel)) {
    RUNG_TRY(auto opened, StagedFile::open(script.string(), replace));
    RUNG_CHECK(opened.write(kTorchModel));
    if (weights) RUNG_CHECK(weights->commit());
    RUNG_CHECK(opened.commit());
  } else if (weights) {
    RUNG_CHECK(weights->commit());
  }
  return written;
}

}  // namespace rung
