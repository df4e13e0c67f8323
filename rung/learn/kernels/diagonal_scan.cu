// A lane is one number of state; P neighbouring lanes are a channel (P: the states, up to a power of two), a
// block is kThreads / P channels of one sequence. Tokens come in segments of 16: forward keeps the state
// before each, backward goes through a segment once forward, its states and decays in registers, and once in
// reverse. Past the last token and the last channel everything staged is 0, which changes no state and adds
// nothing.
#include "rung/learn/kernels/diagonal_scan.h"

#include "rung/learn/kernels/warp.cuh"

namespace rung::kernels {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
constexpr int kSegment = static_cast<int>(kScanSegment);

std::int64_t segments(const ScanShape& shape) { return (shape.positions + kScanSegment - 1) / kScanSegment; }
int lanes_of(const ScanShape& shape) {
  int lanes = 4;
  while (lanes < shape.states) lanes *= 2;
  return lanes;
}
std::int64_t groups(const ScanShape& shape) {
  const std::int64_t channels = kThreads / lanes_of(shape);
  return (shape.channels + channels - 1) / channels;
}

template <int P>
struct ScanPlace {
  static constexpr int kChannels = kThreads / P;
  std::int64_t n, group, i;
  int j, channel;  // channel: within the block
  bool inside;
  __device__ explicit ScanPlace(const ScanShape& shape) {
    const std::int64_t count = (shape.channels + kChannels - 1) / kChannels;
    n = blockIdx.x / count;
    group = blockIdx.x % count;
    channel = static_cast<int>(threadIdx.x) / P;
    j = static_cast<int>(threadIdx.x) % P;
    i = group * kChannels + channel;
    inside = i < shape.channels && j < shape.states;
  }
  __device__ std::int64_t member(const ScanShape& shape) const {
    return n / (shape.sequences / shape.members);
  }
};

// to[token][Width] from column `first` on, 0 past `size` columns; the whole block takes part.
template <class T, int Width>
__device__ inline void stage(float (&to)[kSegment][Width], const Slice& from, std::int64_t n, std::int64_t t0,
                             int count, std::int64_t first, std::int64_t size) {
  for (int at = static_cast<int>(threadIdx.x); at < kSegment * Width; at += kThreads) {
    const int token = at / Width;
    const std::int64_t column = first + at % Width;
    to[token][at % Width] =
        token < count && column < size ? widen(vector_at<T>(from, n, t0 + token, 0, 0)[column]) : 0.0f;
  }
}
template <class T, int Width>
__device__ inline void unstage(const MutableSlice& to, const float (&from)[kSegment][Width], std::int64_t n,
                               std::int64_t t0, int count, std::int64_t first, std::int64_t size) {
  for (int at = static_cast<int>(threadIdx.x); at < kSegment * Width; at += kThreads) {
    const int token = at / Width;
    const std::int64_t column = first + at % Width;
    if (token < count && column < size)
      store(vector_at<T>(to, n, t0 + token, 0, 0)[column], from[token][at % Width]);
  }
}

template <int P>
__device__ inline float state_sum(float x) {
#pragma unroll
  for (int lanes = P / 2; lanes > 0; lanes /= 2) x += __shfl_xor_sync(kAllLanes, x, lanes);
  return x;
}
// Over the channels of a warp.
template <int P>
__device__ inline float channel_sum(float x) {
#pragma unroll
  for (int lanes = P; lanes < kWarp; lanes *= 2) x += __shfl_xor_sync(kAllLanes, x, lanes);
  return x;
}

template <class T, int P>
__global__ void __launch_bounds__(kThreads, 3)
    scan_forward(const ScanShape shape, const ScanInputs in, const MutableSlice y, float* checkpoints) {
  constexpr int kChannels = ScanPlace<P>::kChannels;
  __shared__ float b[kSegment][P], c[kSegment][P], step[kSegment][kChannels], x[kSegment][kChannels];
  __shared__ float out[kSegment][kChannels];
  const ScanPlace<P> place(shape);
  const std::int64_t first = place.group * kChannels,
                     count_of_segments = (shape.positions + kSegment - 1) / kSegment;
  const float rate =
      place.inside ? in.a[(place.member(shape) * shape.channels + place.i) * shape.states + place.j] : 0.0f;
  float h = 0.0f;
  for (std::int64_t segment = 0; segment < count_of_segments; ++segment) {
    const std::int64_t t0 = segment * kSegment;
    const int count = shape.positions - t0 < kSegment ? static_cast<int>(shape.positions - t0) : kSegment;
    __syncthreads();
    stage<T, P>(b, in.b, place.n, t0, count, 0, shape.states);
    stage<T, P>(c, in.c, place.n, t0, count, 0, shape.states);
    stage<T, kChannels>(step, in.step, place.n, t0, count, first, shape.channels);
    stage<T, kChannels>(x, in.x, place.n, t0, count, first, shape.channels);
    __syncthreads();
    if (checkpoints && place.inside)
      checkpoints[((place.n * count_of_segments + segment) * shape.channels + place.i) * shape.states +
                  place.j] = h;
#pragma unroll 4
    for (int token = 0; token < count; ++token) {
      const float delta = step[token][place.channel];
      h = __expf(delta * rate) * h + delta * x[token][place.channel] * b[token][place.j];
      const float sum = state_sum<P>(c[token][place.j] * h);
      if (place.j == 0) out[token][place.channel] = sum;
    }
    __syncthreads();
    unstage<T, kChannels>(y, out, place.n, t0, count, first, shape.channels);
  }
}

// Parts of the scratch memory: db and dc by groups of channels, da by sequences.
struct Scratch {
  float *db = nullptr, *dc = nullptr, *da = nullptr;
  std::int64_t group_size = 0, size = 0;
  Scratch(const ScanShape& shape, float* memory) {
    group_size = shape.sequences * shape.positions * shape.states;
    const std::int64_t count = groups(shape);
    db = memory;
    dc = db + count * group_size;
    da = dc + count * group_size;
    size = 2 * count * group_size + shape.sequences * shape.channels * shape.states;
  }
};

template <class T, int P>
__global__ void __launch_bounds__(kThreads, 2)
    scan_backward(const ScanShape shape, const ScanInputs in, const Slice dy, const float* checkpoints,
                  const MutableSlice dstep_out, const MutableSlice dx_out, const Scratch scratch) {
  constexpr int kChannels = ScanPlace<P>::kChannels;
  __shared__ float b[kSegment][P], c[kSegment][P];
  __shared__ float step[kSegment][kChannels], x[kSegment][kChannels], out[kSegment][kChannels];
  __shared__ float db[kWarps][kSegment][P], dc[kWarps][kSegment][P];
  const ScanPlace<P> place(shape);
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t first = place.group * kChannels,
                     count_of_segments = (shape.positions + kSegment - 1) / kSegment;
  const float rate =
      place.inside ? in.a[(place.member(shape) * shape.channels + place.i) * shape.states + place.j] : 0.0f;
  float carried = 0.0f, da = 0.0f;
  for (std::int64_t segment = count_of_segments - 1; segment >= 0; --segment) {
    const std::int64_t t0 = segment * kSegment;
    const int count = shape.positions - t0 < kSegment ? static_cast<int>(shape.positions - t0) : kSegment;
    __syncthreads();
    stage<T, P>(b, in.b, place.n, t0, count, 0, shape.states);
    stage<T, P>(c, in.c, place.n, t0, count, 0, shape.states);
    stage<T, kChannels>(step, in.step, place.n, t0, count, first, shape.channels);
    stage<T, kChannels>(x, in.x, place.n, t0, count, first, shape.channels);
    stage<T, kChannels>(out, dy, place.n, t0, count, first, shape.channels);
    __syncthreads();
    const float start =
        place.inside ? checkpoints[((place.n * count_of_segments + segment) * shape.channels + place.i) *
                                       shape.states +
                                   place.j]
                     : 0.0f;
    float states[kSegment], decays[kSegment];
    float h = start;
#pragma unroll
    for (int token = 0; token < kSegment; ++token) {
      const float delta = step[token][place.channel];
      decays[token] = __expf(delta * rate);
      h = decays[token] * h + delta * x[token][place.channel] * b[token][place.j];
      states[token] = h;
    }
#pragma unroll
    for (int token = kSegment - 1; token >= 0; --token) {
      const float delta = step[token][place.channel], value = x[token][place.channel];
      const float gradient = out[token][place.channel], flow = c[token][place.j] * gradient + carried;
      const float w = flow * decays[token] * (token > 0 ? states[token > 0 ? token - 1 : 0] : start);
      da += delta * w;
      const float through = state_sum<P>(b[token][place.j] * flow), along = state_sum<P>(rate * w);
      const float to_b = channel_sum<P>(delta * value * flow),
                  to_c = channel_sum<P>(states[token] * gradient);
      if (lane < P) {
        db[warp][token][lane] = to_b;
        dc[warp][token][lane] = to_c;
      }
      __syncwarp();  // a channel's numbers have been read by all its lanes
      if (place.j == 0) {
        out[token][place.channel] = along + value * through;
        x[token][place.channel] = delta * through;
      }
      carried = decays[token] * flow;
    }
    __syncthreads();
    unstage<T, kChannels>(dstep_out, out, place.n, t0, count, first, shape.channels);
    unstage<T, kChannels>(dx_out, x, place.n, t0, count, first, shape.channels);
    for (int at = static_cast<int>(threadIdx.x); at < kSegment * P; at += kThreads) {
      const int token = at / P, j = at % P;
      if (token >= count || j >= shape.states) continue;
      float sum_b = 0.0f, sum_c = 0.0f;
#pragma unroll
      for (int part = 0; part < kWarps; ++part) {
        sum_b += db[part][token][j];
        sum_c += dc[part][token][j];
      }
      const std::int64_t to =
          place.group * scratch.group_size + (place.n * shape.positions + t0 + token) * shape.states + j;
      scratch.db[to] = sum_b;
      scratch.dc[to] = sum_c;
    }
  }
  if (place.inside) scratch.da[(place.n * shape.channels + place.i) * shape.states + place.j] = da;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    sum_groups(const ScanShape shape, const Scratch scratch, const std::int64_t count,
               const MutableSlice db_out, const MutableSlice dc_out) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (index >= scratch.group_size) return;
  const std::int64_t j = index % shape.states, t = index / shape.states % shape.positions,
                     n = index / shape.states / shape.positions;
  float sum_b = 0.0f, sum_c = 0.0f;
  for (std::int64_t group = 0; group < count; ++group) {
    sum_b += scratch.db[group * scratch.group_size + index];
    sum_c += scratch.dc[group * scratch.group_size + index];
  }
  store(vector_at<T>(db_out, n, t, 0, 0)[j], sum_b);
  store(vector_at<T>(dc_out, n, t, 0, 0)[j], sum_c);
}

__global__ void __launch_bounds__(kThreads)
    sum_sequences(const ScanShape shape, const Scratch scratch, float* da) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t size = shape.channels * shape.states, member = index / size, at = index % size;
  if (member >= shape.members) return;
  const std::int64_t each = shape.sequences / shape.members;
  float sum = 0.0f;
#pragma unroll 8
  for (std::int64_t n = member * each; n < (member + 1) * each; ++n) sum += scratch.da[n * size + at];
  da[index] = sum;
}

