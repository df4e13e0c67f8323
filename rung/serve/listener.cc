#include "rung/serve/listener.h"

#define BOOST_ASIO_NO_DEPRECATED
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "rung/base/nearest_word.h"
#include "rung/base/parallel.h"
#include "rung/serve/content_policy.h"
#include "rung/serve/request_rate.h"
#include "rung/serve/same_site.h"

namespace rung::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kMethods = "GET, HEAD, POST";

class Connection;

// What all connections share.
struct Shared {
  const ListenOptions options;
  Responder& responder;
  asio::thread_pool& workers;
  RequestRate rate;
  std::uint16_t port = 0;
  std::atomic<bool> stopping = false;
  std::mutex guard;
  std::condition_variable emptied;
  std::set<Connection*> connections;

  std::size_t count() {
    const std::lock_guard lock(guard);
    return connections.size();
  }
};

// One connection. Everything runs on its strand; the parts: read a header, judge it, read the body, answer,
// again.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, std::shared_ptr<Shared> shared, bool crowded)
      : stream_(std::move(socket)), shared_(std::move(shared)), crowded_(crowded) {
    boost::system::error_code error;
    const auto here = stream_.socket().local_endpoint(error);
    if (!error) local_ = here.address().to_string();
    const auto there = stream_.socket().remote_endpoint(error);
    if (!error) remote_ = there.address().to_string();
    stream_.socket().set_option(tcp::no_delay(true), error);
    const std::lock_guard lock(shared_->guard);
    shared_->connections.insert(this);
  }
  ~Connection() {
    const std::lock_guard lock(shared_->guard);
    shared_->connections.erase(this);
    if (shared_->connections.empty()) shared_->emptied.notify_all();
  }

  void start() {
    asio::dispatch(stream_.get_executor(), [self = shared_from_this()] { self->read_header(); });
  }
  // The server ends: a connection between requests closes, one with a request under way does so after its
  // answer.
  void end() {
    asio::post(stream_.get_executor(), [self = shared_from_this()] {
      if (!self->busy_) self->close();
    });
  }

 private:
  const Limits& limits() const { return shared_->options.limits; }

  void read_header() {
    if (shared_->stopping) return close();
    parser_.emplace();
    parser_->header_limit(limits().header_bytes);
    parser_->body_limit(limits().body_bytes);
    // One deadline for the whole request: a client that sends a byte now and then does not stay.
    stream_.expires_after(crowded_ ? limits().refusal_time : limits().request_time);
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](beast::error_code error, std::size_t) { self->on_header(error); });
  }

  void on_header(beast::error_code error) {
    if (error) return on_error(error);
    began_ = Clock::now();
    if (crowded_) {
      Answer answer = refusal(503, "[serve] too many connections; try again");
      answer.headers.push_back({"Retry-After", "1"});
      return refuse(std::move(answer));
    }
    const auto& header = parser_->get();
    if (auto reason = judge(header)) return refuse(std::move(*reason));
    if (beast::iequals(header[http::field::expect], "100-continue")) {
      continue_.version(11);
      continue_.result(http::status::continue_);
      return http::async_write(stream_, continue_,
                               [self = shared_from_this()](beast::error_code problem, std::size_t) {
                                 if (!problem) self->read_body();
                               });
    }
    read_body();
  }

  // Everything that can be said before the body is read.
  std::optional<Answer> judge(const http::request<http::string_body>& header) {
    if (const auto fields = std::distance(header.begin(), header.end());
        static_cast<std::size_t>(fields) > limits().header_fields)
      return refusal(431, fmt::format("[serve] more than {} header fields", limits().header_fields));
    if (header.target().size() > limits().target_bytes)
      return refusal(414, fmt::format("[serve] more than {} bytes of path and query; POST takes a document",
                                      limits().target_bytes));
    if (header.count(http::field::host) != 1) return refusal(400, "[serve] expected one Host field");
    const auto text = [&](auto field) {
      return std::string_view(header[field].data(), header[field].size());
    };
    const SameSite same{.bound = shared_->options.host, .local = local_, .port = shared_->port};
    if (!same.is_host(text(http::field::host)))
      return refusal(421, fmt::format("[serve] this is not {}; expected {}",
                                      rung::quoted(text(http::field::host)), same.expected()));
    // A field that comes twice is judged twice.
    const auto any = [&](auto field, auto&& wrong) {
      const auto [first, last] = header.equal_range(field);
      return std::any_of(first, last, [&](const auto& one) {
        return wrong(std::string_view(one.value().data(), one.value().size()));
      });
    };
    if (any(http::field::origin, [&](std::string_view origin) { return !same.is_origin(origin); }) ||
        (header.target() != "/" && any("Sec-Fetch-Site", [](std::string_view site) {
           return beast::iequals(beast::string_view(site.data(), site.size()), "cross-site");
         })))
      return refusal(403, "[serve] request from another origin refused");
    // Where a body ends that is coded in another way, or said to end in two ways, cannot be known.
    if (any(http::field::transfer_encoding, [](std::string_view coding) {
          return !beast::iequals(beast::string_view(coding.data(), coding.size()), "chunked");
        }))
      return refusal(501, "[serve] an unknown Transfer-Encoding; expected chunked, or a Content-Length");
    if (header.count(http::field::transfer_encoding) + header.count(http::field::content_length) > 1)
      return refusal(400, "[serve] expected one Transfer-Encoding or one Content-Length");
    const auto method = header.method();
    if (method != http::verb::get && method != http::verb::head && method != http::verb::post) {
      Answer answer = refusal(405, fmt::format("[serve] expected {}", kMethods));
      answer.headers.push_back({"Allow", std::string(kMethods)});
      return answer;
    }
    if (!shared_->rate.admit(remote_)) {
      Answer answer = refusal(429, "[serve] too many requests; try again");
      answer.headers.push_back({"Retry-After", "1"});
      return answer;
    }
    return std::nullopt;
  }

  void read_body() {
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code error, std::size_t) {
                       if (error) return self->on_error(error);
                       self->on_request();
                     });
  }

  void on_request() {
    auto message = parser_->release();
    head_ = message.method() == http::verb::head;
    keep_alive_ = message.keep_alive() && ++requests_ < limits().requests_per_connection;
    target_ = std::string(message.target());
    busy_ = true;
    Request request{
        .posted = message.method() == http::verb::post, .target = target_, .body = std::move(message.body())};
    stream_.expires_never();
    if (auto answer = shared_->responder.at_hand(request)) return write(std::move(*answer));
    asio::post(shared_->workers, [self = shared_from_this(), request = std::move(request)] {
      Answer answer;
      try {
        answer = self->shared_->responder.work_out(request);
      } catch (const std::bad_alloc&) {
        answer = refusal(503, "[memory] the answer needs more memory than there is");
      } catch (const std::exception& exception) {
        answer = refusal(500, fmt::format("[serve] {}", exception.what()));
      }
      asio::post(self->stream_.get_executor(),
                 [self, answer = std::move(answer)]() mutable { self->write(std::move(answer)); });
    });
  }

  void on_error(beast::error_code error) {
    busy_ = false;
    const bool ours = error.category() == make_error_code(http::error::end_of_stream).category();
    if (!ours || error == http::error::end_of_stream || error == http::error::partial_message) return close();
    began_ = Clock::now();
    if (error == http::error::body_limit)
      return refuse(refusal(413, fmt::format("[serve] a body of more than {} bytes", limits().body_bytes)));
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      return refuse(
          refusal(431, fmt::format("[serve] a header of more than {} bytes", limits().header_bytes)));
    refuse(refusal(400, fmt::format("[serve] no HTTP request: {}", error.message())));
  }

  // An answer to a request that was not read to its end: nothing after it can be understood.
  void refuse(Answer answer) {
    keep_alive_ = false;
    head_ = parser_ && parser_->is_header_done() && parser_->get().method() == http::verb::head;
    target_.clear();
    busy_ = true;
    write(std::move(answer));
  }

  void write(Answer answer) {
    if (shared_->stopping) keep_alive_ = false;
    answer_ = std::move(answer);
    response_ = {};
    response_.version(11);
    response_.result(static_cast<unsigned>(answer_.status));
    response_.set(http::field::content_type, answer_.type);
    response_.set("X-Content-Type-Options", "nosniff");
    response_.set("Referrer-Policy", "no-referrer");
    response_.set("Cross-Origin-Resource-Policy", "same-origin");
    response_.set("X-Frame-Options", "DENY");
    response_.set(http::field::cache_control, "no-store");
    response_.set("Content-Security-Policy", kNoContentPolicy);
    for (const auto& [name, value] : answer_.headers) response_.set(name, value);
    response_.keep_alive(keep_alive_);
    response_.content_length(answer_.body->size());
    if (!head_) response_.body() = {answer_.body->data(), answer_.body->size()};
    stream_.expires_after(limits().write_time);
    http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code error, std::size_t) {
      self->on_written(error);
    });
  }

  void on_written(beast::error_code error) {
    busy_ = false;
    if (shared_->options.verbose)
      fmt::print(stderr, "{} {} {} {:.1f} ms\n", remote_, answer_.status,
                 target_.empty() ? "-" : rung::quoted(target_),
                 std::chrono::duration<double, std::milli>(Clock::now() - began_).count());
    answer_ = {};
    if (error) return close();
    if (keep_alive_) return read_header();
    boost::system::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(limits().refusal_time);
    drain();
  }

  // Bytes that came and were not read would make the kernel reset the connection before the answer is read.
  void drain() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(4096),
                            [self = shared_from_this()](beast::error_code error, std::size_t bytes) {
                              self->drained_ += bytes;
                              if (error || self->drained_ > 4 * self->limits().body_bytes)
                                return self->close();
                              self->drain();
                            });
  }

  void close() {
    boost::system::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
  }

  beast::tcp_stream stream_;
  std::shared_ptr<Shared> shared_;
  const bool crowded_;
  std::string local_, remote_, target_;
  beast::flat_buffer buffer_{std::size_t{1} << 17};
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::empty_body> continue_;
  http::response<http::span_body<char const>> response_;
  Answer answer_;
  Clock::time_point began_;
  std::size_t requests_ = 0, drained_ = 0;
  bool busy_ = false, head_ = false, keep_alive_ = false;
};

