#include "cli/written_files.h"

#include "rung/base/staged_file.h"

namespace rung::cli {

Result<void> write_text(const std::string& path, std::string_view text, bool replace) {
  RUNG_TRY(StagedFile file, StagedFile::open(path, replace));
  RUNG_CHECK(file.write(text));
  return file.commit();
}

Result<void> write_model(const std::string& path, const Weights& weights, bool replace) {
  RUNG_CHECK(StagedFile::check(path, replace));  // somebody may have put a file there meanwhile
  return write_weights(path, weights);
}

}  // namespace rung::cli
