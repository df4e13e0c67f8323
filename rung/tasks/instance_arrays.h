// Instances as arrays in NumPy's .npy format (version 1.0), for trainers: one array of inputs, one of answers, one of
// the positions where answers are read. The bytes depend on (task, variant, seed, first, count) alone.
//
//   inputs     [count, T], or [count, T, F] where a position carries F > 1 numbers (all fields side by side)
//   answers    [count, Q], or [count, Q, size] for vector answers
//   positions  [Q], int64
//
// Inputs and answers are int32 where every value of the task fits, else int64; little-endian, row-major.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rung/base/result.h"
#include "rung/tasks/task.h"
#include "rung/tasks/zoology.h"

namespace rung {

class InstanceArrays {
 public:
  // REQUIRES task.supports(variant); the task outlives the arrays.
  InstanceArrays(const Task& task, Variant variant, std::uint64_t seed);
  // Q = T: a label for every token, kNotAsked where nothing is asked.
  InstanceArrays(const ZoologyMqar& source, std::uint64_t seed);

  using Sink = std::function<Result<void>(std::string_view bytes)>;

  // Instances first .. first + count - 1, headers included. Blocks go to both sinks in order; stops at the first
  // failing one. `progress`, where given, is called now and then with the number of instances handed over.
  Result<void> write(std::uint64_t first, std::uint64_t count, const Sink& inputs, const Sink& answers,
                     const std::function<void(std::uint64_t)>& progress = {}) const;
  std::string positions() const;

  // Bytes of both arrays together, headers not counted.
  std::uint64_t bytes(std::uint64_t count) const;

 private:
  std::function<Instance(std::uint64_t index)> instance_;
  std::vector<FieldSpec> fields_;
  std::vector<std::int64_t> query_positions_;
  std::int64_t length_;           // T
  std::int64_t row_ = 0;          // F
  std::int64_t answer_size_ = 1;  // numbers of one answer
  bool wide_inputs_ = false, wide_answers_ = false;
};

}  // namespace rung
