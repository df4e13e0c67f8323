// Random tables and tokens of several fields.
#pragma once

#include <vector>

#include "rung/learn/kernels/embedding_sum.h"
#include "tests/learn/kernels/buffer.h"

namespace rung::kernels {

struct EmbeddingCase {
  EmbeddingShape shape;
  std::vector<std::int64_t> sizes;  // rows of each field's table
  std::vector<std::vector<std::int64_t>> tokens;
  std::vector<std::vector<std::int32_t>> narrow;
  std::vector<Buffer> tables, gradients;
  Buffer position, dposition, x, dx;

  EmbeddingCase(const EmbeddingShape& s, std::vector<std::int64_t> table_rows, std::uint64_t seed)
      : shape(s),
        sizes(std::move(table_rows)),
        position(s.element, s.members * s.position_rows * s.width),
        dposition(Element::f32, position.count()),
        x(s.element, s.sequences * s.positions * s.width),
        dx(s.element, x.count()) {
    Random random(seed);
    shape.fields = static_cast<int>(sizes.size());
    for (const std::int64_t rows : sizes) {
      tables.emplace_back(s.element, s.members * rows * s.width).draw(random);
      gradients.emplace_back(Element::f32, s.members * rows * s.width).fill(NAN);
      auto& token = tokens.emplace_back();
      // Half of the tokens are 0: one row that everybody adds to.
      for (std::int64_t i = 0; i < s.sequences * s.positions; ++i)
        token.push_back(random.below(2) ? static_cast<std::int64_t>(random.below(rows)) : 0);
      narrow.emplace_back(token.begin(), token.end());
    }
    position.draw(random);
    dposition.fill(NAN);
    dx.draw(random);
  }
  std::vector<EmbeddingField> fields() {
    std::vector<EmbeddingField> list;
    for (std::size_t f = 0; f < sizes.size(); ++f)
      list.push_back({shape.wide_tokens ? static_cast<const void*>(tokens[f].data()) : narrow[f].data(),
                      sizes[f], tables[f].data(), gradients[f].floats()});
    return list;
  }
  bool positioned() const { return shape.position_rows > 0; }
};

struct EmbeddingReference {
  std::vector<double> x, dposition;
  std::vector<std::vector<double>> gradients;
};

inline EmbeddingReference embed(const EmbeddingCase& given) {
  const EmbeddingShape& s = given.shape;
  EmbeddingReference out{
      std::vector<double>(given.x.count()), std::vector<double>(given.dposition.count()), {}};
  for (const Buffer& table : given.tables) out.gradients.emplace_back(table.count());
  for (std::int64_t n = 0; n < s.sequences; ++n)
    for (std::int64_t t = 0; t < s.positions; ++t)
      for (std::int64_t c = 0; c < s.width; ++c) {
        const std::int64_t member = n / (s.sequences / s.members), place = n * s.positions + t;
        for (std::size_t f = 0; f < given.sizes.size(); ++f) {
          const std::int64_t row = (member * given.sizes[f] + given.tokens[f][place]) * s.width + c;
          out.x[place * s.width + c] += given.tables[f][row];
          out.gradients[f][row] += given.dx[place * s.width + c];
        }
        if (!given.positioned()) continue;
        out.x[place * s.width + c] += given.position[(member * s.position_rows + t) * s.width + c];
        out.dposition[(member * s.position_rows + t) * s.width + c] += given.dx[place * s.width + c];
      }
  return out;
}

// Small and large tables, one field and three, with and without positions.
inline std::vector<EmbeddingCase> embedding_cases() {
  std::vector<EmbeddingCase> cases;
  for (const Element element : {Element::f32, Element::bf16})
    for (const bool wide : {false, true}) {
      cases.emplace_back(EmbeddingShape{1, 1, 1, 1, 1, wide, element, 0}, std::vector<std::int64_t>{1}, 1);
      cases.emplace_back(EmbeddingShape{2, 6, 33, 64, 1, wide, element, 40}, std::vector<std::int64_t>{17},
                         2);
      cases.emplace_back(EmbeddingShape{3, 3, 70, 20, 3, wide, element, 70},
                         std::vector<std::int64_t>{5, 300, 2000}, 3);
    }
  return cases;
}

}  // namespace rung::kernels
