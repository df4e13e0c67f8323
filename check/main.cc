// rung-check CERT.json [MODEL.safetensors]: reruns what a certificate claims (docs/check.md).
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>

#include "check/certificate.h"

namespace {

using namespace rung_check;

constexpr std::uint64_t kLargestCertificate = std::uint64_t{1} << 26,
                        kLargestModel = std::uint64_t{1} << 31;  // bytes
constexpr rlim_t kMostMemory = rlim_t{12} << 30;                 // bytes
constexpr std::uint64_t kSeconds = 600,
                        kWorkPerSecond = 50'000'000;  // of processor time: kSeconds + limit / kWorkPerSecond
constexpr std::size_t kLongestReason = 300;           // bytes
constexpr int kVerified = 0, kRejected = 1, kMalformed = 2, kOutOfResources = 3;

constexpr const char* kHelp =
    "rung-check CERT.json [MODEL.safetensors] [--limit N] [--json]\n"
    "\n"
    "Reruns what a rung certificate claims, with code of its own. Exit code 0: verified. 1: rejected. 2: "
    "malformed\n"
    "certificate, model or command line. 3: out of resources.\n"
    "\n"
    "  --limit N   at most N multiply-adds (10^12 unless given) and 600 + N/(5*10^7) seconds of processor "
    "time\n"
    "  --json      one JSON document, schema rung.check/1\n"
    "  --help, --version\n";

struct Arguments {
  std::vector<std::string> files;
  std::uint64_t limit = kDefaultWork;
  bool json = false, help = false, version = false;
};

void read_arguments(int count, char** words, Arguments& arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--json")
      arguments.json = true;
    else if (word == "--help" || word == "-h")
      arguments.help = true;
    else if (word == "--version")
      arguments.version = true;
    else if (word == "--limit" && i + 1 < count) {
      const std::string number = words[++i];
      if (number.empty() || number.size() > 18 || number.find_first_not_of("0123456789") != std::string::npos)
        throw Malformed("--limit needs a whole number below 10^18");
      arguments.limit = std::stoull(number);
    } else if (word.empty() || word[0] == '-')
      throw Malformed(text("unknown option ", word.substr(0, 40), "; see rung-check --help"));
    else
      arguments.files.push_back(word);
  }
  if (!arguments.help && !arguments.version && (arguments.files.empty() || arguments.files.size() > 2))
    throw Malformed("a certificate and at most one model are expected; see rung-check --help");
}

// Regular files only: a pipe or a device may never end, and nothing waits for one to be opened.
class RegularFile {
 public:
  explicit RegularFile(const std::string& path)
      : file_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    struct stat status {};
    if (file_ < 0 || fstat(file_, &status) != 0)
      throw Malformed(text("cannot read ", path, ": ", std::strerror(errno)));
    if (!S_ISREG(status.st_mode)) throw Malformed(text(path, " is not a regular file"));
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
  RegularFile(const RegularFile&) = delete;
  ~RegularFile() {
    if (file_ >= 0) close(file_);
  }
  std::uint64_t size() const { return size_; }
  std::string content(const std::string& path) const {
    std::string bytes(static_cast<std::size_t>(size_), '\0');
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t more = read(file_, bytes.data() + done, bytes.size() - done);
      if (more < 0 && errno == EINTR) continue;
      if (more <= 0)
        throw Malformed(
            text("reading ", path, " failed: ", more < 0 ? std::strerror(errno) : "it became shorter"));
      done += static_cast<std::size_t>(more);
    }
    return bytes;
  }

 private:
  int file_;
  std::uint64_t size_ = 0;
};

std::string read_file(const std::string& path, std::uint64_t most) {
  const RegularFile file(path);
  if (file.size() > most) throw OutOfResources(text(path, " has more than ", most, " bytes"));
  return file.content(path);
}

