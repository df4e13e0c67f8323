#include "rung/learn/kernels/head_rows.h"

#include "rung/learn/kernels/vector_clones.h"

namespace rung::kernels {
namespace {

template <class T>
RUNG_KERNEL_INLINE void unpack_rows(const T* from, std::int64_t stride, std::int64_t rows, std::int64_t size,
                                    std::int64_t width, float* to) {
  for (std::int64_t t = 0; t < rows; ++t)
    for (std::int64_t c = 0; c < size; ++c) to[t * width + c] = to_float(from[t * stride + c]);
}
template <class T>
RUNG_KERNEL_INLINE void pack_rows(T* to, std::int64_t stride, std::int64_t rows, std::int64_t size,
                                  std::int64_t width, const float* from) {
  for (std::int64_t t = 0; t < rows; ++t)
    for (std::int64_t c = 0; c < size; ++c) store(to[t * stride + c], from[t * width + c]);
}
RUNG_KERNEL_CLONES void unpack(Element element, const void* from, std::int64_t stride, std::int64_t rows,
                               std::int64_t size, std::int64_t width, float* to) {
  if (element == Element::f32)
    unpack_rows(static_cast<const float*>(from), stride, rows, size, width, to);
  else
    unpack_rows(static_cast<const Bf16*>(from), stride, rows, size, width, to);
}
RUNG_KERNEL_CLONES void pack(Element element, void* to, std::int64_t stride, std::int64_t rows,
                             std::int64_t size, std::int64_t width, const float* from) {
  if (element == Element::f32)
    pack_rows(static_cast<float*>(to), stride, rows, size, width, from);
  else
    pack_rows(static_cast<Bf16*>(to), stride, rows, size, width, from);
}

}  // namespace

void HeadRows::read(const Slice& slice, std::int64_t n, std::int64_t h) {
  place({const_cast<void*>(slice.data), slice.sequence_stride, slice.position_stride}, n, h);
  if (!in_place()) unpack(element_, outside_, outside_stride_, length_, size_, width_, data_);
}
void HeadRows::end() {
  if (!in_place()) pack(element_, outside_, outside_stride_, length_, size_, width_, data_);
}
void HeadRows::place(const MutableSlice& slice, std::int64_t n, std::int64_t h) {
  outside_ = static_cast<unsigned char*>(slice.data) +
             (n * slice.sequence_stride + h * size_) * element_size(element_);
  outside_stride_ = slice.position_stride;
  data_ = in_place() ? static_cast<float*>(outside_) : own_.data();
  stride_ = in_place() ? outside_stride_ : width_;
}

}  // namespace rung::kernels
