#include "rung/learn/device_stream.h"

#include <stdexcept>

#include "rung/learn/torch.h"

#ifdef RUNG_HAS_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#endif

namespace rung::learn {

void check_device(int code, const char* kernel) {
  if (code != 0) throw std::runtime_error(fmt::format("[train] kernel {}: CUDA error {}", kernel, code));
}

#ifdef RUNG_HAS_CUDA

Result<void> cuda_ready() {
  if (!torch::cuda::is_available())
    return fail(ErrorCode::unsupported, "[train] device cuda: this machine has no usable CUDA device");
  return {};
}
std::string cuda_name() { return at::cuda::getCurrentDeviceProperties()->name; }
void* current_stream() { return at::cuda::getCurrentCUDAStream().stream(); }
void synchronise() { at::cuda::getCurrentCUDAStream().synchronize(); }

DeviceMemory cuda_memory() {
  // The allocator knows a device only after its first tensor.
  const torch::Tensor first = torch::empty({1}, torch::TensorOptions(torch::kFloat32).device(torch::kCUDA));
  std::size_t free = 0, total = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(at::cuda::current_device());
  return {static_cast<std::int64_t>(free), static_cast<std::int64_t>(total), stats.allocated_bytes[0].current,
          stats.allocated_bytes[0].peak};
}

std::int64_t peak_of(const std::function<void()>& body) {
  const auto device = at::cuda::current_device();
  const std::int64_t before =
      c10::cuda::CUDACachingAllocator::getDeviceStats(device).allocated_bytes[0].current;
  c10::cuda::CUDACachingAllocator::resetPeakStats(device);
  body();
  return c10::cuda::CUDACachingAllocator::getDeviceStats(device).allocated_bytes[0].peak - before;
}

struct RecordedStep::Graph {
  at::cuda::CUDAGraph graph;
};

// libtorch makes handles and workspaces on first use, some on the second.
constexpr int kRehearsals = 2;

RecordedStep::RecordedStep(const std::function<void()>& body, const RecordedStep* beside)
    : graph_(std::make_unique<Graph>()) {
  // Capture needs a stream of its own, and everything that is made once (handles, workspaces) made before.
  const c10::cuda::CUDAStream side = c10::cuda::getStreamFromPool();
  synchronise();
  {
    const c10::cuda::CUDAStreamGuard guard(side);
    for (int i = 0; i < kRehearsals; ++i) body();
    side.synchronize();
    // What the rehearsals leave in the cache is no use to the graph, which keeps memory of its own.
    c10::cuda::CUDACachingAllocator::emptyCache();
    if (beside)
      graph_->graph.capture_begin(beside->graph_->graph.pool());
    else
      graph_->graph.capture_begin();
    body();
    graph_->graph.capture_end();
  }
  side.synchronize();
}
void RecordedStep::replay() { graph_->graph.replay(); }

#else

Result<void> cuda_ready() {
  return fail(ErrorCode::unsupported, "[train] device cuda: this rung was built without CUDA; cpu expected");
}
std::string cuda_name() { return ""; }
void* current_stream() { return nullptr; }
void synchronise() {}
DeviceMemory cuda_memory() { return {}; }
std::int64_t peak_of(const std::function<void()>& body) { return body(), 0; }
struct RecordedStep::Graph {};
RecordedStep::RecordedStep(const std::function<void()>& body, const RecordedStep*) { body(); }
void RecordedStep::replay() {}

#endif

RecordedStep::~RecordedStep() = default;
RecordedStep::RecordedStep(RecordedStep&&) noexcept = default;

}  // namespace rung::learn
