// Ranks as threads of one process: messages through queues, and a rank that can fall silent.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "rung/ranks/ranks.h"
#include "rung/ranks/transport.h"

namespace rung {

struct PostOffice {
  explicit PostOffice(int count)
      : boxes(static_cast<std::size_t>(count)), silent(static_cast<std::size_t>(count)) {}
  std::mutex guard;
  std::vector<std::deque<Transport::Incoming>> boxes;
  std::vector<std::atomic<bool>> silent;  // sends and receives nothing any more
};

class ThreadTransport : public Transport {
 public:
  ThreadTransport(PostOffice& office, int rank) : office_(office), rank_(rank) {}
  int rank() const override { return rank_; }
  int count() const override { return static_cast<int>(office_.boxes.size()); }
  void send(int to, std::string bytes) override {
    if (office_.silent[static_cast<std::size_t>(rank_)]) return;
    const std::lock_guard lock(office_.guard);
    office_.boxes[static_cast<std::size_t>(to)].push_back({rank_, std::move(bytes)});
  }
  std::optional<Incoming> poll() override {
    const std::lock_guard lock(office_.guard);
    auto& box = office_.boxes[static_cast<std::size_t>(rank_)];
    if (box.empty() || office_.silent[static_cast<std::size_t>(rank_)]) return std::nullopt;
    Incoming message = std::move(box.front());
    box.pop_front();
    return message;
  }
  void close(bool) override {}

 private:
  PostOffice& office_;
  int rank_;
};

inline std::unique_ptr<Ranks> rank_of(PostOffice& office, int rank, double silence = 30) {
  return std::move(*Ranks::make(
      [&office, rank]() -> Result<std::unique_ptr<Transport>> {
        return std::unique_ptr<Transport>(new ThreadTransport(office, rank));
      },
      silence));
}

}  // namespace rung
