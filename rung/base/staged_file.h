// Every file that rung writes goes through here, by one set of rules:
//   - It appears whole or not at all: bytes go to a file without a name in the same folder, commit() names it. A
//     writer that is killed leaves nothing. Where the file system has no such files, they go to
//     NAME.part-PID-CHANCE, locked while it is written; the next writer of NAME removes what nobody holds.
//   - A file that is there is replaced only where `replace` says so. A symbolic link is written through and stays.
//   - A device, a FIFO and "-" (standard output) are written to as the bytes come; they are never replaced.
//   - Folders that the path names are made.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "rung/base/result.h"

namespace rung {

inline constexpr std::string_view kStandardOutput = "-";

class StagedFile {
 public:
  static Result<StagedFile> open(std::string path, bool replace);
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;
  ~StagedFile();  // without commit(): nothing stays

  // Whether open() would succeed now: for commands that work for long before they write. Makes the folders;
  // waits for no reader of a FIFO.
  static Result<void> check(const std::string& path, bool replace);

  Result<void> write(std::string_view bytes);
  Result<void> commit();
  const std::string& path() const { return path_; }

 private:
  StagedFile() = default;
  Result<void> name_it();
  std::string path_;       // as it was given
  std::string target_;     // what commit() names: links followed
  std::string temporary_;  // empty: the file has no name, or is written in place
  std::FILE* file_ = nullptr;
  bool replace_ = false, in_place_ = false;
};

// From here on "-" means what standard output was until now, and everything that is printed goes to standard
// error, so that a file written to "-" is all that a reader of standard output sees.
Result<void> keep_standard_output_for_a_file();

// Whether both paths lead to one file, be it there already or not.
bool same_file(const std::string& a, const std::string& b);

}  // namespace rung