class BeastListener final : public Listener {
 public:
  BeastListener(const ListenOptions& options, Responder& responder)
      : workers_(static_cast<std::size_t>(worker_count())),
        shared_(new Shared{options, responder, workers_,
                           RequestRate(options.limits.requests_per_second, options.limits.burst)}),
        acceptor_(asio::make_strand(context_)),
        pause_(acceptor_.get_executor()) {}
  ~BeastListener() override { stop(); }

  Result<void> start() {
    const ListenOptions& options = shared_->options;
    if (options.port < 0 || options.port > 65535)
      return fail(ErrorCode::range, "[serve] `port` {}; expected 0 to 65535", options.port);
    boost::system::error_code error;
    const auto address =
        asio::ip::make_address(options.host == "localhost" ? "127.0.0.1" : options.host, error);
    if (error)
      return fail(ErrorCode::parse,
                  "[serve] `host` {} is not an address; expected digits such as 127.0.0.1, ::1 or 0.0.0.0",
                  rung::quoted(options.host));
    const tcp::endpoint endpoint(address, static_cast<std::uint16_t>(options.port));
    const auto listen = [&] {
      acceptor_.open(endpoint.protocol(), error);
      if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
      if (!error) acceptor_.bind(endpoint, error);
      if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    };
    listen();
    if (error == asio::error::address_in_use)
      return fail(ErrorCode::io, "[serve] port {} of {} is in use; `port` 0 takes any that is free",
                  options.port, options.host);
    if (error)
      return fail(ErrorCode::io, "[serve] cannot listen at {} port {}: {}", options.host, options.port,
                  error.message());
    const auto here = acceptor_.local_endpoint(error);
    shared_->port = here.port();
    loopback_ = address.is_loopback();
    const std::string shown =
        address.is_v6() ? fmt::format("[{}]", address.to_string()) : address.to_string();
    url_ = fmt::format("http://{}:{}/", shown, shared_->port);
    asio::dispatch(acceptor_.get_executor(), [this] { accept(); });
    for (int k = 0; k < std::max(2, worker_count()); ++k) threads_.emplace_back([this] { context_.run(); });
    return {};
  }

