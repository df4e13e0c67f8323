// The embedding of a prompt: x[n, t] = sum over fields f of table_f[member, token_f[n, t]] (+
// position[member, t]), and its gradient. Member of sequence n: n / (N / E).
#pragma once

#include <cstdint>

#include "rung/learn/kernels/element.h"

namespace rung::kernels {

inline constexpr int kMaxEmbeddingFields = 8;

struct EmbeddingField {
  const void* tokens = nullptr;  // [N, T]; REQUIRES every token in [0, size)
  std::int64_t size = 0;         // rows of the table
  const void* table = nullptr;   // [E, size, width]; unused by the gradient
  float* gradient = nullptr;     // [E, size, width], overwritten by the gradient; null: not wanted
};

struct EmbeddingShape {
  std::int64_t members = 1, sequences = 0, positions = 0, width = 0;  // E, N (REQUIRES E divides N), T
  int fields = 1;                                                     // 1 … kMaxEmbeddingFields
  bool wide_tokens = false;                                           // int64, else int32
  Element element = Element::f32;                                     // of the tables, x and dx
  std::int64_t position_rows = 0;  // rows of the position table; at least T if used
};

// position [E, position_rows, width] or null. ENSURES x [N, T, width] written. One thread.
void embedding_sum_forward(const EmbeddingShape& shape, const EmbeddingField* fields, const void* position,
                           void* x);
// dposition [E, position_rows, width] or null, overwritten (rows from T on are 0). Sums run in the order of
// (n, t), in float32. One thread; the same bits on every call.
void embedding_sum_backward(const EmbeddingShape& shape, const EmbeddingField* fields, const void* dx,
                            float* dposition);

// The same on a device, queued on `stream` (a cudaStream_t). Returns 0 or a cudaError_t. Tables of at most
// kGatheredRows rows are gathered, the same bits on every call; larger ones are added to atomically.
inline constexpr std::int64_t kGatheredRows = 1024;
std::int64_t embedding_sum_scratch(const EmbeddingShape& shape,
                                   const EmbeddingField* fields);  // floats, for backward
int embedding_sum_forward_cuda(const EmbeddingShape& shape, const EmbeddingField* fields,
                               const void* position, void* x, void* stream);
int embedding_sum_backward_cuda(const EmbeddingShape& shape, const EmbeddingField* fields, const void* dx,
                                float* dposition, float* scratch, void* stream);

}  // namespace rung::kernels
