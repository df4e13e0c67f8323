// Work that ranks share: rank 0 posts items on a queue, every rank (rank 0 too) takes them from a worker of
// the same name, and rank 0 collects what came of them. Each item's result is collected once, whoever did it
// and however often it was handed out.
//
//   rank 0:  TaskQueue queue(ranks, "squares");  for (...) queue.post("7");
//            while (queue.open() > 0) if (auto event = queue.collect(1.0)) keep(event->number, event->text);
//   all:     QueueWorker worker(ranks, "squares");  while (auto item = worker.draw()) worker.hand_in(*item,
//   square(item->order));
//
// Rank 0 works too, on a thread of its own: its main thread collects. A queue "a/b" is closed with the queue
// "a".
#pragma once

#include "rung/ranks/ranks.h"

namespace rung {

class TaskQueue {
 public:
  // REQUIRES ranks.leads() and a name that this job has not used before.
  TaskQueue(Ranks& ranks, std::string name);
  ~TaskQueue();  // closes
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;

  // Its number: 0, 1, 2, ... Items are handed out in this order.
  std::uint64_t post(std::string order);

  struct Event {
    bool question = false;     // else the result of a item
    int rank = 0;              // whose
    std::uint64_t number = 0;  // of the item
    std::string text;
    std::uint64_t ticket = 0;
  };
  // The next, in order of arrival; nothing after `seconds` without one.
  std::optional<Event> collect(double seconds);
  // REQUIRES event.question, not answered yet.
  void answer(const Event& event, std::string text);

  // Items posted whose results have not been collected; after close(), those that somebody still holds.
  std::size_t open() const;
  // No more items; workers are told. What is in hand may still be handed in and collected.
  void close();

 private:
  Ranks& ranks_;
  std::string name_;
};

class QueueWorker {
 public:
  QueueWorker(Ranks& ranks, std::string name) : ranks_(ranks), name_(std::move(name)) {}

  // Waits for a item, also for the queue's being opened; nothing once it is closed. From any thread, as all
  // below.
  std::optional<WorkItem> draw();
  void hand_in(const WorkItem& item, std::string result);
  // Rank 0's answer; nothing where the item has become another's, or the job is over.
  std::optional<std::string> ask(const WorkItem& item, std::string question);
  // Whether what is in hand is still wanted.
  bool closed() const;

 private:
  Ranks& ranks_;
  std::string name_;
};

}  // namespace rung
