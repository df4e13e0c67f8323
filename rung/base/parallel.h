// Work split over the machine's cores. Results never depend on the number of workers: a body writes only to
// places that belong to its own index.
#pragma once

#include <cstdint>
#include <functional>

namespace rung {

// The number of workers: RUNG_THREADS if set to 1..1024, else the cores this process may run on.
int worker_count();

// Calls body(begin, end) over disjoint ranges that cover [0, count), in chunks of at most `grain`, handed out
// dynamically to worker_count() threads (the calling thread is one). Returns when all are done. Called from
// inside a body it runs in place, on that body's thread: one level of work is split, never two. REQUIRES
// grain >= 1.
void parallel_for(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body);

}  // namespace rung
