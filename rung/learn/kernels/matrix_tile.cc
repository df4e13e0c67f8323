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

// Rows rows and Vectors vectors of columns: side by side in one panel or, where a vector is a panel, in as many panels.
template <int Lanes, int Rows, int Vectors>
RUNG_KERNEL_INLINE void tile(std::int64_t depth, const LeftFactor& left, const RightFactor& right,
                             const ProductPlace& place, ProductEnd end, const float* start) {
  using V = typename VectorOf<Lanes>::type;
  constexpr bool kWhole = Lanes == kPanel;
  const std::int64_t read_apart = kWhole ? right.panel : Lanes, written_apart = kWhole ? place.panel : Lanes;
  V sum[Rows][Vectors];
#pragma GCC unroll 16
  for (int v = 0; v < Vectors; ++v)
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) sum[i][v] = start ? loaded<V>(start + v * Lanes) : V{};
  const float* column = right.data;
  for (std::int64_t from = 0; from < depth; from += kPanel) {
    const float* a = left.data + from / kPanel * left.panel;
    const std::int64_t many = std::min(kPanel, depth - from);
    for (std::int64_t k = 0; k < many; ++k) {
      V b[Vectors];
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) b[v] = loaded<V>(column + v * read_apart);
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) {
        const float factor = a[i * left.row];
#pragma GCC unroll 16
        for (int v = 0; v < Vectors; ++v) sum[i][v] += factor * b[v];
      }
      a += left.step;
      column += kPanel;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) {
      float* to = place.data + i * place.row + v * written_apart;
      V value = sum[i][v];
      if (end == ProductEnd::add) value += loaded<V>(to);
      if (end == ProductEnd::relu) value = value > 0.0f ? value : V{};
      __builtin_memcpy(to, &value, sizeof(value));
    }
}

// So many panels side by side and `rows` rows, at most Rows: the tile of just that height.
template <int Lanes, int Rows, int Panels>
RUNG_KERNEL_INLINE void across(std::int64_t rows, std::int64_t depth, const LeftFactor& left,
                               const RightFactor& right, const ProductPlace& place, ProductEnd end,
                               const float* start) {
  if constexpr (Rows > 1)
    if (rows < Rows) return across<Lanes, Rows - 1, Panels>(rows, depth, left, right, place, end, start);
  if constexpr (Lanes == kPanel) {
    tile<Lanes, Rows, Panels>(depth, left, right, place, end, start);
  } else {
    constexpr int kVectors = 2;
    for (int c = 0; c < kPanel; c += Lanes * kVectors)
      tile<Lanes, Rows, kVectors>(depth, left, {right.data + c, right.panel},
                                  {place.data + c, place.row, place.panel}, end, start ? start + c : nullptr);
  }
}

template <int Lanes, int Rows, int Panels>
RUNG_KERNEL_INLINE void down(const ProductShape& shape, LeftFactor left, const RightFactor& right,
                             ProductPlace place, ProductEnd end, const float* start) {
  for (std::int64_t i = 0; i < shape.rows; i += Rows) {
    across<Lanes, Rows, Panels>(std::min<std::int64_t>(Rows, shape.rows - i), shape.depth, left, right, place,
                                end, start);
    left.data += Rows * left.row;
    place.data += Rows * place.row;
  }
}

// The columns of the last panel that it does not fill are put together beside their place, which may have no room for the rest.
template <int Lanes, int Rows>
RUNG_KERNEL_INLINE void down_part(const ProductShape& shape, LeftFactor left, const RightFactor& right,
                                  ProductPlace place, ProductEnd end, const float* start) {
  alignas(64) float beside[Rows * kPanel], begin[kPanel] = {};
  if (start) std::copy_n(start, shape.columns, begin), start = begin;
  for (std::int64_t i = 0; i < shape.rows; i += Rows) {
    const std::int64_t rows = std::min<std::int64_t>(Rows, shape.rows - i);
    if (end == ProductEnd::add)
      for (std::int64_t r = 0; r < rows; ++r)
        std::copy_n(place.data + r * place.row, shape.columns, beside + r * kPanel);
    across<Lanes, Rows, 1>(rows, shape.depth, left, right, in_rows(beside, kPanel), end, start);
    for (std::int64_t r = 0; r < rows; ++r)
      std::copy_n(beside + r * kPanel, shape.columns, place.data + r * place.row);
    left.data += Rows * left.row;
    place.data += Rows * place.row;
  }
}

template <int Lanes, int Rows, int Panels>
RUNG_KERNEL_INLINE void multiply_by(ProductShape shape, const LeftFactor& left, RightFactor right,
                                    ProductPlace place, ProductEnd end, const float* start) {
  const auto pass = [&](int panels) {
    right.data += panels * right.panel, place.data += panels * place.panel, shape.columns -= panels * kPanel;
    if (start) start += panels * kPanel;
  };
  for (; shape.columns >= Panels * kPanel; pass(Panels))
    down<Lanes, Rows, Panels>(shape, left, right, place, end, start);
  if constexpr (Panels > 1)
    for (; shape.columns >= kPanel; pass(1)) down<Lanes, Rows, 1>(shape, left, right, place, end, start);
  if (shape.columns > 0) down_part<Lanes, Rows>(shape, left, right, place, end, start);
}

using Multiply = void (*)(const ProductShape&, const LeftFactor&, const RightFactor&, const ProductPlace&,
                          ProductEnd, const float*);

void multiply_narrow(const ProductShape& shape, const LeftFactor& left, const RightFactor& right,
                     const ProductPlace& place, ProductEnd end, const float* start) {
  multiply_by<4, 4, 1>(shape, left, right, place, end, start);
}
#ifdef RUNG_KERNEL_TARGET
RUNG_KERNEL_TARGET("arch=x86-64-v3")
void multiply_v3(const ProductShape& shape, const LeftFactor& left, const RightFactor& right,
                 const ProductPlace& place, ProductEnd end, const float* start) {
  multiply_by<8, 6, 1>(shape, left, right, place, end, start);
}
RUNG_KERNEL_TARGET("arch=x86-64-v4")
void multiply_v4(const ProductShape& shape, const LeftFactor& left, const RightFactor& right,
                 const ProductPlace& place, ProductEnd end, const float* start) {
  multiply_by<16, 8, 2>(shape, left, right, place, end, start);
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
