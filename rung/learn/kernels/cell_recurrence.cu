// A lane is one number of state; P neighbouring lanes (the states, up to a power of two) are one sequence, and a block is
// one warp. A lane holds its rows of U, backward its columns too, in registers, and its neighbours' states come by
// shuffles: a token costs no memory but its own numbers, which are fetched a few tokens ahead.
// Lanes past the last state or sequence have zero weights and sums: their state stays 0, and they store nothing.
#include "rung/learn/kernels/cell_recurrence.h"
#include "rung/learn/kernels/warp.cuh"

namespace rung::kernels {
namespace {

__device__ inline float device_logistic(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }
__device__ inline float device_tangent(float x) { return 2.0f * device_logistic(2.0f * x) - 1.0f; }

template <int P>
struct CellPlace {
  static constexpr int kAhead = P < 32 ? 4 : 2;  // tokens; more would spill registers
  std::int64_t n, member;
  int i;
  bool inside;
  __device__ explicit CellPlace(const CellShape& shape) {
    n = static_cast<std::int64_t>(blockIdx.x) * (kWarp / P) + threadIdx.x / P;
    i = static_cast<int>(threadIdx.x) % P;
    inside = n < shape.sequences && i < shape.size;
    member = inside ? n / (shape.sequences / shape.members) : 0;
  }
};

// The lane's rows of U (turned: its columns) and of b.
template <int G, int P>
__device__ inline void load_weights(float (&u)[G][P], float (&bias)[G], const CellShape& shape,
                                    const CellInputs& in, const CellPlace<P>& place, bool turned) {
  const std::int64_t size = shape.size, rows = G * size;
#pragma unroll
  for (int g = 0; g < G; ++g) {
    bias[g] = place.inside && in.bias ? in.bias[place.member * rows + g * size + place.i] : 0.0f;
#pragma unroll
    for (int j = 0; j < P; ++j) {
      const std::int64_t row = g * size + (turned ? j : place.i), column = turned ? place.i : j;
      u[g][j] = place.inside && j < size ? in.state[(place.member * rows + row) * size + column] : 0.0f;
    }
  }
}

template <class T, int G, int P>
__device__ inline void fetch_sums(float (&x)[G], const CellShape& shape, const Slice& sums,
                                  const CellPlace<P>& place, std::int64_t t) {
  const bool there = place.inside && t >= 0 && t < shape.positions;
#pragma unroll
  for (int g = 0; g < G; ++g)
    x[g] = there ? widen(vector_at<T>(sums, place.n, t, 0, 0)[g * shape.size + place.i]) : 0.0f;
}

// U h + b by the lanes of a sequence.
template <int G, int P>
__device__ inline void state_sums(float (&s)[G], const float (&u)[G][P], const float (&bias)[G], float h) {
#pragma unroll
  for (int g = 0; g < G; ++g) s[g] = bias[g];
#pragma unroll
  for (int j = 0; j < P; ++j) {
    const float value = __shfl_sync(kAllLanes, h, j, P);
#pragma unroll
    for (int g = 0; g < G; ++g) s[g] += u[g][j] * value;
  }
}

template <class T, int P, bool Gru>
__global__ void __launch_bounds__(kWarp)
    forward_kernel(const CellShape shape, const CellInputs in, float* states, const MutableSlice y) {
  constexpr int G = Gru ? 3 : 1, kAhead = CellPlace<P>::kAhead;
  const CellPlace<P> place(shape);
  const float levels = shape.bits > 0 ? static_cast<float>(1 << (shape.bits - 1)) - 0.5f : 0.0f;
  float u[G][P], bias[G], next[kAhead][G], h = 0.0f;
  load_weights<G, P>(u, bias, shape, in, place, false);
#pragma unroll
  for (int a = 0; a < kAhead; ++a) fetch_sums<T, G, P>(next[a], shape, in.sums, place, a);
  for (std::int64_t t0 = 0; t0 < shape.positions; t0 += kAhead) {
    float now[kAhead][G];
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
#pragma unroll
      for (int g = 0; g < G; ++g) now[a][g] = next[a][g];
      fetch_sums<T, G, P>(next[a], shape, in.sums, place, t0 + kAhead + a);
    }
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      if (t0 + a >= shape.positions) break;
      float s[G];
      state_sums<G, P>(s, u, bias, h);
      if constexpr (Gru) {
        const float z = device_logistic(now[a][0] + s[0]), r = device_logistic(now[a][1] + s[1]);
        const float fresh = device_tangent(now[a][2] + r * s[2]);
        h = fresh + z * (h - fresh);
      } else {
        const float sum = now[a][0] + s[0];
        h = shape.kind == CellKind::tanh ? device_tangent(sum) : fmaxf(sum, 0.0f);
      }
      if (levels > 0.0f) h = rintf(h * levels) / levels;
      if (place.inside) {
        states[(place.n * shape.positions + t0 + a) * shape.size + place.i] = h;
        store(vector_at<T>(y, place.n, t0 + a, 0, 0)[place.i], h);
      }
    }
  }
}

