#include "rung/lab/remote_store.h"

#include "rung/base/json_fields.h"
#include "rung/store/provenance.h"

namespace rung::lab {
namespace {

struct UpdateRow {
  std::string id, body;
  RecordState state = RecordState::done;
};
template <class Fields>
void describe(Fields& field, UpdateRow& x) {
  field.need("id", x.id);
  field.need("body", x.body);
  field.need("state", x.state);
}

// One of the three.
struct StoreQuestion {
  std::vector<std::string> append;  // record lines
  std::vector<UpdateRow> update;
  std::optional<std::string> find;  // an id
};
template <class Fields>
void describe(Fields& field, StoreQuestion& x) {
  field("append", x.append, "update", x.update, "find", x.find);
}

struct StoreAnswer {
  std::optional<std::string> record;  // its line, where one was found
  std::optional<Error> error;
};
template <class Fields>
void describe(Fields& field, StoreAnswer& x) {
  field("record", x.record, "error", x.error);
}

Result<StoreAnswer> asked(QueueWorker& worker, const WorkItem& item, const StoreQuestion& question) {
  const auto text = worker.ask(item, to_fields(question).dump());
  if (!text) return fail(ErrorCode::io, "[lab] item {} was given to another rank", item.number);
  RUNG_TRY(StoreAnswer answer, from_text<StoreAnswer>(*text));
  if (answer.error) return *answer.error;
  return answer;
}

Result<StoreAnswer> done(Store& store, const StoreQuestion& question) {
  StoreAnswer answer;
  if (question.find) {
    RUNG_TRY(const auto found, store.find(*question.find));
    if (found) answer.record = record_line(*found);
    return answer;
  }
  std::vector<Record> records;
  for (const std::string& line : question.append) {
    RUNG_TRY(Record record, parse_record(line, "a rank's record"));
    records.push_back(std::move(record));
  }
  if (!records.empty()) RUNG_CHECK(store.append(std::move(records)));
  std::vector<RecordUpdate> updates;
  for (const UpdateRow& row : question.update) updates.push_back({row.id, row.state, row.body});
  if (!updates.empty()) RUNG_CHECK(store.update(std::move(updates)));
  return answer;
}

}  // namespace

Result<std::vector<std::string>> RemoteStore::append(std::vector<Record> records) {
  StoreQuestion question;
  std::vector<std::string> ids;
  for (Record& record : records) {
    stamp(record);
    RUNG_CHECK(normalise(record));
    question.append.push_back(record_line(record));
    ids.push_back(record.id);
  }
  RUNG_CHECK(asked(worker_, item_, question));
  return ids;
}

Result<void> RemoteStore::update(std::vector<RecordUpdate> updates) {
  StoreQuestion question;
  for (RecordUpdate& update : updates)
    question.update.push_back({std::move(update.id), std::move(update.body), update.state});
  RUNG_CHECK(asked(worker_, item_, question));
  return {};
}

Result<std::optional<Record>> RemoteStore::find(const std::string& id) {
  RUNG_TRY(const StoreAnswer answer, asked(worker_, item_, {.find = id}));
  if (!answer.record) return std::optional<Record>();
  RUNG_TRY(Record record, parse_record(*answer.record, "rank 0's store"));
  return std::optional<Record>(std::move(record));
}

Result<void> RemoteStore::transact(const Change&) {
  return fail(ErrorCode::unsupported,
              "[lab] a rank's store appends, updates and finds; nothing else expected");
}
Result<std::vector<Record>> RemoteStore::scan(const Filter&) {
  return fail(ErrorCode::unsupported,
              "[lab] a rank's store appends, updates and finds; nothing else expected");
}

std::string serve_remote_store(Store* store, const std::string& question) {
  StoreAnswer answer;
  if (store) {
    auto reply = [&]() -> Result<StoreAnswer> {
      RUNG_TRY(const StoreQuestion asked_for, from_text<StoreQuestion>(question));
      return done(*store, asked_for);
    }();
    if (reply)
      answer = std::move(*reply);
    else
      answer.error = reply.error();
  }
  return to_fields(answer).dump();
}

}  // namespace rung::lab
