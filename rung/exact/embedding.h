// x_t = sat(rsh(Σ_fields embed(field) + embed(position), embed.shift)). A field is embedded by
//   embed.F.table  [size, width]    row (value - low)
//   embed.F.binary [D + 1, width]   Σ_d bit_d(value) row d, plus row D: codes are computed, which is the only way at a
//                                   million positions
//   embed.F.linear [length, width]  Σ_i value_i row i (vector fields)
// and the position by embed.position.table [context, width] or embed.position.binary.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rung/exact/tensor_source.h"
#include "rung/spec/prompt.h"

namespace rung {

template <class A>
class Embedding {
 public:
  using Value = typename A::Value;
  using Wide = typename A::Wide;

  Embedding(const Weights& weights, const A& arithmetic, TensorSource source, Width stream);

  // Checks one field value (or the position) against its domain.
  Result<void> check(std::span<const std::int64_t> row, std::int64_t position) const;
  // REQUIRES check passed. `row` holds the fields side by side.
  void embed(const std::int64_t* row, std::int64_t position, Value* x) const;
  std::int64_t row_width() const { return row_width_; }
  std::int64_t width() const { return width_; }
  int sum_bits() const;

 private:
  enum class Kind { table, binary, linear };
  struct Part {
    std::string name;
    Kind kind = Kind::table;
    std::int64_t low = 0, size = 0, length = 1;
    int bits = 0;                                                   // binary: D
    std::vector<std::vector<std::pair<std::int32_t, Value>>> rows;  // sparse rows
  };
  Part read_part(TensorSource& source, const FieldSpec& field, bool position);
  void add(const Part& part, const std::int64_t* values, std::vector<Wide>& sum) const;
  Result<void> check_part(const Part& part, const std::int64_t* values) const;

  A arithmetic_;
  std::int64_t width_, row_width_ = 0;
  std::vector<Part> parts_;
  std::optional<Part> position_;
  int shift_ = 0;
  Width stream_;
};

}  // namespace rung
