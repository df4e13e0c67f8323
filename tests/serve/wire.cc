#include "tests/serve/wire.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace rung::serve::test {

Wire::Wire(int port) : port_(port) {
  socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ::close(socket_);
    socket_ = -1;
  }
}
Wire::~Wire() {
  if (socket_ >= 0) ::close(socket_);
}

bool Wire::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void Wire::half_close() { ::shutdown(socket_, SHUT_WR); }

bool Wire::wait(std::chrono::steady_clock::time_point until) const {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
  pollfd watched{socket_, POLLIN, 0};
  return left > 0 && ::poll(&watched, 1, static_cast<int>(left)) > 0;
}

std::optional<Reply> Wire::receive(bool bodiless, std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  char bytes[65536];
  std::size_t end = std::string::npos, length = 0;
  Reply reply;
  while (true) {
    if (end == std::string::npos && (end = pending_.find("\r\n\r\n")) != std::string::npos) {
      end += 4;
      if (pending_.size() > 12) reply.status = std::atoi(pending_.c_str() + 9);
      for (std::size_t at = pending_.find("\r\n") + 2; at + 2 < end;) {
        const std::size_t line_end = pending_.find("\r\n", at), colon = pending_.find(':', at);
        std::string name = pending_.substr(at, colon - at);
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        reply.fields[name] = pending_.substr(colon + 2, line_end - colon - 2);
        at = line_end + 2;
      }
      if (!bodiless && reply.fields.contains("content-length"))
        length = std::stoul(reply.fields["content-length"]);
    }
    if (end != std::string::npos && pending_.size() >= end + length) {
      reply.body = pending_.substr(end, length);
      pending_.erase(0, end + length);
      return reply;
    }
    if (!wait(until)) return std::nullopt;
    const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
    if (got <= 0) return std::nullopt;
    pending_.append(bytes, static_cast<std::size_t>(got));
  }
}

bool Wire::closed_within(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  char bytes[65536];
  while (wait(until))
    if (::recv(socket_, bytes, sizeof bytes, 0) <= 0) return true;
  return false;
}

std::string Wire::head(const std::string& method, const std::string& target) const {
  return fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n", method, target, port_);
}
std::optional<Reply> Wire::get(const std::string& target) {
  if (!send(head("GET", target) + "\r\n")) return std::nullopt;
  return receive();
}
std::optional<Reply> Wire::post(const std::string& target, const std::string& body,
                                const std::string& more_fields) {
  if (!send(fmt::format("{}Content-Length: {}\r\n{}\r\n{}", head("POST", target), body.size(), more_fields,
                        body)))
    return std::nullopt;
  return receive();
}

}  // namespace rung::serve::test
