// AdamW (Loshchilov, Hutter 1711.05101) over the parameters of an ensemble, [members, size] in one flat
// buffer. Per member: peak learning rate, weight decay, gradient clipped to a norm, and an alive flag. The
// learning rate and the bias correction follow a step counter in memory, which the update itself increments,
// so that a captured graph of the whole step needs nothing from the host. A member whose gradient norm is not
// finite is marked dead; a dead member's parameters and moments stay as they are.
#pragma once

#include <cmath>
#include <cstdint>

#include "rung/learn/kernels/element.h"

namespace rung::kernels {

// Linear warm-up from peak / warmup to peak, then a cosine from peak to floor * peak at step `total` and
// beyond.
struct Schedule {
  std::int64_t warmup = 0, total = 1;  // steps
  float floor = 0.0f;                  // a fraction of the peak
};

// The fraction of the peak at step t = 0, 1, ….
RUNG_HOST_DEVICE inline double schedule_fraction(const Schedule& schedule, std::int64_t step) {
  if (step < schedule.warmup) return static_cast<double>(step + 1) / static_cast<double>(schedule.warmup);
  const std::int64_t span = schedule.total - schedule.warmup;
  const std::int64_t done = step - schedule.warmup;
  const double part = span <= 0 || done >= span ? 1.0 : static_cast<double>(done) / static_cast<double>(span);
  const double low = schedule.floor;
  return low + (1.0 - low) * 0.5 * (1.0 + cos(3.14159265358979323846 * part));
}

struct AdamWSettings {
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
  float clip = 0.0f;  // the largest norm of a member's gradient; 0: not clipped
  Schedule schedule;
};

struct AdamWBuffers {
  std::int64_t members = 0, size = 0;  // E, P
  float* parameters = nullptr;         // [E, P]
  Bf16* rounded = nullptr;  // [E, P] or null: a bfloat16 copy of the parameters, written for all members
  const void* gradients = nullptr;  // [E, P]
  Element gradient_element = Element::f32;
  float *first = nullptr, *second = nullptr;  // moments [E, P]; 0 before the first step
  const std::uint8_t* decays = nullptr;       // [P]: 1 where weight decay applies; null: everywhere
  const float* peak = nullptr;                // [E] learning rates
  const float* weight_decay = nullptr;        // [E]
  std::uint8_t* alive = nullptr;              // [E]: 1 or 0
  std::int64_t* step = nullptr;               // [1]: steps done before this one; one more afterwards
  float* norm = nullptr;                      // [E] or null: each member's gradient norm before clipping, out
};

// What one member's update multiplies by, from its norm and the step.
struct AdamWMember {
  float gradient_scale, rate, correction1, correction2;  // corrections: 1 / (1 - beta^(t+1))
  float shrink;                                          // 1 - rate * weight_decay
  std::uint32_t alive;
};

// Squares are summed in float64 over blocks of kNormBlock gradients, blocks in order.
inline constexpr std::int64_t kNormBlock = 4096;
inline std::int64_t norm_blocks(std::int64_t size) { return (size + kNormBlock - 1) / kNormBlock; }

RUNG_HOST_DEVICE inline AdamWMember adamw_member(const AdamWSettings& settings, double squares, float peak,
                                                 float weight_decay, bool alive, std::int64_t step) {
  AdamWMember member;
  const double norm = sqrt(squares);
  const bool finite = norm <= 3.4028234663852886e38;  // false for a NaN too
  const double rate = peak * schedule_fraction(settings.schedule, step);
  member.alive = alive && finite ? 1u : 0u;
  member.gradient_scale =
      settings.clip > 0.0f && norm > settings.clip ? static_cast<float>(settings.clip / norm) : 1.0f;
  member.rate = static_cast<float>(rate);
  member.shrink = static_cast<float>(1.0 - rate * weight_decay);
  member.correction1 = static_cast<float>(1.0 / (1.0 - pow(static_cast<double>(settings.beta1), step + 1.0)));
  member.correction2 = static_cast<float>(1.0 / (1.0 - pow(static_cast<double>(settings.beta2), step + 1.0)));
  return member;
}

// One parameter.
RUNG_HOST_DEVICE inline void adamw_update(const AdamWSettings& settings, const AdamWMember& member,
                                          bool decays, float gradient, float& parameter, float& first,
                                          float& second) {
  const float g = gradient * member.gradient_scale;
  first = settings.beta1 * first + (1.0f - settings.beta1) * g;
  second = settings.beta2 * second + (1.0f - settings.beta2) * g * g;
  const float kept = decays ? parameter * member.shrink : parameter;
  const float root = sqrtf(second * member.correction2) + settings.epsilon;
  parameter = kept - member.rate * (first * member.correction1) / root;
}

// One step of every member; one thread. A member's result does not depend on the others.
void adamw_step(const AdamWSettings& settings, const AdamWBuffers& buffers);

// The same on a device, queued on `stream` (a cudaStream_t), without synchronising. scratch: adamw_scratch
// bytes of device memory, aligned to 16. Returns 0 or a cudaError_t.
std::int64_t adamw_scratch(std::int64_t members, std::int64_t size);
int adamw_step_cuda(const AdamWSettings& settings, const AdamWBuffers& buffers, void* scratch, void* stream);

}  // namespace rung::kernels
