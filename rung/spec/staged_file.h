// A file that appears whole or not at all: bytes go to a temporary name in the same folder, commit() renames
// it.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "rung/spec/result.h"

namespace rung {

class StagedFile {
 public:
  // An existing file at `path` is an error unless `replace`. The folder must exist.
  static Result<StagedFile> open(std::string path, bool replace);
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;
  ~StagedFile();  // without commit(): removes the temporary file

  Result<void> write(std::string_view bytes);
  Result<void> commit();
  const std::string& path() const { return path_; }

 private:
  StagedFile() = default;
  std::string path_, temporary_;
  std::FILE* file_ = nullptr;
  bool replace_ = false;
};

}  // namespace rung