template <class Launch>
int by_lanes(const ScanShape& shape, Launch launch) {
  switch (lanes_of(shape)) {
    case 4:
      return launch.template operator()<4>();
    case 8:
      return launch.template operator()<8>();
    case 16:
      return launch.template operator()<16>();
    default:
      return launch.template operator()<32>();
  }
}

bool valid(const ScanShape& shape) {
  return shape.members >= 1 && shape.sequences >= 0 && shape.sequences % shape.members == 0 &&
         shape.positions >= 0 && shape.channels >= 1 && shape.states >= 1 && scan_fits_device(shape);
}
unsigned scan_blocks(const ScanShape& shape) { return blocks_for(shape.sequences * groups(shape), 1); }

template <class T>
int backward(const ScanShape& shape, const ScanInputs& in, const Slice& dy, const float* checkpoints,
             const ScanGradients& out, const Scratch& scratch, cudaStream_t stream) {
  const int status = by_lanes(shape, [&]<int P>() {
    scan_backward<T, P>
        <<<scan_blocks(shape), kThreads, 0, stream>>>(shape, in, dy, checkpoints, out.dstep, out.dx, scratch);
    return launched();
  });
  if (status != cudaSuccess) return status;
  sum_groups<T><<<blocks_for(scratch.group_size, kThreads), kThreads, 0, stream>>>(
      shape, scratch, groups(shape), out.db, out.dc);
  RUNG_CUDA_TRY(cudaGetLastError());
  sum_sequences<<<blocks_for(shape.members * shape.channels * shape.states, kThreads), kThreads, 0, stream>>>(
      shape, scratch, out.da);
  return launched();
}

}  // namespace

