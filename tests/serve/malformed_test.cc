// Ten thousand requests that are none: good ones with a few bytes changed, cut, doubled or torn, and noise.
// The server answers or closes, is as large afterwards as before, and still answers.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "rung/base/random.h"
#include "tests/serve/live_site.h"

namespace rung::serve::test {
namespace {

constexpr int kRequests = 10'000;

std::vector<std::string> good_requests(int port) {
  const std::string host = fmt::format("Host: 127.0.0.1:{}\r\n", port);
  return {"GET / HTTP/1.1\r\n" + host + "\r\n",
          "GET /api/bound?arch=full%2Blinear*2&task=eva&context=256&precision=8 HTTP/1.1\r\n" + host +
              "Accept: */*\r\n\r\n",
          "HEAD /api/health HTTP/1.1\r\n" + host + "Connection: keep-alive\r\n\r\n",
          "GET /api/runs?seen=1 HTTP/1.0\r\n" + host + "\r\n",
          "POST /api/bound?task=eva HTTP/1.1\r\n" + host +
              "Content-Type: application/json\r\nContent-Length: 35\r\n\r\n{\"arch\": \"full+linear\", "
              "\"width\": 32}",
          "POST /api/bound?task=eva HTTP/1.1\r\n" + host +
              "Transfer-Encoding: chunked\r\n\r\n10\r\n{\"arch\": \"full\"}\r\n0\r\n\r\n"};
}

std::string spoiled(std::string text, Random& random) {
  static const std::vector<std::string> kTokens = {"\r\n",
                                                   "\n",
                                                   "\r",
                                                   std::string(1, '\0'),
                                                   "%",
                                                   "%00",
                                                   "%2e%2e/",
                                                   "../",
                                                   ":",
                                                   " ",
                                                   "\t",
                                                   "Content-Length: 5\r\n",
                                                   "Content-Length: -1\r\n",
                                                   "Content-Length: 99999999999999999999\r\n",
                                                   "Transfer-Encoding: chunked\r\n",
                                                   "Transfer-Encoding: gzip, chunked\r\n",
                                                   "Host: x\r\n",
                                                   "Expect: 100-continue\r\n",
                                                   "Upgrade: websocket\r\nConnection: Upgrade\r\n",
                                                   "HTTP/2.0",
                                                   "FFFFFFFFFFFFFFFF\r\n",
                                                   "\xff\xfe",
                                                   "((((((((",
                                                   "full*99999",
                                                   "&",
                                                   "=",
                                                   "?",
                                                   "#",
                                                   "{",
                                                   "\"",
                                                   std::string(300, 'A')};
  const std::uint64_t changes = 1 + random.below(4);
  for (std::uint64_t k = 0; k < changes && !text.empty(); ++k) {
    const std::size_t at = random.below(text.size());
    switch (random.below(6)) {
      case 0:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        text.erase(at, 1 + random.below(8));
        break;
      case 2:
        text.insert(at, kTokens[random.below(kTokens.size())]);
        break;
      case 3:
        text.resize(at);
        break;
      case 4:
        text.insert(at, text.substr(0, random.below(text.size()) + 1));
        break;
      default:
        text.insert(at, 1, static_cast<char>(random.below(32)));
        break;
    }
  }
  return text;
}

std::string noise(Random& random) {
  std::string text(random.below(600), ' ');
  for (char& c : text) c = static_cast<char>(random.below(256));
  return text;
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t whole = 0, resident = 0;
  file >> whole >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(Malformed, ten_thousand_requests_leave_the_server_as_it_was) {
  using namespace std::chrono_literals;
  Limits limits;
  limits.refusal_time = 200ms;
  LiveSite live(limits);
  const auto good = good_requests(live.port());
  Random random(20261115);
  int answered = 0, closed = 0;
  std::size_t before = 0;
  for (int k = 0; k < kRequests; ++k) {
    Wire wire(live.port());
    ASSERT_TRUE(wire.connected()) << "after " << k;
    wire.send(k % 5 == 4 ? noise(random) : spoiled(good[static_cast<std::size_t>(k) % good.size()], random));
    if (k % 3 != 2) {  // every third goes away without waiting
      wire.half_close();
      if (const auto reply = wire.receive(false, 10s)) {
        ++answered;
        EXPECT_TRUE(reply->status >= 100 && reply->status < 600) << reply->status;
        EXPECT_LT(reply->status == 500, 1) << reply->body;
      } else {
        ++closed;
      }
    }
    if (k == kRequests / 5) before = resident_bytes();
  }
  EXPECT_GT(answered, kRequests / 10);
  EXPECT_GT(closed, 0);
  // What is remembered of bounds may have grown; nothing else.
  const std::size_t after = resident_bytes();
  RecordProperty(
      "grown_kilobytes",
      static_cast<int>((static_cast<std::int64_t>(after) - static_cast<std::int64_t>(before)) / 1024));
#ifndef __SANITIZE_ADDRESS__  // which keeps freed memory
  EXPECT_LT(after, before + (std::size_t{16} << 20));
#endif
  const auto reply = Wire(live.port()).get("/api/bound?arch=full");
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 200);
  for (int k = 0; k < 500 && live.listener->connections() > 0; ++k) std::this_thread::sleep_for(20ms);
  EXPECT_EQ(live.listener->connections(), 0u);
}

// Lines and documents that are nearly right: every one is an answer or one line of complaint.
TEST(Malformed, spoiled_architectures_and_configurations_are_answered_in_one_line) {
  Site site({});
  Random random(7);
  const std::vector<std::string> lines = {
      "(gdelta(form=plain)*3+full)*2", "heads(full:2,delta(vdim=8,form=plain):2)",
      "loglinear(base=mamba2,form=plain)+sparse(B=16,k=4,window=8,form=plain)",
      "linear(phi=taylor2)*2+topk(k=4,form=plain)"};
  const std::string document =
      R"({"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 256, "num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 512, "vocab_size": 1000, "max_position_embeddings": 2048, "torch_dtype": "bfloat16"})";
  const std::string letters = "abdefghilmnorstux0123456789()*+=:,.-^\"{}[] ";
  int refused = 0;
  for (int k = 0; k < 3000; ++k) {
    const bool posted = k % 3 == 2;
    std::string text = posted ? document : lines[static_cast<std::size_t>(k) % lines.size()];
    for (std::uint64_t change = random.below(4); change > 0; --change)
      text[random.below(text.size())] = letters[random.below(letters.size())];
    std::string target =
        fmt::format("/api/bound?task={}&context={}", k % 2 ? "eva" : "two-sum", random.below(1 << 20));
    if (!posted) {
      target += "&arch=";
      for (const char c : text) target += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    const Answer answer = site.work_out({.posted = posted, .target = target, .body = posted ? text : ""});
    ASSERT_TRUE(answer.status == 200 || answer.status == 400) << text;
    if (answer.status == 200) continue;
    ++refused;
    const std::string message = nlohmann::json::parse(*answer.body)["message"];
    EXPECT_TRUE(message.starts_with("[")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  EXPECT_GT(refused, 500);
  EXPECT_LT(refused, 2900);
}

}  // namespace
}  // namespace rung::serve::test
