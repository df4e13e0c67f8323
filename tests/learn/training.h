// Small trainings for the tests: the parts of a plan, a trainer run step by step, a whole run in a folder.
#pragma once

#include <ftw.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "rung/learn/ensemble.h"
#include "rung/learn/trainer.h"
#include "tests/learn/models.h"

namespace rung::learn {

inline TrainingPlan trainee(const std::string& line = "gdelta(form=plain)+full") {
  return small_plan(line, "eva", {{"n", 6}});
}

// The parts of a plan.
struct Parts {
  explicit Parts(const TrainingPlan& given) : plan(given) {
    auto made = Lesson::make(plan);
    RUNG_REQUIRE(made.ok(), "{}", made.error().message);
    lesson = std::make_unique<Lesson>(std::move(*made));
    auto spec = lesson->model_spec();
    RUNG_REQUIRE(spec.ok(), "{}", spec.error().message);
    auto built = Model::make(*spec);
    RUNG_REQUIRE(built.ok(), "{}", built.error().message);
    model = std::make_unique<Model>(std::move(*built));
  }
  Trainer trainer() const { return Trainer(plan, *lesson, *model, {members(plan)[0]}, torch::kCPU); }
  TrainingPlan plan;
  std::unique_ptr<Lesson> lesson;
  std::unique_ptr<Model> model;
};

inline void run_to(Trainer& trainer, const TrainingPlan& plan, std::int64_t step) {
  while (trainer.step_count() < step) {
    trainer.step();
    if (trainer.step_count() % plan.evaluate_every == 0) trainer.evaluate();
  }
}

// A folder that is gone when the test ends.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("rung-learn-" + std::to_string(::getpid()) + "-" + std::to_string(next_++))) {
    std::filesystem::create_directories(path_);
  }
  // Not remove_all of the standard library: PyTorch's wheel exports a broken one of its own.
  ~Folder() {
    nftw(
        path_.c_str(), [](const char* path, const struct stat*, int, struct FTW*) { return ::remove(path); },
        16, FTW_DEPTH | FTW_PHYS);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
  static inline int next_ = 0;
};

inline Result<EnsembleResult> train_in(const TrainingPlan& plan, const std::string& folder, int workers,
                                       bool resume = false, std::function<bool()> stop = {}) {
  EnsembleOptions options;
  options.folder = folder;
  options.resume = resume;
  options.stop = std::move(stop);
  RUNG_TRY(const auto prepared, prepare(plan, workers));
  return train(*prepared, options);
}

inline void expect_same_curve(const MemberResult& a, const MemberResult& b) {
  ASSERT_EQ(a.curve.size(), b.curve.size());
  ASSERT_FALSE(a.curve.empty());
  for (std::size_t i = 0; i < a.curve.size(); ++i) {
    EXPECT_EQ(a.curve[i].loss, b.curve[i].loss) << i;
    EXPECT_EQ(a.curve[i].accuracy, b.curve[i].accuracy) << i;
    EXPECT_EQ(a.curve[i].stage, b.curve[i].stage) << i;
  }
  EXPECT_EQ(a.right, b.right);
}

}  // namespace rung::learn
