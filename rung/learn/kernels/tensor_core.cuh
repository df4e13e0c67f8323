// What a kernel on tensor cores asks of the machine, as the static functions of a class: kernels are templates
// on it, so that tests can run them on a host that imitates these few (tests/learn/kernels/emulated_core.h).
// Fragments are those of mma.m16n8k16 in the PTX ISA; with g = lane / 4 and t = lane % 4, two bfloat16 numbers
// a register, the lower column first:
//   A [16 x 16]  a0 = (g, 2t)   a1 = (g+8, 2t)   a2 = (g, 2t+8)   a3 = (g+8, 2t+8)
//   B [16 x 8]   b0 = (2t, g)   b1 = (2t+8, g)                              rows of B are the sum's index
//   C [16 x 8]   c0, c1 = (g, 2t), (g, 2t+1)   c2, c3 = (g+8, 2t), (g+8, 2t+1)    float32
// so that the C of two neighbouring blocks of columns, rounded, is an A.
#pragma once

#include "rung/learn/kernels/warp.cuh"

namespace rung::kernels {

struct TensorCore {
  // Read anew at every call: what is made of it in one phase of a kernel takes no register in the others.
  static __device__ int thread() {
    int index;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(index));
    return index;
  }
  static __device__ int lane() { return static_cast<int>(threadIdx.x) % kWarp; }
  static __device__ int block() { return static_cast<int>(blockIdx.x); }
  static __device__ int member() { return static_cast<int>(blockIdx.y); }
  static __device__ void sync_block() { __syncthreads(); }
  static __device__ void sync_warp() { __syncwarp(); }
  static __device__ float shuffle_xor(float x, int lanes) { return __shfl_xor_sync(kAllLanes, x, lanes); }
  static __device__ unsigned exchange(unsigned x, int lanes) { return __shfl_xor_sync(kAllLanes, x, lanes); }
  static __device__ float from_lane(float x, int lane) { return __shfl_sync(kAllLanes, x, lane); }
  static __device__ float from_lane_below(float x, int lanes) { return __shfl_up_sync(kAllLanes, x, lanes); }
  static __device__ bool any(bool of_lane) { return __any_sync(kAllLanes, of_lane); }

  // The block's dynamic shared memory, by bytes from its beginning.
  template <class T>
  static __device__ T* shared(unsigned offset) {
    extern __shared__ __align__(128) unsigned char shared_bytes[];
    return reinterpret_cast<T*>(shared_bytes + offset);
  }
  // Several numbers in one access: the compiler takes arrays apart and does not always put them together again.
  static __device__ void load_pair(float (&to)[2], unsigned offset) {
    const float2 both = *shared<float2>(offset);
    to[0] = both.x, to[1] = both.y;
  }
  static __device__ void load_eight(float (&to)[8], unsigned offset) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float4 four = *shared<float4>(offset + 16 * i);
      to[4 * i] = four.x, to[4 * i + 1] = four.y, to[4 * i + 2] = four.z, to[4 * i + 3] = four.w;
    }
  }
  static __device__ void save_sixteen(void* to, const std::uint32_t (&bytes)[4]) {
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)),
                 "r"(bytes[0]), "r"(bytes[1]), "r"(bytes[2]), "r"(bytes[3])
                 : "memory");
  }
  static __device__ void save_pair(float* to, float first, float second) {
    asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)), "f"(first),
                 "f"(second)
                 : "memory");
  }
  static __device__ void save_four(float* to, float a, float b, float c, float d) {
    asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "f"(a),
                 "f"(b), "f"(c), "f"(d)
                 : "memory");
  }
  static __device__ unsigned address(const void* place) {
    return static_cast<unsigned>(__cvta_generic_to_shared(place));
  }

  // Four matrices [8 x 8]: lanes 8i .. 8i+7 name the rows of matrix i, 16 bytes each; every lane receives the
  // numbers (g, 2t), (g, 2t+1) of each, of its transpose where transposed.
  static __device__ void load_matrices(unsigned (&to)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address(row))
                 : "memory");
  }
  static __device__ void load_transposed(unsigned (&to)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address(row))
                 : "memory");
  }
  static __device__ void load_matrices(unsigned (&to)[4], unsigned offset) {
    load_matrices(to, shared<unsigned char>(offset));
  }
  static __device__ void load_transposed(unsigned (&to)[4], unsigned offset) {
    load_transposed(to, shared<unsigned char>(offset));
  }
  // The 8 x 8 matrix that the lanes hold, transposed.
  static __device__ unsigned transpose(unsigned x) {
    unsigned y;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(y) : "r"(x));
    return y;
  }
  // C += A B.
  static __device__ void multiply_add(float* c, const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }

  // Sixteen bytes from device memory to shared memory, 0 in their place unless `inside`; they are there for
  // this thread after wait_copies, for others after a synchronisation that follows it.
  static __device__ void copy_async(void* to, const void* from, bool inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address(to)), "l"(from),
                 "r"(inside ? 16 : 0)
                 : "memory");
  }
  static __device__ void copy_async(unsigned offset, const void* from, bool inside) {
    copy_async(shared<unsigned char>(offset), from, inside);
  }
  static __device__ void wait_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

  static __device__ unsigned pack(float low, float high) {
    unsigned both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
  }
  static __device__ float low(unsigned both) { return __uint_as_float(both << 16); }
  static __device__ float high(unsigned both) { return __uint_as_float(both & 0xFFFF0000u); }
  static __device__ float exponential(float x) { return __expf(x); }
  static __device__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
  static __device__ float logarithm_of_two(float x) { return __log2f(x); }
  static __device__ float inverse_root(float x) { return rsqrtf(x); }
  static __device__ float quotient(float x, float y) { return __fdividef(x, y); }
};

}  // namespace rung::kernels
