// Random logits and targets, and the loss written out in float64.
#pragma once

#include <vector>

#include "rung/learn/kernels/answer_loss.h"
#include "tests/learn/kernels/buffer.h"

namespace rung::kernels {

struct AnswerCase {
  std::int64_t count, size;
  float smoothing;
  Buffer logits, dlogits, loss, row_weight;
  std::vector<std::int64_t> target;
  std::vector<std::uint8_t> correct;

  AnswerCase(std::int64_t rows, std::int64_t width, Element element, float smooth, std::uint64_t seed)
      : count(rows),
        size(width),
        smoothing(smooth),
        logits(element, rows * width),
        dlogits(element, rows * width),
        loss(Element::f32, rows),
        row_weight(Element::f32, rows),
        target(rows),
        correct(rows) {
    Random random(seed);
    logits.draw(random, 20.0, 3.0);
    row_weight.draw(random, 1.0, 0.2);
    for (std::int64_t r = 0; r < rows; ++r) {
      target[r] = static_cast<std::int64_t>(random.below(width));
      if (r % 3 == 0) logits.set(r * width + target[r], 60.0);
    }
  }
  AnswerRows rows() const {
    return {count,
            size,
            logits.element(),
            logits.data(),
            target.data(),
            smoothing,
            0.5f,
            static_cast<const float*>(row_weight.data())};
  }
};

struct AnswerReference {
  std::vector<double> loss, dlogits;
  std::vector<std::uint8_t> correct;
};

inline AnswerReference answer(const AnswerCase& given) {
  AnswerReference out{std::vector<double>(given.count), std::vector<double>(given.logits.count()),
                      std::vector<std::uint8_t>(given.count)};
  for (std::int64_t r = 0; r < given.count; ++r) {
    const auto x = [&](std::int64_t j) { return given.logits[r * given.size + j]; };
    std::int64_t best = 0;
    for (std::int64_t j = 1; j < given.size; ++j)
      if (x(j) > x(best)) best = j;
    double sum = 0.0;
    for (std::int64_t j = 0; j < given.size; ++j) sum += std::exp(x(j) - x(best));
    for (std::int64_t j = 0; j < given.size; ++j) {
      const double share = given.smoothing / static_cast<double>(given.size) +
                           (j == given.target[r] ? 1.0 - given.smoothing : 0.0);
      out.loss[r] -= share * (x(j) - x(best) - std::log(sum));
      out.dlogits[r * given.size + j] = (std::exp(x(j) - x(best)) / sum - share) * 0.5 * given.row_weight[r];
    }
    out.correct[r] = best == given.target[r];
  }
  return out;
}

}  // namespace rung::kernels
