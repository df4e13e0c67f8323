// How far a training run is: steps, tokens and time of all workers, told a few times a second.
#pragma once

#include <chrono>
#include <map>
#include <mutex>

#include "rung/learn/ensemble.h"
#include "rung/learn/trainer.h"

namespace rung::learn {

// Thread-safe.
class RunProgress {
 public:
  using Clock = std::chrono::steady_clock;
  RunProgress(std::int64_t members, const TrainingPlan& plan,
              const std::function<void(const EnsembleProgress&)>& tell)
      : tell_(tell) {
    shown_.members = members;
    shown_.steps_total = members * plan.steps;
    shown_.stages = static_cast<std::int64_t>(plan.support.size()) + 1;
  }

  // A step of so many members, and so many tokens, ended.
  void step(const Trainer& trainer, std::int64_t tokens, std::int64_t members);
  void skip(std::int64_t steps);  // an earlier run did these
  void member_done(std::int64_t count = 1);
  // Whether the store should hear of this group now: rarer as the run grows older, so that a store of JSON
  // lines stays small.
  bool news_due(std::int64_t group);

  double seconds() const;
  double tokens_per_second() const;  // between the first step and the last

 private:
  mutable std::mutex guard_;
  const std::function<void(const EnsembleProgress&)>& tell_;
  EnsembleProgress shown_;
  std::int64_t tokens_ = 0;
  Clock::time_point start_ = Clock::now(), first_step_{}, last_step_{}, last_told_{};
  std::map<std::int64_t, Clock::time_point> last_news_;
};

}  // namespace rung::learn
