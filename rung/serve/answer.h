// What a client asks and what it gets, apart from sockets: the site answers requests, the listener carries
// them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rung/base/result.h"

namespace rung::serve {

struct Request {
  bool posted = false;  // POST; else GET or HEAD
  std::string target;   // path and query as they came, percent signs included
  std::string body;
};

struct Answer {
  int status = 200;
  std::string type = "application/json";
  std::shared_ptr<const std::string> body;
  std::vector<std::pair<std::string, std::string>> headers = {};  // beside those that every answer has
};

// {"schema": "rung.error/1", "status", "code", "message"}: the message is the one line that the command line
// would print.
Answer refusal(int status, std::string_view message);
Answer refusal(const Error& error);  // 400, and 500 for the file system's trouble

class Responder {
 public:
  virtual ~Responder() = default;
  // Where it costs next to nothing: called on the threads that carry all connections. Nothing: ask work_out.
  virtual std::optional<Answer> at_hand(const Request& request) = 0;
  // May take its time; called on worker threads, several at once.
  virtual Answer work_out(const Request& request) = 0;
};

}  // namespace rung::serve
