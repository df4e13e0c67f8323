// Three launches: squares of blocks of gradients; per member their sum, the rate and whether it lives; the
// update, whose first thread then counts the step (nobody reads the counter in that launch).
#include "rung/learn/kernels/adamw.h"

#include "rung/learn/kernels/warp.cuh"

namespace rung::kernels {
namespace {

constexpr int kThreads = 256;

__device__ inline double block_sum(double x) {
  __shared__ double parts[kThreads];
  parts[threadIdx.x] = x;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  return parts[0];
}

template <class T>
__global__ void __launch_bounds__(kThreads) sum_squares(const AdamWBuffers buffers, double* partial) {
  const std::int64_t member = blockIdx.y, from = static_cast<std::int64_t>(blockIdx.x) * kNormBlock;
  const T* gradients = static_cast<const T*>(buffers.gradients) + member * buffers.size;
  double sum = 0.0;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < kNormBlock; i += kThreads)
    if (from + i < buffers.size) {
      const double g = widen(gradients[from + i]);
      sum += g * g;
    }
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[member * gridDim.x + blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads)
    prepare_members(const AdamWSettings settings, const AdamWBuffers buffers, const double* partial,
                    const std::int64_t blocks, AdamWMember* members) {
  const std::int64_t e = blockIdx.x;
  double sum = 0.0;
  for (std::int64_t i = threadIdx.x; i < blocks; i += kThreads) sum += partial[e * blocks + i];
  sum = block_sum(sum);
  if (threadIdx.x != 0) return;
  const AdamWMember member = adamw_member(settings, sum, buffers.peak[e], buffers.weight_decay[e],
                                          buffers.alive[e] != 0, *buffers.step);
  members[e] = member;
  if (!member.alive) buffers.alive[e] = 0;
  if (buffers.norm) buffers.norm[e] = static_cast<float>(sqrt(sum));
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    update_parameters(const AdamWSettings settings, const AdamWBuffers buffers, const AdamWMember* members) {
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) ++*buffers.step;
  const std::int64_t e = blockIdx.y;
  const AdamWMember member = members[e];
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < buffers.size;
       i += stride) {
    const std::int64_t at = e * buffers.size + i;
    float parameter = buffers.parameters[at];
    if (member.alive) {
      float first = buffers.first[at], second = buffers.second[at];
      adamw_update(settings, member, !buffers.decays || buffers.decays[i] != 0,
                   widen(static_cast<const T*>(buffers.gradients)[at]), parameter, first, second);
      buffers.parameters[at] = parameter;
      buffers.first[at] = first;
      buffers.second[at] = second;
    }
    if (buffers.rounded) store(buffers.rounded[at], parameter);
  }
}

template <class T>
int step(const AdamWSettings& settings, const AdamWBuffers& buffers, void* scratch, cudaStream_t stream) {
  const std::int64_t blocks = norm_blocks(buffers.size);
  auto* partial = static_cast<double*>(scratch);
  auto* members = reinterpret_cast<AdamWMember*>(partial + buffers.members * blocks);
  const auto ensemble = static_cast<unsigned>(buffers.members);
  if (blocks > 0) {
    sum_squares<T><<<dim3(static_cast<unsigned>(blocks), ensemble), kThreads, 0, stream>>>(buffers, partial);
    RUNG_CUDA_TRY(cudaGetLastError());
  }
  prepare_members<<<ensemble, kThreads, 0, stream>>>(settings, buffers, partial, blocks, members);
  RUNG_CUDA_TRY(cudaGetLastError());
  // Four parameters a thread, and one block even for none: it counts the step.
  const unsigned updates = blocks_for(buffers.size, 4 * kThreads);
  update_parameters<T>
      <<<dim3(updates > 0 ? updates : 1, ensemble), kThreads, 0, stream>>>(settings, buffers, members);
  return launched();
}

}  // namespace

std::int64_t adamw_scratch(std::int64_t members, std::int64_t size) {
  return members * (norm_blocks(size) * static_cast<std::int64_t>(sizeof(double)) +
                    static_cast<std::int64_t>(sizeof(AdamWMember)));
}

int adamw_step_cuda(const AdamWSettings& settings, const AdamWBuffers& buffers, void* scratch, void* stream) {
  if (buffers.members < 1 || buffers.members > 65535 || buffers.size < 0 ||
      norm_blocks(buffers.size) > 0x7FFFFFFF || !scratch)
    return cudaErrorInvalidValue;
  return buffers.gradient_element == Element::f32 ? step<float>(settings, buffers, scratch, stream_of(stream))
                                                  : step<Bf16>(settings, buffers, scratch, stream_of(stream));
}

}  // namespace rung::kernels
