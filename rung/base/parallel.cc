#include "rung/base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "rung/base/require.h"

namespace rung {
namespace {

// Work inside work runs on the thread that it is on: the outer loop already keeps the cores busy.
thread_local bool inside_worker = false;

}  // namespace

int worker_count() {
  if (const char* text = std::getenv("RUNG_THREADS")) {
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (end != text && *end == '\0' && value >= 1 && value <= 1024) return static_cast<int>(value);
  }
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return std::max(1, CPU_COUNT(&cores));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void parallel_for(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t)>& body) {
  RUNG_REQUIRE(grain >= 1, "grain={}", grain);
  if (count <= 0) return;
  const std::int64_t chunks = (count + grain - 1) / grain;
  const int workers = static_cast<int>(std::min<std::int64_t>(worker_count(), chunks));
  if (workers == 1 || inside_worker) {
    for (std::int64_t begin = 0; begin < count; begin += grain) body(begin, std::min(count, begin + grain));
    return;
  }
  std::atomic<std::int64_t> next{0};
  auto work = [&] {
    inside_worker = true;
    for (std::int64_t chunk; (chunk = next.fetch_add(1)) < chunks;)
      body(chunk * grain, std::min(count, (chunk + 1) * grain));
    inside_worker = false;
  };
  std::vector<std::jthread> threads;
  threads.reserve(workers - 1);
  for (int i = 1; i < workers; ++i) threads.emplace_back(work);
  work();
}

}  // namespace rung
