// The ranks of a job: K processes of one program with one command line, started by mpirun or srun. Rank 0
// leads: it runs the command, hands out work (board.h), prints and writes; the others help. A process that
// nobody launched so is rank 0 of 1, and loads no MPI.
//
//   RUNG_TRY(Ranks* ranks, join_ranks());
//   if (!ranks->leads()) return help(*ranks);      // draws pieces until the boards are closed
//   ...                                            // posts pieces, collects what came of them
//   return leave_ranks(code);                      // the same exit code everywhere
//
// A rank that is not heard for a while counts as dead, and its pieces are handed out again. (A launcher may
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

#include "rung/ranks/dispatch.h"
#include "rung/ranks/mail.h"
#include "rung/spec/result.h"

namespace rung {

struct Piece {
  std::uint64_t number = 0;
  std::string order = {};  // what to do, in the words of those who share the board
};

class Ranks {
 public:
  // One rank.
  Ranks();
  using OpenMail = std::function<Result<std::unique_ptr<Mail>>()>;
  // `open` is called by the thread that will use the mail. `silence`: seconds after which a rank counts as
  // dead.
  static Result<std::unique_ptr<Ranks>> make(const OpenMail& open, double silence);
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

  // The last word. Rank 0: closes every board, waits for the others to be done with what they have in hand,
  // and tells them the code. Others: waits for it. Returns rank 0's code on every rank. Afterwards nothing
  // but destruction.
  int leave(int code);
  // After leave(): whether every rank took leave. Else MPI was left open, and the process had better end at
  // once.
  bool orderly() const { return orderly_; }

 private:
  friend class Board;
  friend class Bench;
  using Clock = std::chrono::steady_clock;
  struct Event {
    int rank = 0;
    Dispatch letter;  // a result or a question
  };
  struct Held {
    int rank = 0;
    Piece piece;
  };
  struct BoardState {
    std::deque<Piece> waiting;
    std::map<std::uint64_t, Held> under_way;
    std::deque<Event> inbox;
    std::uint64_t posted = 0;
  };
  struct HeldDraw {
    int rank = 0;
    std::uint64_t ticket = 0;
    std::string board;
  };

  void carry(const OpenMail& open);  // the postman's thread
  void handle(int from, Dispatch letter);
  void handle_as_lead(int from, Dispatch letter);
  void watch();
  // All below: under guard_.
  void post(int to, Dispatch letter);  // to itself: at once
  void serve_draws();
  void close_board(const std::string& name);
  void give_up(int rank);
  // A board "search/walks" is closed with the board "search".
  bool is_closed(const std::string& board) const {
    return all_closed_ || closed_.contains(board) || closed_.contains(board.substr(0, board.find('/')));
  }
  // Sends and waits for the answer; a letter `closed` where the job ends first.
  Dispatch call(Dispatch letter, std::unique_lock<std::mutex>& lock);

  int rank_ = 0, count_ = 1;
  double silence_ = 0;
  mutable std::mutex guard_;
  std::condition_variable changed_, outgoing_;
  std::deque<std::pair<int, Dispatch>> out_;
  std::map<std::uint64_t, std::optional<Dispatch>> calls_;
  std::uint64_t tickets_ = 0;
  std::set<std::string> closed_;
  bool all_closed_ = false, ending_ = false, ready_ = false, orderly_ = true;
  std::optional<Error> unready_;
  std::optional<int> code_;
  // Of rank 0.
  std::map<std::string, BoardState> boards_;
  std::vector<HeldDraw> draws_;
  std::vector<bool> dead_, gone_;
  std::vector<Clock::time_point> heard_;
  std::vector<std::string> troubles_;
  std::thread postman_;
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
