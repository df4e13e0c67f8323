// Programs that are killed, that run at once, and disks that are full: what was acknowledged is there, whole.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <set>
#include <thread>

#include "rung/base/random.h"
#include "tests/store/scratch.h"

namespace rung {
namespace {

constexpr int kKills = 100;
// A child is killed after a chosen number of acknowledgements, however slow the disk is, and a random moment
// more.
constexpr std::uint64_t kMostAcknowledgements = 6;
constexpr std::uint64_t kLongestMomentMicroseconds = 4000;
constexpr std::size_t kCurve = 200;

using KilledStore = BothBackEnds;
INSTANTIATE_TEST_SUITE_P(store, KilledStore, testing::ValuesIn(back_ends()), back_end_name);

std::string curve(std::size_t points) {
  std::string text = R"({"curve":[0)";
  for (std::size_t i = 1; i < points; ++i) text += fmt::format(",{}", i);
  return text + "]}";
}

// One line to the parent: a single write, so that a line of the pipe is whole.
void acknowledge(int pipe, char what, const std::string& id) {
  const std::string line = what + id + "\n";
  if (::write(pipe, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(3);
}

[[noreturn]] void write_for_ever(const std::string& path, int pipe) {
  auto store = Store::open(path);
  if (!store) ::_exit(4);
  for (;;) {
    const auto id = (*store)->append(Record{.kind = "member", .body = R"({"task":"eva"})"});
    if (!id) ::_exit(5);
    acknowledge(pipe, 'a', *id);
    if (!(*store)->finish(*id, RecordState::done, curve(kCurve))) ::_exit(6);
    acknowledge(pipe, 'f', *id);
  }
}

// Runs `work` in a process of its own, which it must not return from.
template <class Work>
pid_t in_child(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  return child;
}

TEST_P(KilledStore, loses_no_acknowledged_record_and_leaves_none_half_written) {
  std::set<std::string> appended, finished;
  Random random(1);
  for (int kill = 0; kill < kKills; ++kill) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = in_child([&] { write_for_ever(path(), ends[1]); });
    ::close(ends[1]);
    std::string acknowledged, text(1 << 16, '\0');
    const auto read_more = [&] {
      const ssize_t got = ::read(ends[0], text.data(), text.size());
      if (got > 0) acknowledged.append(text, 0, static_cast<std::size_t>(got));
      return got > 0;
    };
    const auto enough = static_cast<std::ptrdiff_t>(random.below(kMostAcknowledgements));
    while (std::count(acknowledged.begin(), acknowledged.end(), '\n') < enough)
      if (!read_more()) break;
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(kLongestMomentMicroseconds)));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "exit code " << WEXITSTATUS(status) << " before it was killed";
    while (read_more()) continue;
    ::close(ends[0]);
    for (std::size_t begin = 0, end; (end = acknowledged.find('\n', begin)) != std::string::npos;
         begin = end + 1)
      (acknowledged[begin] == 'a' ? appended : finished)
          .insert(acknowledged.substr(begin + 1, end - begin - 1));
  }
  EXPECT_GT(finished.size(), 50u) << "the kills came too early to mean anything";

  const auto store = open();
  const auto found = store->query({});
  ASSERT_TRUE(found) << found.error().message;
  std::map<std::string, const Record*> records;
  for (const Record& record : *found) records[record.id] = &record;
  for (const std::string& id : appended) EXPECT_TRUE(records.contains(id)) << id;
  for (const std::string& id : finished) {
    ASSERT_TRUE(records.contains(id)) << id;
    EXPECT_EQ(records[id]->state, RecordState::done);
  }
  // One that was written and not yet acknowledged may be there a kill; nothing beyond that, and nothing in
  // between.
  EXPECT_LE(records.size(), appended.size() + kKills);
  const std::string whole = curve(kCurve).substr(1, curve(kCurve).size() - 2);
  for (const auto& [id, record] : records)
    EXPECT_EQ(record->body,
              record->state == RecordState::done ? "{" + whole + R"(,"task":"eva"})" : R"({"task":"eva"})");
  ASSERT_TRUE(store->append(Record{.kind = "note"}));
}

TEST_P(KilledStore, four_processes_at_once_lose_nothing) {
  constexpr int kProcesses = 4, kRecords = 25;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process)
    children.push_back(in_child([&] {
      auto store = Store::open(path());
      if (!store) ::_exit(4);
      for (int i = 0; i < kRecords; ++i) {
        const auto id = (*store)->append(Record{.id = fmt::format("{}-{}", process, i), .kind = "member"});
        if (!id || !(*store)->finish(*id, RecordState::done)) ::_exit(5);
      }
    }));
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  EXPECT_EQ(open()->query({.state = RecordState::done}).value().size(), std::size_t{kProcesses * kRecords});
}

// The limit on a file's size stands for a full disk: the same answer of the kernel, a write that stops
// half-way.
TEST_P(KilledStore, a_full_disk_is_an_error_and_nothing_is_lost) {
  ASSERT_TRUE(open()->append(Record{.id = "before", .kind = "run"}));
  const pid_t child = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const auto store = Store::open(path());
    if (!store) ::_exit(4);
    constexpr rlim_t kRoom = 200000;
    const rlimit limit{kRoom, kRoom};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(5);
    const std::string large = R"({"text":")" + std::string(2 * kRoom, 'x') + R"("})";
    const auto refused = (*store)->append(Record{.id = "large", .kind = "run", .body = large});
    if (refused || refused.error().code != ErrorCode::io ||
        refused.error().message.find('\n') != std::string::npos)
      ::_exit(6);
    if ((*store)->finish("before", RecordState::done, large)) ::_exit(7);
    if (!(*store)->append(Record{.id = "after", .kind = "run"})) ::_exit(8);
  });
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
  const std::vector<Record> records = open()->query({.sort = "id", .descending = false}).value();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].id, "after");
  EXPECT_EQ(records[1].id, "before");
  EXPECT_EQ(records[1].state, RecordState::running);
}

}  // namespace
}  // namespace rung
