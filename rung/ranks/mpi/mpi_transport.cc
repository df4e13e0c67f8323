// Transport over MPI. Sends are never waited for while the job runs, and errors of one peer are no error of the
// job: with mpirun --enable-recovery the others go on when a rank dies.
#include <mpi.h>

#include <limits>
#include <list>

#include "rung/base/require.h"
#include "rung/ranks/transport.h"

namespace rung {
namespace {

constexpr int kTag = 7;

class MpiTransport : public Transport {
 public:
  MpiTransport() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
  }
  int rank() const override { return rank_; }
  int count() const override { return count_; }

  void send(int to, std::string bytes) override {
    RUNG_REQUIRE(bytes.size() <= std::numeric_limits<int>::max(), "a message of {} bytes", bytes.size());
    Sent& sent = under_way_.emplace_back();
    sent.bytes = std::move(bytes);
    const int code = MPI_Isend(sent.bytes.data(), static_cast<int>(sent.bytes.size()), MPI_BYTE, to, kTag,
                               MPI_COMM_WORLD, &sent.request);
    if (code != MPI_SUCCESS) under_way_.pop_back();
    forget_delivered();
  }

  std::optional<Incoming> poll() override {
    forget_delivered();
    int there = 0;
    MPI_Message message;
    MPI_Status status;
    if (MPI_Improbe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &there, &message, &status) != MPI_SUCCESS || !there)
      return std::nullopt;
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    Incoming in{status.MPI_SOURCE, std::string(static_cast<std::size_t>(size), '\0')};
    if (MPI_Mrecv(in.bytes.data(), size, MPI_BYTE, &message, &status) != MPI_SUCCESS) return std::nullopt;
    return in;
  }

  void close(bool orderly) override {
    if (!orderly) return;  // MPI_Finalize would wait for those who are no more
    for (Sent& sent : under_way_) MPI_Wait(&sent.request, MPI_STATUS_IGNORE);
    under_way_.clear();
    MPI_Finalize();
  }

 private:
  struct Sent {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void forget_delivered() {
    for (auto sent = under_way_.begin(); sent != under_way_.end();) {
      int done = 0;
      const int code = MPI_Test(&sent->request, &done, MPI_STATUS_IGNORE);
      sent = done || code != MPI_SUCCESS ? under_way_.erase(sent) : std::next(sent);
    }
  }

  int rank_ = 0, count_ = 1;
  std::list<Sent> under_way_;
};

}  // namespace
}  // namespace rung

// REQUIRES: called once, by the thread that will use the transport.
extern "C" rung::Transport* rung_open_transport() { return new rung::MpiTransport; }
