#include "rung/spec/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "rung/base/nearest_word.h"
#include "rung/base/staged_file.h"

namespace rung {
namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors are little-endian, and so is this reader");

struct DTypeRow {
  DType dtype;
  std::string_view name;
  std::int64_t size;
};
constexpr std::array kDTypes = {
    DTypeRow{DType::boolean, "BOOL", 1}, DTypeRow{DType::u8, "U8", 1},     DTypeRow{DType::i8, "I8", 1},
    DTypeRow{DType::i16, "I16", 2},      DTypeRow{DType::i32, "I32", 4},   DTypeRow{DType::i64, "I64", 8},
    DTypeRow{DType::f16, "F16", 2},      DTypeRow{DType::bf16, "BF16", 2}, DTypeRow{DType::f32, "F32", 4},
    DTypeRow{DType::f64, "F64", 8},
};

// The format's own cap on the header, so that a reader need not trust the length field.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr int kMaxDimensions = 16;

template <class T>
T load(const std::byte* bytes, std::int64_t index) {
  T value;
  std::memcpy(&value, bytes + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const double fraction = bits & 1023;
  const double sign = (bits & 0x8000) ? -1.0 : 1.0;
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

struct FileMap {
  void* address = MAP_FAILED;
  std::size_t size = 0;
  ~FileMap() {
    if (address != MAP_FAILED) munmap(address, size);
  }
};

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

Error corrupt(const std::string& path, const std::string& what) {
  return fail(ErrorCode::format, "[safetensors] {}: {}", path, what);
}

}  // namespace

std::string_view dtype_name(DType dtype) {
  for (const auto& row : kDTypes)
    if (row.dtype == dtype) return row.name;
  RUNG_REQUIRE(false, "dtype {}", static_cast<int>(dtype));
}

std::int64_t dtype_size(DType dtype) {
  for (const auto& row : kDTypes)
    if (row.dtype == dtype) return row.size;
  RUNG_REQUIRE(false, "dtype {}", static_cast<int>(dtype));
}

std::int64_t Tensor::size() const {
  std::int64_t product = 1;
  for (const auto extent : shape) product *= extent;
  return product;
}

std::int64_t Tensor::integer(std::int64_t index) const {
  switch (dtype) {
    case DType::boolean:
    case DType::u8:
      return load<std::uint8_t>(bytes, index);
    case DType::i8:
      return load<std::int8_t>(bytes, index);
    case DType::i16:
      return load<std::int16_t>(bytes, index);
    case DType::i32:
      return load<std::int32_t>(bytes, index);
    case DType::i64:
      return load<std::int64_t>(bytes, index);
    default:
      RUNG_REQUIRE(false, "integer() of a {} tensor", dtype_name(dtype));
  }
}

double Tensor::real(std::int64_t index) const {
  switch (dtype) {
    case DType::f32:
      return load<float>(bytes, index);
    case DType::f64:
      return load<double>(bytes, index);
    case DType::f16:
      return half_to_double(load<std::uint16_t>(bytes, index));
    case DType::bf16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(load<std::uint16_t>(bytes, index)) << 16);
    default:
      return static_cast<double>(integer(index));
  }
}

namespace {

template <class T, class Source>
Tensor packed(DType dtype, std::vector<std::int64_t> shape, std::span<const Source> values) {
  auto storage = std::make_shared<std::vector<T>>(values.size());
  std::transform(values.begin(), values.end(), storage->begin(), [](Source v) { return static_cast<T>(v); });
  Tensor tensor{dtype, std::move(shape), storage, reinterpret_cast<const std::byte*>(storage->data())};
  RUNG_REQUIRE(tensor.size() == static_cast<std::int64_t>(values.size()), "shape holds {} values, {} given",
               tensor.size(), values.size());
  return tensor;
}

}  // namespace

Tensor integer_tensor(std::vector<std::int64_t> shape, std::span<const std::int64_t> values) {
  std::int64_t low = 0, high = 0;
  for (const auto value : values) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  auto fits = [&](auto limit) { return low >= decltype(limit)::min() && high <= decltype(limit)::max(); };
  if (fits(std::numeric_limits<std::int8_t>{}))
    return packed<std::int8_t>(DType::i8, std::move(shape), values);
  if (fits(std::numeric_limits<std::int16_t>{}))
    return packed<std::int16_t>(DType::i16, std::move(shape), values);
  if (fits(std::numeric_limits<std::int32_t>{}))
    return packed<std::int32_t>(DType::i32, std::move(shape), values);
  return packed<std::int64_t>(DType::i64, std::move(shape), values);
}

Tensor real_tensor(std::vector<std::int64_t> shape, std::span<const double> values, DType dtype) {
  RUNG_REQUIRE(dtype == DType::f32 || dtype == DType::f64, "dtype {}", dtype_name(dtype));
  if (dtype == DType::f32) return packed<float>(dtype, std::move(shape), values);
  return packed<double>(dtype, std::move(shape), values);
}

Result<TensorFile> read_safetensors(const std::string& path) {
  Descriptor descriptor{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (descriptor.fd < 0) return fail(ErrorCode::io, "[safetensors] {}: {}", path, std::strerror(errno));
  struct stat status {};
  if (fstat(descriptor.fd, &status) != 0 || !S_ISREG(status.st_mode))
    return fail(ErrorCode::io, "[safetensors] {}: not a regular file", path);
  const auto file_size = static_cast<std::uint64_t>(status.st_size);
  if (file_size < 8) return corrupt(path, fmt::format("{} bytes, at least 8 expected", file_size));

  auto map = std::make_shared<FileMap>();
  map->size = file_size;
  map->address = mmap(nullptr, file_size, PROT_READ, MAP_PRIVATE, descriptor.fd, 0);
  if (map->address == MAP_FAILED)
    return fail(ErrorCode::io, "[safetensors] {}: {}", path, std::strerror(errno));
  const auto* base = static_cast<const std::byte*>(map->address);

  const auto header_size = load<std::uint64_t>(base, 0);
  if (header_size > kMaxHeaderBytes || header_size > file_size - 8) {
    // Text where the length should be: what else the file may be.
    const std::string_view start(reinterpret_cast<const char*>(base), std::min<std::size_t>(file_size, 4096));
    if (start.find("rung.certificate/") != std::string_view::npos)
      return corrupt(path,
                     "a certificate, not a model; rung-check takes it, beside the model that it is about");
    if (start.starts_with('{')) return corrupt(path, "JSON; a safetensors file expected");
    return corrupt(path, fmt::format("header of {} bytes in a file of {}", header_size, file_size));
  }
  const auto* text = reinterpret_cast<const char*>(base + 8);
  const auto data_size = file_size - 8 - header_size;

  // A header is three levels deep at most; duplicate keys would let two readers see two different files.
  std::string problem;
  std::vector<std::set<std::string>> keys;
  using nlohmann::json;
  const json header = json::parse(
      text, text + header_size,
      [&](int depth, json::parse_event_t event, json& value) {
        if (event == json::parse_event_t::object_start) keys.emplace_back();
        if (event == json::parse_event_t::object_end && !keys.empty()) keys.pop_back();
        if (depth > 4 && problem.empty()) problem = "header nested too deeply";
        if (event == json::parse_event_t::key && !keys.empty() && problem.empty()) {
          const auto key = value.get<std::string>();
          if (!keys.back().insert(key).second) problem = fmt::format("duplicate name {}", rung::quoted(key));
        }
        return problem.empty();
      },
      /*allow_exceptions=*/false);
  if (!problem.empty()) return corrupt(path, problem);
  if (header.is_discarded() || !header.is_object()) return corrupt(path, "the header is no JSON object");

  TensorFile file;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) return corrupt(path, "__metadata__ is not an object");
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string())
          return corrupt(path, fmt::format("metadata {} is not a string", rung::quoted(key)));
        file.metadata[key] = value.get<std::string>();
      }
      continue;
    }
    if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") ||
        !entry.contains("data_offsets") || !entry["dtype"].is_string() || !entry["shape"].is_array() ||
        !entry["data_offsets"].is_array() || entry["data_offsets"].size() != 2)
      return corrupt(path,
                     fmt::format("tensor {} needs dtype, shape and two data_offsets", rung::quoted(name)));
    Tensor tensor;
    const auto dtype_text = entry["dtype"].get<std::string>();
    const auto* row =
        std::find_if(kDTypes.begin(), kDTypes.end(), [&](const auto& r) { return r.name == dtype_text; });
    if (row == kDTypes.end())
      return corrupt(path, fmt::format("tensor {} has dtype {}, which rung does not read", rung::quoted(name),
                                       rung::quoted(dtype_text)));
    tensor.dtype = row->dtype;
    if (entry["shape"].size() > kMaxDimensions)
      return corrupt(path, fmt::format("tensor {} has too many dimensions", rung::quoted(name)));
    std::uint64_t elements = 1;
    for (const auto& extent : entry["shape"]) {
      if (!extent.is_number_unsigned())
        return corrupt(
            path, fmt::format("tensor {} has a shape entry that is not a whole number", rung::quoted(name)));
      const auto value = extent.get<std::uint64_t>();
      // Bounding every extent by the data keeps products small and refuses [0, 2^60] tricks.
      if (value > data_size || __builtin_mul_overflow(elements, value, &elements) || elements > data_size)
        return corrupt(
            path, fmt::format("tensor {} claims more elements than the file has bytes", rung::quoted(name)));
      tensor.shape.push_back(static_cast<std::int64_t>(value));
    }
    if (!entry["data_offsets"][0].is_number_unsigned() || !entry["data_offsets"][1].is_number_unsigned())
      return corrupt(
          path, fmt::format("tensor {} has data_offsets that are not whole numbers", rung::quoted(name)));
    const auto begin = entry["data_offsets"][0].get<std::uint64_t>();
    const auto end = entry["data_offsets"][1].get<std::uint64_t>();
    if (begin > end || end > data_size || end - begin != elements * static_cast<std::uint64_t>(row->size))
      return corrupt(path,
                     fmt::format("tensor {} has data_offsets [{}, {}] for {} elements of {} in {} data bytes",
                                 rung::quoted(name), begin, end, elements, row->name, data_size));
    tensor.owner = map;
    tensor.bytes = base + 8 + header_size + begin;
    if (end > begin) ranges.emplace_back(begin, end);
    file.tensors.emplace(name, std::move(tensor));
  }
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t expected = 0;
  for (const auto& [begin, end] : ranges) {
    if (begin != expected)
      return corrupt(path, fmt::format("tensor data {} at byte {}",
                                       begin < expected ? "overlap" : "leave a hole", begin));
    expected = end;
  }
  if (expected != data_size)
    return corrupt(path, fmt::format("{} data bytes belong to no tensor", data_size - expected));
  return file;
}

