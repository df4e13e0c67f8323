// Bytes between ranks, in order between any two of them. One implementation stands on MPI, in a module that
// is loaded only where a launcher started several ranks; tests pass messages between threads.
#pragma once

#include <optional>
#include <string>

namespace rung {

// Used by one thread, the one that made it.
class Transport {
 public:
  struct Incoming {
    int from = 0;
    std::string bytes;
  };

  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual int rank() const = 0;
  virtual int count() const = 0;
  // Never waits for the other side. To a rank that is no more: into the void.
  virtual void send(int to, std::string bytes) = 0;
  virtual std::optional<Incoming> poll() = 0;
  // Nothing is sent or polled afterwards. `orderly`: every rank is there and closes too; waits until what was
  // sent has left.
  virtual void close(bool orderly) = 0;
};

}  // namespace rung
