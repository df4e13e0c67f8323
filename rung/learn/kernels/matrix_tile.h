// Products of small matrices in float32 on the host: what a block of rows needs, with every operand in cache. One
// factor lies in panels, sixteen columns side by side: a register tile reads it from one end to the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rung::kernels {

inline constexpr std::int64_t kPanel = 16;
constexpr std::int64_t panels_of(std::int64_t columns) { return (columns + kPanel - 1) / kPanel; }
// Numbers that [rows, columns] takes in panels.
constexpr std::int64_t panelled_size(std::int64_t rows, std::int64_t columns) {
  return panels_of(columns) * kPanel * rows;
}

// Number (i, k) stands at data[i * row + k / 16 * panel + k % 16 * step].
struct LeftFactor {
  const float* data = nullptr;
  std::int64_t row = 0, step = 1, panel = kPanel;
};
// The factor of a matrix [.., depth] with rows `stride` apart, and of the transpose of one [depth, ..].
constexpr LeftFactor by_rows(const float* data, std::int64_t stride) { return {data, stride, 1, kPanel}; }
constexpr LeftFactor by_columns(const float* data, std::int64_t stride) {
  return {data, 1, stride, kPanel * stride};
}
// The same of a matrix in panels of so many rows. Of the transpose no more than sixteen rows, one panel's.
constexpr LeftFactor by_panels(const float* data, std::int64_t rows) {
  return {data, kPanel, 1, rows * kPanel};
}
constexpr LeftFactor by_panel_columns(const float* data) { return by_columns(data, kPanel); }

// Number (i, j) is written to data[i * row + j / 16 * panel + j % 16].
struct ProductPlace {
  float* data = nullptr;
  std::int64_t row = 0, panel = kPanel;
};
constexpr ProductPlace in_rows(float* data, std::int64_t stride) { return {data, stride, kPanel}; }
constexpr ProductPlace in_panels(float* data, std::int64_t rows) { return {data, kPanel, rows * kPanel}; }

// A matrix [depth, columns] in panels, those `panel` numbers apart.
struct RightFactor {
  const float* data = nullptr;
  std::int64_t panel = 0;
};
constexpr RightFactor of_panels(const float* data, std::int64_t depth) { return {data, depth * kPanel}; }

enum class ProductEnd { store, add, relu };  // add: to what stands there; relu: the larger of it and 0

struct ProductShape {
  std::int64_t rows = 0, columns = 0, depth = 0;
};

// left times right, plus start where there is one: [columns], the same for every row. Nothing is written beyond `columns` but where a place in panels has room for it.
// One thread; a number's bits depend on its own row and column alone.
void multiply(const ProductShape& shape, const LeftFactor& left, const RightFactor& right,
              const ProductPlace& place, ProductEnd end = ProductEnd::store, const float* start = nullptr);

// [rows, columns] with rows `stride` apart into panels, zeros beyond; and the transpose of [columns, rows].
void into_panels(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* to);
void transposed_into_panels(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                            float* to);

// Numbers that begin at a cache line: a vector that straddles two costs twice.
class AlignedNumbers {
 public:
  AlignedNumbers() = default;
  explicit AlignedNumbers(std::int64_t count) { resize(count); }
  void resize(std::int64_t count) { lines_.resize(static_cast<std::size_t>((count + 15) / 16)); }
  float* data() { return reinterpret_cast<float*>(lines_.data()); }

 private:
  struct alignas(64) Line {
    float numbers[16];
  };
  std::vector<Line> lines_;
};

}  // namespace rung::kernels
