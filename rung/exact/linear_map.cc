#include "rung/exact/linear_map.h"

#include "rung/exact/vector_clones.h"

namespace rung {
namespace {

template <class Number, class Sum>
inline __attribute__((always_inline)) void add_all(const Number* transposed, const Number* x,
                                                   std::int64_t rows, std::int64_t cols, Sum* sums) {
  for (std::int64_t c = 0; c < cols; ++c) {
    const Sum factor = x[c];
    if (factor == 0) continue;
    for (std::int64_t r = 0; r < rows; ++r) sums[r] += static_cast<Sum>(transposed[c * rows + r]) * factor;
  }
}

}  // namespace

RUNG_VECTOR_CLONES void add_columns(const std::int64_t* transposed, const std::int64_t* x, std::int64_t rows,
                                    std::int64_t cols, std::int64_t* sums) {
  add_all(transposed, x, rows, cols, sums);
}
void add_columns(const std::int64_t* transposed, const std::int64_t* x, std::int64_t rows, std::int64_t cols,
                 Int128* sums) {
  add_all(transposed, x, rows, cols, sums);
}
RUNG_VECTOR_CLONES void add_columns(const double* transposed, const double* x, std::int64_t rows,
                                    std::int64_t cols, double* sums) {
  add_all(transposed, x, rows, cols, sums);
}

}  // namespace rung