Result<void> write_safetensors(const std::string& path, const TensorFile& file) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  std::vector<std::pair<const std::string*, const Tensor*>> order;
  for (const auto& [name, tensor] : file.tensors) order.emplace_back(&name, &tensor);
  // Wide elements first keeps every tensor aligned to its element, as other readers like it.
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return dtype_size(a.second->dtype) > dtype_size(b.second->dtype);
  });
  std::int64_t offset = 0;
  for (const auto& [name, tensor] : order) {
    const std::int64_t bytes = tensor->size() * dtype_size(tensor->dtype);
    header[*name] = {{"dtype", dtype_name(tensor->dtype)},
                     {"shape", tensor->shape},
                     {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');

  RUNG_TRY(StagedFile staged, StagedFile::open(path, /*replace=*/true));
  const std::uint64_t header_size = text.size();
  RUNG_CHECK(staged.write({reinterpret_cast<const char*>(&header_size), sizeof header_size}));
  RUNG_CHECK(staged.write(text));
  for (const auto& [name, tensor] : order)
    RUNG_CHECK(staged.write({reinterpret_cast<const char*>(tensor->bytes),
                             static_cast<std::size_t>(tensor->size() * dtype_size(tensor->dtype))}));
  return staged.commit();
}

}  // namespace rung
