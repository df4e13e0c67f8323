// The tasks whose positions have several fields: retrieval, sparse-average, nearest. make_task, which checks
// the sizes, calls these.
#pragma once

#include "check/task.h"

namespace rung_check {

std::unique_ptr<Task> make_retrieval(std::int64_t n, std::int64_t bits, std::int64_t sigma, Budget& budget);
std::unique_ptr<Task> make_sparse_average(std::int64_t n, std::int64_t q, std::int64_t d, std::int64_t f,
                                          bool last, Budget& budget);
std::unique_ptr<Task> make_nearest(std::int64_t n, std::int64_t d, std::int64_t sigma, std::int64_t f,
                                   std::int64_t margin, Budget& budget);

}  // namespace rung_check
