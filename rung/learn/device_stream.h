// The accelerator, if there is one: stubs that say so where rung was built without CUDA.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rung/base/result.h"

namespace rung::learn {

// Whether a CUDA device can be used, and why not.
Result<void> cuda_ready();
std::string cuda_name();  // "NVIDIA H200"

// The current CUDA stream, for kernels. REQUIRES cuda_ready().
void* current_stream();
// A kernel's answer: nothing for 0, else an exception that names it (a launch that failed cannot be gone on
// from).
void check_device(int code, const char* kernel);

// Bytes: free and whole memory of the device.
struct DeviceMemory {
  std::int64_t free = 0, total = 0;
  std::int64_t held = 0, peak = 0;  // by tensors: now, and the most at once since peak_of() was last called
};
DeviceMemory cuda_memory();
// Bytes that `body` held at once on the device, beyond what was there before; what stays (workspaces)
// included.
std::int64_t peak_of(const std::function<void()>& body);

// A step recorded once and replayed: no launch is paid a second time. REQUIRES cuda_ready() and that `body`
// queues work on the current stream alone, in memory that stays.
class RecordedStep {
 public:
  // `beside`: a step that lives at least as long and is never replayed at the same time; the two share one
  // memory.
  explicit RecordedStep(const std::function<void()>& body, const RecordedStep* beside = nullptr);
  ~RecordedStep();
  RecordedStep(RecordedStep&&) noexcept;
  void replay();

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

void synchronise();

}  // namespace rung::learn
