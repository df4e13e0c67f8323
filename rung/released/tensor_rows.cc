#include "rung/released/tensor_rows.h"

#include <cstring>

#include "rung/base/require.h"

namespace rung {
namespace {

std::int64_t row_size(const Tensor& tensor) {
  RUNG_REQUIRE(!tensor.shape.empty(), "a scalar has no rows");
  return tensor.shape[0] == 0 ? 0 : tensor.size() / tensor.shape[0];
}

Tensor with_room(DType dtype, std::vector<std::int64_t> shape, std::vector<std::byte>*& room) {
  Tensor out{dtype, std::move(shape), nullptr, nullptr};
  auto storage =
      std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(out.size() * dtype_size(dtype)));
  room = storage.get();
  out.bytes = storage->data();
  out.owner = storage;
  return out;
}

}  // namespace

Tensor rows_of(const Tensor& tensor, std::int64_t begin, std::int64_t end) {
  RUNG_REQUIRE(!tensor.shape.empty() && 0 <= begin && begin <= end && end <= tensor.shape[0], "rows {}..{}",
               begin, end);
  Tensor out = tensor;
  out.bytes += begin * row_size(tensor) * dtype_size(tensor.dtype);
  out.shape[0] = end - begin;
  return out;
}

Tensor gathered_rows(const Tensor& tensor, std::span<const std::int64_t> rows) {
  auto shape = tensor.shape;
  shape[0] = static_cast<std::int64_t>(rows.size());
  std::vector<std::byte>* room = nullptr;
  Tensor out = with_room(tensor.dtype, shape, room);
  const std::int64_t bytes = row_size(tensor) * dtype_size(tensor.dtype);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    RUNG_REQUIRE(rows[i] >= 0 && rows[i] < tensor.shape[0], "row {} of {}", rows[i], tensor.shape[0]);
    std::memcpy(room->data() + static_cast<std::int64_t>(i) * bytes, tensor.bytes + rows[i] * bytes,
                static_cast<std::size_t>(bytes));
  }
  return out;
}

Tensor joined_rows(std::span<const Tensor> tensors) {
  RUNG_REQUIRE(!tensors.empty(), "nothing to join");
  auto shape = tensors[0].shape;
  shape[0] = 0;
  bool alike = true;
  for (const auto& tensor : tensors) {
    RUNG_REQUIRE(tensor.shape.size() == shape.size() &&
                     std::equal(shape.begin() + 1, shape.end(), tensor.shape.begin() + 1),
                 "rows of different shapes");
    shape[0] += tensor.shape[0];
    alike = alike && tensor.dtype == tensors[0].dtype;
  }
  if (!alike) {
    std::vector<double> all;
    for (const auto& tensor : tensors) {
      const auto values = reals_of(tensor);
      all.insert(all.end(), values.begin(), values.end());
    }
    return real_tensor(shape, all, DType::f64);
  }
  std::vector<std::byte>* room = nullptr;
  Tensor out = with_room(tensors[0].dtype, shape, room);
  std::byte* at = room->data();
  for (const auto& tensor : tensors) {
    const auto bytes = static_cast<std::size_t>(tensor.size() * dtype_size(tensor.dtype));
    std::memcpy(at, tensor.bytes, bytes);
    at += bytes;
  }
  return out;
}

Tensor reshaped(Tensor tensor, std::vector<std::int64_t> shape) {
  const std::int64_t before = tensor.size();
  tensor.shape = std::move(shape);
  RUNG_REQUIRE(tensor.size() == before, "{} numbers, {} before", tensor.size(), before);
  return tensor;
}

Tensor flipped_taps(const Tensor& tensor) {
  const std::int64_t channels = tensor.shape[0], width = row_size(tensor);
  std::vector<std::byte>* room = nullptr;
  Tensor out = with_room(tensor.dtype, {channels, width}, room);
  const std::int64_t bytes = dtype_size(tensor.dtype);
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t j = 0; j < width; ++j)
      std::memcpy(room->data() + (c * width + j) * bytes, tensor.bytes + (c * width + width - 1 - j) * bytes,
                  static_cast<std::size_t>(bytes));
  return out;
}

std::vector<double> reals_of(const Tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.size()));
  for (std::int64_t i = 0; i < tensor.size(); ++i) values[static_cast<std::size_t>(i)] = tensor.real(i);
  return values;
}

}  // namespace rung
