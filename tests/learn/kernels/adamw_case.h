// An ensemble's parameters, gradients and settings, and AdamW written out in float64.
#pragma once

#include <vector>

#include "rung/learn/kernels/adamw.h"
#include "tests/learn/kernels/buffer.h"

namespace rung::kernels {

struct AdamWCase {
  std::int64_t members, size;
  AdamWSettings settings{.clip = 1.0f, .schedule = {.warmup = 3, .total = 12, .floor = 0.1f}};
  Buffer parameters, gradients, first, second, peak, weight_decay, norm;
  std::vector<Bf16> rounded;
  std::vector<std::uint8_t> decays, alive;
  std::int64_t step = 0;

  AdamWCase(std::int64_t e, std::int64_t p, Element element, std::uint64_t seed)
      : members(e),
        size(p),
        parameters(Element::f32, e * p),
        gradients(element, e * p),
        first(Element::f32, e * p),
        second(Element::f32, e * p),
        peak(Element::f32, e),
        weight_decay(Element::f32, e),
        norm(Element::f32, e),
        rounded(static_cast<std::size_t>(e * p)),
        decays(static_cast<std::size_t>(p)),
        alive(static_cast<std::size_t>(e), 1) {
    Random random(seed);
    parameters.draw(random);
    for (std::int64_t i = 0; i < e; ++i) {
      peak.set(i, 0.01 * static_cast<double>(i + 1));
      weight_decay.set(i, 0.1 * static_cast<double>(i));
    }
    for (auto& decay : decays) decay = random.below(2) == 1;
    draw_gradients(0);
  }
  // Fresh gradients; norms on both sides of the clip.
  void draw_gradients(std::uint64_t at) {
    Random random(77, at);
    gradients.draw(random, 0.0, at % 2 == 0 ? 1.0 : 0.3 / std::sqrt(static_cast<double>(size)));
  }
  AdamWBuffers buffers() {
    return {members,
            size,
            parameters.floats(),
            rounded.data(),
            gradients.data(),
            gradients.element(),
            first.floats(),
            second.floats(),
            decays.data(),
            peak.floats(),
            weight_decay.floats(),
            alive.data(),
            &step,
            norm.floats()};
  }
};

struct AdamWReference {
  std::vector<double> parameters, first, second;
  explicit AdamWReference(const AdamWCase& given)
      : parameters(given.parameters.count()), first(parameters.size()), second(parameters.size()) {
    for (std::int64_t i = 0; i < given.parameters.count(); ++i) parameters[i] = given.parameters[i];
  }
  void step(const AdamWCase& given, std::int64_t t) {
    const AdamWSettings& s = given.settings;
    const double pi = std::acos(-1.0);
    for (std::int64_t e = 0; e < given.members; ++e) {
      double squares = 0.0;
      for (std::int64_t i = 0; i < given.size; ++i)
        squares += std::pow(given.gradients[e * given.size + i], 2);
      const double norm = std::sqrt(squares), scale = norm > s.clip ? s.clip / norm : 1.0;
      double rate = given.peak[e];
      if (t < s.schedule.warmup)
        rate *= static_cast<double>(t + 1) / static_cast<double>(s.schedule.warmup);
      else if (t < s.schedule.total)
        rate *= s.schedule.floor +
                (1.0 - s.schedule.floor) * 0.5 *
                    (1.0 + std::cos(pi * static_cast<double>(t - s.schedule.warmup) /
                                    static_cast<double>(s.schedule.total - s.schedule.warmup)));
      else
        rate *= s.schedule.floor;
      for (std::int64_t i = e * given.size; i < (e + 1) * given.size; ++i) {
        const double g = given.gradients[i] * scale;
        first[i] = s.beta1 * first[i] + (1.0 - s.beta1) * g;
        second[i] = s.beta2 * second[i] + (1.0 - s.beta2) * g * g;
        if (given.decays[i % given.size]) parameters[i] -= rate * given.weight_decay[e] * parameters[i];
        parameters[i] -=
            rate * (first[i] / (1.0 - std::pow(static_cast<double>(s.beta1), t + 1.0))) /
            (std::sqrt(second[i] / (1.0 - std::pow(static_cast<double>(s.beta2), t + 1.0))) + s.epsilon);
      }
    }
  }
};

}  // namespace rung::kernels
