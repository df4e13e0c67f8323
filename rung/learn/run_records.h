// The records of a training run in the store: one of the run, one per member. Without a store nothing is kept.
#pragma once

#include "rung/learn/prepared_plan.h"
#include "rung/learn/run_folder.h"

namespace rung::learn {

class RunRecords {
 public:
  RunRecords(const PreparedPlan& prepared, const EnsembleOptions& options)
      : prepared_(prepared), store_(options.store), folder_(options.folder), body_(options.body) {}

  const std::string& run() const { return run_; }  // its id; empty without a store

  // Those that the folder names, or new ones.
  Result<void> open(const RunFolder& folder, const std::vector<MemberPlan>& members);
  // For those who watch the store while members run; what cannot be written now is reported when they end.
  struct News {
    std::int64_t member = 0, steps = 0;
    const std::vector<CurvePoint>* curve = nullptr;
  };
  void tell(const std::vector<News>& news);
  // `error`: what ended the run, for a member that it stopped.
  Result<void> close_member(const MemberResult& member, const std::optional<Error>& error = {});
  // The run, and the members that it did not train to their end, unless an earlier run did.
  Result<void> close(const EnsembleResult& result, const std::optional<Error>& error);

 private:
  nlohmann::json body() const;
  const std::string& id(const MemberResult& member) const {
    return members_[static_cast<std::size_t>(member.plan.index)];
  }

  const PreparedPlan& prepared_;
  Store* store_;
  std::string folder_, body_, run_;
  std::vector<std::string> members_;
};

}  // namespace rung::learn
