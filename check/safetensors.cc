#include "check/safetensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "check/document.h"
#include "check/integer.h"

namespace rung_check {
namespace {

constexpr std::uint64_t kLongestHeader = 100'000'000;
constexpr std::size_t kMostAxes = 16;
constexpr std::int64_t kLargestWeight = std::int64_t{1} << 46;

std::int64_t bytes_of(const std::string& dtype) {
  if (dtype == "BOOL" || dtype == "U8" || dtype == "I8") return 1;
  if (dtype == "I16" || dtype == "F16" || dtype == "BF16") return 2;
  if (dtype == "I32" || dtype == "F32") return 4;
  if (dtype == "I64" || dtype == "F64") return 8;
  throw Malformed(text("the model has a tensor of the unknown dtype ", dtype.substr(0, 20)));
}

template <class T>
T little_endian(const char* bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return static_cast<T>(value);
}

std::int64_t integer_at(const Tensor& tensor, std::int64_t index) {
  const char* at = tensor.bytes + index * bytes_of(tensor.dtype);
  if (tensor.dtype == "I8") return little_endian<std::int8_t>(at);
  if (tensor.dtype == "I16") return little_endian<std::int16_t>(at);
  if (tensor.dtype == "I32") return little_endian<std::int32_t>(at);
  if (tensor.dtype == "I64") return little_endian<std::int64_t>(at);
  return little_endian<std::uint8_t>(at);  // U8, BOOL
}

// BF16 is the upper half of an F32; an F16 has 5 bits of exponent and 10 of fraction.
double real_at(const Tensor& tensor, std::int64_t index) {
  const char* at = tensor.bytes + index * bytes_of(tensor.dtype);
  if (tensor.dtype == "F64") return std::bit_cast<double>(little_endian<std::uint64_t>(at));
  if (tensor.dtype == "F32") return std::bit_cast<float>(little_endian<std::uint32_t>(at));
  if (tensor.dtype == "BF16")
    return std::bit_cast<float>(static_cast<std::uint32_t>(little_endian<std::uint16_t>(at)) << 16);
  if (tensor.dtype == "F16") {
    const auto bits = little_endian<std::uint16_t>(at);
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31  ? HUGE_VAL
                        : exponent == 0 ? std::ldexp(fraction, -24)
                                        : std::ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 ? -size : size;
  }
  return static_cast<double>(integer_at(tensor, index));
}

std::string listed(const Row& shape) {
  std::string out = "[";
  for (const auto n : shape) out += text(out.size() > 1 ? ", " : "", n);
  return out + "]";
}

}  // namespace

TensorFile::TensorFile(const std::string& bytes) {
  if (bytes.size() < 8) throw Malformed("the model file is shorter than 8 bytes");
  const auto header = little_endian<std::uint64_t>(bytes.data());
  if (header > kLongestHeader || header > bytes.size() - 8)
    throw Malformed(text("the model's header claims ", header, " bytes of a file of ", bytes.size()));
  const auto data = static_cast<std::int64_t>(bytes.size() - 8 - header);
  const Json json = parse_json(bytes.substr(8, header), "the model's header");
  if (!json.is_object()) throw Malformed("the model's header is not an object");
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (const auto& [name, entry] : json.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) throw Malformed("the model's __metadata__ is not an object");
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string())
          throw Malformed("the model's __metadata__ holds something that is not a string");
        metadata_[key] = value.get<std::string>();
      }
      continue;
    }
    Members members(entry, text("tensor ", name.substr(0, 80)));
    Tensor tensor{members.word("dtype"), members.numbers("shape")};
    const Row offsets = members.numbers("data_offsets");
    members.done();
    if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] < offsets[0] || offsets[1] > data)
      throw Malformed(text(members.where(), " lies outside the file"));
    if (tensor.shape.size() > kMostAxes)
      throw Malformed(text(members.where(), " has more than ", kMostAxes, " axes"));
    Int count = 1;
    for (const auto axis : tensor.shape) {
      if (axis < 0) throw Malformed(text(members.where(), " has a negative size"));
      count *= axis;
      if (count > data) throw Malformed(text(members.where(), " is larger than the file"));
    }
    if (count * bytes_of(tensor.dtype) != offsets[1] - offsets[0])
      throw Malformed(text(members.where(), ": shape and byte range do not match"));
    tensor.count = static_cast<std::int64_t>(count);
    tensor.bytes = bytes.data() + 8 + header + offsets[0];
    if (offsets[0] != offsets[1]) ranges.emplace_back(offsets[0], offsets[1]);
    tensors_.emplace(name, tensor);
  }
  std::sort(ranges.begin(), ranges.end());
  std::int64_t end = 0;
  for (const auto& [from, to] : ranges) {
    if (from != end) throw Malformed("the model's tensors overlap or leave a hole");
    end = to;
  }
  if (end != data) throw Malformed("the model's tensors do not reach to the end of the file");
}

const Tensor& TensorFile::take(const std::string& name) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw Malformed(text("the model has no tensor ", name));
  taken_.insert(name);
  return found->second;
}

Row TensorFile::integers(const std::string& name, const Row& shape, Budget& budget) {
  const Tensor& tensor = take(name);
  if (tensor.dtype[0] == 'F' || tensor.dtype == "BF16")
    throw Malformed(text("tensor ", name, " holds no integers"));
  if (tensor.shape != shape)
    throw Malformed(
        text("tensor ", name, " has the shape ", listed(tensor.shape), "; ", listed(shape), " expected"));
  budget.store(static_cast<std::uint64_t>(tensor.count));
  Row numbers(static_cast<std::size_t>(tensor.count));
  for (std::int64_t i = 0; i < tensor.count; ++i) {
    const std::int64_t number = integer_at(tensor, i);
    if (number > kLargestWeight || number < -kLargestWeight)
      throw Malformed(text("tensor ", name, " has a number beyond 2^46"));
    numbers[static_cast<std::size_t>(i)] = number;
  }
  return numbers;
}

std::vector<double> TensorFile::reals(const std::string& name, const Row& shape, Budget& budget) {
  const Tensor& tensor = take(name);
  if (tensor.shape != shape)
    throw Malformed(
        text("tensor ", name, " has the shape ", listed(tensor.shape), "; ", listed(shape), " expected"));
  budget.store(static_cast<std::uint64_t>(tensor.count));
  std::vector<double> numbers(static_cast<std::size_t>(tensor.count));
  for (std::int64_t i = 0; i < tensor.count; ++i) {
    const double number = numbers[static_cast<std::size_t>(i)] = real_at(tensor, i);
    const bool whole = tensor.dtype[0] != 'F' && tensor.dtype != "BF16";
    if (!std::isfinite(number) || (whole && std::abs(number) > static_cast<double>(kLargestWeight)))
      throw Malformed(text("tensor ", name, " has a number beyond its range"));
  }
  return numbers;
}

void TensorFile::all_taken() const {
  for (const auto& [name, tensor] : tensors_)
    if (!taken_.contains(name)) throw Malformed(text("nothing reads the tensor ", name.substr(0, 80)));
}

std::int64_t Source::scalar(const std::string& name, std::int64_t otherwise, std::int64_t low,
                            std::int64_t high) const {
  if (!has(name)) return otherwise;
  const std::int64_t number = numbers(name, {}).front();
  if (number < low || number > high)
    throw Malformed(text(prefix, name, " is ", number, "; ", low, " to ", high, " expected"));
  return number;
}

}  // namespace rung_check