std::int64_t scan_checkpoints(const ScanShape& shape) {
  return shape.sequences * segments(shape) * shape.channels * shape.states;
}
std::int64_t diagonal_scan_scratch(const ScanShape& shape) { return Scratch(shape, nullptr).size; }

int diagonal_scan_forward_cuda(const ScanShape& shape, const ScanInputs& inputs, const MutableSlice& y,
                               float* checkpoints, void* stream) {
  if (!valid(shape)) return cudaErrorInvalidValue;
  if (shape.sequences == 0 || shape.positions == 0) return cudaSuccess;
  if (scan_blocks(shape) == 0) return cudaErrorInvalidConfiguration;
  return by_lanes(shape, [&]<int P>() {
    if (shape.element == Element::f32)
      scan_forward<float, P>
          <<<scan_blocks(shape), kThreads, 0, stream_of(stream)>>>(shape, inputs, y, checkpoints);
    else
      scan_forward<Bf16, P>
          <<<scan_blocks(shape), kThreads, 0, stream_of(stream)>>>(shape, inputs, y, checkpoints);
    return launched();
  });
}

int diagonal_scan_backward_cuda(const ScanShape& shape, const ScanInputs& inputs, const Slice& dy,
                                const float* checkpoints, const ScanGradients& gradients, float* scratch,
                                void* stream) {
  if (!valid(shape) || !gradients.da) return cudaErrorInvalidValue;
  if (shape.sequences == 0 || shape.positions == 0) {
    const auto bytes =
        static_cast<std::size_t>(shape.members * shape.channels * shape.states) * sizeof(float);
    return cudaMemsetAsync(gradients.da, 0, bytes, stream_of(stream));
  }
  if (!checkpoints || !scratch) return cudaErrorInvalidValue;
  if (scan_blocks(shape) == 0) return cudaErrorInvalidConfiguration;
  const Scratch parts(shape, scratch);
  return shape.element == Element::f32
             ? backward<float>(shape, inputs, dy, checkpoints, gradients, parts, stream_of(stream))
             : backward<Bf16>(shape, inputs, dy, checkpoints, gradients, parts, stream_of(stream));
}

}  // namespace rung::kernels
