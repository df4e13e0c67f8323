// The ranks of a job: K processes of one program with one command line, started by mpirun or srun. Rank 0
// leads: it runs the command, hands out work (queue.h), prints and writes; the others help. A process that
// nobody launched so is rank 0 of 1, and loads no MPI.
//
//   RUNG_TRY(Ranks* ranks, join_ranks());
//   if (!ranks->leads()) return help(*ranks);      // draws items until the queues are closed
//   ...                                            // posts items, collects what came of them
//   return leave_ranks(code);                      // the same exit code everywhere
//
// A rank that is not heard for a while counts as dead, and its items are handed out again. (A launcher may
// end the whole job first: mpirun does, unless --enable-recovery is given.)
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "rung/base/result.h"
#include "rung/ranks/message.h"
#include "rung/ranks/transport.h"

namespace rung {

struct WorkItem {
  std::uint64_t number = 0;
  std::string order = {};  // what to do, in the words of those who share the queue
};

class Ranks {
 public:
  // One rank.
  Ranks();
  using OpenTransport = std::function<Result<std::unique_ptr<Transport>>()>;
  // `open` is called by the thread that will use the transport. `silence`: seconds after which a rank counts as
  // dead.
  static Result<std::unique_ptr<Ranks>> make(const OpenTransport& open, double silence);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int count() const { return count_; }
  bool leads() const { return rank_ == 0; }
  bool alone() const { return count_ == 1; }
  // Those that are not dead, this one included. REQUIRES leads().
  int living() const;

  // Why this rank takes no part; rank 0 tells it at the end, unless it failed itself. REQUIRES !leads().
  void take_no_part(const std::string& why);

  // The last word. Rank 0: closes every queue, waits for the others to be done with what they have in hand,
  // and tells them the code. Others: waits for it. Returns rank 0's code on every rank. Afterwards nothing
  // but destruction.
  int leave(int code);
  // After leave(): whether every rank took leave. Else MPI was left open, and the process had better end at
  // once.
  bool orderly() const { return orderly_; }

 private:
  friend class TaskQueue;
  friend class QueueWorker;
  using Clock = std::chrono::steady_clock;
  struct Event {
    int rank = 0;
    RankMessage message;  // a result or a question
  };
  struct Held {
    int rank = 0;
    WorkItem item;
  };
  struct QueueState {
    std::deque<WorkItem> waiting;
    std::map<std::uint64_t, Held> under_way;
    std::deque<Event> inbox;
    std::uint64_t posted = 0;
  };
  struct HeldDraw {
    int rank = 0;
    std::uint64_t ticket = 0;
    std::string queue;
  };

  void carry(const OpenTransport& open);  // the transport thread
  void handle(int from, RankMessage message);
  void handle_as_lead(int from, RankMessage message);
  void watch();
  // All below: under guard_.
  void post(int to, RankMessage message);  // to itself: at once
  void serve_draws();
  void close_queue(const std::string& name);
  void give_up(int rank);
  // A queue "search/walks" is closed with the queue "search".
  bool is_closed(const std::string& queue) const {
    return all_closed_ || closed_.contains(queue) || closed_.contains(queue.substr(0, queue.find('/')));
  }
  // Sends and waits for the answer; a message `closed` where the job ends first.
  RankMessage call(RankMessage message, std::unique_lock<std::mutex>& lock);

  int rank_ = 0, count_ = 1;
  double silence_ = 0;
  mutable std::mutex guard_;
  std::condition_variable changed_, outgoing_;
  std::deque<std::pair<int, RankMessage>> out_;
  std::map<std::uint64_t, std::optional<RankMessage>> calls_;
  std::uint64_t tickets_ = 0;
  std::set<std::string> closed_;
  bool all_closed_ = false, ending_ = false, ready_ = false, orderly_ = true;
  std::optional<Error> unready_;
  std::optional<int> code_;
  // Of rank 0.
  std::map<std::string, QueueState> queues_;
  std::vector<HeldDraw> draws_;
  std::vector<bool> dead_, gone_;
  std::vector<Clock::time_point> heard_;
  std::vector<std::string> refusals_;
  std::thread transport_thread_;
};

// The ranks of this process's job. The first call joins it; the errors are those of the outside world: MPI
// missing, a launcher that MPI does not know.
Result<Ranks*> join_ranks();
// Nothing before join_ranks().
Ranks* joined_ranks();
// leave(code) where they were joined; else the code, but 0 for those who are not rank 0 by their launcher's
// word.
int leave_ranks(int code);

}  // namespace rung
