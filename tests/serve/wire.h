// A client that says exactly what it is told to, well formed or not.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace rung::serve::test {

struct Reply {
  int status = 0;
  std::map<std::string, std::string> fields;  // names in lower case
  std::string body;
};

class Wire {
 public:
  explicit Wire(int port);
  ~Wire();
  Wire(const Wire&) = delete;

  bool connected() const { return socket_ >= 0; }
  bool send(std::string_view bytes);
  // A whole reply, or nothing if the other side closes or `patience` passes first. `bodiless`: a reply to
  // HEAD.
  std::optional<Reply> receive(bool bodiless = false,
                               std::chrono::milliseconds patience = std::chrono::seconds(20));
  // Whether the other side closes within this time; what it sends until then is thrown away.
  bool closed_within(std::chrono::milliseconds patience);
  void half_close();

  // One request and its reply on this connection.
  std::optional<Reply> get(const std::string& target);
  std::optional<Reply> post(const std::string& target, const std::string& body,
                            const std::string& more_fields = "");
  std::string head(const std::string& method,
                   const std::string& target) const;  // request line and Host, open-ended

 private:
  bool wait(std::chrono::steady_clock::time_point until) const;
  int socket_ = -1, port_ = 0;
  std::string pending_;
};

}  // namespace rung::serve::test
