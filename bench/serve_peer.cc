// The peer of rung serve: cpp-httplib with as many threads as clients, answering one constant text.
// serve_peer PORT FILE
#include <httplib.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

int main(int, char** arguments) {
  std::ifstream file(arguments[2]);
  std::stringstream text;
  text << file.rdbuf();
  const std::string body = text.str();
  httplib::Server server;
  server.new_task_queue = [] { return new httplib::ThreadPool(64); };
  server.set_keep_alive_max_count(1'000'000);
  server.set_tcp_nodelay(true);
  server.Get("/", [&](const httplib::Request&, httplib::Response& answer) {
    answer.set_content(body, "application/json");
  });
  server.listen("127.0.0.1", std::atoi(arguments[1]));
}
