// A search's state on disk: whole or absent, and refused when it belongs to another search.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rung/adversary/attack.h"

namespace rung {

// What the search is: method, model, task, seed and the method's parameters. Two searches with equal
// fingerprints continue each other.
std::string search_fingerprint(const Target& target, std::string_view method, std::uint64_t seed,
                               std::string_view parameters);

// Errors: the file system.
Result<void> save_checkpoint(const std::string& path, const std::string& fingerprint, std::string_view bytes);
// Nothing when the file does not exist. Errors: no checkpoint, or one of another search.
Result<std::optional<std::string>> load_checkpoint(const std::string& path, const std::string& fingerprint);

// Plain numbers in and out of the bytes, little-endian. take() fails by returning false at the end.
class CheckpointWriter {
 public:
  void reserve(std::size_t values) { bytes_.reserve(values * sizeof(std::uint64_t)); }
  void put(std::uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};
class CheckpointReader {
 public:
  explicit CheckpointReader(std::string_view bytes) : bytes_(bytes) {}
  bool take(std::uint64_t& value);
  bool done() const { return bytes_.empty(); }
  std::string_view rest() const { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace rung
