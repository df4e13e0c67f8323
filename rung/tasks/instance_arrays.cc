#include "rung/tasks/instance_arrays.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "rung/base/parallel.h"

namespace rung {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie in memory");

// The whole header is a multiple of 64 bytes, as the format asks.
std::string npy_header(bool wide, const std::vector<std::uint64_t>& shape) {
  std::string sizes;
  for (const std::uint64_t size : shape) sizes += fmt::format("{}, ", size);
  if (shape.size() > 1) sizes.resize(sizes.size() - 2);
  std::string text = fmt::format("{{'descr': '<i{}', 'fortran_order': False, 'shape': ({}), }}", wide ? 8 : 4,
                                 shape.size() == 1 ? sizes.substr(0, sizes.size() - 1) : sizes);
  constexpr std::size_t kPrefix = 10, kAlignment = 64;
  text.append(kAlignment - 1 - (kPrefix + text.size()) % kAlignment, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

bool fits_int32(std::int64_t value) {
  return value >= std::numeric_limits<std::int32_t>::min() &&
         value <= std::numeric_limits<std::int32_t>::max();
}

void put_number(char* out, bool wide, std::int64_t value) {
  if (wide) {
    std::memcpy(out, &value, sizeof value);
  } else {
    const auto narrow = static_cast<std::int32_t>(value);
    std::memcpy(out, &narrow, sizeof narrow);
  }
}

}  // namespace

InstanceArrays::InstanceArrays(const Task& task, Variant variant, std::uint64_t seed)
    : instance_([&task, variant, seed](std::uint64_t index) { return task.generate(variant, seed, index); }),
      fields_(task.fields()),
      query_positions_(task.query_positions()),
      length_(task.prompt_length()) {
  RUNG_REQUIRE(task.supports(variant), "{} {}", task.name(), variant_name(variant));
  for (const FieldSpec& field : fields_) {
    row_ += field.length;
    wide_inputs_ |= !fits_int32(field.low) || !fits_int32(field.low + field.size - 1);
  }
  const AnswerSpec spec = task.answer_spec();
  const bool vector = spec.kind == AnswerSpec::Kind::vector;
  answer_size_ = vector ? spec.size : 1;
  // The components of a vector have no stated range.
  wide_answers_ = vector || (spec.kind == AnswerSpec::Kind::token && !fits_int32(spec.size - 1));
}

InstanceArrays::InstanceArrays(const ZoologyMqar& source, std::uint64_t seed)
    : instance_([source, seed](std::uint64_t index) { return source.generate(seed, index); }),
      fields_{{.size = source.sizes().vocabulary}},
      length_(source.sizes().length),
      row_(1) {
  for (std::int64_t t = 0; t < length_; ++t) query_positions_.push_back(t);
}

std::uint64_t InstanceArrays::bytes(std::uint64_t count) const {
  return count *
         (static_cast<std::uint64_t>(length_ * row_) * (wide_inputs_ ? 8 : 4) +
          static_cast<std::uint64_t>(answer_size_) * query_positions_.size() * (wide_answers_ ? 8 : 4));
}

std::string InstanceArrays::positions() const {
  std::string bytes = npy_header(true, {query_positions_.size()});
  const std::size_t head = bytes.size();
  bytes.resize(head + query_positions_.size() * sizeof(std::int64_t));
  std::memcpy(bytes.data() + head, query_positions_.data(), bytes.size() - head);
  return bytes;
}

Result<void> InstanceArrays::write(std::uint64_t first, std::uint64_t count, const Sink& inputs,
                                   const Sink& answers,
                                   const std::function<void(std::uint64_t)>& progress) const {
  const auto length = static_cast<std::uint64_t>(length_), row = static_cast<std::uint64_t>(row_);
  const auto queries = static_cast<std::uint64_t>(query_positions_.size());
  const auto answer_size = static_cast<std::uint64_t>(answer_size_);
  std::vector<std::uint64_t> input_shape{count, length}, answer_shape{count, queries};
  if (row > 1) input_shape.push_back(row);
  if (answer_size > 1) answer_shape.push_back(answer_size);
  RUNG_CHECK(inputs(npy_header(wide_inputs_, input_shape)));
  RUNG_CHECK(answers(npy_header(wide_answers_, answer_shape)));

  constexpr std::uint64_t kNumbersPerWave = std::uint64_t{1} << 21;
  const std::uint64_t input_width = wide_inputs_ ? 8 : 4, answer_width = wide_answers_ ? 8 : 4;
  const std::uint64_t input_bytes = length * row * input_width;
  const std::uint64_t answer_bytes = queries * answer_size * answer_width;
  const std::uint64_t wave = std::clamp<std::uint64_t>(kNumbersPerWave / (length * row), 1, 65536);
  std::string input_block, answer_block;
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t rows = std::min(wave, count - done);
    input_block.resize(rows * input_bytes);
    answer_block.resize(rows * answer_bytes);
    parallel_for(
        static_cast<std::int64_t>(rows), static_cast<std::int64_t>(1 + rows / 64),
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const Instance instance = instance_(first + done + static_cast<std::uint64_t>(i));
            char* out = input_block.data() + static_cast<std::uint64_t>(i) * input_bytes;
            for (std::int64_t t = 0; t < length_; ++t)
              for (std::size_t f = 0; f < fields_.size(); ++f)
                for (std::int64_t c = 0; c < fields_[f].length; ++c, out += input_width)
                  put_number(out, wide_inputs_,
                             instance.prompt.fields[f][static_cast<std::size_t>(t * fields_[f].length + c)]);
            out = answer_block.data() + static_cast<std::uint64_t>(i) * answer_bytes;
            for (const std::int64_t value : instance.answer) {
              put_number(out, wide_answers_, value);
              out += answer_width;
            }
          }
        });
    RUNG_CHECK(inputs(input_block));
    RUNG_CHECK(answers(answer_block));
    done += rows;
    if (progress) progress(done);
  }
  return {};
}

}  // namespace rung
