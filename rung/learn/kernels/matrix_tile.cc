// A tile of a few rows and one panel of columns stays in registers while the depth passes by. Its height and its
// vectors are those of the machine: twelve accumulators of eight numbers, or twelve of sixteen.
#include "rung/learn/kernels/matrix_tile.h"

#include <algorithm>
#include <cstring>

#include "rung/learn/kernels/vector_clones.h"

namespace rung::kernels {
namespace {

template <int Lanes>
struct VectorOf;
template <>
struct VectorOf<4> {
  typedef float type __attribute__((vector_size(16)));
};
template <>
struct VectorOf<8> {
  typedef float type __attribute__((vector_size(32)));
};
template <>
struct VectorOf<16> {
  typedef float type __attribute__((vector_size(64)));
};

template <class V>
RUNG_KERNEL_INLINE V loaded(const float* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof(v));
  return v;
}

// Rows rows and Vectors * Lanes columns of one panel.
template <int Lanes, int Rows, int Vectors>
RUNG_KERNEL_INLINE void tile(std::int64_t depth, const LeftFactor& left, const float* right, float* to,
                             std::int64_t row, ProductEnd end, const float* start) {
  using V = typename VectorOf<Lanes>::type;
  V sum[Rows][Vectors];
#pragma GCC unroll 16
  for (int v = 0; v < Vectors; ++v)
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) sum[i][v] = start ? loaded<V>(start + v * Lanes) : V{};
  const std::int64_t step = left.step, apart = left.row;
  for (std::int64_t from = 0; from < depth; from += kPanel) {
    const float* a = left.data + from / kPanel * left.panel;
    const std::int64_t many = std::min(kPanel, depth - from);
    for (std::int64_t k = 0; k < many; ++k) {
      V b[Vectors];
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) b[v] = loaded<V>(right + v * Lanes);
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) {
        const float factor = a[i * apart];
#pragma GCC unroll 16
        for (int v = 0; v < Vectors; ++v) sum[i][v] += factor * b[v];
      }
      a += step;
      right += kPanel;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) {
      float* place = to + i * row + v * Lanes;
      V value = sum[i][v];
      if (end == ProductEnd::add) value += loaded<V>(place);
      if (end == ProductEnd::relu) value = value > 0.0f ? value : V{};
      __builtin_memcpy(place, &value, sizeof(value));
    }
}

// A panel's columns, as many vectors at a time as the registers hold.
template <int Lanes, int Rows, int Vectors>
RUNG_KERNEL_INLINE void across(std::int64_t depth, const LeftFactor& left, const float* right, float* to,
                               std::int64_t row, ProductEnd end, const float* start) {
  for (int c = 0; c < kPanel; c += Lanes * Vectors)
    tile<Lanes, Rows, Vectors>(depth, left, right + c, to + c, row, end, start ? start + c : nullptr);
}

template <int Lanes, int Rows, int Vectors>
RUNG_KERNEL_INLINE void multiply_by(const ProductShape& shape, const LeftFactor& left,
                                    const RightFactor& right, const ProductPlace& place, ProductEnd end,
                                    const float* start) {
  for (std::int64_t panel = 0; panel < panels_of(shape.columns); ++panel) {
    const std::int64_t columns = std::min(kPanel, shape.columns - panel * kPanel);
    // Part of a panel is put together beside its place, which may have no room for the rest.
    const bool part = columns < kPanel;
    alignas(64) float beside[Rows * kPanel], begin[kPanel];
    const float* first = start ? start + panel * kPanel : nullptr;
    if (part && start) {
      std::fill(begin, begin + kPanel, 0.0f);
      std::copy(first, first + columns, begin);
      first = begin;
    }
    const float* from = right.data + panel * right.panel;
    for (std::int64_t i = 0; i < shape.rows;) {
      const std::int64_t rows = std::min<std::int64_t>(Rows, shape.rows - i);
      LeftFactor here = left;
      here.data += i * left.row;
      float* to = place.data + i * place.row + panel * place.panel;
      float* at = part ? beside : to;
      const std::int64_t apart = part ? kPanel : place.row;
      if (part && end == ProductEnd::add)
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t c = 0; c < columns; ++c) beside[r * kPanel + c] = to[r * place.row + c];
      if (rows == Rows)
        across<Lanes, Rows, Vectors>(shape.depth, here, from, at, apart, end, first);
      else
        switch (rows) {
          case 5:
            across<Lanes, std::min(5, Rows), Vectors>(shape.depth, here, from, at, apart, end, first);
            break;
          case 4:
            across<Lanes, std::min(4, Rows), Vectors>(shape.depth, here, from, at, apart, end, first);
            break;
          case 3:
            across<Lanes, std::min(3, Rows), Vectors>(shape.depth, here, from, at, apart, end, first);
            break;
          case 2:
            across<Lanes, std::min(2, Rows), Vectors>(shape.depth, here, from, at, apart, end, first);
            break;
          default:
            across<Lanes, 1, Vectors>(shape.depth, here, from, at, apart, end, first);
        }
      if (part)
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t c = 0; c < columns; ++c) to[r * place.row + c] = beside[r * kPanel + c];
      i += rows;
    }
  }
}

