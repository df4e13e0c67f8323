// The socket side of the live page: HTTP/1.1 on one address (Boost.Beast), with everything that a stranger
// sends bounded before it is believed. docs/serve.md is the contract.
//
//   RUNG_TRY(auto listener, Listener::open({.port = 0}, site));
//   ... listener->url() ...
//   listener->stop();
//
// Requests that are whole are handed to the Responder: at_hand on the threads that carry connections,
// work_out on as many workers as there are cores, so that a hard question does not stand in the way of easy
// ones.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "rung/base/result.h"
#include "rung/serve/answer.h"

namespace rung::serve {

struct Limits {
  std::size_t body_bytes = std::size_t{1} << 20;
  std::uint32_t header_bytes = 16384;  // request line and fields together
  std::size_t header_fields = 64;
  std::size_t target_bytes = 8192;
  std::size_t connections = 128;  // more are answered 503 and closed; twice as many are closed at once
  std::size_t requests_per_connection = 100'000;  // then the connection closes
  double requests_per_second = 50'000;            // of one address, over `burst`
  double burst = 1'000'000;
  std::chrono::milliseconds request_time{15'000};  // for a whole request, waiting for its first byte included
  std::chrono::milliseconds write_time{10'000};    // for a whole answer
  std::chrono::milliseconds refusal_time{1'000};   // for a connection that is being closed
  std::chrono::milliseconds grace{2'000};          // at the end, for requests under way
};

struct ListenOptions {
  std::string host = "127.0.0.1";  // an address in digits, or localhost
  std::int64_t port = 8017;        // 0: any that is free
  Limits limits = {};
  bool verbose = false;  // a line a request on standard error
};

class Listener {
 public:
  // REQUIRES: responder outlives the listener. Errors: no such address, a port that is in use.
  static Result<std::unique_ptr<Listener>> open(const ListenOptions& options, Responder& responder);
  virtual ~Listener() = default;  // stops

  virtual std::uint16_t port() const = 0;
  virtual bool loopback() const = 0;
  std::string url() const { return url_; }  // "http://127.0.0.1:8017/"

  // Accepts no more, closes idle connections, lets requests under way finish within limits.grace. ENSURES:
  // all threads have ended. Returns whether nothing was cut off. A second call does nothing.
  virtual bool stop() = 0;
  virtual std::size_t connections() const = 0;

 protected:
  std::string url_;
};

}  // namespace rung::serve
