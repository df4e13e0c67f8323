// The records of one experiment, each in the store once: a file beside the results says which ids they have,
// so that a resumed run updates what it wrote instead of writing it again.
#pragma once

#include <map>
#include <string>

#include "rung/store/store.h"

namespace rung::lab {

class RecordBook {
 public:
  // No store: nothing is written, and ids are empty.
  static Result<RecordBook> open(Store* store, std::string path);

  // Writes the record under its name, or brings the one of that name up to date (its state and the fields of
  // its body).
  Result<std::string> put(const std::string& name, Record record);

 private:
  Store* store_ = nullptr;
  std::string path_;
  std::map<std::string, std::string> ids_;
};

}  // namespace rung::lab
