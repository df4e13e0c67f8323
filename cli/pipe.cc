// rung pipe: one long-lived process that answers command lines, for programs that drive rung (python/).
//
// A request is one line of JSON, {"arguments": ["bound", "linear", "--json"]}. The reply is one line of JSON,
// {"exit": 0, "output": 1234, "errors": 0}, followed by that many bytes of standard output and of standard error.
// Each request runs in a child of its own, so that nothing that it does reaches the next one.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/command.h"
#include "cli/pipe_request.h"

namespace rung::cli {
namespace {

constexpr std::size_t kMostRequestBytes = std::size_t{64} << 20;

// A file without a name that a child writes and its parent reads.
class Spool {
 public:
  explicit Spool(const char* name) : file_(::memfd_create(name, MFD_CLOEXEC)) {}
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;
  ~Spool() {
    if (file_ >= 0) ::close(file_);
  }
  int file() const { return file_; }
  std::size_t size() const {
    struct stat status {};
    return ::fstat(file_, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
  }
  bool copy_to(std::FILE* out) const {
    if (::lseek(file_, 0, SEEK_SET) != 0) return false;
    char block[1 << 16];
    for (ssize_t got; (got = ::read(file_, block, sizeof block)) != 0;) {
      if (got < 0 ||
          std::fwrite(block, 1, static_cast<std::size_t>(got), out) != static_cast<std::size_t>(got))
        return false;
    }
    return true;
  }

 private:
  int file_;
};

Result<int> answer_request(const std::vector<std::string>& arguments) {
  const Spool output("output"), errors("errors");
  if (output.file() < 0 || errors.file() < 0)
    return fail(ErrorCode::io, "[pipe] cannot create a buffer: {}", std::strerror(errno));
  const pid_t child = ::fork();
  if (child < 0) return fail(ErrorCode::io, "[pipe] cannot start a process: {}", std::strerror(errno));
  if (child == 0) {
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(output.file(), STDOUT_FILENO);
    ::dup2(errors.file(), STDERR_FILENO);
    std::exit(run_program(arguments));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return fail(ErrorCode::io, "[pipe] an answer was lost: {}", std::strerror(errno));
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  fmt::print("{{\"exit\": {}, \"output\": {}, \"errors\": {}}}\n", code, output.size(), errors.size());
  if (!output.copy_to(stdout) || !errors.copy_to(stdout) || std::fflush(stdout) != 0)
    return fail(ErrorCode::io, "[pipe] an answer could not be written: {}", std::strerror(errno));
  return 0;
}

Result<int> run_pipe() {
  std::string line;
  for (int c; (c = std::getchar()) != EOF;) {
    if (c != '\n') {
      if (line.size() == kMostRequestBytes)
        return fail(ErrorCode::resource, "[pipe] a request of more than {} bytes", kMostRequestBytes);
      line += static_cast<char>(c);
      continue;
    }
    if (const auto arguments = read_pipe_request(line)) {
      RUNG_CHECK(answer_request(*arguments));
    } else {
      const std::string message = "rung: " + arguments.error().message + "\n";
      fmt::print("{{\"exit\": 2, \"output\": 0, \"errors\": {}}}\n{}", message.size(), message);
      std::fflush(stdout);
    }
    line.clear();
  }
  return 0;
}

}  // namespace

Command pipe_command() {
  Command command{.name = "pipe", .summary = "answer command lines from standard input, for other programs"};
  command.description =
      "One line of JSON a request: {\"arguments\": [\"bound\", \"linear\", \"--json\"]}. The answer is one "
      "line {\"exit\": 0, \"output\": BYTES, \"errors\": BYTES} and then these bytes of standard output and "
      "standard error. The Python package drives this (docs/python.md).";
  command.examples = {"echo '{\"arguments\": [\"show\", \"full\", \"--json\"]}' | rung pipe"};
  command.run = [] { return run_pipe(); };
  return command;
}

}  // namespace rung::cli
