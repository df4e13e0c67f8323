#include "rung/store/provenance.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <iterator>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <random>

#include "rung/base/command_line.h"
#include "rung/store/sqlite.h"

namespace rung {
namespace {

constexpr std::int64_t kMicro = 1000000;

std::int64_t microseconds_now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::tm calendar(std::int64_t microseconds) {
  const std::time_t seconds = static_cast<std::time_t>(microseconds / kMicro);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return parts;
}

std::string iso(std::int64_t microseconds) {
  const std::tm t = calendar(microseconds);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday,
                     t.tm_hour, t.tm_min, t.tm_sec, microseconds % kMicro);
}

// Read once: the process keeps its arguments.
std::string read_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return shell_line(words);
}

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return {};
  return name;
}

}  // namespace

std::string utc_now() { return iso(microseconds_now()); }

std::string utc_time(double seconds) {
  RUNG_REQUIRE(seconds >= 0 && seconds < 0x1.0p33, "seconds={}", seconds);
  return iso(static_cast<std::int64_t>(std::floor(seconds * static_cast<double>(kMicro))));
}

bool is_utc_time(std::string_view text) {
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd.ddddddZ";
  if (text.size() != kShape.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (kShape[i] == 'd' ? !std::isdigit(static_cast<unsigned char>(text[i])) : text[i] != kShape[i])
      return false;
  return true;
}

std::string fresh_id() {
  static std::mutex guard;
  static std::int64_t last = 0;
  static std::random_device chance;
  const std::lock_guard lock(guard);
  last = std::max(last + 1, microseconds_now());
  const std::tm t = calendar(last);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}.{:06}-{:08x}", t.tm_year + 1900, t.tm_mon + 1,
                     t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, last % kMicro,
                     static_cast<std::uint32_t>(chance()));
}

// FNV-1a with 64 bits: ids that a person's result files will not repeat by accident.
std::string content_id(std::string_view time, std::string_view content) {
  RUNG_REQUIRE(is_utc_time(time), "time={}", time);
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : content) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  std::string id;
  for (const char c : time.substr(0, time.size() - 1))
    if (c != '-' && c != ':') id += c;
  return id + fmt::format("-{:016x}", hash);
}

void stamp(Record& record) {
  if (record.id.empty()) record.id = fresh_id();
  if (record.created.empty()) record.created = utc_now();
  if (record.state == RecordState::running)
    record.finished.clear();
  else if (record.finished.empty())
    record.finished = utc_now();
  if (record.version.empty()) record.version = RUNG_VERSION;
  static const std::string command = read_command_line();
  if (record.host.empty()) record.host = host_name();
  if (record.command.empty()) record.command = command;
  record.libraries.emplace("compiler", __VERSION__);
  record.libraries.emplace(
      "fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100));
#ifdef NLOHMANN_JSON_VERSION_MAJOR  // the light header says it from 3.11 on
  record.libraries.emplace("nlohmann-json",
                           fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                       NLOHMANN_JSON_VERSION_PATCH));
#endif
  if (const std::string sqlite = sqlite_version(); !sqlite.empty())
    record.libraries.emplace("sqlite", sqlite);
}

}  // namespace rung