const char* out_of_time = "";
void stop_for_time(int) {
  [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, out_of_time, std::strlen(out_of_time));
  _exit(kOutOfResources);
}
// Behind the multiply-adds, which are counted, stands the clock, which also sees what nobody thought of
// counting.
void limit_time(const Arguments& arguments) {
  out_of_time =
      arguments.json
          ? "{\"schema\":\"rung.check/1\",\"verdict\":\"out-of-resources\",\"exit_code\":3,\"reason\":\"no "
            "processor time is left\"}\n"
          : "OUT OF RESOURCES: no processor time is left\n";
  signal(SIGXCPU, stop_for_time);
  rlimit time{};
  if (getrlimit(RLIMIT_CPU, &time) != 0) return;
  time.rlim_cur = std::min<rlim_t>(
      time.rlim_cur, kSeconds + arguments.limit / kWorkPerSecond);  // RLIM_INFINITY is the largest
  setrlimit(RLIMIT_CPU, &time);
}

// What a file or a path says reaches the terminal as one line of printable ASCII: no line of it can look like
// a verdict.
std::string one_line(const std::string& said) {
  std::string line = said.substr(0, kLongestReason);
  for (auto& c : line)
    if (c < ' ' || c > '~') c = '?';  // also where char is signed
  return said.size() > kLongestReason ? line + "..." : line;
}

// Says what came out; the exit code is the caller's.
int say(const Arguments& arguments, int code, const char* verdict, const std::string& why, Report report) {
  const std::string reason = one_line(why);
  for (auto& line : report.lines) line = one_line(line);
  if (arguments.json) {
    nlohmann::ordered_json out{{"schema", "rung.check/1"}, {"verdict", verdict}, {"exit_code", code}};
    if (!report.kind.empty()) out["kind"] = report.kind;
    if (!reason.empty()) out["reason"] = reason;
    if (code == kVerified)
      out["reran"] = {{"prompts", report.prompts},
                      {"reference_answers", report.answers},
                      {"multiply_adds", report.multiply_adds},
                      {"lines", report.lines}};
    std::cout << out.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) << "\n";
    return code;
  }
  std::string word = verdict;
  for (auto& c : word) c = c == '-' ? ' ' : static_cast<char>(std::toupper(c));
  if (code != kVerified) {
    std::cout << word << ": " << reason << "\n";
    return code;
  }
  std::cout << word << " " << report.kind << "\n";
  for (const auto& line : report.lines) std::cout << "  " << line << "\n";
  std::cout << "  reran " << plural(report.prompts, "prompt") << ", "
            << plural(report.answers, "reference answer") << ", "
            << plural(report.multiply_adds, "multiply-add") << "\n";
  return code;
}

int run(int count, char** words, Arguments& arguments) {
  read_arguments(count, words, arguments);
  if (arguments.help || arguments.version) {
    if (!arguments.files.empty()) throw Malformed("--help and --version stand alone");
    std::cout << (arguments.help ? kHelp : "rung-check " RUNG_VERSION "\n");
    return EXIT_SUCCESS;  // nothing was asked to be verified, and nothing is said to be
  }
  const std::string certificate = read_file(arguments.files[0], kLargestCertificate);
  std::string model;
  if (arguments.files.size() == 2) model = read_file(arguments.files[1], kLargestModel);
  limit_time(arguments);
  Budget budget(arguments.limit);
  const Report report = verify(certificate, arguments.files.size() == 2 ? &model : nullptr, budget);
  return say(arguments, kVerified, "verified", "", report);
}

int outcome(int count, char** words) {
  Arguments arguments;
  try {
    return run(count, words, arguments);
  } catch (const Rejected& error) {
    return say(arguments, kRejected, "rejected", error.what(), {});
  } catch (const Malformed& error) {
    return say(arguments, kMalformed, "malformed", error.what(), {});
  } catch (const OutOfResources& error) {
    return say(arguments, kOutOfResources, "out-of-resources", error.what(), {});
  } catch (const std::bad_alloc&) {
    return say(arguments, kOutOfResources, "out-of-resources", "no memory is left", {});
  } catch (const std::exception& error) {
    return say(arguments, kMalformed, "malformed", error.what(), {});
  }
}

}  // namespace

int main(int count, char** words) {
#if !defined(__SANITIZE_ADDRESS__)
  const rlimit memory{kMostMemory, kMostMemory};
  setrlimit(RLIMIT_AS, &memory);
#endif
  signal(SIGPIPE, SIG_IGN);
  const int code = outcome(count, words);
  // A verdict that nobody can have read is none.
  if (std::cout.flush()) return code;
  std::cerr << "rung-check: cannot write to standard output\n";
  return kMalformed;
}
