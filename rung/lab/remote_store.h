// The store of a rank that is not rank 0: records are stamped here, where the work is done, and written by
// rank 0, so that one process alone touches the file.
#pragma once

#include "rung/ranks/task_queue.h"
#include "rung/store/store.h"

namespace rung::lab {

class RemoteStore : public Store {
 public:
  // For records of one item; once the item has become another rank's, nothing is written any more.
  RemoteStore(QueueWorker& worker, const WorkItem& item) : Store("rank 0"), worker_(worker), item_(item) {}

  using Store::append;
  Result<std::vector<std::string>> append(std::vector<Record> records) override;
  Result<void> update(std::vector<RecordUpdate> updates) override;
  Result<std::optional<Record>> find(const std::string& id) override;

 private:
  Result<void> transact(const Change& change) override;
  Result<std::vector<Record>> scan(const Filter& filter) override;

  QueueWorker& worker_;
  const WorkItem& item_;
};

// On rank 0: what a remote store asked, done. `store` may be null: then nothing is kept. Never fails: errors
// travel in the answer.
std::string serve_remote_store(Store* store, const std::string& question);

}  // namespace rung::lab
