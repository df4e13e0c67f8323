// A question is a JSON object: {"append": [record lines]}, {"update": [[id, state, body]]} or {"find": id};
// an answer
// {"record": line or null} or {"error": message, "code": its number}.
#include "rung/lab/remote_store.h"

#include <nlohmann/json.hpp>

#include "rung/store/provenance.h"

namespace rung::lab {
namespace {

using nlohmann::json;

Result<json> asked(QueueWorker& worker, const WorkItem& item, const json& question) {
  const auto text = worker.ask(item, question.dump());
  if (!text) return fail(ErrorCode::io, "[lab] item {} was given to another rank", item.number);
  json answer = json::parse(*text);
  if (answer.contains("error"))
    return Error{static_cast<ErrorCode>(answer.at("code").get<int>()), answer.at("error").get<std::string>()};
  return answer;
}

Result<json> done(Store& store, const json& question) {
  json answer{{"record", nullptr}};
  if (question.contains("append")) {
    std::vector<Record> records;
    for (const json& line : question["append"]) {
      RUNG_TRY(Record record, parse_record(line.get<std::string>(), "a rank's record"));
      records.push_back(std::move(record));
    }
    RUNG_CHECK(store.append(std::move(records)));
  } else if (question.contains("update")) {
    std::vector<RecordUpdate> updates;
    for (const json& row : question["update"]) {
      RUNG_TRY(const RecordState state, parse_state(row.at(1).get<std::string>()));
      updates.push_back({row.at(0).get<std::string>(), state, row.at(2).get<std::string>()});
    }
    RUNG_CHECK(store.update(std::move(updates)));
  } else {
    RUNG_TRY(const auto found, store.find(question.at("find").get<std::string>()));
    if (found) answer["record"] = record_line(*found);
  }
  return answer;
}

}  // namespace

Result<std::vector<std::string>> RemoteStore::append(std::vector<Record> records) {
  json lines = json::array();
  std::vector<std::string> ids;
  for (Record& record : records) {
    stamp(record);
    RUNG_CHECK(normalise(record));
    lines.push_back(record_line(record));
    ids.push_back(record.id);
  }
  RUNG_CHECK(asked(worker_, item_, {{"append", lines}}));
  return ids;
}

Result<void> RemoteStore::update(std::vector<RecordUpdate> updates) {
  json rows = json::array();
  for (const RecordUpdate& update : updates)
    rows.push_back({update.id, state_name(update.state), update.body});
  RUNG_CHECK(asked(worker_, item_, {{"update", rows}}));
  return {};
}

Result<std::optional<Record>> RemoteStore::find(const std::string& id) {
  RUNG_TRY(const json answer, asked(worker_, item_, {{"find", id}}));
  if (answer.at("record").is_null()) return std::optional<Record>();
  RUNG_TRY(Record record, parse_record(answer.at("record").get<std::string>(), "rank 0's store"));
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
  if (!store) return json{{"record", nullptr}}.dump();
  const auto answer = done(*store, json::parse(question));
  if (answer) return answer->dump();
  return json{{"error", answer.error().message}, {"code", static_cast<int>(answer.error().code)}}.dump();
}

}  // namespace rung::lab
