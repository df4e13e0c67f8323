// Routes and what they answer; the bound explorer against the library's own document.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "rung/serve/content_policy.h"
#include "rung/serve/same_site.h"
#include "tests/serve/live_site.h"

namespace rung::serve::test {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return out;
}
std::string configuration(const std::string& name) {
  std::ifstream file(std::string(RUNG_SOURCE_DIR) + "/rung/released/configs/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}
std::string message_of(const std::optional<Reply>& reply) {
  return reply ? nlohmann::json::parse(reply->body).value("message", "") : "no reply";
}

TEST(Site, refuses_what_is_no_route) {
  LiveSite live;
  Wire wire(live.port());
  for (const char* target : {"/x", "/index.html", "/..", "/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
                             "/api", "/api/", "/api/bound/", "//api/bound", "/api/../api/health",
                             "/%61pi/health", "/api/health%00", "/./", "/api\\health", "*"}) {
    const auto reply = wire.get(target);
    ASSERT_TRUE(reply) << target;
    EXPECT_EQ(reply->status, 404) << target;
    EXPECT_EQ(nlohmann::json::parse(reply->body)["schema"], "rung.error/1") << target;
    EXPECT_EQ(reply->body.find("root:"), std::string::npos);
  }
}

TEST(Site, answers_its_routes_with_documents_that_name_their_schema) {
  LiveSite live;
  Wire wire(live.port());
  for (const auto& [target, schema] : {std::pair{"/api/health", "rung.health/1"},
                                       {"/api/report.json", "rung.report/2"},
                                       {"/api/runs", "rung.live/1"},
                                       {"/api/bound?arch=full", "rung.bound/2"}}) {
    const auto reply = wire.get(target);
    ASSERT_TRUE(reply) << target;
    EXPECT_EQ(reply->status, 200) << target;
    EXPECT_EQ(nlohmann::json::parse(reply->body)["schema"], schema);
    EXPECT_EQ(reply->fields.at("content-type"), "application/json");
    EXPECT_EQ(reply->fields.at("x-content-type-options"), "nosniff");
    EXPECT_EQ(reply->fields.at("referrer-policy"), "no-referrer");
    EXPECT_EQ(reply->fields.at("cache-control"), "no-store");
    EXPECT_TRUE(reply->fields.contains("content-security-policy"));
    EXPECT_FALSE(reply->fields.contains("access-control-allow-origin"));
  }
  const auto page = wire.get("/");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->fields.at("content-type"), "text/html; charset=utf-8");
  EXPECT_NE(page->fields.at("content-security-policy")
                .find("script-src 'sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s='"),
            std::string::npos)
      << page->fields.at("content-security-policy");
}

TEST(Site, answers_head_with_the_header_of_get) {
  LiveSite live;
  Wire wire(live.port());
  const auto whole = wire.get("/api/bound?arch=full");
  wire.send(wire.head("HEAD", "/api/bound?arch=full") + "\r\n");
  const auto head = wire.receive(true);
  ASSERT_TRUE(whole && head);
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(head->fields.at("content-length"), std::to_string(whole->body.size()));
  EXPECT_EQ(wire.get("/api/health")->status, 200);  // nothing of a body stands in the way
}

TEST(Site, bounds_are_those_of_the_library_byte_for_byte) {
  LiveSite live;
  Wire wire(live.port());
  const char* lines[] = {"full",
                         "linear",
                         "full+linear",
                         "linear+full",
                         "(gdelta(form=plain)*3+full)*2",
                         "mamba2(form=plain)*4",
                         "loglinear",
                         "sparse(B=16,k=4,form=plain)",
                         "heads(full:1,linear:1)",
                         "full*3"};
  for (const std::string line : lines)
    for (const std::string task : {"all", "eva", "two-sum", "seqcomp", "mqar"}) {
      BoundQuery query{.task = task};
      query.architecture.line = line;
      query.architecture.context = 512;
      query.architecture.precision = "8";
      const auto chosen = query.architecture.choose_line();
      ASSERT_TRUE(chosen) << line << ": " << chosen.error().message;
      const auto report = answer_query(query, *chosen);
      ASSERT_TRUE(report) << report.error().message;
      const auto target =
          fmt::format("/api/bound?arch={}&task={}&context=512&precision=8", escaped(line), task);
      for (int again = 0; again < 2; ++again) {  // worked out, then remembered
        const auto reply = wire.get(target);
        ASSERT_TRUE(reply);
        EXPECT_EQ(reply->body, bound_document(*report).dump(2) + "\n") << line << " " << task;
      }
    }
}

TEST(Site, takes_a_configuration_or_an_architecture_document_as_the_body) {
  LiveSite live;
  Wire wire(live.port());
  const auto released = wire.post("/api/bound?context=131072&task=eva", configuration("qwen3.5-27b.json"));
  ASSERT_TRUE(released);
  EXPECT_EQ(released->status, 200) << released->body;
  EXPECT_EQ(nlohmann::json::parse(released->body)["layers"], 64);
  const auto ours =
      wire.post("/api/bound?width=32", R"({"arch": "full+linear", "heads": 2, "precision": "8"})");
  const auto line = wire.get("/api/bound?arch=full%2Blinear&width=32&heads=2&precision=8");
  ASSERT_TRUE(ours && line);
  EXPECT_EQ(ours->body, line->body);
  EXPECT_EQ(message_of(wire.post("/api/bound?width=32", configuration("qwen3.5-27b.json"))).substr(0, 37),
            "[arguments] `width` beside a configur");
  EXPECT_EQ(wire.post("/api/bound?arch=full", "{}")->status, 400);
  EXPECT_EQ(wire.post("/api/bound", "{\"arch\": 7")->status, 400);
  EXPECT_EQ(wire.post("/api/bound", std::string(100'000, '['))->status, 400);
  EXPECT_EQ(wire.post("/api/health", "{}")->status, 405);
}

TEST(Site, errors_are_the_lines_of_the_command_line) {
  LiveSite live;
  Wire wire(live.port());
  const std::pair<const char*, const char*> cases[] = {
      {"/api/bound?arch=fool", "[arch] unknown mixer \"fool\" at column 1; did you mean \"full\"?"},
      {"/api/bound", "[bound] no architecture; expected arch=linear+full*2, or a config.json as the body"},
      {"/api/bound?arch=full&contxt=4", "[serve] unknown parameter \"contxt\"; did you mean \"context\"?"},
      {"/api/bound?arch=full&context=4k", "[serve] context = \"4k\"; expected a whole number"},
      {"/api/bound?arch=full&context=99999999999999999999",
       "[serve] context = \"99999999999999999999\"; expected a whole number"},
      {"/api/bound?arch=full&context=-1", "[arguments] `context` -1 is outside 1..2147483648"},
      {"/api/bound?arch=full&context=1152921504606846976",
       "[arguments] `context` 1152921504606846976 is outside 1..2147483648"},
      {"/api/bound?arch=full&task=evil", "[task] unknown task \"evil\"; did you mean \"eva\"?"},
      {"/api/bound?arch=full&task=/etc/task.json",
       "[serve] task = \"/etc/task.json\" is a file; expected a word"},
      {"/api/bound?arch=full&task=..%2Ftask.json",
       "[serve] task = \"../task.json\" is a file; expected a word"},
      {"/api/bound?arch=full&task=group&n=3&name=table.json",
       "[serve] name = \"table.json\" is a file; expected a word"},
      {"/api/bound?arch=full&arch=linear", "[serve] parameter \"arch\" is given twice"},
      {"/api/bound?arch=%zz", "[serve] a percent sign without two digits in the query"},
      {"/api/bound?arch=%00", "[serve] a control character in the query"},
      {"/api/bound?arch=%ff", "[serve] the query is not UTF-8"},
      {"/api/bound?arch=full&config=/etc/passwd", nullptr},
      {"/api/bound?arch=(full*1000000)*1000000", "[arch] more than 100000 layers at column 7"},
      {"/api/bound?arch=full*1025", "[arch] 1025 layers; expected at most 1024 here"},
  };
  for (const auto& [target, message] : cases) {
    const auto reply = wire.get(target);
    ASSERT_TRUE(reply) << target;
    EXPECT_EQ(reply->status, 400) << target;
    if (message)
      EXPECT_EQ(message_of(reply), message) << target;
    else
      EXPECT_TRUE(message_of(reply).starts_with("[serve] unknown parameter")) << message_of(reply);
  }
}

TEST(Site, somebody_who_types_asks_for_errors_that_are_no_failures) {
  LiveSite live;
  Wire wire(live.port());
  const auto strict = wire.get("/api/bound?arch=fool"), lenient = wire.get("/api/bound?arch=fool&lenient=1");
  ASSERT_TRUE(strict && lenient);
  EXPECT_EQ(strict->status, 400);
  EXPECT_EQ(lenient->status, 200);
  EXPECT_EQ(strict->body, lenient->body);
  EXPECT_EQ(wire.get("/api/bound?arch=full&lenient=1")->body, wire.get("/api/bound?arch=full")->body);
  EXPECT_EQ(wire.get("/favicon.ico")->fields.at("content-type"), "image/svg+xml");
}

TEST(Site, an_architecture_that_looks_like_a_file_is_read_as_a_line) {
  LiveSite live;
  Wire wire(live.port());
  for (const std::string& name : {std::string(RUNG_SOURCE_DIR) + "/rung/released/configs/qwen3.5-27b.json",
                                  std::string("../plan.toml")}) {
    const auto reply = wire.get("/api/bound?arch=" + escaped(name));
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 400);
    EXPECT_EQ(message_of(reply).substr(0, 6), "[arch]") << message_of(reply);
  }
}

TEST(SameSite, knows_itself_by_address_and_port_and_nobody_else) {
  const SameSite same{.bound = "0.0.0.0", .local = "192.168.1.7", .port = 8017};
  for (const char* host :
       {"localhost:8017", "LOCALHOST:8017", "127.0.0.1:8017", "[::1]:8017", "192.168.1.7:8017"})
    EXPECT_TRUE(same.is_host(host)) << host;
  for (const char* host : {"", "localhost", "127.0.0.1", "localhost:8018", "evil.example:8017",
                           "localhost.evil.example:8017", "127.0.0.1:8017.evil.example", "127.0.0.1:08017",
                           "localhost:8017 ", "user@localhost:8017", "[::1]", "192.168.1.8:8017"})
    EXPECT_FALSE(same.is_host(host)) << host;
  EXPECT_TRUE(same.is_origin("http://localhost:8017"));
  for (const char* origin : {"null", "", "https://localhost:8017", "http://localhost:8017/",
                             "http://evil.example", "http://localhost:1"})
    EXPECT_FALSE(same.is_origin(origin)) << origin;
  EXPECT_TRUE((SameSite{.bound = "::1", .local = "::1", .port = 80}.is_host("[::1]")));
}

TEST(ContentPolicy, names_the_digest_of_every_script_that_runs) {
  EXPECT_NE(content_policy("<p>").find("script-src 'none'"), std::string::npos);
  const std::string two = content_policy(
      "<script>1</script><script type=\"module\">1</script><script type=\"application/json\" "
      "id=\"d\">{\"a\":1}</script>");
  EXPECT_EQ(std::count(two.begin(), two.end(), '='), 2) << two;
  EXPECT_EQ(two.find("unsafe-eval"), std::string::npos);
}

TEST(ResponseCache, forgets_the_least_recently_used_and_keeps_to_its_bytes) {
  ResponseCache memory(1000);
  const auto text = [](std::size_t size) { return std::make_shared<const std::string>(size, 'x'); };
  EXPECT_EQ(memory.find("a"), nullptr);
  for (const char* key : {"a", "b", "c", "d"}) memory.keep(key, text(240));
  EXPECT_NE(memory.find("a"), nullptr);
  memory.keep("e", text(240));
  EXPECT_EQ(memory.find("b"), nullptr);
  EXPECT_NE(memory.find("a"), nullptr);
  EXPECT_LE(memory.bytes(), 1000u);
  memory.keep("huge", text(300));
  EXPECT_EQ(memory.find("huge"), nullptr);
  EXPECT_EQ(memory.size(), 4u);
}

}  // namespace
}  // namespace rung::serve::test
