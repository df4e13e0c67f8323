#include "rung/learn/parameters.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "rung/base/random.h"

namespace rung::learn {
namespace {

// FNV-1a: the stream of a parameter's draws, so that adding a layer does not change the others' start.
std::uint64_t name_stream(const std::string& name) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const unsigned char c : name) hash = (hash ^ c) * 0x100000001b3ULL;
  return hash;
}

double standard_normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
  return radius * std::cos(2 * std::numbers::pi * random.unit());
}

void draw(const ParameterSpec& spec, std::uint64_t seed, double scale, float* to) {
  const std::int64_t size = spec.size();
  Random random(seed, name_stream(spec.rows.front().name));
  for (std::int64_t i = 0; i < size; ++i) {
    double value = 0;
    switch (spec.start.kind) {
      case Start::Kind::constant:
        value = spec.start.value;
        break;
      case Start::Kind::normal:
      case Start::Kind::digits:
        value = spec.start.shift + scale * spec.start.value * standard_normal(random);
        break;
      case Start::Kind::uniform:
        value = spec.start.shift + spec.start.value * (2 * random.unit() - 1);
        break;
      case Start::Kind::log_spaced:
        value = -spec.start.value * static_cast<double>(i % spec.shape.back() + 1);
        break;
      case Start::Kind::logarithms:
        value = spec.start.value * std::log(static_cast<double>(i % spec.shape.back() + 1));
        break;
    }
    to[i] = static_cast<float>(value);
  }
  if (spec.start.kind != Start::Kind::digits) return;
  const std::int64_t width = spec.shape.back(), last = size - width;
  for (std::int64_t i = 0; i < width; ++i) {
    float sum = 0;
    for (std::int64_t row = i; row < last; row += width) sum += to[row];
    to[last + i] = -sum / 2;
  }
}

std::vector<torch::Tensor> views(const torch::Tensor& flat, const ParameterLayout& layout) {
  std::vector<torch::Tensor> out;
  for (const ParameterSpec& spec : layout.specs()) {
    std::vector<std::int64_t> shape{flat.size(0)}, strides{flat.stride(0)};
    shape.insert(shape.end(), spec.shape.begin(), spec.shape.end());
    std::int64_t step = spec.size();
    for (const std::int64_t extent : spec.shape) strides.push_back(step /= extent);
    out.push_back(flat.as_strided(shape, strides, flat.storage_offset() + spec.offset));
  }
  return out;
}

// Every parameter starts at a multiple of this many numbers, so that rows of either type are aligned for wide
// loads.
constexpr std::int64_t kAlignment = 64;
std::int64_t aligned(std::int64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

std::int64_t ParameterSpec::size() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

ParameterLayout::Index ParameterLayout::add(std::string name, std::vector<std::int64_t> shape, Start start,
                                            bool decays, Stored stored) {
  const std::int64_t rows = shape.empty() ? 1 : shape.front();
  ParameterSpec spec{std::move(shape), {{std::move(name), 0, rows}}, start, decays, size_, stored};
  size_ += aligned(spec.size());
  specs_.push_back(std::move(spec));
  return specs_.size() - 1;
}

ParameterLayout::Index ParameterLayout::add_stacked(const std::vector<Part>& parts,
                                                    std::vector<std::int64_t> rest, Start start,
                                                    bool decays) {
  ParameterSpec spec{{0}, {}, start, decays, size_};
  for (const Part& part : parts) {
    if (part.rows == 0) continue;
    spec.rows.push_back({part.name, spec.shape[0], part.rows});
    spec.shape[0] += part.rows;
  }
  spec.shape.insert(spec.shape.end(), rest.begin(), rest.end());
  size_ += aligned(spec.size());
  specs_.push_back(std::move(spec));
  return specs_.size() - 1;
}

Parameters::Parameters(const ParameterLayout& layout, const std::vector<std::uint64_t>& seeds,
                       const std::vector<double>& scales, torch::Device device, torch::ScalarType type) {
  RUNG_REQUIRE(!seeds.empty() && seeds.size() == scales.size(), "seeds {} scales {}", seeds.size(),
               scales.size());
  const auto members = static_cast<std::int64_t>(seeds.size());
  const torch::NoGradGuard no_grad;
  torch::Tensor host = torch::zeros({members, layout.size()}, torch::kFloat32);
  for (std::int64_t e = 0; e < members; ++e)
    for (const ParameterSpec& spec : layout.specs())
      draw(spec, seeds[static_cast<std::size_t>(e)], scales[static_cast<std::size_t>(e)],
           host.data_ptr<float>() + e * layout.size() + spec.offset);
  master = host.to(device);
  compute = type == torch::kFloat32 ? master : master.to(type);
  gradient = torch::zeros_like(compute);
  leaves.tensors = views(compute, layout);
  const auto gradients = views(gradient, layout);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    leaves.tensors[i] = leaves.tensors[i].detach().requires_grad_(true);
    leaves.tensors[i].mutable_grad() = gradients[i];
  }
}

Leaves Parameters::float_leaves(const ParameterLayout& layout) const { return {views(master, layout)}; }

void Parameters::refresh() {
  if (compute.is_same(master)) return;
  const torch::NoGradGuard no_grad;
  compute.copy_(master);
}

}  // namespace rung::learn
