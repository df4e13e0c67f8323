#include "rung/learn/kernels/embedding_sum.h"

#include <algorithm>
#include <vector>

#include "rung/base/require.h"
#include "rung/learn/kernels/vector_clones.h"

namespace rung::kernels {
namespace {

std::int64_t token_at(const EmbeddingShape& shape, const EmbeddingField& field, std::int64_t place) {
  const std::int64_t token = shape.wide_tokens ? static_cast<const std::int64_t*>(field.tokens)[place]
                                               : static_cast<const std::int32_t*>(field.tokens)[place];
  RUNG_REQUIRE(token >= 0 && token < field.size, "token {} of a table of {} rows", token, field.size);
  return token;
}

template <class T>
RUNG_KERNEL_INLINE void add_row(float* sum, const T* row, std::int64_t width) {
  for (std::int64_t c = 0; c < width; ++c) sum[c] += to_float(row[c]);
}
RUNG_KERNEL_CLONES void add_f32(float* sum, const void* rows, std::int64_t row, std::int64_t width) {
  add_row(sum, static_cast<const float*>(rows) + row * width, width);
}
RUNG_KERNEL_CLONES void add_bf16(float* sum, const void* rows, std::int64_t row, std::int64_t width) {
  add_row(sum, static_cast<const Bf16*>(rows) + row * width, width);
}

void require_shape(const EmbeddingShape& shape, bool positions) {
  RUNG_REQUIRE(shape.members >= 1 && shape.sequences >= 0 && shape.sequences % shape.members == 0,
               "E={} N={}", shape.members, shape.sequences);
  RUNG_REQUIRE(shape.fields >= 1 && shape.fields <= kMaxEmbeddingFields, "fields={}", shape.fields);
  RUNG_REQUIRE(shape.width >= 1 && shape.positions >= 0, "width={} T={}", shape.width, shape.positions);
  RUNG_REQUIRE(!positions || shape.position_rows >= shape.positions, "T={} of {} position rows",
               shape.positions, shape.position_rows);
}

}  // namespace

void embedding_sum_forward(const EmbeddingShape& shape, const EmbeddingField* fields, const void* position,
                           void* x) {
  require_shape(shape, position != nullptr);
  const auto add = shape.element == Element::f32 ? add_f32 : add_bf16;
  const std::int64_t width = shape.width, each = shape.sequences / shape.members;
  std::vector<float> sum(static_cast<std::size_t>(width));
  for (std::int64_t n = 0; n < shape.sequences; ++n) {
    const std::int64_t member = n / each;
    for (std::int64_t t = 0; t < shape.positions; ++t) {
      const std::int64_t place = n * shape.positions + t;
      std::fill(sum.begin(), sum.end(), 0.0f);
      for (int f = 0; f < shape.fields; ++f)
        add(sum.data(), fields[f].table, member * fields[f].size + token_at(shape, fields[f], place), width);
      if (position) add(sum.data(), position, member * shape.position_rows + t, width);
      if (shape.element == Element::f32)
        std::copy(sum.begin(), sum.end(), static_cast<float*>(x) + place * width);
      else
        for (std::int64_t c = 0; c < width; ++c)
          store(static_cast<Bf16*>(x)[place * width + c], sum[static_cast<std::size_t>(c)]);
    }
  }
}

void embedding_sum_backward(const EmbeddingShape& shape, const EmbeddingField* fields, const void* dx,
                            float* dposition) {
  require_shape(shape, dposition != nullptr);
  const auto add = shape.element == Element::f32 ? add_f32 : add_bf16;
  const std::int64_t width = shape.width, each = shape.sequences / shape.members;
  for (int f = 0; f < shape.fields; ++f)
    if (fields[f].gradient) std::fill_n(fields[f].gradient, shape.members * fields[f].size * width, 0.0f);
  if (dposition) std::fill_n(dposition, shape.members * shape.position_rows * width, 0.0f);
  for (std::int64_t n = 0; n < shape.sequences; ++n) {
    const std::int64_t member = n / each;
    for (std::int64_t t = 0; t < shape.positions; ++t) {
      const std::int64_t place = n * shape.positions + t;
      for (int f = 0; f < shape.fields; ++f)
        if (fields[f].gradient) {
          const std::int64_t row = member * fields[f].size + token_at(shape, fields[f], place);
          add(fields[f].gradient + row * width, dx, place, width);
        }
      if (dposition) add(dposition + (member * shape.position_rows + t) * width, dx, place, width);
    }
  }
}

}  // namespace rung::kernels
