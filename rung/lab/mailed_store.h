// The store of a rank that is not rank 0: records are stamped here, where the work is done, and written by
// rank 0, so that one process alone touches the file.
#pragma once

#include "rung/ranks/board.h"
#include "rung/store/store.h"

namespace rung::lab {

class MailedStore : public Store {
 public:
  // For records of one piece; once the piece has become another rank's, nothing is written any more.
  MailedStore(Bench& bench, const Piece& piece) : Store("rank 0"), bench_(bench), piece_(piece) {}

  using Store::append;
  Result<std::vector<std::string>> append(std::vector<Record> records) override;
  Result<void> update(std::vector<RecordUpdate> updates) override;
  Result<std::optional<Record>> find(const std::string& id) override;

 private:
  Result<void> transact(const Change& change) override;
  Result<std::vector<Record>> scan(const Filter& filter) override;

  Bench& bench_;
  const Piece& piece_;
};

// On rank 0: what a mailed store asked, done. `store` may be null: then nothing is kept. Never fails: errors
// travel in the answer.
std::string serve_mailed_store(Store* store, const std::string& question);

}  // namespace rung::lab
