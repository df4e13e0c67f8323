#include "rung/theory/service.h"

#include <algorithm>

#include "rung/theory/constructions_cost.h"

namespace rung {
namespace {

constexpr std::int64_t per(std::int64_t total, std::int64_t part) { return (total + part - 1) / part; }

void merge(std::optional<Service>& best, const std::optional<Service>& other) {
  if (!other) return;
  if (!best || other->capacity > best->capacity ||
      (other->capacity == best->capacity && other->status < best->status))
    best = other;
}

}  // namespace

void Scarcest::meet(std::string resource, double there, double needed) {
  if (needed <= 0) return;
  if (name.empty() || there / needed < ratio()) *this = {std::move(resource), there, needed};
}

int whole_bits(const Precision& precision, std::optional<std::int64_t> width) {
  switch (precision.format) {
    case NumberFormat::fixed:
      return static_cast<int>(width.value_or(precision.bits)) - 1 - precision.fraction;
    case NumberFormat::bf16:
      return 8;
    case NumberFormat::fp16:
      return 11;
    case NumberFormat::fp8_e4m3:
      return 4;
    case NumberFormat::fp8_e5m2:
      return 3;
    case NumberFormat::fp32:
      return 24;
  }
  return 0;
}

std::optional<Service> lookup_service(const MixerShape& m, const Precision& precision,
                                      const LookupNeed& need) {
  if (m.kind == MixerKind::heads) {
    std::optional<Service> best;
    for (const auto& part : m.parts) merge(best, lookup_service(part, precision, need));
    return best;
  }
  const bool full = m.kind == MixerKind::full && !m.window && !m.chunk;
  const bool sparse = m.kind == MixerKind::sparse, topk = m.kind == MixerKind::topk;
  if (!full && !sparse && !topk) return std::nullopt;
  if (m.key_dim < need.address) return std::nullopt;
  // Without the bias half of the key the top score is large: one bit of precision more.
  const bool half = m.key_dim < 2 * std::int64_t{need.address};
  Precision effective = precision;
  if (half && precision.format == NumberFormat::fixed) {
    if (precision.bits - precision.fraction < 3) return std::nullopt;
    effective.bits -= 1;
  }
  const auto fit = retrieval_fit(effective, need.address);
  if (!fit) return std::nullopt;
  const std::int64_t heads_each = per(need.values, m.value_dim);
  std::int64_t capacity = m.heads / heads_each;
  if (sparse) capacity = std::min(capacity, m.groups > 1 ? std::max(m.groups, m.select) : m.select);
  if (topk) capacity = std::min<std::int64_t>(capacity, m.index_dim >= need.address ? 1 : 0);
  if (capacity < 1) return std::nullopt;
  Service service;
  service.capacity = std::min(capacity, need.targets);
  service.status = full ? Status::proved : Status::sketch;
  service.scarcest.meet("head dimension", static_cast<double>(m.key_dim),
                        half ? need.address : 2.0 * need.address);
  service.scarcest.meet("heads", static_cast<double>(m.heads),
                        static_cast<double>(heads_each * service.capacity));
  if (precision.format == NumberFormat::fixed && precision.fraction == 0)
    if (const auto p = retrieval_precision(need.address, retrieval_beta(need.address)))
      service.scarcest.meet("precision bits", std::max<double>(precision.bits, *p + half), *p + half);
  return service;
}

std::optional<Service> carry_service(const LayerShape& layer, const Precision& precision, std::int64_t tokens,
                                     std::int64_t bits) {
  const MixerShape& m = layer.mixer;
  if (m.kind == MixerKind::heads) {
    std::optional<Service> best;
    for (const auto& part : m.parts)
      merge(best, carry_service({part, layer.width, {}}, precision, tokens, bits));
    return best;
  }
  if (whole_bits(precision, std::nullopt) < 1) return std::nullopt;
  Service service;
  const std::int64_t slots = tokens * bits;
  const auto slot_fit = [&](std::int64_t outputs) -> std::optional<Service> {
    if (outputs < slots) return std::nullopt;
    service.scarcest.meet("carried numbers", static_cast<double>(outputs), static_cast<double>(slots));
    return service;
  };
  using enum MixerKind;
  switch (m.kind) {
    case full:  // a window: one head for each token, addressed by position
      if (!m.window || *m.window < tokens + 1 || m.key_dim < address_bits(tokens + 1)) return std::nullopt;
      if (!retrieval_fit(precision, address_bits(tokens + 1)) || m.heads / per(bits, m.value_dim) < tokens)
        return std::nullopt;
      service.scarcest.meet("window", static_cast<double>(*m.window), static_cast<double>(tokens + 1));
      return slot_fit(m.heads * m.value_dim);
    case conv:
      if (m.conv < tokens + 1) return std::nullopt;
      service.scarcest.meet("taps", static_cast<double>(m.conv), static_cast<double>(tokens + 1));
      return slot_fit(m.inner);
    case linear:
      return slot_fit(m.heads * m.value_dim);
    case loglinear:
    case mamba2:
    case delta:
    case gdelta:
      service.status = Status::sketch;
      return slot_fit(m.heads * m.value_dim);
    case mamba:
    case rnn:
    case gru:
      service.status = Status::sketch;
      return slot_fit(m.inner);
    default:
      return std::nullopt;
  }
}

std::optional<Service> table_service(const MixerShape& m, const Dimensions& dimensions, std::int64_t entries,
                                     std::int64_t bits) {
  if (m.kind == MixerKind::heads) {
    std::optional<Service> best;
    for (const auto& part : m.parts) merge(best, table_service(part, dimensions, entries, bits));
    return best;
  }
  const MixerKind base = m.kind == MixerKind::loglinear ? m.base : m.kind;
  Service service;
  if (base == MixerKind::linear) {
    const bool one_hot = m.feature == FeatureMap::identity || m.feature == FeatureMap::relu;
    if (!one_hot || (m.kind == MixerKind::linear && m.normalised)) return std::nullopt;
  } else if (base == MixerKind::mamba2) {
    service.status = Status::sketch;  // decay exactly 1 and selective writing, in words
  } else {
    return std::nullopt;
  }
  const int holds = std::min(whole_bits(dimensions.precision, std::nullopt),
                             whole_bits(dimensions.precision, dimensions.accumulator_bits));
  if (holds < 1) return std::nullopt;
  const __int128 need = static_cast<__int128>(entries) * per(bits, holds);
  const __int128 have = static_cast<__int128>(m.heads) * m.key_dim * m.value_dim;
  if (have < need) return std::nullopt;
  service.scarcest.meet("state entries", static_cast<double>(have), static_cast<double>(need));
  return service;
}

std::vector<std::string> construction_assumptions(const Setting& setting) {
  std::vector<std::string> assumes{"arbitrary position-wise MLP", "binary position code at the input"};
  if (setting.floating()) assumes.push_back("softmax sums to a relative error of 1/8");
  return assumes;
}

}  // namespace rung
