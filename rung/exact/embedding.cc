#include "rung/exact/embedding.h"

#include <cmath>

namespace rung {

template <class A>
Embedding<A>::Embedding(const Weights& weights, const A& arithmetic, TensorSource source, Width stream)
    : arithmetic_(arithmetic), width_(weights.architecture.dimensions.width), stream_(stream) {
  auto embed = source.under("embed");
  shift_ = embed.shift("shift");
  for (const auto& field : weights.fields) {
    auto own = embed.under(field.name);
    parts_.push_back(read_part(own, field, false));
    row_width_ += field.length;
  }
  const auto& dimensions = weights.architecture.dimensions;
  if (dimensions.position == PositionCode::rope) {  // the mixers turn; nothing is added
    if (A::kExact)
      source.refuse(
          fail(ErrorCode::unsupported,
               "[exact] rotary positions have no integer form; use a position table or binary codes"));
  } else if (dimensions.position != PositionCode::none) {
    auto own = embed.under("position");
    position_ = read_part(own, FieldSpec{"position", dimensions.context, 1, 0}, true);
    if (position_->kind != (dimensions.position == PositionCode::table ? Kind::table : Kind::binary))
      source.refuse(
          fail(ErrorCode::format,
               "[weights] the position code in the metadata and the tensor under embed.position differ"));
  }
}

template <class A>
typename Embedding<A>::Part Embedding<A>::read_part(TensorSource& source, const FieldSpec& field,
                                                    bool position) {
  Part part{field.name, Kind::table, field.low, field.size, field.length, 0, {}};
  std::int64_t rows = field.size;
  std::string name = "table";
  if (source.has("binary")) {
    part.kind = Kind::binary;
    name = "binary";
    const auto& shape = source.weights().tensors.at(source.prefix() + "binary").shape;
    if (shape.empty() || shape[0] < 1 || shape[0] > 63) {
      source.refuse(fail(ErrorCode::format,
                         "[weights] \"{}binary\" needs 1 to 63 rows (one a bit, and the constant)",
                         source.prefix()));
      return part;
    }
    rows = shape[0];
    part.bits = static_cast<int>(rows) - 1;
    // A field's code must tell all its values apart; a position is bounded by its code where the context is
    // open.
    if (field.size > std::int64_t{1} << part.bits) {
      source.refuse(fail(ErrorCode::format, "[weights] \"{}binary\" codes {} bits; {} values expected to fit",
                         source.prefix(), part.bits, field.size));
      return part;
    }
    if (position && field.size < 1) part.size = std::int64_t{1} << part.bits;
  } else if (source.has("linear")) {
    part.kind = Kind::linear;
    name = "linear";
    rows = field.length;
  }
  if (part.kind != Kind::linear && field.length != 1) {
    source.refuse(fail(ErrorCode::format, "[weights] vector field \"{}\" needs \"{}linear\"", field.name,
                       source.prefix()));
    return part;
  }
  if (position && part.kind == Kind::table && field.size < 1) {
    source.refuse(fail(ErrorCode::missing, "[weights] a position table needs \"context\" in the dimensions"));
    return part;
  }
  const auto values = source.template numbers<Value>(name, {rows, width_});
  if (source.error()) return part;
  part.rows.resize(static_cast<std::size_t>(rows));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < width_; ++c)
      if (const Value v = values[static_cast<std::size_t>(r * width_ + c)]; v != 0)
        part.rows[static_cast<std::size_t>(r)].emplace_back(static_cast<std::int32_t>(c), v);
  return part;
}

template <class A>
void Embedding<A>::add(const Part& part, const std::int64_t* values, std::vector<Wide>& sum) const {
  auto add_row = [&](std::size_t r, Wide factor) {
    for (const auto& [column, value] : part.rows[r]) sum[static_cast<std::size_t>(column)] += factor * value;
  };
  switch (part.kind) {
    case Kind::table:
      add_row(static_cast<std::size_t>(*values - part.low), Wide{1});
      break;
    case Kind::binary: {
      const auto bits = static_cast<std::uint64_t>(*values - part.low);
      for (int d = 0; d < part.bits; ++d)
        if (bits >> d & 1) add_row(static_cast<std::size_t>(d), Wide{1});
      add_row(static_cast<std::size_t>(part.bits), Wide{1});
      break;
    }
    case Kind::linear:
      for (std::int64_t i = 0; i < part.length; ++i) add_row(static_cast<std::size_t>(i), Wide(values[i]));
  }
}

template <class A>
Result<void> Embedding<A>::check_part(const Part& part, const std::int64_t* values) const {
  for (std::int64_t i = 0; i < part.length; ++i) {
    const std::int64_t value = values[i];
    if (value < part.low || value >= part.low + part.size)
      return fail(ErrorCode::range, "[exact] {} = {} is outside [{}, {})", part.name, value, part.low,
                  part.low + part.size);
  }
  return {};
}

template <class A>
Result<void> Embedding<A>::check(std::span<const std::int64_t> row, std::int64_t position) const {
  std::int64_t offset = 0;
  for (const auto& part : parts_) {
    RUNG_CHECK(check_part(part, row.data() + offset));
    offset += part.length;
  }
  if (position_) RUNG_CHECK(check_part(*position_, &position));
  return {};
}

template <class A>
void Embedding<A>::embed(const std::int64_t* row, std::int64_t position, Value* x) const {
  thread_local std::vector<Wide> sum;
  sum.assign(static_cast<std::size_t>(width_), Wide{0});
  for (const auto& part : parts_) {
    add(part, row, sum);
    row += part.length;
  }
  if (position_) add(*position_, &position, sum);
  for (std::int64_t c = 0; c < width_; ++c)
    x[c] = arithmetic_.narrow(sum[static_cast<std::size_t>(c)], shift_, stream_);
}

template <class A>
int Embedding<A>::sum_bits() const {
  double total = 1;
  auto largest = [&](const Part& part) {
    double top = 0, all = 0;
    for (const auto& row : part.rows) {
      double widest = 0;
      for (const auto& [column, value] : row) widest = std::max(widest, std::abs(static_cast<double>(value)));
      top = std::max(top, widest);
      all += widest;
    }
    const double factor = part.kind == Kind::linear
                              ? std::max(std::abs(static_cast<double>(part.low)),
                                         std::abs(static_cast<double>(part.low + part.size)))
                              : 1;
    return (part.kind == Kind::table ? top : all) * factor;
  };
  for (const auto& part : parts_) total += largest(part);
  if (position_) total += largest(*position_);
  return static_cast<int>(std::ceil(std::log2(total))) + 2 + shift_growth(shift_);
}

template class Embedding<Exact64>;
template class Embedding<Exact128>;
template class Embedding<RealArithmetic>;

}  // namespace rung
