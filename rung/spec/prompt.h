// The input of a model: positions that carry integer fields (THEORY 1.3). Field 0 is "token" unless a task
// says otherwise. Field-major storage: fields[f] holds length(f) numbers per position, position after
// position.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rung/base/require.h"

namespace rung {

// One field of every position: `length` integers, each in [low, low + size). Scalars have length 1, low 0.
struct FieldSpec {
  std::string name = "token";
  std::int64_t size = 0;
  std::int64_t length = 1;
  std::int64_t low = 0;
  bool operator==(const FieldSpec&) const = default;
};

struct Prompt {
  std::int64_t positions = 0;
  std::vector<std::vector<std::int64_t>> fields;  // one vector per FieldSpec

  // The scalar token of position t. REQUIRES 0 <= t < positions and field 0 of length 1.
  std::int64_t token(std::int64_t t) const {
    RUNG_REQUIRE(t >= 0 && t < positions, "t={} positions={}", t, positions);
    return fields[0][static_cast<std::size_t>(t)];
  }
  bool operator==(const Prompt&) const = default;
};

// What a model is asked for at a position: a token of an alphabet, yes or no, or a fixed-point vector.
struct AnswerSpec {
  enum class Kind { token, boolean, vector };
  Kind kind = Kind::token;
  std::int64_t size = 0;  // token: alphabet; vector: components
  int fraction = 0;       // vector: components are integers meaning k * 2^-fraction
  double tolerance = 0;   // vector: largest absolute error that counts as right, in real units
  bool operator==(const AnswerSpec&) const = default;
};

}  // namespace rung
