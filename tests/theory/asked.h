// Short ways to ask, for tests: an architecture line with sizes, a task, and what the theory says.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "rung/theory/theorem.h"

namespace rung {

struct Asked {
  Dimensions dimensions;
  SettingOptions options;
  QuestionForm form;

  Asked() { dimensions.precision.bits = 8; }
  Asked& width(std::int64_t w) { return dimensions.width = w, *this; }
  Asked& heads(std::int64_t h) { return dimensions.heads = h, *this; }
  Asked& bits(int p, int f = 0) {
    return dimensions.precision.bits = p, dimensions.precision.fraction = f, *this;
  }
  Asked& bf16() { return dimensions.precision = {NumberFormat::bf16, 16, 0}, *this; }
  Asked& encoder() { return dimensions.causal = false, *this; }
  Asked& thought() { return options.chain_of_thought = true, *this; }
  Asked& exact() { return options.assume_exact = true, *this; }
  Asked& context(std::int64_t n) { return options.context = n, *this; }
  Asked& sums(std::int64_t bits) { return options.sum_bits = bits, *this; }
  Asked& entries(std::int64_t bits) { return dimensions.accumulator_bits = bits, *this; }
  Asked& with(const std::string& option, const std::string& word) {
    return form.options[option] = word, *this;
  }
  Asked& among(Variant variant) { return form.variant = variant, *this; }
  Asked& nowhere() { return dimensions.position = PositionCode::none, *this; }

  Setting setting(const std::string& line) const {
    const auto stack = parse_stack(line);
    EXPECT_TRUE(stack) << line << (stack ? "" : stack.error().message);
    auto setting = make_setting({*stack, dimensions}, options);
    EXPECT_TRUE(setting) << line << (setting ? "" : setting.error().message);
    return *setting;
  }
  Verdict on(const std::string& line, const std::string& task, const TaskSizes& sizes = {}) const {
    const Setting s = setting(line);
    const auto question = make_question(task, sizes, s.context, false, form);
    EXPECT_TRUE(question) << (question ? "" : question.error().message);
    return decide(s, *question);
  }
  Outcome outcome(const std::string& line, const std::string& task, const TaskSizes& sizes = {}) const {
    return on(line, task, sizes).outcome;
  }
};

}  // namespace rung
