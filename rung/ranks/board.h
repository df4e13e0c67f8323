// Work that ranks share: rank 0 posts pieces on a board, every rank (rank 0 too) takes them from a bench of
// the same name, and rank 0 collects what came of them. Each piece's result is collected once, whoever did it
// and however often it was handed out.
//
//   rank 0:  Board board(ranks, "squares");  for (...) board.post("7");
//            while (board.open() > 0) if (auto event = board.collect(1.0)) keep(event->number, event->text);
//   all:     Bench bench(ranks, "squares");  while (auto piece = bench.draw()) bench.hand_in(*piece,
//   square(piece->order));
//
// Rank 0 works too, on a thread of its own: its main thread collects. A board "a/b" is closed with the board
// "a".
#pragma once

#include "rung/ranks/ranks.h"

namespace rung {

class Board {
 public:
  // REQUIRES ranks.leads() and a name that this job has not used before.
  Board(Ranks& ranks, std::string name);
  ~Board();  // closes
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  // Its number: 0, 1, 2, ... Pieces are handed out in this order.
  std::uint64_t post(std::string order);

  struct Event {
    bool question = false;     // else the result of a piece
    int rank = 0;              // whose
    std::uint64_t number = 0;  // of the piece
    std::string text;
    std::uint64_t ticket = 0;
  };
  // The next, in order of arrival; nothing after `seconds` without one.
  std::optional<Event> collect(double seconds);
  // REQUIRES event.question, not answered yet.
  void answer(const Event& event, std::string text);

  // Pieces posted whose results have not been collected; after close(), those that somebody still holds.
  std::size_t open() const;
  // No more pieces; benches are told. What is in hand may still be handed in and collected.
  void close();

 private:
  Ranks& ranks_;
  std::string name_;
};

class Bench {
 public:
  Bench(Ranks& ranks, std::string name) : ranks_(ranks), name_(std::move(name)) {}

  // Waits for a piece, also for the board's being opened; nothing once it is closed. From any thread, as all
  // below.
  std::optional<Piece> draw();
  void hand_in(const Piece& piece, std::string result);
  // Rank 0's answer; nothing where the piece has become another's, or the job is over.
  std::optional<std::string> ask(const Piece& piece, std::string question);
  // Whether what is in hand is still wanted.
  bool closed() const;

 private:
  Ranks& ranks_;
  std::string name_;
};

}  // namespace rung