  std::uint16_t port() const override { return shared_->port; }
  bool loopback() const override { return loopback_; }
  std::size_t connections() const override { return shared_->count(); }

  bool stop() override {
    if (shared_->stopping.exchange(true)) return true;
    bool finished = true;
    if (!threads_.empty()) {
      asio::post(acceptor_.get_executor(), [this] {
        boost::system::error_code ignored;
        acceptor_.close(ignored);
        pause_.cancel();
      });
      std::unique_lock lock(shared_->guard);
      for (Connection* connection : shared_->connections)
        if (auto alive = connection->weak_from_this().lock()) kept_.push_back(std::move(alive));
      lock.unlock();
      for (const auto& connection : kept_) connection->end();
      kept_.clear();
      lock.lock();
      finished = shared_->emptied.wait_for(lock, shared_->options.limits.grace,
                                           [&] { return shared_->connections.empty(); });
      lock.unlock();
    }
    context_.stop();
    workers_.stop();
    for (auto& thread : threads_) thread.join();
    workers_.join();
    return finished;
  }

 private:
  void accept() {
    acceptor_.async_accept(
        asio::make_strand(context_), [this](boost::system::error_code error, tcp::socket socket) {
          if (shared_->stopping) return;
          if (error) {  // no descriptors left, or a client that is gone already
            pause_.expires_after(std::chrono::milliseconds(20));
            pause_.async_wait([this](boost::system::error_code) {
              if (!shared_->stopping) accept();
            });
            return;
          }
          const std::size_t others = shared_->count(), most = shared_->options.limits.connections;
          if (others < 2 * most)
            std::make_shared<Connection>(std::move(socket), shared_, others >= most)->start();
          accept();
        });
  }

  asio::io_context context_;
  // A request that a worker has is no work of the context: without this its threads would leave.
  asio::executor_work_guard<asio::io_context::executor_type> open_ = asio::make_work_guard(context_);
  asio::thread_pool workers_;
  std::shared_ptr<Shared> shared_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::vector<std::thread> threads_;
  std::vector<std::shared_ptr<Connection>> kept_;
  bool loopback_ = false;
};

}  // namespace

Result<std::unique_ptr<Listener>> Listener::open(const ListenOptions& options, Responder& responder) {
  auto listener = std::make_unique<BeastListener>(options, responder);
  RUNG_CHECK(listener->start());
  return std::unique_ptr<Listener>(std::move(listener));
}

}  // namespace rung::serve
