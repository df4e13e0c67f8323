// A plan made ready to run on this machine: its lesson, its model, the device, and what they need.
#pragma once

#include <memory>

#include "rung/learn/ensemble.h"
#include "rung/learn/lesson.h"

namespace rung::learn {

struct PreparedPlan {
  TrainingPlan plan;  // with the device on which it runs
  std::unique_ptr<Lesson> lesson;
  std::unique_ptr<Model> model;
  std::optional<Weights> start;  // of plan.from
  torch::Device device{torch::kCPU};
  Forecast forecast;
};

// libtorch says what it cannot do by exceptions of many lines; the first says what.
template <class Body>
auto without_exceptions(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::exception& thrown) {
    const std::string text = thrown.what();
    return fail(ErrorCode::resource, "[train] {}", text.substr(0, text.find('\n')));
  }
}

}  // namespace rung::learn
