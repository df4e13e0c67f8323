#include "rung/lab/record_book.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "rung/base/json_text.h"
#include "rung/base/staged_file.h"
#include "rung/store/provenance.h"

namespace rung::lab {

Result<RecordBook> RecordBook::open(Store* store, std::string path) {
  RecordBook book;
  book.store_ = store;
  book.path_ = std::move(path);
  std::error_code code;
  if (!store || !std::filesystem::exists(book.path_, code)) return book;
  RUNG_TRY(const std::string text, read_text_file(book.path_, "lab"));
  RUNG_TRY(const nlohmann::json ids, parse_json(text, "lab"));
  if (!ids.is_object()) return fail(ErrorCode::format, "[lab] {}: an object of ids expected", book.path_);
  for (const auto& [name, id] : ids.items())
    if (id.is_string()) book.ids_[name] = id.get<std::string>();
  return book;
}

Result<std::string> RecordBook::put(const std::string& name, Record record) {
  if (!store_) return std::string();
  if (const auto known = ids_.find(name); known != ids_.end()) {
    RUNG_TRY(const auto found, store_->find(known->second));
    if (found) {
      RUNG_CHECK(store_->update({{known->second, record.state, record.body}}));
      return known->second;
    }
    record.id = known->second;  // the run was killed before the store had it
    return store_->append(std::move(record));
  }
  // The id first, then the record: killed between the two, a resumed run does not write it twice.
  ids_[name] = record.id = fresh_id();
  RUNG_TRY(StagedFile file, StagedFile::open(path_, true));
  RUNG_CHECK(file.write(nlohmann::json(ids_).dump(1) + "\n"));
  RUNG_CHECK(file.commit());
  return store_->append(std::move(record));
}

}  // namespace rung::lab
