#include "rung/adversary/checkpoint.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "rung/base/staged_file.h"

namespace rung {
namespace {

constexpr std::string_view kMagic = "rung.search/1\n";

}  // namespace

std::string search_fingerprint(const Target& target, std::string_view method, std::uint64_t seed,
                               std::string_view parameters) {
  std::string words;
  for (const auto& [name, word] : target.task->options()) words += fmt::format(" {}={}", name, word);
  return sha256(fmt::format("{}\n{}\n{}{}\n{}\n{}\n{}", method, target.model_sha256, target.task->name(),
                            words, target.task->size().dump(), seed, parameters));
}

Result<void> save_checkpoint(const std::string& path, const std::string& fingerprint,
                             std::string_view bytes) {
  RUNG_TRY(auto file, StagedFile::open(path, /*replace=*/true));
  RUNG_CHECK(file.write(kMagic));
  RUNG_CHECK(file.write(fingerprint));
  RUNG_CHECK(file.write(sha256(bytes)));
  RUNG_CHECK(file.write(bytes));
  return file.commit();
}

Result<std::optional<std::string>> load_checkpoint(const std::string& path, const std::string& fingerprint) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::optional<std::string>{};
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file) return fail(ErrorCode::io, "[break] cannot read the checkpoint {}", path);
  const std::size_t header = kMagic.size() + 2 * fingerprint.size();
  if (bytes.size() < header || !bytes.starts_with(kMagic))
    return fail(ErrorCode::format,
                "[break] {} is not a checkpoint of a search; remove it or name another file", path);
  const std::string_view body = std::string_view(bytes).substr(header);
  if (bytes.substr(kMagic.size() + fingerprint.size(), fingerprint.size()) != sha256(body))
    return fail(ErrorCode::format, "[break] the checkpoint {} is damaged; remove it to start again", path);
  if (bytes.substr(kMagic.size(), fingerprint.size()) != fingerprint)
    return fail(ErrorCode::format,
                "[break] the checkpoint {} belongs to another search (model, task, method or seed differ); "
                "remove it or name another file",
                path);
  bytes.erase(0, header);
  return std::optional(std::move(bytes));
}

bool CheckpointReader::take(std::uint64_t& value) {
  if (bytes_.size() < sizeof value) return false;
  std::memcpy(&value, bytes_.data(), sizeof value);
  bytes_.remove_prefix(sizeof value);
  return true;
}

}  // namespace rung
