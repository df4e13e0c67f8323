#include "tests/check/model_bytes.h"

#include <nlohmann/json.hpp>

namespace rung {

std::string model_bytes(const Weights& weights) {
  const TensorFile file = tensors_from_weights(weights);
  nlohmann::ordered_json header;
  header["__metadata__"] = file.metadata;
  std::string data;
  for (const auto& [name, tensor] : file.tensors) {
    const std::size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(tensor.bytes),
                static_cast<std::size_t>(tensor.size() * dtype_size(tensor.dtype)));
    header[name] = {
        {"dtype", dtype_name(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  const std::string text = header.dump();
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(text.size() >> (8 * i) & 255);
  return bytes + text + data;
}

}  // namespace rung
