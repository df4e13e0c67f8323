// Where rung is built without CUDA: the device's side of every kernel, which answers that there is none.
#ifndef RUNG_HAS_CUDA

#include "rung/learn/kernels/adamw.h"
#include "rung/learn/kernels/answer_loss.h"
#include "rung/learn/kernels/bias_rows.h"
#include "rung/learn/kernels/causal_attention.h"
#include "rung/learn/kernels/cell_recurrence.h"
#include "rung/learn/kernels/diagonal_scan.h"
#include "rung/learn/kernels/embedding_sum.h"
#include "rung/learn/kernels/feed_forward.h"
#include "rung/learn/kernels/log_linear_attention.h"
#include "rung/learn/kernels/matrix_recurrence.h"
#include "rung/learn/kernels/row_norm.h"
#include "rung/learn/kernels/task_instances.h"

namespace rung::kernels {
namespace {
constexpr int kNoDevice = 100;  // cudaErrorNoDevice
}

std::int64_t adamw_scratch(std::int64_t, std::int64_t) { return 0; }
int adamw_step_cuda(const AdamWSettings&, const AdamWBuffers&, void*, void*) { return kNoDevice; }
int answer_loss_cuda(const AnswerRows&, float*, std::uint8_t*, void*, void*) { return kNoDevice; }
int add_bias_cuda(const BiasRows&, void*) { return kNoDevice; }
bool causal_attention_fits(const CausalAttentionShape&) { return false; }
int causal_attention_forward_cuda(const CausalAttentionShape&, const CausalAttentionInputs&,
                                  const MutableSlice&, float*, void*) {
  return kNoDevice;
}
std::int64_t causal_attention_scratch(const CausalAttentionShape&) { return 0; }
int causal_attention_backward_cuda(const CausalAttentionShape&, const CausalAttentionInputs&, const Slice&,
                                   const float*, const Slice&, const CausalAttentionGradients&, float*,
                                   void*) {
  return kNoDevice;
}
int cell_forward_cuda(const CellShape&, const CellInputs&, float*, const MutableSlice&, void*) {
  return kNoDevice;
}
int cell_backward_cuda(const CellShape&, const CellInputs&, const float*, const Slice&, const MutableSlice&,
                       float*, void*) {
  return kNoDevice;
}
std::int64_t scan_checkpoints(const ScanShape&) { return 0; }
std::int64_t diagonal_scan_scratch(const ScanShape&) { return 0; }
int diagonal_scan_forward_cuda(const ScanShape&, const ScanInputs&, const MutableSlice&, float*, void*) {
  return kNoDevice;
}
int diagonal_scan_backward_cuda(const ScanShape&, const ScanInputs&, const Slice&, const float*,
                                const ScanGradients&, float*, void*) {
  return kNoDevice;
}
std::int64_t embedding_sum_scratch(const EmbeddingShape&, const EmbeddingField*) { return 0; }
int embedding_sum_forward_cuda(const EmbeddingShape&, const EmbeddingField*, const void*, void*, void*) {
  return kNoDevice;
}
int embedding_sum_backward_cuda(const EmbeddingShape&, const EmbeddingField*, const void*, float*, float*,
                                void*) {
  return kNoDevice;
}
bool feed_forward_fits(std::int64_t, std::int64_t) { return false; }
int feed_forward_cuda(const FeedForwardShape&, const Bf16*, const FeedForwardWeights&, Bf16*, void*) {
  return kNoDevice;
}
std::int64_t feed_forward_scratch(const FeedForwardShape&) { return 0; }
int feed_forward_backward_cuda(const FeedForwardShape&, const Bf16*, const FeedForwardWeights&, const Bf16*,
                               const FeedForwardGradients&, float*, void*) {
  return kNoDevice;
}
std::int64_t log_linear_scratch(const LogLinearShape&) { return 0; }
int log_linear_forward_cuda(const LogLinearShape&, const LogLinearInputs&, const MutableSlice&, float*,
                            void*) {
  return kNoDevice;
}
int log_linear_backward_cuda(const LogLinearShape&, const LogLinearInputs&, const Slice&,
                             const LogLinearGradients&, float*, void*) {
  return kNoDevice;
}
std::int64_t matrix_recurrence_scratch(const RecurrenceShape&) { return 0; }
int matrix_recurrence_forward_cuda(const RecurrenceShape&, const RecurrenceInputs&, const MutableSlice&,
                                   float*, void*) {
  return kNoDevice;
}
int matrix_recurrence_backward_cuda(const RecurrenceShape&, const RecurrenceInputs&, const float*,
                                    const Slice&, const RecurrenceGradients&, float*, void*) {
  return kNoDevice;
}
std::int64_t row_norm_scratch(const NormShape&) { return 0; }
int row_norm_forward_cuda(const NormShape&, const NormRows&, const float*, const MutableNormRows&, float*,
                          void*) {
  return kNoDevice;
}
int row_norm_backward_cuda(const NormShape&, const NormRows&, const float*, const float*, const NormRows&,
                           const MutableNormRows&, float*, float*, void*) {
  return kNoDevice;
}
std::int64_t task_instances_scratch(const InstanceTask&, std::int64_t, std::int64_t) { return 0; }
int task_instances_cuda(const InstanceTask&, const InstanceBatch&, std::int32_t*, void*) { return kNoDevice; }

}  // namespace rung::kernels

#endif