using Multiply = void (*)(const ProductShape&, const LeftFactor&, const RightFactor&, const ProductPlace&,
                          ProductEnd, const float*);

void multiply_narrow(const ProductShape& shape, const LeftFactor& left, const RightFactor& right,
                     const ProductPlace& place, ProductEnd end, const float* start) {
  multiply_by<4, 4, 2>(shape, left, right, place, end, start);
}
#ifdef RUNG_KERNEL_TARGET
RUNG_KERNEL_TARGET("arch=x86-64-v3")
void multiply_v3(const ProductShape& shape, const LeftFactor& left, const RightFactor& right,
                 const ProductPlace& place, ProductEnd end, const float* start) {
  multiply_by<8, 6, 2>(shape, left, right, place, end, start);
}
RUNG_KERNEL_TARGET("arch=x86-64-v4")
void multiply_v4(const ProductShape& shape, const LeftFactor& left, const RightFactor& right,
                 const ProductPlace& place, ProductEnd end, const float* start) {
  multiply_by<16, 6, 1>(shape, left, right, place, end, start);
}
#endif

Multiply widest() {
#ifdef RUNG_KERNEL_TARGET
  if (__builtin_cpu_supports("x86-64-v4")) return multiply_v4;
  if (__builtin_cpu_supports("x86-64-v3")) return multiply_v3;
#endif
  return multiply_narrow;
}

RUNG_KERNEL_CLONES void copy_into_panels(const float* from, std::int64_t stride, std::int64_t rows,
                                         std::int64_t columns, float* to) {
  for (std::int64_t first = 0; first < columns; first += kPanel)
    for (std::int64_t i = 0; i < rows; ++i, to += kPanel) {
      const float* row = from + i * stride + first;
      if (columns - first >= kPanel)
        for (int c = 0; c < kPanel; ++c) to[c] = row[c];
      else
        for (std::int64_t c = 0; c < kPanel; ++c) to[c] = first + c < columns ? row[c] : 0.0f;
    }
}

}  // namespace

void multiply(const ProductShape& shape, const LeftFactor& left, const RightFactor& right,
              const ProductPlace& place, ProductEnd end, const float* start) {
  static const Multiply best = widest();
  best(shape, left, right, place, end, start);
}

void into_panels(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* to) {
  copy_into_panels(from, stride, rows, columns, to);
}

void transposed_into_panels(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                            float* to) {
  using V = VectorOf<4>::type;
  for (std::int64_t first = 0; first < columns; first += kPanel, to += rows * kPanel) {
    const std::int64_t many = std::min(kPanel, columns - first);
    if (many < kPanel) std::fill(to, to + rows * kPanel, 0.0f);
    for (std::int64_t c = 0; c < many; c += 4) {
      const float* column = from + (first + c) * stride;
      std::int64_t i = 0;
      // Four by four, so that neither side is walked number by number.
      for (; c + 4 <= many && i + 4 <= rows; i += 4) {
        const V w = loaded<V>(column + i), x = loaded<V>(column + stride + i),
                y = loaded<V>(column + 2 * stride + i), z = loaded<V>(column + 3 * stride + i);
        const V wx = __builtin_shufflevector(w, x, 0, 4, 1, 5),
                yz = __builtin_shufflevector(y, z, 0, 4, 1, 5),
                xw = __builtin_shufflevector(w, x, 2, 6, 3, 7),
                zy = __builtin_shufflevector(y, z, 2, 6, 3, 7);
        const V out[4] = {
            __builtin_shufflevector(wx, yz, 0, 1, 4, 5), __builtin_shufflevector(wx, yz, 2, 3, 6, 7),
            __builtin_shufflevector(xw, zy, 0, 1, 4, 5), __builtin_shufflevector(xw, zy, 2, 3, 6, 7)};
        for (int k = 0; k < 4; ++k) __builtin_memcpy(to + (i + k) * kPanel + c, &out[k], sizeof(V));
      }
      for (; i < rows; ++i)
        for (std::int64_t k = 0; k < std::min<std::int64_t>(4, many - c); ++k)
          to[i * kPanel + c + k] = column[k * stride + i];
    }
  }
}

}  // namespace rung::kernels
