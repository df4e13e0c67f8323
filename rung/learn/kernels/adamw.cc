#include "rung/learn/kernels/adamw.h"

#include <algorithm>

#include "rung/base/require.h"
#include "rung/learn/kernels/vector_clones.h"

namespace rung::kernels {
namespace {

template <class T>
RUNG_KERNEL_INLINE double squares_of(const T* gradients, std::int64_t count) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) {
    const double g = to_float(gradients[i]);
    sum += g * g;
  }
  return sum;
}
RUNG_KERNEL_CLONES double squares_f32(const float* gradients, std::int64_t count) {
  return squares_of(gradients, count);
}
RUNG_KERNEL_CLONES double squares_bf16(const Bf16* gradients, std::int64_t count) {
  return squares_of(gradients, count);
}

template <class T>
RUNG_KERNEL_INLINE void update_all(const AdamWSettings& settings, const AdamWMember& member,
                                   std::int64_t size, const std::uint8_t* decays, const T* gradients,
                                   float* parameters, float* first, float* second) {
  const AdamWSettings own = settings;  // which no parameter overlaps
  const AdamWMember self = member;
#pragma omp simd
  for (std::int64_t i = 0; i < size; ++i) {
    float parameter = parameters[i], m = first[i], v = second[i];
    adamw_update(own, self, !decays || decays[i] != 0, to_float(gradients[i]), parameter, m, v);
    parameters[i] = parameter;
    first[i] = m;
    second[i] = v;
  }
}
RUNG_KERNEL_CLONES void update_f32(const AdamWSettings& settings, const AdamWMember& member,
                                   std::int64_t size, const std::uint8_t* decays, const void* gradients,
                                   float* parameters, float* first, float* second) {
  update_all(settings, member, size, decays, static_cast<const float*>(gradients), parameters, first, second);
}
RUNG_KERNEL_CLONES void update_bf16(const AdamWSettings& settings, const AdamWMember& member,
                                    std::int64_t size, const std::uint8_t* decays, const void* gradients,
                                    float* parameters, float* first, float* second) {
  update_all(settings, member, size, decays, static_cast<const Bf16*>(gradients), parameters, first, second);
}

}  // namespace

void adamw_step(const AdamWSettings& settings, const AdamWBuffers& buffers) {
  RUNG_REQUIRE(buffers.members >= 1 && buffers.size >= 0, "E={} P={}", buffers.members, buffers.size);
  const bool wide = buffers.gradient_element == Element::f32;
  const std::int64_t size = buffers.size;
  for (std::int64_t e = 0; e < buffers.members; ++e) {
    const auto* f32 = static_cast<const float*>(buffers.gradients) + (wide ? e * size : 0);
    const auto* bf16 = static_cast<const Bf16*>(buffers.gradients) + (wide ? 0 : e * size);
    double squares = 0.0;
    for (std::int64_t from = 0; from < size; from += kNormBlock) {
      const std::int64_t count = std::min(kNormBlock, size - from);
      squares += wide ? squares_f32(f32 + from, count) : squares_bf16(bf16 + from, count);
    }
    if (buffers.norm) buffers.norm[e] = static_cast<float>(std::sqrt(squares));
    const AdamWMember member = adamw_member(settings, squares, buffers.peak[e], buffers.weight_decay[e],
                                            buffers.alive[e] != 0, *buffers.step);
    float* parameters = buffers.parameters + e * size;
    if (member.alive)
      (wide ? update_f32 : update_bf16)(settings, member, size, buffers.decays,
                                        wide ? static_cast<const void*>(f32) : bf16, parameters,
                                        buffers.first + e * size, buffers.second + e * size);
    else
      buffers.alive[e] = 0;
    if (buffers.rounded)
      for (std::int64_t i = 0; i < size; ++i) store(buffers.rounded[e * size + i], parameters[i]);
  }
  ++*buffers.step;
}

}  // namespace rung::kernels
