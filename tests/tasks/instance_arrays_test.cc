#include "rung/tasks/instance_arrays.h"

#include <gtest/gtest.h>

#include <cstring>

namespace rung {
namespace {

struct ReadArray {
  std::vector<std::int64_t> shape, values;
  int width = 0;
};

// A .npy file as its format document says, read independently of the writer.
ReadArray read_array(const std::string& bytes) {
  ReadArray array;
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const auto size = static_cast<unsigned char>(bytes[8]) + 256U * static_cast<unsigned char>(bytes[9]);
  EXPECT_EQ((10 + size) % 64, 0U);
  const std::string header = bytes.substr(10, size);
  EXPECT_EQ(header.back(), '\n');
  array.width = header.at(header.find("'<i") + 3) - '0';
  const auto open = header.find('('), close = header.find(')');
  std::string sizes = header.substr(open + 1, close - open - 1);
  std::int64_t count = 1;
  for (std::size_t at = 0; at < sizes.size();) {
    const auto comma = std::min(sizes.find(',', at), sizes.size());
    array.shape.push_back(std::stoll(sizes.substr(at, comma - at)));
    count *= array.shape.back();
    at = comma + 1;
    while (at < sizes.size() && sizes[at] == ' ') ++at;
  }
  EXPECT_EQ(bytes.size(),
            10 + size + static_cast<std::size_t>(count) * static_cast<std::size_t>(array.width));
  for (std::size_t at = 10 + size; at < bytes.size(); at += static_cast<std::size_t>(array.width)) {
    if (array.width == 4) {
      std::int32_t value = 0;
      std::memcpy(&value, bytes.data() + at, 4);
      array.values.push_back(value);
    } else {
      std::int64_t value = 0;
      std::memcpy(&value, bytes.data() + at, 8);
      array.values.push_back(value);
    }
  }
  return array;
}

TEST(instance_arrays, hold_the_instances_of_every_task) {
  for (const TaskWord& word : task_words()) {
    const auto task = std::move(*make_task(word.name, {}));
    const InstanceArrays arrays(*task, Variant::uniform, 7);
    std::string inputs, answers;
    const auto append_to = [](std::string& text) {
      return [&text](std::string_view bytes) -> Result<void> {
        text += bytes;
        return {};
      };
    };
    constexpr std::uint64_t kFirst = 5, kCount = 9;
    ASSERT_TRUE(arrays.write(kFirst, kCount, append_to(inputs), append_to(answers)));
    std::vector<std::int64_t> expected_inputs, expected_answers;
    const auto fields = task->fields();
    for (std::uint64_t i = kFirst; i < kFirst + kCount; ++i) {
      const Instance instance = task->generate(Variant::uniform, 7, i);
      for (std::int64_t t = 0; t < task->prompt_length(); ++t)
        for (std::size_t f = 0; f < fields.size(); ++f)
          for (std::int64_t c = 0; c < fields[f].length; ++c)
            expected_inputs.push_back(
                instance.prompt.fields[f][static_cast<std::size_t>(t * fields[f].length + c)]);
      expected_answers.insert(expected_answers.end(), instance.answer.begin(), instance.answer.end());
    }
    const ReadArray read_inputs = read_array(inputs), read_answers = read_array(answers);
    EXPECT_EQ(read_inputs.values, expected_inputs) << word.name;
    EXPECT_EQ(read_answers.values, expected_answers) << word.name;
    EXPECT_EQ(read_inputs.shape[0], static_cast<std::int64_t>(kCount)) << word.name;
    EXPECT_EQ(read_inputs.shape[1], task->prompt_length()) << word.name;
    EXPECT_EQ(read_array(arrays.positions()).values, task->query_positions()) << word.name;
    EXPECT_EQ(read_inputs.values.size() * static_cast<std::size_t>(read_inputs.width) +
                  read_answers.values.size() * static_cast<std::size_t>(read_answers.width),
              arrays.bytes(kCount))
        << word.name;
  }
}

TEST(instance_arrays, stop_at_the_first_failing_write) {
  const auto task = std::move(*make_task("eva", {}));
  int calls = 0;
  const auto failing = [&](std::string_view) -> Result<void> {
    ++calls;
    return fail(ErrorCode::io, "full");
  };
  EXPECT_FALSE(InstanceArrays(*task, Variant::uniform, 1).write(0, 100'000, failing, failing));
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace rung
