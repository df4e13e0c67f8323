#include "rung/store/filter.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <span>

#include "rung/base/nearest_word.h"
#include "rung/store/body_reader.h"
#include "rung/store/provenance.h"

namespace rung {
namespace {

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

bool contains(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same_letter) != text.end();
}

bool fits(const std::optional<std::string>& wanted, std::string_view value) {
  return !wanted || *wanted == value;
}

// Numbers before words before nothing at all.
struct SortKey {
  int sort = 2;
  double number = 0;
  std::string word;
};

SortKey key_of_word(const std::string& word) { return word.empty() ? SortKey{} : SortKey{1, 0, word}; }

SortKey key_of(const Record& record, const std::string& field) {
  if (field == "id") return key_of_word(record.id);
  if (field == "kind") return key_of_word(record.kind);
  if (field == "parent") return key_of_word(record.parent);
  if (field == "state") return key_of_word(std::string(state_name(record.state)));
  if (field == "created") return key_of_word(record.created);
  if (field == "finished") return key_of_word(record.finished);
  if (field == "host") return key_of_word(record.host);
  if (field == "device") return key_of_word(record.device);
  if (field == "seed") return record.seed ? SortKey{0, static_cast<double>(*record.seed), {}} : SortKey{};
  const std::string_view path = field;
  auto value = read_fields(record.body, std::span(&path, 1)).front();
  if (value.kind == BodyField::Kind::number) return {0, value.number, {}};
  return key_of_word(value.word);
}

}  // namespace

bool matches_text(const Record& record, const Filter& filter) {
  if (filter.id) {
    const std::size_t dash = record.id.rfind('-');
    const std::string_view id = record.id;
    if (!id.starts_with(*filter.id) && (dash == std::string::npos || id.substr(dash + 1) != *filter.id))
      return false;
  }
  if (!filter.text) return true;
  for (const std::string* part :
       {&record.id, &record.parent, &record.host, &record.device, &record.command, &record.body})
    if (contains(*part, *filter.text)) return true;
  return false;
}

bool matches(const Record& record, const BodyWords& words, const Filter& filter) {
  return fits(filter.kind, record.kind) && fits(filter.parent, record.parent) &&
         fits(filter.host, record.host) && fits(filter.task, words.task) &&
         (!filter.arch || asked_arch(*filter.arch) == words.arch) && fits(filter.label, words.label) &&
         (!filter.state || *filter.state == record.state) &&
         (!filter.since || record.created >= *filter.since) && matches_text(record, filter);
}

void arrange(std::vector<Record>& records, const Filter& filter) {
  std::vector<std::pair<SortKey, std::size_t>> keys;
  keys.reserve(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) keys.emplace_back(key_of(records[i], filter.sort), i);
  std::sort(keys.begin(), keys.end(), [&](const auto& a, const auto& b) {
    const auto& [left, i] = a;
    const auto& [right, j] = b;
    if (left.sort != right.sort) return left.sort < right.sort;
    if (left.number != right.number)
      return filter.descending ? left.number > right.number : left.number < right.number;
    if (left.word != right.word) return filter.descending ? left.word > right.word : left.word < right.word;
    return filter.descending ? records[i].id > records[j].id : records[i].id < records[j].id;
  });
  if (filter.limit > 0 && keys.size() > filter.limit) keys.resize(filter.limit);
  std::vector<Record> arranged;
  arranged.reserve(keys.size());
  for (const auto& [key, index] : keys) arranged.push_back(std::move(records[index]));
  records = std::move(arranged);
}

Result<std::string> parse_since(const std::string& text) {
  constexpr std::string_view kExpected = "2026-01-31, 2026-01-31T23:59, 90m, 12h or 7d";
  constexpr std::int64_t kMostDays = 100000;
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() - 1 && number >= 0 && number <= kMostDays) {
    const std::int64_t unit = *end == 'm' ? 60 : *end == 'h' ? 3600 : *end == 'd' ? 86400 : 0;
    const auto now =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    if (unit > 0) return utc_time(std::max(0.0, now - static_cast<double>(number * unit)));
  }
  constexpr std::string_view kRest = "0000-00-00T00:00:00.000000Z";
  const std::string time = text.ends_with("Z") ? text.substr(0, text.size() - 1) : text;
  const bool whole_parts = time.size() == 10 || time.size() == 16 || time.size() == 19 || time.size() == 26;
  if (whole_parts && is_utc_time(time + std::string(kRest.substr(time.size())))) return time;
  return fail(ErrorCode::parse, "[store] since {}; expected {}", rung::quoted(text), kExpected);
}

}  // namespace rung
