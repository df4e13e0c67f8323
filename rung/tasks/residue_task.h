// Sums modulo M: n numbers of [M] in a prompt, asked for some that sum to 0.
#pragma once

#include "rung/tasks/sampling.h"
#include "rung/tasks/token_task.h"

namespace rung {

class ResidueTask : public TokenTask {
 public:
  SizeList size() const override { return {{"n", n_}, {"M", modulus_}}; }
  AnswerSpec answer_spec() const override { return boolean_answer(); }
  std::int64_t prompt_length() const override { return n_; }

 protected:
  ResidueTask(std::int64_t n, std::int64_t modulus) : n_(n), modulus_(modulus) {}
  std::int64_t vocabulary() const override { return modulus_; }
  Range range(std::int64_t) const override { return {0, modulus_}; }
  std::int64_t negative(std::int64_t x) const { return x == 0 ? 0 : modulus_ - x; }

  std::int64_t n_, modulus_;
};

}  // namespace rung