template <class T, int P, bool Gru>
__global__ void __launch_bounds__(kWarp)
    backward_kernel(const CellShape shape, const CellInputs in, const float* states, const Slice dy,
                    const MutableSlice dsums, float* e_out) {
  constexpr int G = Gru ? 3 : 1, kAhead = CellPlace<P>::kAhead;
  const CellPlace<P> place(shape);
  float u[G][P], turned[G][P], bias[G], back = 0.0f;
  load_weights<G, P>(turned, bias, shape, in, place, true);
  load_weights<G, P>(u, bias, shape, in, place, false);
  float next[kAhead][G], next_gradient[kAhead], next_before[kAhead];
  const auto fetch = [&](int a, std::int64_t t) {
    fetch_sums<T, G, P>(next[a], shape, in.sums, place, t);
    next_gradient[a] = place.inside && t >= 0 ? widen(vector_at<T>(dy, place.n, t, 0, 0)[place.i]) : 0.0f;
    next_before[a] =
        place.inside && t >= 1 ? states[(place.n * shape.positions + t - 1) * shape.size + place.i] : 0.0f;
  };
  const std::int64_t last = shape.positions - 1;
#pragma unroll
  for (int a = 0; a < kAhead; ++a) fetch(a, last - a);
  for (std::int64_t t0 = last; t0 >= 0; t0 -= kAhead) {
    float now[kAhead][G], gradient[kAhead], before[kAhead];
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
#pragma unroll
      for (int g = 0; g < G; ++g) now[a][g] = next[a][g];
      gradient[a] = next_gradient[a], before[a] = next_before[a];
      fetch(a, t0 - kAhead - a);
    }
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      const std::int64_t t = t0 - a;
      if (t < 0) break;
      float s[G], d[G], e[G];
      state_sums<G, P>(s, u, bias, before[a]);
      const float dh = gradient[a] + back;
      if constexpr (Gru) {
        const float z = device_logistic(now[a][0] + s[0]), r = device_logistic(now[a][1] + s[1]);
        const float fresh = device_tangent(now[a][2] + r * s[2]);
        const float dn = dh * (1.0f - z) * (1.0f - fresh * fresh);
        d[0] = e[0] = dh * (before[a] - fresh) * z * (1.0f - z);
        d[1] = e[1] = dn * s[2] * r * (1.0f - r);
        d[2] = dn;
        e[2] = dn * r;
        back = z * dh;
      } else {
        const float sum = now[a][0] + s[0], h = device_tangent(sum);
        const float slope = shape.kind == CellKind::tanh ? 1.0f - h * h : (sum > 0.0f ? 1.0f : 0.0f);
        d[0] = e[0] = dh * slope;
        back = 0.0f;
      }
#pragma unroll
      for (int r = 0; r < P; ++r)
#pragma unroll
        for (int g = 0; g < G; ++g) back += turned[g][r] * __shfl_sync(kAllLanes, e[g], r, P);
      if (place.inside) {
        T* to = vector_at<T>(dsums, place.n, t, 0, 0);
        float* to_e = e_out + (place.n * shape.positions + t) * G * shape.size;
#pragma unroll
        for (int g = 0; g < G; ++g) {
          store(to[g * shape.size + place.i], d[g]);
          to_e[g * shape.size + place.i] = e[g];
        }
      }
    }
  }
}

// launch.operator()<P>() for the lanes of a sequence.
template <class Launch>
int by_cell_lanes(const CellShape& shape, Launch launch) {
  if (shape.size <= 8) return launch.template operator()<8>();
  if (shape.size <= 16) return launch.template operator()<16>();
  return launch.template operator()<32>();
}
// launch.operator()<T, P, Gru>(blocks), once the shape is known to be one that a kernel has.
template <class Launch>
int by_cell(const CellShape& shape, Launch launch) {
  if (shape.members < 1 || shape.sequences < 0 || shape.sequences % shape.members != 0 ||
      shape.positions < 0 || shape.size < 1 || !cell_fits_device(shape) || shape.bits < 0 ||
      shape.bits > 16 || (shape.bits > 0 && shape.kind == CellKind::relu))
    return cudaErrorInvalidValue;
  if (shape.sequences == 0 || shape.positions == 0) return cudaSuccess;
  return by_cell_lanes(shape, [&]<int P>() -> int {
    const unsigned blocks = blocks_for(shape.sequences, kWarp / P);
    if (blocks == 0) return cudaErrorInvalidConfiguration;
    const bool gru = shape.kind == CellKind::gru;
    if (shape.element == Element::f32)
      gru ? launch.template operator()<float, P, true>(blocks)
          : launch.template operator()<float, P, false>(blocks);
    else
      gru ? launch.template operator()<Bf16, P, true>(blocks)
          : launch.template operator()<Bf16, P, false>(blocks);
    return launched();
  });
}

}  // namespace

int cell_forward_cuda(const CellShape& shape, const CellInputs& inputs, float* states, const MutableSlice& y,
                      void* stream) {
  return by_cell(shape, [&]<class T, int P, bool Gru>(unsigned blocks) {
    forward_kernel<T, P, Gru><<<blocks, kWarp, 0, stream_of(stream)>>>(shape, inputs, states, y);
  });
}

int cell_backward_cuda(const CellShape& shape, const CellInputs& inputs, const float* states, const Slice& dy,
                       const MutableSlice& dsums, float* e, void* stream) {
  return by_cell(shape, [&]<class T, int P, bool Gru>(unsigned blocks) {
    backward_kernel<T, P, Gru><<<blocks, kWarp, 0, stream_of(stream)>>>(shape, inputs, states, dy, dsums, e);
  });
}

}  // namespace rung::kernels
