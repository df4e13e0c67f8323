#include "rung/hierarchy/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

extern char** environ;

namespace rung {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(10);
constexpr double kPatience = 10;  // seconds between SIGINT and SIGKILL

}  // namespace

Result<ChildRun> run_child(const std::vector<std::string>& words, const ChildOptions& options) {
  RUNG_REQUIRE(!words.empty(), "a program is named");
  std::vector<char*> argv, env;
  for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text(*entry);
    bool replaced = false;
    for (const auto& added : options.environment)
      replaced = replaced || text.starts_with(added.substr(0, added.find('=') + 1));
    if (!replaced) env.push_back(*entry);
  }
  for (const auto& added : options.environment) env.push_back(const_cast<char*>(added.c_str()));
  env.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO,
                                   options.output.empty() ? "/dev/null" : options.output.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO,
                                   options.errors.empty() ? "/dev/null" : options.errors.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0644);
  pid_t child = 0;
  const auto start = std::chrono::steady_clock::now();
  const int refused = posix_spawn(&child, words[0].c_str(), &actions, nullptr, argv.data(), env.data());
  posix_spawn_file_actions_destroy(&actions);
  if (refused != 0)
    return fail(ErrorCode::io, "[hierarchy] {} cannot be started: {}", words[0], std::strerror(refused));

  ChildRun run;
  double asked = 0;
  for (int status = 0;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (ended == child) {
      run.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + (WIFSIGNALED(status) ? WTERMSIG(status) : 0);
      return run;
    }
    if (ended < 0 && errno != EINTR)
      return fail(ErrorCode::io, "[hierarchy] {} was lost: {}", words[0], std::strerror(errno));
    if (!run.interrupted && (run.seconds > options.seconds || (options.stop && options.stop()))) {
      run.interrupted = true;
      asked = run.seconds;
      kill(child, SIGINT);
    }
    if (run.interrupted && run.seconds > asked + kPatience) kill(child, SIGKILL);
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace rung
