#include "rung/tasks/instance_rows.h"

#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "rung/base/parallel.h"

namespace rung {
namespace {

void append_text(fmt::memory_buffer& out, std::string_view text) {
  out.append(text.data(), text.data() + text.size());
}

void append_number(fmt::memory_buffer& out, std::int64_t value) {
  const fmt::format_int digits(value);
  out.append(digits.data(), digits.data() + digits.size());
}

void append_numbers(fmt::memory_buffer& out, std::span<const std::int64_t> values) {
  out.push_back('[');
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out.push_back(',');
    append_number(out, values[i]);
  }
  out.push_back(']');
}

// `count` values in groups: [[1,2],[3,4]]; groups of one stay flat.
void append_groups(fmt::memory_buffer& out, std::span<const std::int64_t> values, std::size_t group) {
  if (group == 1) return append_numbers(out, values);
  out.push_back('[');
  for (std::size_t i = 0; i < values.size(); i += group) {
    if (i > 0) out.push_back(',');
    append_numbers(out, values.subspan(i, group));
  }
  out.push_back(']');
}

std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

InstanceRows::InstanceRows(const Task& task, Variant variant, std::uint64_t seed, RowForm form, bool language)
    : task_(task), variant_(variant), seed_(seed), form_(form), language_(language), fields_(task.fields()) {
  RUNG_REQUIRE(task.supports(variant), "{} {}", task.name(), variant_name(variant));
  const AnswerSpec spec = task.answer_spec();
  group_ = spec.kind == AnswerSpec::Kind::vector ? static_cast<std::size_t>(spec.size) : 1;
  const auto positions = task.query_positions();
  single_ = positions.size() == 1;
  head_ = fmt::format("{{\"task\":{},\"size\":{}", json_string(std::string(task.name())), task.size().dump());
  if (const auto options = task.options(); !options.empty())
    head_ += ",\"options\":" + nlohmann::json(options).dump();
  head_ += fmt::format(",\"variant\":\"{}\",\"seed\":{},\"index\":", variant_name(variant), seed);
  if (!single_) positions_ = ",\"answer_positions\":" + nlohmann::json(positions).dump();
}

void InstanceRows::append_fields(fmt::memory_buffer& out, const Prompt& prompt) const {
  if (fields_.size() == 1 && fields_[0].length == 1) {
    append_text(out, ",\"tokens\":");
    return append_numbers(out, prompt.fields[0]);
  }
  append_text(out, ",\"fields\":{");
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    if (f > 0) out.push_back(',');
    fmt::format_to(fmt::appender(out), "\"{}\":", fields_[f].name);
    append_groups(out, prompt.fields[f], static_cast<std::size_t>(fields_[f].length));
  }
  out.push_back('}');
}

void InstanceRows::append_answer(fmt::memory_buffer& out, const std::vector<std::int64_t>& answer) const {
  append_text(out, ",\"answer\":");
  if (single_ && group_ == 1)
    append_number(out, answer.front());
  else
    append_groups(out, answer, single_ ? 1 : group_);
}

void InstanceRows::append(fmt::memory_buffer& out, std::uint64_t index) const {
  const Instance instance = task_.generate(variant_, seed_, index);
  Task::Language said;
  if (language_) {
    auto language = task_.language(instance);
    RUNG_REQUIRE(language.has_value(), "{} has no plain language", task_.name());
    said = std::move(*language);
  } else if (form_ != RowForm::jsonl) {
    said = {task_.text(instance.prompt), task_.answer_text(instance.answer)};
  }
  if (form_ == RowForm::text) {
    append_text(out, said.prompt);
    append_text(out, " -> ");
    return append_text(out, said.answer);
  }
  append_text(out, head_);
  const fmt::format_int number(index);
  out.append(number.data(), number.data() + number.size());
  append_fields(out, instance.prompt);
  append_answer(out, instance.answer);
  append_text(out, positions_);
  if (form_ == RowForm::question || language_) {
    append_text(out, ",\"prompt\":");
    append_text(out, json_string(said.prompt));
    append_text(out, ",\"target\":");
    append_text(out, json_string(said.answer));
  }
  out.push_back('}');
}

Result<void> InstanceRows::write(std::uint64_t first, std::uint64_t count, std::string_view separator,
                                 const std::function<Result<void>(std::string_view)>& sink,
                                 const std::function<void(std::uint64_t)>& progress) const {
  // A block is what one worker formats at a time; a wave is what is formatted before the sink gets it. About
  // a megabyte of numbers a block, so that memory stays bounded whatever `count` says.
  constexpr std::uint64_t kNumbersPerBlock = 1 << 18;
  constexpr std::uint64_t kBlocksPerWorker = 4;
  std::uint64_t numbers = 1;
  for (const auto& field : fields_)
    numbers += static_cast<std::uint64_t>(field.length * task_.prompt_length());
  const std::uint64_t block_rows = std::clamp<std::uint64_t>(kNumbersPerBlock / numbers, 1, 4096);
  std::vector<fmt::memory_buffer> blocks(
      numbers > kNumbersPerBlock ? 1 : kBlocksPerWorker * static_cast<std::uint64_t>(worker_count()));
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t rows = std::min(block_rows * blocks.size(), count - done);
    const std::uint64_t used = (rows + block_rows - 1) / block_rows;
    parallel_for(static_cast<std::int64_t>(used), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        fmt::memory_buffer& block = blocks[static_cast<std::size_t>(b)];
        block.clear();
        const std::uint64_t begin_row = done + static_cast<std::uint64_t>(b) * block_rows;
        const std::uint64_t last = std::min(begin_row + block_rows, done + rows);
        for (std::uint64_t index = begin_row; index < last; ++index) {
          if (index > 0) append_text(block, separator);
          append(block, first + index);
        }
      }
    });
    for (std::uint64_t b = 0; b < used; ++b) RUNG_CHECK(sink({blocks[b].data(), blocks[b].size()}));
    done += rows;
    if (progress) progress(done);
  }
  return {};
}

}  // namespace rung
