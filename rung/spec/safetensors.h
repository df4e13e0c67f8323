// The safetensors container: 8 bytes little-endian header length, a JSON header, then raw little-endian
// tensors. Reading maps the file and checks everything before it believes anything: the header fits the file,
// every dtype is known, shape times size equals the byte range, ranges do not overlap and leave no hole,
// names are unique. No allocation is proportional to a number that the file merely claims.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rung/base/result.h"

namespace rung {

enum class DType { boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64 };
std::string_view dtype_name(DType dtype);  // "BOOL", "U8", "I8", ...
std::int64_t dtype_size(DType dtype);      // bytes

// A tensor's bytes belong to the file map or to `owned`; copying a Tensor shares them.
struct Tensor {
  DType dtype = DType::i64;
  std::vector<std::int64_t> shape;  // empty: a scalar
  std::shared_ptr<const void> owner;
  const std::byte* bytes = nullptr;

  std::int64_t size() const;  // number of elements
  bool is_integer() const {
    return dtype != DType::f16 && dtype != DType::bf16 && dtype != DType::f32 && dtype != DType::f64;
  }
  // REQUIRES is_integer().
  std::int64_t integer(std::int64_t index) const;
  // Any dtype; exact for integers below 2^53 in size.
  double real(std::int64_t index) const;
};

// The smallest integer dtype that holds all values. REQUIRES product of shape == values.size().
Tensor integer_tensor(std::vector<std::int64_t> shape, std::span<const std::int64_t> values);
Tensor real_tensor(std::vector<std::int64_t> shape, std::span<const double> values,
                   DType dtype);  // f32 or f64
inline Tensor integer_scalar(std::int64_t value) { return integer_tensor({}, std::span(&value, 1)); }

struct TensorFile {
  std::map<std::string, std::string> metadata;
  std::map<std::string, Tensor> tensors;
};

Result<TensorFile> read_safetensors(const std::string& path);
// Writes a temporary file beside `path`, flushes it to disk and renames it: the file is whole or absent.
Result<void> write_safetensors(const std::string& path, const TensorFile& file);

}  // namespace rung
