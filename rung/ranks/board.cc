#include "rung/ranks/board.h"

#include <algorithm>

#include "rung/spec/require.h"

namespace rung {

Board::Board(Ranks& ranks, std::string name) : ranks_(ranks), name_(std::move(name)) {
  RUNG_REQUIRE(ranks.leads(), "rank {} opens the board {}", ranks.rank(), name_);
  const std::lock_guard lock(ranks.guard_);
  RUNG_REQUIRE(!name_.empty() && !ranks.boards_.contains(name_) && !ranks.closed_.contains(name_),
               "the board {} again", name_);
  ranks.boards_[name_];
}

Board::~Board() {
  close();
  const std::lock_guard lock(ranks_.guard_);
  auto& state = ranks_.boards_.at(name_);
  for (auto& event : state.inbox)  // nobody will answer any more
    if (event.letter.kind == Dispatch::Kind::question)
      ranks_.post(event.rank, {.kind = Dispatch::Kind::lost, .ticket = event.letter.ticket});
  ranks_.boards_.erase(name_);
}

std::uint64_t Board::post(std::string order) {
  const std::lock_guard lock(ranks_.guard_);
  auto& state = ranks_.boards_.at(name_);
  state.waiting.push_back({state.posted, std::move(order)});
  ranks_.serve_draws();
  return state.posted++;
}

std::optional<Board::Event> Board::collect(double seconds) {
  std::unique_lock lock(ranks_.guard_);
  auto& state = ranks_.boards_.at(name_);
  ranks_.changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [&] { return !state.inbox.empty(); });
  if (state.inbox.empty()) return std::nullopt;
  auto event = std::move(state.inbox.front());
  state.inbox.pop_front();
  return Event{event.letter.kind == Dispatch::Kind::question, event.rank, event.letter.number,
               std::move(event.letter.text), event.letter.ticket};
}

void Board::answer(const Event& event, std::string text) {
  RUNG_REQUIRE(event.question, "an answer to the result of piece {}", event.number);
  const std::lock_guard lock(ranks_.guard_);
  ranks_.post(event.rank, {.kind = Dispatch::Kind::answer, .ticket = event.ticket, .text = std::move(text)});
}

std::size_t Board::open() const {
  const std::lock_guard lock(ranks_.guard_);
  const auto& state = ranks_.boards_.at(name_);
  return state.waiting.size() + state.under_way.size() + state.inbox.size();
}

void Board::close() {
  const std::lock_guard lock(ranks_.guard_);
  ranks_.boards_.at(name_).waiting.clear();
  ranks_.close_board(name_);
}

std::optional<Piece> Bench::draw() {
  std::unique_lock lock(ranks_.guard_);
  if (ranks_.is_closed(name_)) return std::nullopt;
  Dispatch reply = ranks_.call({.kind = Dispatch::Kind::draw, .board = name_}, lock);
  if (reply.kind != Dispatch::Kind::piece) return std::nullopt;
  return Piece{reply.number, std::move(reply.text)};
}

void Bench::hand_in(const Piece& piece, std::string result) {
  const std::lock_guard lock(ranks_.guard_);
  ranks_.post(
      0, {.kind = Dispatch::Kind::result, .number = piece.number, .board = name_, .text = std::move(result)});
}

std::optional<std::string> Bench::ask(const Piece& piece, std::string question) {
  std::unique_lock lock(ranks_.guard_);
  Dispatch reply = ranks_.call(
      {.kind = Dispatch::Kind::question, .number = piece.number, .board = name_, .text = std::move(question)},
      lock);
  if (reply.kind != Dispatch::Kind::answer) return std::nullopt;
  return std::move(reply.text);
}

bool Bench::closed() const {
  const std::lock_guard lock(ranks_.guard_);
  return ranks_.is_closed(name_);
}

}  // namespace rung
