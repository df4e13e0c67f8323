// What a stranger may send, and how much of it; who may ask; many at once; the end.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "rung/serve/request_rate.h"
#include "tests/serve/live_site.h"

namespace rung::serve::test {
namespace {

using namespace std::chrono_literals;

std::optional<Reply> ask(Wire& wire, const std::string& text) {
  wire.send(text);
  return wire.receive();
}

TEST(Listener, refuses_every_host_but_itself) {
  LiveSite live;
  const auto with_host = [&](const std::string& fields) {
    Wire wire(live.port());
    return ask(wire, "GET /api/health HTTP/1.1\r\n" + fields + "\r\n");
  };
  for (const std::string& host : {std::string("evil.example"), fmt::format("evil.example:{}", live.port()),
                                  std::string("127.0.0.1"), std::string("localhost:1"), std::string("")}) {
    const auto reply = with_host("Host: " + host + "\r\n");
    ASSERT_TRUE(reply) << host;
    EXPECT_EQ(reply->status, 421) << host;
    EXPECT_EQ(reply->body.find("alive"), std::string::npos);
  }
  EXPECT_EQ(with_host("")->status, 400);
  const std::string good = fmt::format("Host: localhost:{}\r\n", live.port());
  EXPECT_EQ(with_host(good + good)->status, 400);
  EXPECT_EQ(with_host(good)->status, 200);
}

TEST(Listener, refuses_pages_of_other_sites) {
  LiveSite live;
  const auto with_field = [&](const std::string& field) {
    Wire wire(live.port());
    return wire.post("/api/bound", R"({"arch": "full"})", field + "\r\n")->status;
  };
  EXPECT_EQ(with_field("Origin: http://evil.example"), 403);
  EXPECT_EQ(with_field("Origin: null"), 403);
  EXPECT_EQ(with_field(fmt::format("Origin: https://127.0.0.1:{}", live.port())), 403);
  EXPECT_EQ(with_field("Sec-Fetch-Site: cross-site"), 403);
  EXPECT_EQ(with_field("Sec-Fetch-Site: Cross-Site"), 403);
  EXPECT_EQ(with_field("Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site"), 403);
  const std::string own = fmt::format("Origin: http://127.0.0.1:{}", live.port());
  EXPECT_EQ(with_field(own + "\r\nOrigin: http://evil.example"), 403);
  EXPECT_EQ(with_field("Origin: http://evil.example\r\n" + own), 403);
  EXPECT_EQ(with_field(own + "\r\n" + own), 200);
  EXPECT_EQ(with_field("Sec-Fetch-Site: same-origin"), 200);
  EXPECT_EQ(with_field(fmt::format("Origin: http://127.0.0.1:{}", live.port())), 200);
}

TEST(Listener, refuses_other_methods) {
  LiveSite live;
  for (const char* method : {"PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT", "FOO"}) {
    Wire wire(live.port());
    const auto reply = ask(wire, wire.head(method, "/api/bound") + "\r\n");
    ASSERT_TRUE(reply) << method;
    EXPECT_EQ(reply->status, 405) << method;
    EXPECT_EQ(reply->fields.at("allow"), "GET, HEAD, POST");
    EXPECT_TRUE(wire.closed_within(5s));
  }
}

TEST(Listener, refuses_what_is_too_large_before_it_has_come) {
  LiveSite live;
  const auto reply_to = [&](const std::string& text) {
    Wire wire(live.port());
    const auto reply = ask(wire, text);
    return reply ? reply->status : 0;
  };
  const std::string host = fmt::format("Host: 127.0.0.1:{}\r\n", live.port());
  for (const char* claimed : {"1048577", "1152921504606846976", "18446744073709551615"})
    EXPECT_EQ(reply_to("POST /api/bound HTTP/1.1\r\n" + host + "Content-Length: " + claimed + "\r\n\r\n"),
              413)
        << claimed;
  for (const char* nonsense : {"-1", "18446744073709551616", "1e3", "1, 2", ""})
    EXPECT_EQ(reply_to("POST /api/bound HTTP/1.1\r\n" + host + "Content-Length: " + nonsense + "\r\n\r\n"),
              400)
        << nonsense;
  std::string chunks;
  for (int k = 0; k < 20; ++k) chunks += "10000\r\n" + std::string(0x10000, ' ') + "\r\n";
  EXPECT_EQ(reply_to("POST /api/bound HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n" + chunks),
            413);
  EXPECT_EQ(reply_to("GET /api/bound?arch=" + std::string(9000, 'x') + " HTTP/1.1\r\n" + host + "\r\n"), 414);
  EXPECT_EQ(reply_to("GET /" + std::string(20'000, 'x') + " HTTP/1.1\r\n" + host + "\r\n"), 431);
  EXPECT_EQ(reply_to("GET / HTTP/1.1\r\n" + host + "X: " + std::string(20'000, 'x') + "\r\n\r\n"), 431);
  std::string fields;
  for (int k = 0; k < 100; ++k) fields += fmt::format("X-{}: y\r\n", k);
  EXPECT_EQ(reply_to("GET / HTTP/1.1\r\n" + host + fields + "\r\n"), 431);
  std::string parameters;
  for (int k = 0; k < 100; ++k) parameters += fmt::format("&a{}=1", k);
  EXPECT_EQ(reply_to("GET /api/bound?" + parameters + " HTTP/1.1\r\n" + host + "\r\n"), 400);
  EXPECT_EQ(reply_to("GET /api/health HTTP/1.1\r\n" + host + "\r\n"), 200);
}

TEST(Listener, takes_a_body_in_chunks_and_one_that_waits_to_be_asked_for) {
  LiveSite live;
  Wire chunked(live.port());
  const auto whole =
      ask(chunked, chunked.head("POST", "/api/bound?task=eva") +
                       "Transfer-Encoding: chunked\r\n\r\n8\r\n{\"arch\":\r\n8\r\n \"full\"}\r\n0\r\n\r\n");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->status, 200) << whole->body;
  Wire patient(live.port());
  EXPECT_EQ(ask(patient, patient.head("POST", "/api/bound?task=eva") +
                             "Content-Length: 16\r\nExpect: 100-continue\r\n\r\n")
                ->status,
            100);
  const auto after = ask(patient, "{\"arch\": \"full\"}");
  ASSERT_TRUE(after);
  EXPECT_EQ(after->body, whole->body);
}

TEST(Listener, ends_a_connection_whose_body_has_no_known_end) {
  LiveSite live;
  for (const char* fields :
       {"Transfer-Encoding: gzip", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: identity", "Transfer-Encoding: xchunked",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5", "Content-Length: 5\r\nContent-Length: 5"}) {
    Wire wire(live.port());
    // What follows would be answered by a server that takes it for the next request.
    const auto reply = ask(wire, wire.head("POST", "/api/bound?task=eva") + fields + "\r\n\r\n" +
                                     wire.head("GET", "/api/health") + "\r\n");
    ASSERT_TRUE(reply) << fields;
    EXPECT_GE(reply->status, 400) << fields;
    EXPECT_EQ(reply->body.find("alive"), std::string::npos) << fields;
    EXPECT_FALSE(wire.receive(false, 2s)) << fields;
    EXPECT_TRUE(wire.closed_within(5s)) << fields;
  }
}

TEST(Listener, answers_pipelined_requests_in_order) {
  LiveSite live;
  Wire wire(live.port());
  std::string text;
  for (const char* target : {"/api/bound?arch=full*2", "/api/health", "/no", "/api/bound?arch=fool"})
    text += wire.head("GET", target) + "\r\n";
  wire.send(text);
  for (const int status : {200, 200, 404, 400}) EXPECT_EQ(wire.receive()->status, status);
}

TEST(Listener, closes_slow_clients_whatever_they_trickle) {
  Limits limits;
  limits.request_time = 300ms;
  LiveSite live(limits);
  Wire silent(live.port()), trickling(live.port()), in_body(live.port());
  in_body.send(in_body.head("POST", "/api/bound") + "Content-Length: 1000\r\n\r\n{");
  std::atomic<bool> done = false;
  std::thread drip([&] {
    trickling.send("GET / HTTP/1.1\r\n");
    while (!done && trickling.send("X: y\r\n")) std::this_thread::sleep_for(20ms);
  });
  EXPECT_TRUE(silent.closed_within(10s));
  EXPECT_TRUE(in_body.closed_within(10s));
  EXPECT_TRUE(trickling.closed_within(10s));
  done = true;
  drip.join();
  Wire quick(live.port());
  EXPECT_EQ(quick.get("/api/health")->status, 200);
}

TEST(Listener, a_client_that_takes_no_answer_is_let_go) {
  Limits limits;
  limits.write_time = 300ms;
  LiveSite live(limits);
  {
    Wire stubborn(live.port());
    std::string many;
    for (int k = 0; k < 60; ++k) many += stubborn.head("GET", "/api/bound?arch=full") + "\r\n";
    for (int k = 0; k < 20; ++k) stubborn.send(many);  // 1,200 answers of 15 kB, none of them read
    for (int k = 0; k < 500 && live.listener->connections() > 0; ++k) std::this_thread::sleep_for(20ms);
    EXPECT_EQ(live.listener->connections(), 0u);
  }
  EXPECT_EQ(Wire(live.port()).get("/api/health")->status, 200);
}

TEST(Listener, beyond_its_connections_answers_503_and_recovers) {
  Limits limits;
  limits.connections = 4;
  LiveSite live(limits);
  {
    std::vector<std::unique_ptr<Wire>> held;
    for (int k = 0; k < 4; ++k) {
      held.push_back(std::make_unique<Wire>(live.port()));
      ASSERT_EQ(held.back()->get("/api/health")->status, 200);
    }
    Wire fifth(live.port());
    const auto reply = fifth.get("/api/health");
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 503);
    EXPECT_EQ(reply->fields.at("retry-after"), "1");
    EXPECT_EQ(held[0]->get("/api/health")->status, 200);
  }
  for (int k = 0; k < 500 && live.listener->connections() > 0; ++k) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(Wire(live.port()).get("/api/health")->status, 200);
}

TEST(Listener, closes_a_connection_after_its_requests) {
  Limits limits;
  limits.requests_per_connection = 3;
  LiveSite live(limits);
  Wire wire(live.port());
  for (int k = 0; k < 3; ++k) EXPECT_EQ(wire.get("/api/health")->status, 200);
  EXPECT_TRUE(wire.closed_within(5s));
}

TEST(Listener, too_many_requests_of_one_address_are_429) {
  Limits limits;
  limits.burst = 5;
  limits.requests_per_second = 1e-3;
  LiveSite live(limits);
  for (int k = 0; k < 5; ++k) EXPECT_EQ(Wire(live.port()).get("/api/health")->status, 200);
  EXPECT_EQ(Wire(live.port()).get("/api/health")->status, 429);
}

TEST(RequestRate, fills_with_time_and_never_above_its_burst) {
  RequestRate rate(10, 3);
  const RequestRate::Clock::time_point start{};
  for (int k = 0; k < 3; ++k) EXPECT_TRUE(rate.admit("a", start));
  EXPECT_FALSE(rate.admit("a", start));
  EXPECT_TRUE(rate.admit("b", start));
  EXPECT_TRUE(rate.admit("a", start + 100ms));
  EXPECT_FALSE(rate.admit("a", start + 100ms));
  for (int k = 0; k < 3; ++k) EXPECT_TRUE(rate.admit("a", start + 10s));
  EXPECT_FALSE(rate.admit("a", start + 10s));
}

TEST(Listener, fifty_clients_at_once_get_their_own_answers) {
  LiveSite live;
  constexpr int kClients = 50, kRounds = 40;
  std::atomic<int> right = 0;
  std::vector<std::thread> clients;
  for (int c = 0; c < kClients; ++c)
    clients.emplace_back([&, c] {
      Wire wire(live.port());
      for (int k = 0; k < kRounds; ++k) {
        const int context = 64 + (c * 7 + k) % 16;
        const auto reply = wire.get(fmt::format("/api/bound?arch=full&task=eva&context={}", context));
        if (reply && reply->status == 200 && nlohmann::json::parse(reply->body)["context"] == context)
          ++right;
      }
    });
  for (auto& client : clients) client.join();
  EXPECT_EQ(right, kClients * kRounds);
}

// Answers when it is told to: a request that is under way for as long as a test wants.
class Gate final : public Responder {
 public:
  std::optional<Answer> at_hand(const Request&) override { return std::nullopt; }
  Answer work_out(const Request&) override {
    ++entered;
    while (!open) std::this_thread::sleep_for(1ms);
    return refusal(418, "through");
  }
  std::atomic<int> entered = 0;
  std::atomic<bool> open = false;
};

TEST(Listener, at_the_end_finishes_what_is_under_way_and_closes_what_is_idle) {
  Gate gate;
  auto listener = Listener::open({.port = 0}, gate);
  ASSERT_TRUE(listener);
  const int port = (*listener)->port();
  Wire idle(port), busy(port);
  busy.send(busy.head("GET", "/") + "\r\n");
  while (gate.entered == 0) std::this_thread::sleep_for(1ms);
  std::thread opening([&] {
    std::this_thread::sleep_for(100ms);
    gate.open = true;
  });
  EXPECT_TRUE((*listener)->stop());
  opening.join();
  const auto reply = busy.receive();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 418);
  EXPECT_EQ(reply->fields.at("connection"), "close");
  EXPECT_TRUE(idle.closed_within(5s));
  EXPECT_FALSE(Wire(port).connected());
}

TEST(Listener, ends_under_load) {
  auto live = std::make_unique<LiveSite>();
  const int port = live->port();
  std::atomic<bool> done = false;
  std::atomic<int> whole = 0, torn = 0;
  std::vector<std::thread> clients;
  for (int c = 0; c < 16; ++c)
    clients.emplace_back([&] {
      while (!done) {
        Wire wire(port);
        while (wire.connected() && !done) {
          const auto reply = wire.get("/api/bound?arch=full&task=eva");
          if (!reply) break;
          if (reply->status == 200 && reply->body.ends_with("}\n"))
            ++whole;
          else
            ++torn;
        }
      }
    });
  while (whole < 200) std::this_thread::sleep_for(1ms);
  live.reset();
  done = true;
  for (auto& client : clients) client.join();
  EXPECT_EQ(torn, 0);
}

TEST(Listener, a_port_in_use_is_an_error_and_so_is_no_address) {
  Gate gate;
  LiveSite live;
  const auto second = Listener::open({.port = live.port()}, gate);
  ASSERT_FALSE(second);
  EXPECT_EQ(
      second.error().message,
      fmt::format("[serve] port {} of 127.0.0.1 is in use; `port` 0 takes any that is free", live.port()));
  EXPECT_FALSE(Listener::open({.host = "example.org", .port = 0}, gate));
  EXPECT_FALSE(Listener::open({.port = 65536}, gate));
}

}  // namespace
}  // namespace rung::serve::test
